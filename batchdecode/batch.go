package batchdecode

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
)

// HeaderLen is the size of a version 2 batch header in bytes, offset and
// length fields included; also the size of the smallest batch.
const HeaderLen = 61

// Places in the header and sizes: part of the format.
const (
	batchLengthAt          = 8
	partitionLeaderEpochAt = 12
	legacyCRCAt            = 12
	magicAt                = 16
	crcAt                  = 17
	legacyAttributesAt     = 17
	legacyTimestampAt      = 18
	attributesAt           = 21
	lastOffsetDeltaAt      = 23
	baseTimestampAt        = 27
	maxTimestampAt         = 35
	producerIDAt           = 43
	producerEpochAt        = 51
	baseSequenceAt         = 53
	recordCountAt          = 57

	logOverhead  = 12 // offset and length fields, which the batch length leaves out
	minLengthV0  = 14
	minLengthV1  = 22
	minLengthV2  = HeaderLen - logOverhead
	currentMagic = 2
)

// Attribute bits of a version 2 batch.
const (
	logAppendTimeBit = 1 << 3
	transactionalBit = 1 << 4
	controlBit       = 1 << 5
	deleteHorizonBit = 1 << 6
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Batch is a complete record batch, or a message of format 0 or 1. It is a
// small value that aliases the bytes it was read from, and is valid as long as
// they are unchanged.
//
// On a message of format 0 or 1 the methods answer what such a message can
// say: no producer, not transactional, no control records. The zero Batch
// holds nothing: its Bytes are nil, its offsets -1.
type Batch struct {
	data []byte // complete, checked by next; without spare capacity
}

// Next returns the batch at the front of b and the bytes that follow it. The
// batch is complete, its header plausible and its CRC-32C right. The CRC of a
// message of format 0 or 1 is not checked; [Batch.CheckCRC] does that.
//
// An error is an [*Error] of one of three classes: [ErrTruncated] if b ends
// inside the batch, also if b is empty; [ErrCorrupt]; [ErrUnsupported] for a
// magic byte other than 0, 1 or 2. Offsets are not negative, and LastOffset()+1
// does not overflow. A length that contradicts the format and an
// unknown magic byte are reported for a cut batch too, as soon as their bytes
// are there. On error rest is b, unchanged.
//
// Source: ByteBufferLogInputStream and DefaultRecordBatch.ensureValid.
func Next(b []byte) (batch Batch, rest []byte, err error) {
	return next(b, true)
}

// NextUnchecked is [Next] without the CRC, for readers that switched its
// checking off.
func NextUnchecked(b []byte) (batch Batch, rest []byte, err error) {
	return next(b, false)
}

func next(b []byte, checkCRC bool) (Batch, []byte, error) {
	size, err := frame(b)
	if err != nil {
		return Batch{}, b, err
	}
	batch := Batch{data: b[:size:size]}
	if checkCRC && batch.isCurrent() {
		if err := batch.CheckCRC(); err != nil {
			return Batch{}, b, err
		}
	}
	if err := batch.checkHeader(); err != nil {
		return Batch{}, b, err
	}
	return batch, b[size:], nil
}

// frame returns the size of the batch at the front of b, which is all there.
func frame(b []byte) (int, error) {
	if len(b) < logOverhead {
		return 0, frameError(b, len(b), "batch", ErrTruncated)
	}
	length := int(int32(binary.BigEndian.Uint32(b[batchLengthAt:])))
	if length < minLengthV0 {
		return 0, frameError(b, batchLengthAt, "batch length", corruptf("%d", length))
	}
	if len(b) <= magicAt {
		return 0, frameError(b, len(b), "batch", ErrTruncated)
	}
	minLength := minLengthV2
	switch magic := int8(b[magicAt]); magic {
	case 0:
		minLength = minLengthV0
	case 1:
		minLength = minLengthV1
	case currentMagic:
	default:
		return 0, frameError(b, magicAt, "magic", fmt.Errorf("%w: magic %d", ErrUnsupported, magic))
	}
	if length < minLength {
		return 0, frameError(b, batchLengthAt, "batch length",
			corruptf("%d, with magic %d at least %d", length, b[magicAt], minLength))
	}
	// The bytes left are compared, not a sum that could overflow.
	if length > len(b)-logOverhead {
		return 0, frameError(b, len(b), "batch",
			fmt.Errorf("%w: %d bytes after the length, %d present", ErrTruncated, length, len(b)-logOverhead))
	}
	return logOverhead + length, nil
}

// frameError is an error about bytes that are not a batch yet. What is known
// of the offsets is given.
func frameError(b []byte, position int, field string, err error) *Error {
	e := &Error{BaseOffset: -1, LastOffset: -1, Position: position, Field: field, Err: err}
	if len(b) >= logOverhead {
		e.BaseOffset = int64(binary.BigEndian.Uint64(b))
	}
	return e
}

// checkHeader checks the fields that later arithmetic rests on. The offset
// behind the batch must be one too.
func (b Batch) checkHeader() error {
	base, delta := b.BaseOffset(), b.LastOffsetDelta()
	switch {
	case base < 0:
		return b.errorAt(0, "base offset", corruptf("%d", base))
	case delta < 0:
		return b.errorAt(lastOffsetDeltaAt, "last offset delta", corruptf("%d", delta))
	case base >= math.MaxInt64-int64(delta):
		return b.errorAt(lastOffsetDeltaAt, "last offset delta", corruptf("%d overflows the offset", delta))
	case b.isCurrent() && b.RecordCount() < 0:
		return b.errorAt(recordCountAt, "records count", corruptf("%d", b.RecordCount()))
	}
	return nil
}

// errorAt returns an error about this batch. The last offset is given if it is
// one, whether the CRC was right or not: it lets a caller step over the batch.
func (b Batch) errorAt(position int, field string, err error) *Error {
	last := b.LastOffset()
	if b.BaseOffset() < 0 || last < b.BaseOffset() {
		last = -1
	}
	return &Error{BaseOffset: b.BaseOffset(), LastOffset: last, Position: position, Field: field, Err: err}
}

// CheckCRC compares the stored CRC with the bytes: CRC-32C, or CRC-32 (IEEE)
// for a message of format 0 or 1. The error is an [*Error] of class
// [ErrCorrupt] with the field "crc". [Next] has done this for version 2.
func (b Batch) CheckCRC() error {
	at, table := crcAt, castagnoli
	switch b.Magic() {
	case currentMagic:
	case -1:
		return nil
	default:
		at, table = legacyCRCAt, crc32.IEEETable
	}
	stored, from := binary.BigEndian.Uint32(b.data[at:]), at+4
	if at == crcAt {
		from = attributesAt
	}
	if sum := crc32.Checksum(b.data[from:], table); sum != stored {
		return b.errorAt(at, "crc", corruptf("stored %08x, computed %08x", stored, sum))
	}
	return nil
}

// Bytes returns the whole batch, exactly. It aliases the input.
func (b Batch) Bytes() []byte { return b.data }

// Payload returns the record section as it is on the wire, compressed or not.
// It aliases the input; nil for a message of format 0 or 1.
func (b Batch) Payload() []byte {
	if !b.isCurrent() {
		return nil
	}
	return b.data[HeaderLen:]
}

func (b Batch) isCurrent() bool { return len(b.data) >= HeaderLen && b.data[magicAt] == currentMagic }
