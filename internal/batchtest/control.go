package batchtest

import "github.com/twmb/franz-go/pkg/kmsg"

// Types of control records. Source: ControlRecordType.
const (
	TypeAbort  int16 = 0
	TypeCommit int16 = 1
)

// Commit is a commit marker of a producer at an offset.
func Commit(offset, producerID int64) Batch { return Marker(offset, producerID, TypeCommit, 0) }

// Abort is an abort marker of a producer at an offset.
func Abort(offset, producerID int64) Batch { return Marker(offset, producerID, TypeAbort, 0) }

// Marker is a control batch as a transaction coordinator has it written: one
// record, 78 bytes. Source: MemoryRecords.writeEndTransactionalMarker.
func Marker(offset, producerID int64, controlType int16, coordinatorEpoch int32) Batch {
	return ControlBatch(offset, producerID, ControlKey(controlType), EndMarker(coordinatorEpoch))
}

// ControlBatch is a transactional control batch with one record of any key and
// value; nil is null.
func ControlBatch(offset, producerID int64, key, value []byte) Batch {
	r := At(offset)
	r.Key, r.Value = key, value
	return Data(offset, offset).Control().Txn(producerID).With(r)
}

// EmptyControl is what the log cleaner leaves of a marker to keep a producer's
// epoch: a control batch without a record. Source: MemoryRecords.filterTo.
func EmptyControl(offset, producerID int64) Batch {
	return Empty(offset, offset).Control().Txn(producerID)
}

// ControlKey is the key of a control record: version 0 and the type.
func ControlKey(controlType int16) []byte {
	key := kmsg.ControlRecordKey{Type: kmsg.ControlRecordKeyType(controlType)}
	return key.AppendTo(nil)
}

// EndMarker is the value of an abort or commit marker: version 0 and the
// coordinator epoch.
func EndMarker(coordinatorEpoch int32) []byte {
	value := kmsg.EndTxnMarker{CoordinatorEpoch: coordinatorEpoch}
	return value.AppendTo(nil)
}
