package model

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Kind says what a batch is for the rules of read_committed.
type Kind int8

// The kinds of batches.
const (
	Data         Kind = iota
	CommitMarker      // control type 1
	AbortMarker       // control type 0
	OtherControl      // any other control type
	EmptyControl      // a control batch that compaction left without its record
)

func (k Kind) String() string {
	return [...]string{"data", "commit marker", "abort marker", "control", "empty control"}[k]
}

// Batch is a record batch (format v2) by its header, with its bytes.
type Batch struct {
	Base, Last    int64 // offsets, both inclusive
	ProducerID    int64
	Epoch         int16
	BaseSequence  int32
	LeaderEpoch   int32
	Attributes    int16
	Count         int32 // of records, as the header claims
	BaseTimestamp int64
	MaxTimestamp  int64
	Kind          Kind
	Marker        Marker // of control batches with a record
	CRCValid      bool
	Raw           []byte // the whole batch, aliasing what it was parsed from
}

// Marker is what a control record holds beside its type.
type Marker struct {
	KeyVersion       int16
	Type             int16
	ValueLength      int
	ValueVersion     int16
	CoordinatorEpoch int32
}

// Bits of a batch's attributes (KIP-98).
const (
	codecBits        = 0x07
	appendTimeBit    = 1 << 3 // the batch has the broker's time, for all records
	transactionalBit = 1 << 4
	controlBit       = 1 << 5
)

const (
	headerBytes = 61 // of a v2 batch, up to its records
	lengthEnds  = 12 // the length field counts what follows this position
	magicAt     = 16
	crcAt       = 17
	crcCovers   = 21
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Transactional reports whether the batch is part of a transaction.
func (b *Batch) Transactional() bool { return b.Attributes&transactionalBit != 0 }

// Control reports whether the batch holds a control record instead of data.
func (b *Batch) Control() bool { return b.Attributes&controlBit != 0 }

// AppendTime reports whether the records have the broker's time of the append,
// which is the batch's largest timestamp, instead of their own.
func (b *Batch) AppendTime() bool { return b.Attributes&appendTimeBit != 0 }

// Codec is the number of the compression codec, 0 for none.
func (b *Batch) Codec() int8 { return int8(b.Attributes & codecBits) }

// FormatError is what is wrong with bytes, and where.
type FormatError struct {
	Position int    // in the bytes of the answer
	Offset   int64  // of the batch, -1 if it cannot be told
	What     string // one clause
}

func (p *FormatError) Error() string {
	return fmt.Sprintf("byte %d, offset %d: %s", p.Position, p.Offset, p.What)
}

// Parse cuts an answer's bytes into batches. tail is how many bytes at the end
// belong to a batch that was cut off, which is normal. A problem ends the
// batches; those before it count. A wrong CRC is not a problem here, see
// [Batch.CRCValid].
func Parse(raw []byte) (batches []Batch, tail int, problem *FormatError) {
	for at := 0; at < len(raw); {
		rest := raw[at:]
		if len(rest) < magicAt+1 {
			return batches, len(rest), nil
		}
		base := int64(binary.BigEndian.Uint64(rest))
		size := int64(int32(binary.BigEndian.Uint32(rest[8:]))) + lengthEnds
		switch {
		case rest[magicAt] != 2:
			return batches, 0, &FormatError{at, base, fmt.Sprintf("magic %d, want 2", rest[magicAt])}
		case size < headerBytes:
			return batches, 0, &FormatError{at, base, fmt.Sprintf("a batch of %d bytes; the header alone has %d", size, headerBytes)}
		case size > int64(len(rest)):
			return batches, len(rest), nil
		}
		b, what := parseBatch(rest[:size])
		if what != "" {
			return batches, 0, &FormatError{at, base, what}
		}
		batches = append(batches, b)
		at += int(size)
	}
	return batches, 0, nil
}

func parseBatch(raw []byte) (b Batch, problem string) {
	wire := kmsg.NewRecordBatch()
	if err := wire.UnsafeReadFrom(raw); err != nil {
		return b, "the header does not decode"
	}
	b = Batch{
		Base: wire.FirstOffset, Last: wire.FirstOffset + int64(wire.LastOffsetDelta),
		ProducerID: wire.ProducerID, Epoch: wire.ProducerEpoch, BaseSequence: wire.FirstSequence,
		LeaderEpoch: wire.PartitionLeaderEpoch, Attributes: wire.Attributes, Count: wire.NumRecords,
		BaseTimestamp: wire.FirstTimestamp, MaxTimestamp: wire.MaxTimestamp,
		CRCValid: crc32.Checksum(raw[crcCovers:], castagnoli) == uint32(wire.CRC),
		Raw:      raw,
	}
	if problem = b.oddClaim(wire.LastOffsetDelta); problem == "" && b.Control() {
		problem = b.parseMarker()
	}
	return b, problem
}

// recordBytes is what a record takes at least: its length, its attributes, two
// deltas, a key, a value and a count of headers, of one byte each.
const recordBytes = 7

// oddClaim says what the header claims that cannot be, "" for nothing. Offsets
// and counts are relied on from here on: one past the last offset is an offset,
// and there is no more to go through than the bytes may hold.
func (b *Batch) oddClaim(lastDelta int32) string {
	offsets, room := b.Last-b.Base+1, len(b.Raw)-headerBytes
	if b.Codec() != 0 {
		room = maxDecompressed
	}
	switch {
	case b.Base < 0:
		return fmt.Sprintf("base offset %d", b.Base)
	case lastDelta < 0, b.Last < b.Base, b.Last == math.MaxInt64:
		return fmt.Sprintf("last offset delta %d", lastDelta)
	case b.Count < 0 || int64(b.Count) > offsets:
		return fmt.Sprintf("%d records in %d offsets", b.Count, offsets)
	case int(b.Count) > room/recordBytes:
		return fmt.Sprintf("%d records in %d bytes", b.Count, room)
	}
	return ""
}

// parseMarker reads the control record. Compaction may have taken it away.
func (b *Batch) parseMarker() (problem string) {
	if b.Count == 0 {
		b.Kind = EmptyControl
		return ""
	}
	records, err := b.Records()
	switch {
	case err != nil:
		return "control record: " + err.Error()
	case len(records) == 0 || len(records[0].Key) < 4:
		return "a control record without a key of 4 bytes"
	}
	key, value := records[0].Key, records[0].Value
	b.Marker.KeyVersion = int16(binary.BigEndian.Uint16(key))
	b.Marker.Type = int16(binary.BigEndian.Uint16(key[2:]))
	b.Marker.ValueLength = len(value)
	if len(value) >= 6 {
		b.Marker.ValueVersion = int16(binary.BigEndian.Uint16(value))
		b.Marker.CoordinatorEpoch = int32(binary.BigEndian.Uint32(value[2:]))
	}
	switch b.Marker.Type {
	case 0:
		b.Kind = AbortMarker
	case 1:
		b.Kind = CommitMarker
	default:
		b.Kind = OtherControl
	}
	return ""
}
