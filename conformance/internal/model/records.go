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
// checker writes is far below. Decoded, a byte of small records or headers takes
// up to 20.
const maxDecompressed = 16 << 20

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
	records := make([]Record, 0, min(int(b.Count), len(raw)/recordBytes))
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
		if b.AppendTime() {
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
// did not touch has a record for each of its offsets, and is not decoded unless
// it is compressed: a few bytes may then claim millions of records.
func (b *Batch) Offsets() ([]int64, error) {
	if b.Codec() == 0 && int64(b.Count) == b.Last-b.Base+1 {
		offsets := make([]int64, b.Count)
		for i := range offsets {
			offsets[i] = b.Base + int64(i)
		}
		return offsets, nil
	}
	records, err := b.Records()
	offsets := make([]int64, len(records))
	for i, r := range records {
		offsets[i] = r.Offset
	}
	return offsets, err
}

func nextRecord(raw []byte) (record kmsg.Record, rest []byte, err error) {
	size, n := binary.Varint(raw)
	if n <= 0 || size < 0 || size > int64(len(raw)-n) {
		return record, nil, errors.New("its length does not fit")
	}
	end := n + int(size)
	if claimsHeaders(raw[n:end]) {
		return record, nil, errors.New("it claims more headers than its bytes hold")
	}
	if err := record.UnsafeReadFrom(raw[:end]); err != nil {
		return record, nil, err
	}
	return record, raw[end:], nil
}

// headerLeast is what a header takes at least: the lengths of its key and value.
const headerLeast = 2

// claimsHeaders reports whether a record, without its length, claims more headers
// than its bytes can hold: the decoder makes room for all of them before it reads
// one. Anything else that is wrong is for the decoder to find.
func claimsHeaders(body []byte) bool {
	next := func() int64 {
		v, n := binary.Varint(body)
		body = body[max(n, 0):]
		return v
	}
	body = body[min(1, len(body)):] // attributes
	next()                          // timestamp delta
	next()                          // offset delta
	for range 2 {                   // key and value
		length := next()
		body = body[min(max(length, 0), int64(len(body))):]
	}
	claimed := next()
	return claimed > int64(len(body)/headerLeast)
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
