package kafkatest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// transactionalBit marks a batch as part of a transaction (KIP-98).
const transactionalBit = 1 << 4

// crcStart is where a batch's CRC begins to count: after the CRC itself.
const crcStart = 21

// Record is one record to produce.
type Record struct {
	Key, Value []byte // nil is null
	Headers    []kmsg.Header
}

// Batch is one record batch to produce. It is sent as one batch, always.
type Batch struct {
	Records []Record
	Codec   kgo.CompressionCodec // default: none

	// Timestamp is the first record's time in milliseconds since the epoch; the
	// others follow by a millisecond each. The default is the current time.
	// Markers carry the broker's clock, and a record much younger than the
	// first of its segment begins a new one (segment.ms).
	Timestamp int64
}

// Values is an uncompressed batch of records with these values and no keys.
func Values(values ...string) Batch {
	var b Batch
	for _, v := range values {
		b.Records = append(b.Records, Record{Value: []byte(v)})
	}
	return b
}

// With returns the batch with another codec.
func (b Batch) With(codec kgo.CompressionCodec) Batch {
	b.Codec = codec
	return b
}

// identity is the part of a batch that its producer decides.
type identity struct {
	id            int64
	epoch         int16
	sequence      int32
	transactional bool
}

// encode returns the batch's bytes. kmsg writes them, not the decoder under
// test.
func (b Batch) encode(producer identity) ([]byte, error) {
	records := b.encodeRecords()
	rb := kmsg.NewRecordBatch()
	rb.PartitionLeaderEpoch = -1
	rb.Magic = 2
	rb.LastOffsetDelta = int32(len(b.Records) - 1)
	rb.FirstTimestamp = b.timestamp()
	rb.MaxTimestamp = rb.FirstTimestamp + int64(rb.LastOffsetDelta)
	rb.ProducerID, rb.ProducerEpoch, rb.FirstSequence = producer.id, producer.epoch, producer.sequence
	rb.NumRecords = int32(len(b.Records))
	if producer.transactional {
		rb.Attributes |= transactionalBit
	}
	compressor, err := kgo.DefaultCompressor(b.Codec)
	if err != nil {
		return nil, fmt.Errorf("codec: %w", err)
	}
	if compressor != nil {
		var codec kgo.CompressionCodecType
		records, codec = compressor.Compress(new(bytes.Buffer), records)
		rb.Attributes |= int16(codec)
	}
	rb.Records = bytes.Clone(records)
	return seal(rb), nil
}

// seal fills in the length and the CRC, which count the bytes as written.
func seal(rb kmsg.RecordBatch) []byte {
	raw := rb.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[8:], uint32(len(raw)-12)) // bytes after the length field
	crc := crc32.Checksum(raw[crcStart:], crc32.MakeTable(crc32.Castagnoli))
	binary.BigEndian.PutUint32(raw[crcStart-4:], crc)
	return raw
}

func (b Batch) encodeRecords() []byte {
	var out []byte
	for i, r := range b.Records {
		kr := kmsg.NewRecord()
		kr.TimestampDelta64 = int64(i)
		kr.OffsetDelta = int32(i)
		kr.Key, kr.Value, kr.Headers = r.Key, r.Value, r.Headers
		// The length counts what follows it: write once to know it (a length of
		// 0 takes one byte), then write again.
		kr.Length = int32(len(kr.AppendTo(nil)) - 1)
		out = kr.AppendTo(out)
	}
	return out
}

func (b Batch) timestamp() int64 {
	if b.Timestamp == 0 {
		return time.Now().UnixMilli()
	}
	return b.Timestamp
}
