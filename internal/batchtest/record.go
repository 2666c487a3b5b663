package batchtest

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// BaseTime is the default timestamp of offset 0, in milliseconds since the
// epoch.
const BaseTime int64 = 1_700_000_000_000

// Record is one record as it is put into a batch or message.
type Record struct {
	Offset    int64
	Timestamp int64  // milliseconds since the epoch, as a reader has to see it; -1 in format v0, which has none
	Key       []byte // nil is null
	Value     []byte // nil is null
	Headers   []kmsg.Header
}

// Key is the default key of the record at an offset.
func Key(offset int64) []byte { return fmt.Appendf(nil, "k%d", offset) }

// Value is the default value of the record at an offset.
func Value(offset int64) []byte { return fmt.Appendf(nil, "value of %d", offset) }

// Timestamp is the default timestamp of the record at an offset: one
// millisecond an offset, from [BaseTime].
func Timestamp(offset int64) int64 { return BaseTime + offset }

// At is the default record at an offset.
func At(offset int64) Record {
	return Record{Offset: offset, Timestamp: Timestamp(offset), Key: Key(offset), Value: Value(offset)}
}

// wire encodes r relative to a batch's base offset and base timestamp.
func (r Record) wire(baseOffset, baseTimestamp int64) []byte {
	rec := kmsg.Record{
		TimestampDelta64: r.Timestamp - baseTimestamp,
		OffsetDelta:      int32(r.Offset - baseOffset),
		Key:              r.Key,
		Value:            r.Value,
		Headers:          r.Headers,
	}
	// A zero length takes one byte, so what follows it is the body.
	body := rec.AppendTo(nil)[1:]
	return prefixed(int32(len(body)), body)
}

// prefixed puts a claimed length before a record's body.
func prefixed(length int32, body []byte) []byte {
	return append(kbin.AppendVarint(nil, length), body...)
}
