package capture

import (
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var codecNames = []string{"none", "gzip", "snappy", "lz4", "zstd"}

// Attribute bits of a record batch (KIP-98, KIP-534).
const (
	codecBits        = 0x07
	appendTimeBit    = 0x08
	transactionalBit = 0x10
	controlBit       = 0x20
	deleteHorizonBit = 0x40
)

// Decode reads record batches with kmsg and kgo's decompressor. tail is how
// many bytes at the end belong to a batch that is not whole.
func Decode(b []byte) (batches []Batch, tail int, err error) {
	for len(b) > 0 {
		size := 12
		if len(b) >= size {
			size += int(int32(binary.BigEndian.Uint32(b[8:])))
		}
		if size < 12 || size > len(b) {
			return batches, len(b), nil
		}
		batch, err := decodeBatch(b[:size])
		if err != nil {
			return batches, len(b), fmt.Errorf("batch %d: %w", len(batches), err)
		}
		batches = append(batches, batch)
		b = b[size:]
	}
	return batches, 0, nil
}

func decodeBatch(b []byte) (Batch, error) {
	var rb kmsg.RecordBatch
	if err := rb.ReadFrom(b); err != nil {
		return Batch{}, err
	}
	codec := int(rb.Attributes & codecBits)
	if codec >= len(codecNames) {
		return Batch{}, fmt.Errorf("codec %d", codec)
	}
	batch := Batch{
		BaseOffset:           rb.FirstOffset,
		LastOffset:           rb.FirstOffset + int64(rb.LastOffsetDelta),
		PartitionLeaderEpoch: rb.PartitionLeaderEpoch,
		ProducerID:           rb.ProducerID,
		ProducerEpoch:        rb.ProducerEpoch,
		BaseSequence:         rb.FirstSequence,
		Codec:                codecNames[codec],
		Transactional:        rb.Attributes&transactionalBit != 0,
		Control:              rb.Attributes&controlBit != 0,
		LogAppendTime:        rb.Attributes&appendTimeBit != 0,
		DeleteHorizon:        rb.Attributes&deleteHorizonBit != 0,
		BaseTimestamp:        rb.FirstTimestamp,
		MaxTimestamp:         rb.MaxTimestamp,
		Size:                 len(b),
	}
	records, err := kgo.DefaultDecompressor().Decompress(rb.Records, kgo.CompressionCodecType(codec))
	if err != nil {
		return Batch{}, err
	}
	batch.Records, err = decodeRecords(records, rb.FirstOffset, int(rb.NumRecords))
	return batch, err
}

func decodeRecords(b []byte, base int64, count int) (records []Record, err error) {
	for range count {
		length, n := kbin.Varint(b)
		if n == 0 || length < 0 || int(length) > len(b)-n {
			return records, fmt.Errorf("record %d of %d: length %d of %d bytes", len(records), count, length, len(b))
		}
		var r kmsg.Record
		if err := r.ReadFrom(b[:n+int(length)]); err != nil {
			return records, fmt.Errorf("record %d: %w", len(records), err)
		}
		b = b[n+int(length):]
		record := Record{
			Offset:         base + int64(r.OffsetDelta),
			TimestampDelta: r.TimestampDelta64,
			Key:            r.Key,
			Value:          r.Value,
		}
		for _, h := range r.Headers {
			record.Headers = append(record.Headers, Header{h.Key, h.Value})
		}
		records = append(records, record)
	}
	if len(b) > 0 {
		return records, fmt.Errorf("%d bytes behind the last of %d records", len(b), count)
	}
	return records, nil
}
