package conformance

import (
	"time"

	"example.com/readcommitted/conformance/internal/model"
)

// Family A: the list of aborted transactions.
var familyA = []*Scenario{
	{
		ID: "A-01", Name: "single-abort", Class: Must, Profile: Smoke, Typical: time.Second,
		Requirement: "an answer at read_committed lists the aborted transaction whose records it holds, and no other",
		Consequence: "clients hand out records of an aborted transaction, or drop committed ones",
		Witness:     "the log holds a committed run, an aborted one of three records, and a committed one",
		Log:         "0 committed | 1 commit | 2..4 aborted | 5 abort | 6 committed | 7 commit",
		Known:       "brokers whose list is always empty (Tansu 0.6.0); KoP 1283 and 1856, when the abort came 75 ms after the data",
		run: func(t *trial) {
			for _, delay := range []time.Duration{0, 100 * time.Millisecond} {
				singleAbort(t, delay)
			}
		},
	},
	{
		ID: "A-02", Name: "start-offset-sweep", Class: Must, Profile: Smoke, Typical: time.Second,
		Requirement: "an entry is listed at every fetch offset up to its abort marker, and at none after it",
		Consequence: "clients that begin inside a transaction hand out aborted records, or drop committed ones",
		Witness:     "the log is as drawn",
		Log:         "0..1 p1 committed | 2 p2 aborted | 3 plain | 4 abort p2 | 5 commit p1",
		run: func(t *trial) {
			l := t.interleaved()
			for from := range int64(7) {
				a := t.committed(l.p, from)
				if from <= 4 {
					t.wantEntries(a, model.Entry{ProducerID: l.aborted, FirstOffset: 2})
				} else {
					t.wantEntries(a)
				}
			}
		},
	},
}

func singleAbort(t *trial, delay time.Duration) {
	p, w := t.partition(), t.producer()
	w.write(p, 1)
	w.commit()
	first, id := w.write(p, 3), w.id
	if delay > 0 {
		t.pause(delay, "the abort")
	}
	w.abort()
	w.write(p, 1)
	w.commit()
	t.settle(p)
	a := t.committed(p, 0)
	t.wantEntries(a, model.Entry{ProducerID: id, FirstOffset: first})
	l := t.oracle(p)
	t.witness(len(l.Runs) == 3 && l.Runs[1].Fate == model.Aborted, "the log of %s is %s", p, l)
	t.wantDelivered(p, 0, 0, 6)
}

// interleavedLog is a log that many scenarios use: two transactions that
// overlap, one of them aborted, and a plain record between them.
type interleavedLog struct {
	p                  model.Partition
	committed, aborted int64 // producer IDs
}

// interleaved writes 0..1 p1 | 2 p2 | 3 plain | 4 abort p2 | 5 commit p1, and
// waits until all of it is stable.
func (t *trial) interleaved() interleavedLog {
	p, w1, w2 := t.partition(), t.producer(), t.producer()
	out := interleavedLog{p: p, committed: w1.id, aborted: w2.id}
	w1.write(p, 2)
	w2.write(p, 1)
	t.plain(p, 1)
	w2.abort()
	w1.commit()
	t.settle(p)
	l := t.oracle(p)
	ok := l.End == 6 && len(l.Runs) == 2 && l.Runs[0].Fate == model.Committed && l.Runs[1].Fate == model.Aborted && l.Runs[1].Marker == 4
	t.witness(ok, "the log of %s is %s", p, l)
	if !ok {
		t.undecided("the log of %s is not as it was written: %s", p, l)
	}
	return out
}
