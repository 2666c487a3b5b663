package conformance

import (
	"fmt"
	"slices"
	"time"

	"example.com/readcommitted/conformance/internal/model"
)

// Family L: the last stable offset.
var familyL = slices.Concat(stableStands, stableWaits, stableMoves)

// stableStands are the scenarios on where the last stable offset stands.
var stableStands = []*Scenario{
	{
		ID: "L-01", Name: "open-pins-lso", Class: Must, Profile: Smoke, Typical: time.Second,
		Requirement: "the last stable offset stands at the first record of an open transaction, and readers at read_committed get nothing from there on",
		Consequence: "readers get records of a transaction that may still be aborted",
		Witness:     "read_uncommitted shows the open transaction's records",
		Log:         "0..2 plain | 3..4 open",
		Known:       "Tansu 689, whose bound was the end of the log",
		run:         openPins,
	},
	{
		ID: "L-02", Name: "min-of-open", Class: Must, Profile: Standard, Typical: time.Second,
		Requirement: "the last stable offset is the first offset of the oldest transaction that is still open",
		Consequence: "readers get undecided records, or wait for transactions that have ended",
		Witness:     "each transaction's marker was in the log before the next look",
		Log:         "0 t1 | 1 t2 | 2 t3 | then t2 commits, t1 aborts and t3 commits, in that order",
		Known:       "Tansu 0.6.0 and Krabka 0.4.0 stay at the first of several that overlap",
		run:         oldestPins,
	},
	{
		ID: "L-03", Name: "plain-behind-open", Class: Must, Profile: Standard, Typical: time.Second,
		Requirement: "records without a transaction that come after an open one are withheld with it, and delivered once it has ended",
		Consequence: "readers see records out of order, or lose those that were behind a transaction",
		Witness:     "read_uncommitted shows the plain records while the transaction is open",
		Log:         "0 open | 1..100 plain",
		run:         plainBehindOpen,
	},
	{
		ID: "L-04", Name: "advance-after-end", Class: Live, Profile: Standard, Typical: time.Second,
		Requirement: "the last stable offset reaches the high watermark within 10 s after the only open transaction was ended",
		Consequence: "readers wait for records that are decided",
		Witness:     "the log holds the marker of each transaction",
		Log:         "0..1 t1 | 2 commit | 3..4 t2 | 5 abort",
		run:         advanceAfterEnd,
	},
	{
		ID: "L-05", Name: "listoffsets-isolation", Class: Must, Profile: Smoke, Typical: time.Second,
		Requirement: "ListOffsets at read_committed answers no offset at or above the last stable one: latest is that offset, and a search by time finds nothing beyond it",
		Consequence: "end offsets and lag are wrong, and a reader that reads to the end waits for a transaction to end",
		Witness:     "read_uncommitted shows the open transaction's records",
		Log:         "0 | 1 | 2 plain, each a second later | 3..4 open, later still",
		Known:       "Krabka 0.4.0 answers the high watermark; Tansu 0.6.0 too low an offset, and undecided ones by time",
		run:         listedByIsolation,
	},
}

func openPins(t *trial) {
	p := t.partition()
	t.plain(p, 3)
	w := t.producer()
	w.write(p, 2)
	t.appears(p, 5)
	if !t.wantStable(p, 3) {
		return
	}
	a := t.committed(p, 0)
	t.wantNoError(a)
	t.wantLSO(a, 3)
	t.wantHigh(a, 5)
	t.wantEnd(a, 3)
	for _, inside := range []int64{3, 4} {
		t.wantNothing(t.committed(p, inside))
	}
	t.wantEnd(t.uncommitted(p, 0), 5)
	all := t.walk(p, 0, 5)
	t.witness(len(all) > 0 && all[len(all)-1].Last == 4, "read_uncommitted of %s does not show both batches", p)
	w.write(p, 1)
	t.appears(p, 6)
	t.wantLSO(t.committed(p, 0), 3)
	w.commit()
	if t.wantAllStable(p) {
		t.wantDelivered(p, 0, spanOf(0, 6)...)
	}
}

func oldestPins(t *trial) {
	p := t.partition()
	t1, t2, t3 := t.producer(), t.producer(), t.producer()
	for _, w := range []*producer{t1, t2, t3} {
		w.write(p, 1)
	}
	look := func(lso int64) {
		a := t.committed(p, 0)
		t.wantLSO(a, lso)
		t.expect(a.End() <= lso, p, a.End(), "no batch from the last stable offset on", "batches up to "+model.Spans([]int64{a.End() - 1}))
	}
	t.appears(p, 3)
	look(0)
	t2.commit()
	look(0)
	t1.abort()
	if !t.wantStable(p, 2) {
		return // what comes later would say the same, and take long
	}
	look(2)
	t3.commit()
	if t.wantAllStable(p) {
		t.wantDelivered(p, 0, 1, 2)
	}
	l := t.oracle(p)
	t.witness(len(l.Runs) == 3 && l.LSO() == l.End, "the log of %s is %s", p, l)
}

func plainBehindOpen(t *trial) {
	p, w := t.partition(), t.producer()
	w.write(p, 1)
	for range 20 {
		t.plain(p, 5)
	}
	t.appears(p, 101)
	for _, from := range []int64{0, 1, 50, 100} {
		a := t.committed(p, from)
		t.wantLSO(a, 0)
		t.wantNothing(a)
	}
	raw := t.walk(p, 0, 101)
	t.witness(raw[len(raw)-1].Last == 100, "read_uncommitted of %s ends at %d", p, raw[len(raw)-1].Last)
	w.commit()
	if t.wantAllStable(p) {
		t.wantDelivered(p, 0, spanOf(0, 101)...)
	}
}

func advanceAfterEnd(t *trial) {
	p, w := t.partition(), t.producer()
	slowest := time.Duration(0)
	for _, commit := range []bool{true, false} {
		w.write(p, 2)
		id, before := w.id, t.markers(p, w.id)
		w.end(commit)
		took := t.stopwatch()
		if !t.settle(p) {
			t.witness(true, "")
			t.expect(false, p, t.lso(p), "the last stable offset at the high watermark",
				fmt.Sprintf("below it %v after EndTxn was answered, %d markers of it in the log", t.bound(settled), t.markers(p, id)-before))
			return
		}
		slowest = max(slowest, took())
		t.awaitMarker(p, id, before+1)
	}
	t.fact("the last stable offset reached the high watermark at most %s after the answer to EndTxn", slowest.Round(time.Millisecond))
	l := t.oracle(p)
	t.witness(len(l.Runs) == 2 && l.LSO() == l.End, "the log of %s is %s", p, l)
}

func listedByIsolation(t *trial) {
	p := t.partition()
	begin := time.Now().Add(-time.Minute)
	for n := range 3 {
		old := &producer{t: t, level: t.level, id: -1, epoch: -1, sequence: map[model.Partition]int32{}}
		old.timestamp = begin.Add(time.Duration(n) * time.Second)
		old.write(p, 1)
	}
	w := t.producer()
	w.timestamp = begin.Add(10 * time.Second)
	w.write(p, 2)
	t.appears(p, 5)
	t.witness(t.uncommitted(p, 3).End() == 5, "read_uncommitted of %s has nothing at 3", p)
	if !t.wantStable(p, 3) {
		return
	}
	t.wantListed(p, Must, model.ReadUncommitted, latest, 5)
	t.wantListed(p, Must, model.ReadCommitted, latest, 3)
	t.wantListed(p, Must, model.ReadUncommitted, earliest, 0)
	t.wantListed(p, Must, model.ReadCommitted, earliest, 0)
	t.listedByTime(p)
	w.commit()
	if t.wantAllStable(p) {
		t.wantListed(p, Must, model.ReadCommitted, latest, t.bounds(p).HighW)
	}
}
