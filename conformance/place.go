package conformance

import (
	"time"

	"example.com/readcommitted/conformance/internal/model"
)

// place is what a trial knows of one partition while it runs. The trial's mutex
// guards all of it.
type place struct {
	leader      int32
	leaderEpoch int32 // -1: not known
	firstEpoch  int32 // of a leader that was known
	told        int64 // how far the partition is known to go, exclusive
	behind      int64 // what a new leader's high watermark has to reach; 0: it has
	topicID     [16]byte
	gone        bool // the topic was deleted

	// changes counts the writes begun, so that two looks can tell whether
	// anything happened in between.
	changes  int
	inFlight int  // writes without an answer yet
	unended  int  // transactions asked to end whose markers were not seen
	unknown  bool // a write ended without an answer: nothing is quiet any more

	pins    []*pin
	written map[int64]int64 // by producer ID, the base offset of its newest batch

	scanned []model.Batch // what was read at read_uncommitted so far, from offset 0 on
	next    int64         // where that goes on

	before  *model.Log // read before records were deleted, see [trial.keepLog]
	deleted int64      // below which the script had records deleted
	start   int64      // where the log began when it was read last
}

// pin is a transaction that holds the last stable offset of one partition, or
// may come to hold it.
type pin struct {
	producerID int64
	name       string    // transactional ID
	empty      bool      // part of the transaction, and nothing is acknowledged yet
	first      int64     // offset of the first acknowledged batch
	acked      time.Time // when the acknowledgement came
	ended      time.Time // when something was first sent that may end it
	expires    time.Time // when the broker may end it by itself
	cut        bool      // that is sooner than the script counts on
	marked     bool      // its marker was seen in the log
}

// openDuring reports whether the transaction was open all the time between two
// moments: nobody had begun to end it.
func (p *pin) openDuring(from, to time.Time) bool {
	return !p.empty && p.acked.Before(from) && (p.ended.IsZero() || p.ended.After(to)) && p.expires.After(to)
}

func (t *trial) placeLocked(p model.Partition) *place {
	at := t.places[p]
	if at == nil {
		at = &place{leader: -1, leaderEpoch: -1, firstEpoch: -1, written: map[int64]int64{}}
		t.places[p] = at
		t.order = append(t.order, p)
	}
	return at
}

// quietNow reports whether nothing is happening to a partition, and a number
// that is the same later only if nothing happened in between.
func (t *trial) quietNow(p model.Partition) (changes int, quiet bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.placeLocked(p)
	return at.changes, at.inFlight == 0 && at.unended == 0 && at.behind == 0 && !at.unknown && !at.expiringLocked(time.Now())
}

// expiringLocked reports whether the broker may end a transaction by itself.
func (p *place) expiringLocked(now time.Time) bool {
	for _, pin := range p.pins {
		if !pin.marked && !pin.expires.After(now) {
			return true
		}
	}
	return false
}

// pinnedDuring are the transactions that were open between two moments.
func (t *trial) pinnedDuring(p model.Partition, from, to time.Time) []model.Pinned {
	if t.unpinned {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []model.Pinned
	for _, pin := range t.placeLocked(p).pins {
		if pin.openDuring(from, to) {
			out = append(out, model.Pinned{ProducerID: pin.producerID, First: pin.first})
		}
	}
	return out
}

// stable is where the last stable offset has to be by what the trial knows: at
// the oldest transaction without a marker, -1 if there is none.
func (t *trial) stable(p model.Partition) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	lowest := int64(-1)
	for _, pin := range t.placeLocked(p).pins {
		if !pin.marked && !pin.empty && (lowest < 0 || pin.first < lowest) {
			lowest = pin.first
		}
	}
	return lowest
}

// leaderEpoch is the newest that anybody named, -1 for none.
func (t *trial) leaderEpoch(p model.Partition) int32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.placeLocked(p).leaderEpoch
}

// inside is the pin of a producer's transaction as it was at a moment: one that
// nobody had begun to end by then.
func (p *place) inside(producerID int64, at time.Time) *pin {
	for _, pin := range p.pins {
		if pin.producerID == producerID && !pin.marked && (pin.ended.IsZero() || pin.ended.After(at)) {
			return pin
		}
	}
	return nil
}
