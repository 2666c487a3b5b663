package batchdecode

import (
	"encoding/binary"
	"fmt"
)

// Magic returns the message format: 2 for a record batch, 0 or 1 for a
// message of an old format, -1 for the zero Batch.
func (b Batch) Magic() int8 {
	if len(b.data) <= magicAt {
		return -1
	}
	return int8(b.data[magicAt])
}

// BaseOffset returns the offset of the batch's first record slot, inclusive.
// Compaction keeps it, so the first record present may lie above it.
//
// Of a message of format 0 or 1 it is the offset field; for a compressed one
// that is the offset of the last message inside.
func (b Batch) BaseOffset() int64 {
	if len(b.data) < logOverhead {
		return -1
	}
	return int64(binary.BigEndian.Uint64(b.data))
}

// LastOffset returns the offset of the batch's last record slot, inclusive.
// Compaction keeps it, so the last record present may lie below it; the next
// batch lies above it. Equal to BaseOffset for a message of format 0 or 1.
func (b Batch) LastOffset() int64 { return b.BaseOffset() + int64(b.LastOffsetDelta()) }

// LastOffsetDelta returns LastOffset minus BaseOffset.
func (b Batch) LastOffsetDelta() int32 { return b.int32At(lastOffsetDeltaAt, 0) }

// PartitionLeaderEpoch returns the epoch of the leader that appended the
// batch, -1 if unknown. The CRC does not cover it.
func (b Batch) PartitionLeaderEpoch() int32 { return b.int32At(partitionLeaderEpochAt, -1) }

// Attributes returns the attribute bits as they are on the wire.
func (b Batch) Attributes() int16 {
	switch {
	case b.isCurrent():
		return int16(binary.BigEndian.Uint16(b.data[attributesAt:]))
	case len(b.data) > legacyAttributesAt:
		return int16(b.data[legacyAttributesAt])
	default:
		return 0
	}
}

// Codec returns the compression of the records. The error is an [*Error] of
// class [ErrUnsupported] for the codec numbers 5 to 7, which Kafka does not
// define; the number is returned all the same.
func (b Batch) Codec() (Codec, error) {
	c := Codec(b.Attributes() & codecMask)
	if c > CodecZstd {
		return c, b.errorAt(attributesAt, "attributes", fmt.Errorf("%w: codec %d", ErrUnsupported, c))
	}
	return c, nil
}

// IsTransactional reports whether the batch belongs to a transaction.
func (b Batch) IsTransactional() bool { return b.hasBit(transactionalBit) }

// IsControl reports whether this is a control batch, whose records are for
// clients and not for applications. See [Batch.Control].
func (b Batch) IsControl() bool { return b.hasBit(controlBit) }

// HasDeleteHorizon reports whether compaction put the time after which
// tombstones and markers may be removed into the base timestamp. Timestamps of
// records are right all the same (KIP-534).
func (b Batch) HasDeleteHorizon() bool { return b.hasBit(deleteHorizonBit) }

// IsLogAppendTime reports whether the broker stamped the batch, so that
// MaxTimestamp is the timestamp of all its records.
func (b Batch) IsLogAppendTime() bool {
	return b.Magic() > 0 && b.Attributes()&logAppendTimeBit != 0
}

// BaseTimestamp returns what record timestamps are relative to, in
// milliseconds since the epoch; -1 for an empty batch. It is no timestamp of a
// record if HasDeleteHorizon is set.
func (b Batch) BaseTimestamp() int64 { return b.timestampAt(baseTimestampAt) }

// MaxTimestamp returns the largest timestamp of the batch's records, in
// milliseconds since the epoch, -1 if there is none. Compaction may have
// removed the record that had it.
func (b Batch) MaxTimestamp() int64 { return b.timestampAt(maxTimestampAt) }

// ProducerID returns the producer ID, -1 if there is none.
func (b Batch) ProducerID() int64 {
	if !b.isCurrent() {
		return -1
	}
	return int64(binary.BigEndian.Uint64(b.data[producerIDAt:]))
}

// ProducerEpoch returns the producer epoch, -1 if there is none.
func (b Batch) ProducerEpoch() int16 {
	if !b.isCurrent() {
		return -1
	}
	return int16(binary.BigEndian.Uint16(b.data[producerEpochAt:]))
}

// BaseSequence returns the sequence number of the batch's first record slot,
// -1 if there is none, as in every control batch. Sequence numbers go on at 0
// after 2147483647.
func (b Batch) BaseSequence() int32 { return b.int32At(baseSequenceAt, -1) }

// RecordCount returns how many records the header claims; compaction lowers
// it, to 0 even. It is not negative but otherwise not to be trusted before
// [Batch.Records] compared it with the bytes. -1 for a message of format 0 or
// 1, which does not say.
func (b Batch) RecordCount() int32 { return b.int32At(recordCountAt, -1) }

func (b Batch) hasBit(bit int16) bool { return b.isCurrent() && b.Attributes()&bit != 0 }

func (b Batch) int32At(at int, otherwise int32) int32 {
	if !b.isCurrent() {
		return otherwise
	}
	return int32(binary.BigEndian.Uint32(b.data[at:]))
}

// timestampAt reads a timestamp of a batch. A message of format 1 has but one,
// format 0 none.
func (b Batch) timestampAt(at int) int64 {
	switch {
	case b.isCurrent():
	case b.Magic() == 1:
		at = legacyTimestampAt
	default:
		return -1
	}
	return int64(binary.BigEndian.Uint64(b.data[at:]))
}
