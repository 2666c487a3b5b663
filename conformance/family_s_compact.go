package conformance

import (
	"fmt"

	"example.com/readcommitted/conformance/internal/model"
)

// keepMarkers and dropMarkers say how long markers outlive what they ended.
const (
	keepMarkers = "delete.retention.ms=86400000"
	dropMarkers = "delete.retention.ms=1"
)

// compactionSafe is S-03.
func compactionSafe(t *trial) {
	c := t.compacted(keepMarkers)
	first, second, late, aborting := c.author(), c.author(), c.author(), c.authors(5)
	first.change(1, 50)
	first.commit()
	c.abortTogether(aborting)
	second.change(1, 25)
	second.commit()
	late.change(20, 34)
	c.roll()
	late.abort()
	c.abortTogether(aborting)
	first.change(40, 44)
	first.commit()
	second.change(45, 50)
	second.abort()
	c.roll()
	l := c.asWritten()
	if cleaned, right := c.wantCleaned(Must, l); !cleaned || !right {
		return
	}
	left := 0
	raw := t.oracle(c.p)
	for i := range raw.Batches {
		if at, ok := l.Find(raw.Batches[i].Base); ok && l.Fate(at) == model.Aborted {
			left += int(raw.Batches[i].Count)
		}
	}
	t.fact("%d aborted records are still in the log after compaction", left)
}

// abortTogether lets each author change ten keys, and aborts all of them one
// right after the other: their markers come back to back.
func (c *compacted) abortTogether(authors []*author) {
	for i, a := range authors {
		a.change(10*i+1, 10*i+10)
	}
	for _, a := range authors {
		a.leave(false)
	}
	for _, a := range authors {
		a.await()
	}
}

// expiryRounds is how often S-04 gives the cleaner new work at most. Apache Kafka
// takes the records in the first round, notices in the second that the marker
// ends nothing any more, and takes it in the third.
const expiryRounds = 6

// markersExpire is S-04.
func markersExpire(t *trial) {
	c := t.compacted(dropMarkers)
	w, aborting := c.author(), c.authors(5)
	gone := 0
	for range expiryRounds {
		w.change(1, 50)
		w.commit()
		c.abortTogether(aborting)
		for i, a := range aborting { // a producer's last batch keeps its place
			a.change(i+1, i+1)
			a.commit()
		}
		c.roll()
		l := c.asWritten()
		if cleaned, right := c.wantCleaned(Must, l); !cleaned || !right {
			return
		}
		if gone = c.wantMarkersLast(l); gone > 0 {
			break
		}
	}
	t.witness(gone > 0, "no abort marker of %s is gone after %d rounds", c.p, expiryRounds)
	t.fact("%d abort markers are gone", gone)
}

// wantMarkersLast asserts that what is left of each aborted transaction still
// has its marker, and returns how many abort markers are gone.
func (c *compacted) wantMarkersLast(l *model.Log) (gone int) {
	look := func(records bool) func() []difference {
		return func() (faults []difference) {
			faults, gone = unmarked(l, c.t.oracle(c.p), records)
			return faults
		}
	}
	if c.wantNone(Must, "an abort marker behind every aborted record", look(true)) {
		for _, f := range look(false)() {
			c.t.reportAs(Should, c.p, f.offset, "an abort marker behind every batch of an aborted transaction", f.what)
		}
	}
	return gone
}

// unmarked are the batches of aborted transactions, with or without records,
// that are still in a log while their marker is not, and how many abort markers
// are gone in all.
func unmarked(written, left *model.Log, records bool) (faults []difference, gone int) {
	for _, r := range written.Runs {
		m, ok := left.Find(r.Marker)
		if r.Fate != model.Aborted || ok && left.Batches[m].Kind == model.AbortMarker {
			continue
		}
		gone++
		for i := left.At(r.First); i < len(left.Batches) && left.Batches[i].Base <= r.Last; i++ {
			if b := &left.Batches[i]; b.ProducerID == r.ProducerID && (b.Count > 0) == records {
				what := fmt.Sprintf("batch %d..%d of pid %d with %d records, and no marker at %d", b.Base, b.Last, b.ProducerID, b.Count, r.Marker)
				faults = append(faults, difference{b.Base, what, tooMuch, false})
			}
		}
	}
	return faults, gone
}

// compactWithOpen is S-10.
func compactWithOpen(t *trial) {
	c := t.compacted(keepMarkers)
	w, keeps, drops := c.author(), c.author(), c.author()
	for range 2 {
		w.change(1, 20)
		w.commit()
	}
	c.roll()
	keeps.change(1, 10)
	drops.change(11, 20)
	for range 2 {
		w.change(21, 40)
		w.commit()
	}
	c.roll()
	l := c.asWritten()
	if cleaned, _ := c.wantCleaned(Should, l); !cleaned {
		return
	}
	c.wantUntouched(l, l.LSO())
	keeps.commit()
	drops.abort()
	c.roll()
	c.wantCleaned(Must, c.asWritten())
}

// wantUntouched asserts that all records from an offset on are still there.
func (c *compacted) wantUntouched(l *model.Log, from int64) {
	want, err := l.Records(from, l.End)
	if err != nil {
		c.t.undecided("reading the log of %s: %v", c.p, err)
	}
	got, err := c.t.oracle(c.p).Records(from, l.End)
	if err != nil {
		c.t.undecided("reading %s: %v", c.p, err)
	}
	c.t.wantOffsets(c.p, fmt.Sprintf("at read_uncommitted from %d on, where a transaction is open", from), got, want)
}
