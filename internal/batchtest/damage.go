package batchtest

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// claims are header fields that say something else than the bytes; nil leaves
// the truth.
type claims struct {
	count, lastDelta *int32
	magic            *int8
}

func (c claims) apply(rb *kmsg.RecordBatch) {
	if c.count != nil {
		rb.NumRecords = *c.count
	}
	if c.lastDelta != nil {
		rb.LastOffsetDelta = *c.lastDelta
	}
	if c.magic != nil {
		rb.Magic = *c.magic
	}
}

// ClaimLength makes the length field lie. The CRC does not cover it.
func (b Batch) ClaimLength(n int32) Batch {
	return b.then(func(raw []byte) []byte { return setLength(raw, n) })
}

// ClaimCount makes the records count lie, under a right CRC.
func (b Batch) ClaimCount(n int32) Batch { b.claims.count = &n; return b }

// ClaimLastOffsetDelta makes the last offset delta lie, under a right CRC.
func (b Batch) ClaimLastOffsetDelta(n int32) Batch { b.claims.lastDelta = &n; return b }

// ClaimMagic sets the magic byte.
func (b Batch) ClaimMagic(n int8) Batch { b.claims.magic = &n; return b }

// Cut drops the last n bytes, as a broker does at the end of a response.
func (b Batch) Cut(n int) Batch { return b.then(func(raw []byte) []byte { return Cut(raw, n) }) }

// Flip changes the lowest bit of the byte at a position, counted from the end
// if negative. The CRC stays as it was.
func (b Batch) Flip(pos int) Batch { return b.then(func(raw []byte) []byte { return Flip(raw, pos) }) }

// Set overwrites the bytes at a position, counted from the end if negative. The
// CRC stays as it was.
func (b Batch) Set(pos int, with ...byte) Batch {
	return b.then(func(raw []byte) []byte { return Set(raw, pos, with...) })
}

// FixCRC makes the CRC right again after [Batch.Flip] or [Batch.Set].
func (b Batch) FixCRC() Batch { return b.then(FixCRC) }

func (b Batch) then(damage func([]byte) []byte) Batch {
	b.damage = append(slices.Clone(b.damage), damage)
	return b
}

// Fault names a fault inside one record, under a right CRC.
type Fault string

// The faults. In each the batch's own fields are right.
const (
	FaultLength      Fault = "record-length" // claims 1,000 bytes more than the record has
	FaultBody        Fault = "record-body"   // one byte more than its fields use
	FaultOffset      Fault = "offset-delta"  // lies behind the batch's last offset
	FaultHeaderCount Fault = "header-count"  // is -1; the record must have no headers
	FaultHeaderKey   Fault = "header-key"    // has length -1; the record must have no headers
)

type spoil struct {
	kind  Fault
	index int
}

// Spoil puts a fault into the record with an index, counted from 0 within the
// batch, before compression.
func (b Batch) Spoil(kind Fault, index int) Batch {
	b.faults = append(slices.Clone(b.faults), spoil{kind, index})
	return b
}

// Trailing appends n zero bytes behind the last record, before compression.
func (b Batch) Trailing(n int) Batch { b.trailing = n; return b }

func (b Batch) spoil(index int, wire []byte) []byte {
	for _, s := range b.faults {
		if s.index == index {
			wire = s.kind.apply(wire, b.records[index], b.last-b.base)
		}
	}
	return wire
}

func (s Fault) apply(wire []byte, r Record, lastDelta int64) []byte {
	_, used := kbin.Varint(wire)
	body := wire[used:]
	switch s {
	case FaultLength:
		return prefixed(int32(len(body)+1000), body)
	case FaultBody:
		return prefixed(int32(len(body)+1), append(slices.Clone(body), 0))
	case FaultOffset:
		return Record{Offset: lastDelta + 1, Key: r.Key, Value: r.Value}.wire(0, 0)
	case FaultHeaderCount:
		body = kbin.AppendVarint(slices.Clone(body[:len(body)-1]), -1)
	case FaultHeaderKey:
		body = kbin.AppendVarint(slices.Clone(body[:len(body)-1]), 1)
		body = kbin.AppendVarint(kbin.AppendVarint(body, -1), -1)
	default:
		panic(fmt.Sprintf("unknown fault %q", string(s)))
	}
	return prefixed(int32(len(body)), body)
}

// Cut drops the last n bytes, or all there are; none if n is negative.
func Cut(raw []byte, n int) []byte { return slices.Clone(raw[:max(0, len(raw)-max(0, n))]) }

// Flip changes the lowest bit of one byte; a negative position counts from the
// end.
func Flip(raw []byte, pos int) []byte {
	raw = slices.Clone(raw)
	raw[at(raw, pos)] ^= 1
	return raw
}

// Set overwrites bytes; a negative position counts from the end.
func Set(raw []byte, pos int, with ...byte) []byte {
	raw = slices.Clone(raw)
	copy(raw[at(raw, pos):], with)
	return raw
}

func at(raw []byte, pos int) int {
	if pos < 0 {
		return len(raw) + pos
	}
	return pos
}

func setLength(raw []byte, n int32) []byte {
	return Set(raw, 8, binary.BigEndian.AppendUint32(nil, uint32(n))...)
}

// FixCRC writes the right CRC into one whole batch or message: CRC-32C from the
// attributes on for v2, CRC-32 from the magic byte on before. It panics on
// less than a header.
func FixCRC(raw []byte) []byte {
	raw = slices.Clone(raw)
	if raw[16] < 2 {
		binary.BigEndian.PutUint32(raw[12:], crc32.ChecksumIEEE(raw[16:]))
		return raw
	}
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], castagnoli))
	return raw
}
