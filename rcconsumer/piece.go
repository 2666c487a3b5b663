package rcconsumer

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/pass"
)

// piece is what one Fetch answer brought for a partition, on its way to a poll:
// kept batches, then perhaps an error, then the end of what was scanned.
type piece struct {
	kept []pass.Kept
	end  int64 // one past the last scanned offset
	// endEpoch is the leader epoch of the last scanned batch, -1 if none.
	endEpoch int32
	err      error // handed out once, after all records in front of it

	jump   bool  // after all of it the position goes to jumpTo, forward or back
	jumpTo int64 // where reading goes on after a reset
	// jumpEpoch is the leader epoch in front of jumpTo, -1 if not known.
	jumpEpoch int32

	broker                                          int32 // that sent it
	highWatermark, lastStableOffset, logStartOffset int64 // as the answer had them

	lease   *lease // nil if no bytes are held
	bytes   int    // record bytes of this partition in the answer
	decoded decoded
}

// decoded is the batch at the front of a piece while its records are handed out.
type decoded struct {
	records []*kgo.Record
	batch   pass.Kept
	fresh   bool  // nothing of it has been handed out
	bytes   int64 // booked in the budget
}

// open reports whether a batch is decoded and not handed out in full.
func (d *decoded) open() bool { return len(d.records) > 0 }

// recordOverhead is the memory of a record besides its bytes on the wire:
// sizeof(kgo.Record) and the pointer to it.
const recordOverhead = 168

// weigh is the memory that decoded records hold, in bytes.
func weigh(records []*kgo.Record) int64 {
	var n int64
	for _, r := range records {
		n += recordOverhead + int64(len(r.Key)+len(r.Value))
		for _, h := range r.Headers {
			n += int64(len(h.Key)+len(h.Value)) + 40
		}
	}
	return n
}

// holds reports whether the piece has records to hand out.
func (q *piece) holds() bool { return len(q.kept) > 0 || q.decoded.open() }

// empty reports whether nothing of the piece is left to hand out.
func (q *piece) empty() bool { return !q.holds() && q.err == nil }

// onlyError reports whether the piece is nothing but an error.
func (q *piece) onlyError() bool {
	return q.err != nil && !q.jump && !q.holds()
}

// discard gives back everything the piece holds, and the records that hooks
// were told of.
func (q *piece) discard(b *budget) (unbuffered []*kgo.Record) {
	unbuffered = q.decoded.records
	b.release(q.decoded.bytes)
	q.decoded = decoded{}
	q.kept = nil
	q.letGo()
	return unbuffered
}

// letGo ends the piece's claim on the answer's bytes.
func (q *piece) letGo() {
	if q.lease != nil {
		q.lease.drop()
		q.lease = nil
	}
}
