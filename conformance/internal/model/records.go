package model

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Record is a record of a batch.
type Record struct {
	Offset    int64
	Timestamp int64 // milliseconds since the epoch
	Key       []byte
	Value     []byte
	Headers   []kmsg.Header
}

// maxDecompressed bounds what one batch may decompress to, in bytes. What the
// checker writes is far below.
const maxDecompressed = 64 << 20

// Records decodes the records, whose offsets ascend within the batch's. Keys and values alias the batch's bytes, or
// what these decompressed to.
func (b *Batch) Records() ([]Record, error) {
	raw := b.Raw[headerBytes:]
	if b.Codec() != 0 {
		plain, err := decompress(raw, b.Codec())
		if err != nil {
			return nil, err
		}
		raw = plain
	}
	records := make([]Record, 0, min(int(b.Count), len(raw)/7)) // no record is smaller
	least := b.Base
	for i := range b.Count {
		record, rest, err := nextRecord(raw)
		if err != nil {
			return records, fmt.Errorf("record %d: %w", i, err)
		}
		offset := b.Base + int64(record.OffsetDelta)
		if offset < least || offset > b.Last {
			return records, fmt.Errorf("record %d: offset %d, want one in %d..%d", i, offset, least, b.Last)
		}
		least = offset + 1
		timestamp := b.BaseTimestamp + record.TimestampDelta64
		if b.Attributes&appendTimeBit != 0 {
			timestamp = b.MaxTimestamp
		}
		records = append(records, Record{
			Offset:    offset,
			Timestamp: timestamp,
			Key:       record.Key, Value: record.Value, Headers: record.Headers,
		})
		raw = rest
	}
	if len(raw) > 0 {
		return records, fmt.Errorf("%d bytes after the last record", len(raw))
	}
	return records, nil
}

// Offsets are the offsets of the records, ascending. A batch that compaction
// did not touch has a record for each of its offsets, and is not decoded.
func (b *Batch) Offsets() ([]int64, error) {
	offsets := make([]int64, 0, min(int(b.Count), len(b.Raw)))
	if int64(b.Count) == b.Last-b.Base+1 {
		for o := b.Base; o <= b.Last; o++ {
			offsets = append(offsets, o)
		}
		return offsets, nil
	}
	records, err := b.Records()
	for _, r := range records {
		offsets = append(offsets, r.Offset)
	}
	return offsets, err
}

func nextRecord(raw []byte) (record kmsg.Record, rest []byte, err error) {
	size, n := binary.Varint(raw)
	if n <= 0 || size < 0 || size > int64(len(raw)-n) {
		return record, nil, errors.New("its length does not fit")
	}
	end := n + int(size)
	if err := record.UnsafeReadFrom(raw[:end]); err != nil {
		return record, nil, err
	}
	return record, raw[end:], nil
}

// decompressor is a kgo client's own, since only a client's is bounded. The
// client has dialed nothing.
var decompressor = sync.OnceValue(func() kgo.Decompressor {
	client, err := kgo.NewClient(kgo.MaxDecompressBatchBytes(maxDecompressed))
	if err != nil {
		panic(err) // the one option is a constant
	}
	defer client.Close()
	return client.OptValue(kgo.WithDecompressor).(kgo.Decompressor)
})

func decompress(raw []byte, codec int8) ([]byte, error) {
	plain, err := decompressor().Decompress(raw, kgo.CompressionCodecType(codec))
	if err != nil {
		return nil, fmt.Errorf("codec %d: %w", codec, err)
	}
	return plain, nil
}
