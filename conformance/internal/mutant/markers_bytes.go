package mutant

import (
	"bytes"
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// Positions in a batch of format v2.
const (
	epochAt   = 51
	countAt   = 57
	recordsAt = 61
)

// turned is a marker of the other type.
func turned(b model.Batch) []byte {
	return withRecord(b, func(r *kmsg.Record) {
		r.Key = bytes.Clone(r.Key)
		r.Key[3] ^= 1 // 0 is ABORT, 1 is COMMIT
	})
}

// withoutValue is a marker whose record has no value.
func withoutValue(b model.Batch) []byte {
	return withRecord(b, func(r *kmsg.Record) { r.Value = nil })
}

// emptied is a control batch without its record, as compaction leaves it: it
// says nothing.
func emptied(b model.Batch) []byte {
	raw := bytes.Clone(b.Raw[:recordsAt])
	binary.BigEndian.PutUint32(raw[countAt:], 0)
	model.Seal(raw)
	return raw
}

// withEpoch is a batch with another producer epoch.
func withEpoch(b model.Batch, epoch int16) []byte {
	raw := bytes.Clone(b.Raw)
	binary.BigEndian.PutUint16(raw[epochAt:], uint16(epoch))
	model.Seal(raw)
	return raw
}

// withRecord is a batch of one record with that changed.
func withRecord(b model.Batch, change func(*kmsg.Record)) []byte {
	var r kmsg.Record
	if r.ReadFrom(b.Raw[recordsAt:]) != nil {
		return b.Raw
	}
	change(&r)
	r.Length = 0
	r.Length = int32(len(r.AppendTo(nil)) - 1) // a length of 0 takes one byte
	raw := r.AppendTo(bytes.Clone(b.Raw[:recordsAt]))
	model.Seal(raw)
	return raw
}
