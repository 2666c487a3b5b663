package batchtest

import (
	"bytes"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Attribute bits of a record batch.
const (
	attrLogAppendTime int16 = 1 << 3
	attrTransactional int16 = 1 << 4
	attrControl       int16 = 1 << 5
	attrDeleteHorizon int16 = 1 << 6
)

// headerLen is the size of a batch without records, offset and length
// included.
const headerLen = 61

// Batch describes one record batch of format v2. The methods return a changed
// copy, so a description can be shared.
type Batch struct {
	base, last  int64
	leaderEpoch int32
	attributes  int16
	codec       Codec
	producerID  int64
	epoch       int16
	sequence    int32
	records     []Record
	emptyMax    int64 // max timestamp of a batch without records
	appendTime  int64
	horizon     int64
	payload     []byte // replaces the record section if not nil
	faults      []spoil
	trailing    int
	claims      claims
	damage      []func([]byte) []byte
}

// Data is a batch with one record for every offset from base to last, both
// inclusive, without a producer ID.
func Data(base, last int64) Batch {
	b := Batch{base: base, last: last, producerID: -1, epoch: -1, sequence: -1, emptyMax: Timestamp(last)}
	for o := base; o <= last; o++ {
		b.records = append(b.records, At(o))
	}
	return b
}

// Empty is what the log cleaner leaves of a batch whose records are all gone:
// a header that still covers base to last. Source: MemoryRecords.filterTo.
func Empty(base, last int64) Batch { return Data(base, last).With() }

// Idempotent gives the batch a producer ID, and epoch 0 and sequence 0 unless
// they are set. Control batches never have a sequence.
func (b Batch) Idempotent(producerID int64) Batch {
	b.producerID = producerID
	if b.epoch == -1 {
		b.epoch = 0
	}
	if b.sequence == -1 && b.attributes&attrControl == 0 {
		b.sequence = 0
	}
	return b
}

// Txn makes the batch part of a transaction of a producer.
func (b Batch) Txn(producerID int64) Batch {
	b = b.Idempotent(producerID)
	b.attributes |= attrTransactional
	return b
}

// Control sets the control bit and takes the sequence away. [Marker] and
// [ControlBatch] have it already.
func (b Batch) Control() Batch {
	b.attributes |= attrControl
	b.sequence = -1
	return b
}

// Epoch sets the producer epoch.
func (b Batch) Epoch(epoch int16) Batch { b.epoch = epoch; return b }

// Sequence sets the base sequence.
func (b Batch) Sequence(sequence int32) Batch { b.sequence = sequence; return b }

// LeaderEpoch sets the partition leader epoch; the default is 0, -1 is unknown.
func (b Batch) LeaderEpoch(epoch int32) Batch { b.leaderEpoch = epoch; return b }

// Codec compresses the records.
func (b Batch) Codec(c Codec) Batch { b.codec = c; return b }

// Keep removes all records but those at the offsets, as compaction does: base
// offset and last offset stay.
func (b Batch) Keep(offsets ...int64) Batch {
	left := make(map[int64]bool, len(offsets))
	for _, o := range offsets {
		left[o] = true
	}
	var records []Record
	for _, r := range b.records {
		if left[r.Offset] {
			records = append(records, r)
		}
	}
	return b.With(records...)
}

// With replaces the records.
func (b Batch) With(records ...Record) Batch { b.records = records; return b }

// Each replaces every record by what change makes of it.
func (b Batch) Each(change func(Record) Record) Batch {
	records := make([]Record, len(b.records))
	for i, r := range b.records {
		records[i] = change(r)
	}
	return b.With(records...)
}

// Size gives every record a value of n bytes: the default one over and over, so
// that it compresses well.
func (b Batch) Size(n int) Batch {
	return b.Each(func(r Record) Record {
		v := append(Value(r.Offset), ' ')
		r.Value = bytes.Repeat(v, n/len(v)+1)[:n]
		return r
	})
}

// LogAppendTime stamps the batch with the broker's time in milliseconds: a
// reader has to see it on every record, whatever the deltas say.
func (b Batch) LogAppendTime(ms int64) Batch {
	b.attributes |= attrLogAppendTime
	b.appendTime = ms
	return b
}

// DeleteHorizon puts the time in milliseconds at which markers and tombstones
// may go into the place of the base timestamp; the records' timestamps stay.
func (b Batch) DeleteHorizon(ms int64) Batch {
	b.attributes |= attrDeleteHorizon
	b.horizon = ms
	return b
}

// Payload replaces the record section by bytes; the CRC covers them.
func (b Batch) Payload(p []byte) Batch { b.payload = p; return b }

// Bytes encodes the batch.
func (b Batch) Bytes() []byte {
	baseTimestamp, maxTimestamp := b.times()
	rb := kmsg.RecordBatch{
		FirstOffset:          b.base,
		PartitionLeaderEpoch: b.leaderEpoch,
		Magic:                2,
		Attributes:           b.attributes | b.codec.bits(),
		LastOffsetDelta:      int32(b.last - b.base),
		FirstTimestamp:       baseTimestamp,
		MaxTimestamp:         maxTimestamp,
		ProducerID:           b.producerID,
		ProducerEpoch:        b.epoch,
		FirstSequence:        b.sequence,
		NumRecords:           int32(len(b.records)),
		Records:              b.section(baseTimestamp),
	}
	b.claims.apply(&rb)
	rb.Length = int32(len(rb.Records) + headerLen - 12)
	raw := FixCRC(rb.AppendTo(nil))
	for _, damage := range b.damage {
		raw = damage(raw)
	}
	return raw
}

// times are the base and max timestamps of the header.
func (b Batch) times() (base, maximum int64) {
	base, maximum = -1, b.emptyMax
	for i, r := range b.records {
		if i == 0 {
			base, maximum = r.Timestamp, r.Timestamp
		}
		maximum = max(maximum, r.Timestamp)
	}
	if b.attributes&attrLogAppendTime != 0 {
		maximum = b.appendTime
	}
	if b.attributes&attrDeleteHorizon != 0 {
		base = b.horizon
	}
	return base, maximum
}

// section is the record section as it stands on the wire.
func (b Batch) section(baseTimestamp int64) []byte {
	if b.payload != nil {
		return b.payload
	}
	var plain []byte
	for i, r := range b.records {
		plain = append(plain, b.spoil(i, r.wire(b.base, baseTimestamp))...)
	}
	plain = append(plain, make([]byte, b.trailing)...)
	if len(plain) == 0 {
		return nil // the cleaner never compresses an empty batch
	}
	return b.codec.Compress(plain)
}

// sent lists the records as a reader has to see them.
func (b Batch) sent() []Record {
	if b.attributes&attrControl != 0 {
		return nil
	}
	if b.attributes&attrLogAppendTime == 0 {
		return b.records
	}
	return b.Each(func(r Record) Record { r.Timestamp = b.appendTime; return r }).records
}

func (b Batch) end() int64 { return b.last + 1 }

func (b Batch) damaged() bool {
	return len(b.damage) > 0 || len(b.faults) > 0 || b.trailing > 0 || b.payload != nil ||
		b.claims != claims{} || !b.codec.known()
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)
