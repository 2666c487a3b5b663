package conformance

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"example.com/readcommitted/conformance/internal/model"
)

// Sizes of A-10.
const (
	raceWriters = 4
	raceEach    = 75
	raceLeast   = 40 // transactions of all writers, for a slow cluster
	raceReads   = 10 // answers with data while transactions were being ended
	raceBytes   = 2 << 10
)

// glimpse is what a reader made of one answer: the offsets that it delivered
// from a range of the log, and when it had the answer.
type glimpse struct {
	from, end int64
	got       []int64
	at        time.Time
}

// concurrentReads reads while transactions end: one reader follows the end of
// the log, another looks at small pieces all over it.
func concurrentReads(t *trial) {
	b := t.book()
	var race race
	race.writing.Add(raceWriters)
	limit := time.Now().Add(t.bound(30 * time.Second))
	var all []func()
	for _, w := range b.authors(raceWriters) {
		plan := planOf(t.rand, raceEach)
		all = append(all, func() {
			defer race.writing.Add(-1)
			w.follow(plan, limit)
		})
	}
	var following, looking []glimpse
	places := rand.New(rand.NewPCG(t.rand.Uint64(), 0))
	all = append(all,
		func() { following = race.followTo(b) },
		func() { looking = race.lookAround(b, places) })
	t.together(all...)

	ended := b.count(model.Committed) + b.count(model.Aborted)
	t.witness(ended >= raceLeast, "only %d transactions ended in %v", ended, t.bound(30*time.Second))
	t.witness(b.duringEnds(following) >= raceReads, "the readers had %d answers with data while transactions were ending", b.duringEnds(following))
	b.wantReadings(append(following, looking...))
	b.logged()
}

// planned is one transaction to come.
type planned struct {
	batches []int // records in each
	commit  bool
}

func planOf(r *rand.Rand, n int) []planned {
	out := make([]planned, n)
	for i := range out {
		out[i].commit = r.IntN(2) == 0
		for range 1 + r.IntN(3) {
			out[i].batches = append(out[i].batches, 1+r.IntN(3))
		}
	}
	return out
}

// follow carries out a plan, as far as time allows, and waits for the markers.
func (a *author) follow(plan []planned, limit time.Time) {
	for _, p := range plan {
		if time.Now().After(limit) {
			break
		}
		for _, n := range p.batches {
			a.write(n)
		}
		a.leave(p.commit)
	}
	a.await()
}

// race is what the writers and readers of A-10 share.
type race struct {
	writing  atomic.Int32 // writers at work
	position atomic.Int64 // of the reader that follows the end
	over     atomic.Bool  // that reader is through
}

// followTo reads from the beginning until the writers have ended and everything
// they wrote is behind it.
func (r *race) followTo(b *book) (out []glimpse) {
	defer r.over.Store(true)
	t := b.t
	spec := fetchSpec{isolation: model.ReadCommitted, lane: "follower", maxWait: 100 * time.Millisecond}
	idle := time.Now()
	for {
		written := r.writing.Load() == 0 // before the look, so that it sees all
		from := r.position.Load()
		a := t.fetch(b.p, from, spec)
		out = append(out, b.readingOf(a))
		switch {
		case a.End() > from:
			r.position.Store(a.End())
			idle = time.Now()
		case written && from >= t.highWatermark(b.p):
			return out
		case !written:
			idle = time.Now()
		case time.Since(idle) > t.bound(settled):
			t.undecided("reading %s: nothing at offset %d, below the high watermark", b.p, from)
		}
	}
}

// lookAround reads pieces of what the other reader has behind it, until that
// one is through.
func (r *race) lookAround(b *book, places *rand.Rand) (out []glimpse) {
	spec := fetchSpec{isolation: model.ReadCommitted, lane: "looker", partitionMaxBytes: raceBytes}
	for !r.over.Load() {
		b.t.pause(5*time.Millisecond, "records to look at")
		if end := r.position.Load(); end > 0 {
			out = append(out, b.readingOf(b.t.fetch(b.p, places.Int64N(end), spec)))
		}
	}
	return out
}

// readingOf is what a client that follows the lists makes of an answer.
func (b *book) readingOf(a answer) glimpse {
	b.t.wantReadable(a)
	got, err := model.Deliver(a.List, a.Batches, a.FetchOffset)
	if err != nil {
		b.t.undecided("reading %s at %d: %v", b.p, a.FetchOffset, err)
	}
	return glimpse{from: a.FetchOffset, end: a.End(), got: got, at: a.Received}
}

// duringEnds counts the readings with data between the first and the last end
// of a transaction.
func (b *book) duringEnds(readings []glimpse) int {
	var first, last time.Time
	for _, r := range b.runs {
		if r.fate == model.Open {
			continue
		}
		if first.IsZero() || r.ended.Before(first) {
			first = r.ended
		}
		if r.ended.After(last) {
			last = r.ended
		}
	}
	n := 0
	for _, r := range readings {
		if r.end > r.from && r.at.After(first) && r.at.Before(last) {
			n++
		}
	}
	return n
}

// wantReadings asserts what readers got while transactions ended.
func (b *book) wantReadings(readings []glimpse) {
	whose := map[int64]*told{}
	for _, r := range b.runs {
		for _, o := range r.offsets {
			whose[o] = r
		}
	}
	for _, r := range readings {
		for _, o := range r.got {
			if what := verdict(whose[o], r.at); what != "" {
				b.t.expect(false, b.p, o, fmt.Sprintf("fetch at %d: only committed records", r.from),
					fmt.Sprintf("the record at %d was delivered, %s", o, what))
				break
			}
		}
		_, lost := model.Difference(r.got, b.visible(r.from, r.end))
		if len(lost) > 0 {
			b.t.expect(false, b.p, lost[0], fmt.Sprintf("fetch at %d: every committed record below %d", r.from, r.end),
				"not delivered: "+model.Spans(lost))
		}
	}
}

// verdict is what is wrong with a delivered record, "" for nothing. The answer
// was there at a certain time.
func verdict(r *told, at time.Time) string {
	switch {
	case r == nil:
		return "which nobody wrote"
	case r.fate == model.Open:
		return "of a transaction that nobody ended"
	case r.fate == model.Aborted && at.Before(r.ended):
		return fmt.Sprintf("of a transaction that was aborted %v later", r.ended.Sub(at))
	case r.fate == model.Aborted:
		return "of an aborted transaction"
	case at.Before(r.ended):
		return fmt.Sprintf("%v before its commit was sent", r.ended.Sub(at))
	}
	return ""
}
