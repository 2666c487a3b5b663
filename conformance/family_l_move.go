package conformance

import (
	"fmt"
	"time"

	"example.com/readcommitted/conformance/internal/model"
)

// stableMoves are the scenarios on how the last stable offset moves on.
var stableMoves = []*Scenario{
	{
		ID: "L-10", Name: "empty-registration", Class: Must, Profile: Standard, Typical: time.Second, levels: onlyTV1,
		Requirement: "a transaction that a partition belongs to without a record in it holds nothing back there, and leaves no entry in the list",
		Consequence: "readers wait for a transaction that has nothing for them, or drop later records of its producer",
		Witness:     "AddPartitionsToTxn was answered without an error",
		Log:         "0..1 plain | t1 registered | 2 plain | abort t1 | t2 committed | empty t3 committed | t4 aborted",
		Known:       "librdkafka lost committed messages behind the marker of such a transaction",
		run:         emptyRegistration,
	},
	{
		ID: "L-11", Name: "lso-under-load", Class: Must, Profile: Standard, Typical: loadTime, Limit: 3 * time.Minute,
		Requirement: "while producers write, commit and abort, the last stable offset stays at or below every open transaction, and neither it nor the high watermark ever goes back",
		Consequence: "readers get undecided records, or positions and lag go back",
		Witness:     "samples were taken while transactions were open",
		Known:       "Redpanda 10671: a bound ahead of what was applied",
		run:         stableUnderLoad,
	},
	{
		ID: "L-12", Name: "all-aborted-tail", Class: Live, Profile: Standard, Typical: time.Second,
		Requirement: "a reader gets through 1,000 aborted records with nothing after them to the high watermark within 5 s",
		Consequence: "readers stand still, and their lag never goes away",
		Witness:     "the log ends with the abort marker",
		Log:         "0..999 aborted | 1000 abort",
		run:         allAbortedTail,
	},
	{
		ID: "L-13", Name: "end-offset-is-not-completeness", Class: Info, Profile: Standard, Typical: time.Second,
		Requirement: "the latest offset at read_committed says nothing of committed records above an open transaction",
		Consequence: "who takes it for the end of what is committed misses records",
		Witness:     "the log holds a committed transaction above the open one",
		Log:         "0 t1, open | 1..2 t2 | 3 commit t2",
		run:         endIsNotCompleteness,
	},
	{
		ID: "L-14", Name: "overlap-ended", Class: Must, Profile: Standard, Typical: time.Second,
		Requirement: "once the older of two transactions that overlap has ended, the last stable offset moves to the younger one",
		Consequence: "committed records are hidden while any transaction that overlapped is open",
		Witness:     "the older transaction's marker is in the log, and the younger one's is not",
		Log:         "0 p | 1 plain | 2 q, open | 3 commit p",
		Known:       "Tansu 0.6.0 and Krabka 0.4.0 stay at 0",
		run:         overlapEnded,
	},
	{
		ID: "L-15", Name: "no-starvation", Class: Live, Profile: Standard, Typical: 4 * time.Second,
		Requirement: "the last stable offset moves on after each commit though another transaction is open at any time",
		Consequence: "readers get nothing for as long as short transactions overlap",
		Witness:     "at each look one transaction had its marker and the next was open",
		Log:         "p and q in turn: each commits after the other has begun, 20 times each",
		Known:       "Tansu 0.6.0 and Krabka 0.4.0 stay at 0 for the whole chain",
		run:         noStarvation,
	},
}

func emptyRegistration(t *trial) {
	p, w := t.partition(), t.producer()
	t.plain(p, 2)
	w.add(p)
	t.witness(w.part[p], "%s does not belong to the transaction", p)
	t.plain(p, 1)
	t.appears(p, 3)
	if !t.wantStable(p, 3) {
		w.end(false)
		return
	}
	t.wantEnd(t.committed(p, 0), 3)
	t.endEmpty(w, p, false)
	if !t.wantAllStable(p) {
		return
	}
	t.wantEntries(t.shown(p, 0, 0))
	t.afterEmptyOne(w, p)
}

// afterEmptyOne goes on with a producer whose transaction without records was
// aborted: nothing of it may stick to what comes later.
func (t *trial) afterEmptyOne(w *producer, p model.Partition) {
	second := w.write(p, 2)
	w.commit()
	if !t.wantAllStable(p) {
		return
	}
	t.wantEntries(t.shown(p, 0, 0))
	t.wantDelivered(p, 0, 0, 1, 2, second, second+1)
	w.add(p)
	t.endEmpty(w, p, true)
	fourth := w.write(p, 1)
	w.abort()
	if t.wantAllStable(p) {
		t.wantEntries(t.shown(p, 0, 0), model.Entry{ProducerID: w.id, FirstOffset: fourth})
		t.wantDelivered(p, 0, 0, 1, 2, second, second+1)
	}
}

// endEmpty ends a transaction that wrote nothing to a partition. Without the
// marker nobody misses a thing, so that its absence is only worth a warning.
func (t *trial) endEmpty(w *producer, p model.Partition, commit bool) {
	before := t.markers(p, w.id)
	t.writing(p) // a marker is on its way
	defer t.written(p, nil)
	w.end(commit)
	came := t.until(t.bound(settled), "a marker in "+p.String(), func() bool { return t.markers(p, w.id) > before })
	t.expectAs(Should, came, p, -1, "a marker in every partition of the transaction, also where it wrote nothing", "none within 10 s")
}

func allAbortedTail(t *trial) {
	p, w := t.partition(), t.producer()
	for range 10 {
		w.write(p, 100)
	}
	w.abort()
	if !t.wantAllStable(p) {
		return
	}
	end := t.bounds(p).HighW
	limit := t.bound(5 * time.Second)
	took, position := t.stopwatch(), int64(0)
	for position < end && took() <= limit {
		position = t.wantSkipped(t.committed(p, position))
	}
	t.expect(position >= end, p, position, fmt.Sprintf("a reader's position at the high watermark %d within %s", end, limit),
		fmt.Sprintf("position %d", position))
	l := t.oracle(p)
	t.witness(len(l.Runs) == 1 && l.Runs[0].Fate == model.Aborted, "the log of %s is %s", p, l)
}

func endIsNotCompleteness(t *trial) {
	p, t1, t2 := t.partition(), t.producer(), t.producer()
	t1.write(p, 1)
	first := t2.write(p, 2)
	t2.commit()
	end, l := t.list(p, model.ReadCommitted, latest), t.oracle(p)
	t.witness(len(l.Runs) == 2 && l.Runs[0].Fate == model.Open && l.Runs[1].Fate == model.Committed, "the log of %s is %s", p, l)
	t.fact("the records %d..%d are committed, and the latest offset at read_committed is %d: it is no bound of what is committed", first, first+1, end)
	t1.commit()
}

func overlapEnded(t *trial) {
	p, older, younger := t.partition(), t.producer(), t.producer()
	older.write(p, 1)
	t.plain(p, 1)
	younger.write(p, 1)
	t.appears(p, 3)
	t.wantLSO(t.committed(p, 0), 0)
	older.commit()
	l := t.oracle(p)
	t.witness(len(l.Runs) == 2 && l.Runs[0].Fate == model.Committed && l.Runs[1].Fate == model.Open, "the log of %s is %s", p, l)
	if t.wantStable(p, 2) {
		a := t.committed(p, 0)
		t.wantLSO(a, 2)
		t.wantEnd(a, 2)
		t.wantDelivered(p, 0, 0, 1)
	}
	younger.commit()
	if t.wantAllStable(p) {
		t.wantDelivered(p, 0, 0, 1, 2)
	}
}

func noStarvation(t *trial) {
	p := t.partition()
	ending, next := t.producer(), t.producer()
	ending.write(p, 1)
	ended, stable := 0, true
	for ; ended < overlaps && stable; ended++ {
		first := next.write(p, 1)
		ending.commit()
		stable = t.wantStable(p, first)
		ending, next = next, ending
	}
	ending.commit()
	l := t.oracle(p)
	t.witness(chained(l) >= ended, "of %d transactions that ended, %d did so with another one open: the log of %s is %s", ended, chained(l), p, l)
	if stable {
		t.wantAllStable(p)
	}
}

// overlaps is how often L-15 begins a transaction before another one ends.
const overlaps = 40

// chained counts the transactions of a log that were committed after the one
// behind them had begun.
func chained(l *model.Log) (n int) {
	for i := 1; i < len(l.Runs); i++ {
		if before := l.Runs[i-1]; before.Fate == model.Committed && before.Marker > l.Runs[i].First {
			n++
		}
	}
	return n
}
