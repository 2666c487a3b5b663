package batchtest

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Message describes a message of format v0 or v1. With a codec it is a wrapper
// around several, whose own offset is that of the last one.
type Message struct {
	magic   int8
	codec   Codec
	records []Record
	damage  []func([]byte) []byte
}

// MessageV0 is a message of format v0, which has no timestamp. Several offsets
// need [Message.Codec]: inner offsets are absolute.
func MessageV0(base, last int64) Message { return message(0, base, last) }

// MessageV1 is a message of format v1. Several offsets need [Message.Codec]:
// inner offsets are relative.
func MessageV1(base, last int64) Message { return message(1, base, last) }

func message(magic int8, base, last int64) Message {
	return Message{magic: magic, records: Data(base, last).records}
}

// Codec compresses the messages into a wrapper.
func (m Message) Codec(c Codec) Message { m.codec = c; return m }

// Keep removes all records but those at the offsets, as compaction does. One
// must be left.
func (m Message) Keep(offsets ...int64) Message {
	m.records = Batch{records: m.records}.Keep(offsets...).records
	return m
}

// Cut drops the last n bytes.
func (m Message) Cut(n int) Message { return m.then(func(b []byte) []byte { return Cut(b, n) }) }

// Flip is [Batch.Flip].
func (m Message) Flip(pos int) Message { return m.then(func(b []byte) []byte { return Flip(b, pos) }) }

func (m Message) then(damage func([]byte) []byte) Message {
	m.damage = append(slices.Clone(m.damage), damage)
	return m
}

// Bytes encodes the message, or the wrapper if it has a codec. It panics if
// there are several records and no codec.
func (m Message) Bytes() []byte {
	last := m.records[len(m.records)-1]
	var raw []byte
	switch {
	case m.codec != None:
		var inner []byte
		for _, r := range m.records {
			if m.magic == 1 {
				r.Offset -= m.records[0].Offset
			}
			inner = append(inner, legacy(m.magic, 0, r)...)
		}
		raw = legacy(m.magic, int8(m.codec.bits()), Record{
			Offset: last.Offset, Timestamp: last.Timestamp, Value: m.codec.Compress(inner),
		})
	case len(m.records) == 1:
		raw = legacy(m.magic, 0, last)
	default:
		panic("several messages need a codec")
	}
	for _, damage := range m.damage {
		raw = damage(raw)
	}
	return raw
}

func legacy(magic, attributes int8, r Record) []byte {
	var raw []byte
	if magic == 0 {
		m := kmsg.MessageV0{Offset: r.Offset, Attributes: attributes, Key: r.Key, Value: r.Value}
		raw = m.AppendTo(nil)
	} else {
		m := kmsg.MessageV1{
			Offset: r.Offset, Magic: 1, Attributes: attributes, Timestamp: r.Timestamp, Key: r.Key, Value: r.Value,
		}
		raw = m.AppendTo(nil)
	}
	return FixCRC(setLength(raw, int32(len(raw)-12)))
}

func (m Message) sent() []Record {
	if m.magic == 1 {
		return m.records
	}
	records := slices.Clone(m.records)
	for i := range records {
		records[i].Timestamp = -1
	}
	return records
}

func (m Message) end() int64 { return m.records[len(m.records)-1].Offset + 1 }

func (m Message) damaged() bool { return len(m.damage) > 0 }
