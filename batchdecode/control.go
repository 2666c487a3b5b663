package batchdecode

import (
	"encoding/binary"
	"strconv"
)

// ControlType is the type of a control record, from its key.
type ControlType int16

// The types that end a transaction. Others occur in the metadata log and may
// be added to any; readers ignore them.
const (
	ControlAbort  ControlType = 0
	ControlCommit ControlType = 1
)

// String returns "abort", "commit", or the number.
func (t ControlType) String() string {
	switch t {
	case ControlAbort:
		return "abort"
	case ControlCommit:
		return "commit"
	default:
		return strconv.Itoa(int(t))
	}
}

// ControlRecord is what a control record says.
type ControlRecord struct {
	// Version is the version of the key's layout, 0 so far. Higher versions
	// are read as version 0, like Kafka does.
	Version int16

	Type ControlType

	// CoordinatorEpoch is the epoch of the transaction coordinator that wrote
	// an abort or commit marker. -1 for other types, and if the value is
	// absent or too short for it.
	CoordinatorEpoch int32
}

const (
	controlKeyLen    = 4 // version and type, int16 each
	endTxnMarkerLen  = 6 // version int16 and coordinator epoch int32
	coordinatorEpoch = 2 // position in the value
)

// ParseControlKey reads the key of a control record; CoordinatorEpoch is left
// at -1. A key may be longer than its 4 bytes. The error is of class
// [ErrCorrupt]: a key that is null or too short, or a negative version.
//
// Source: ControlRecordType.parse.
func ParseControlKey(key []byte) (ControlRecord, error) {
	if len(key) < controlKeyLen {
		return ControlRecord{}, corruptf("control key of %d bytes, want %d", len(key), controlKeyLen)
	}
	version := int16(binary.BigEndian.Uint16(key))
	if version < 0 {
		return ControlRecord{}, corruptf("control key version %d", version)
	}
	t := ControlType(binary.BigEndian.Uint16(key[2:]))
	return ControlRecord{Version: version, Type: t, CoordinatorEpoch: -1}, nil
}

// ParseControlRecord is [ParseControlKey] with the coordinator epoch from the
// record's value. The value is never an error: no reader needs it, and some
// brokers write null or bytes of their own.
func ParseControlRecord(key, value []byte) (ControlRecord, error) {
	c, err := ParseControlKey(key)
	if err != nil {
		return c, err
	}
	isMarker := c.Type == ControlAbort || c.Type == ControlCommit
	if isMarker && len(value) >= endTxnMarkerLen && int16(binary.BigEndian.Uint16(value)) >= 0 {
		c.CoordinatorEpoch = int32(binary.BigEndian.Uint32(value[coordinatorEpoch:]))
	}
	return c, nil
}

// Control returns the first record of a control batch, the one that decides
// what the batch means. ok is false without an error if this is no control
// batch, or an empty one as compaction leaves it: that is neither an abort nor
// a commit marker.
//
// The arguments and errors are those of [Batch.Records]; [ErrCorrupt] also for
// a bad record or control key.
//
// Source: CompletedFetch.containsAbortMarker.
func (b Batch) Control(d Decompressor, limit int) (c ControlRecord, ok bool, err error) {
	if !b.IsControl() {
		return ControlRecord{}, false, nil
	}
	records, err := b.Records(d, limit)
	if err != nil {
		return ControlRecord{}, false, err
	}
	var r Record
	if !records.Next(&r) {
		return ControlRecord{}, false, records.Err()
	}
	c, err = ParseControlRecord(r.Key, r.Value)
	if err != nil {
		return ControlRecord{}, false, b.errorAt(HeaderLen, "record 0: key", err)
	}
	return c, true, nil
}
