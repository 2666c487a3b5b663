package conformance

import (
	"time"

	"example.com/readcommitted/conformance/internal/model"
)

// Family L: the last stable offset.
var familyL = []*Scenario{
	{
		ID: "L-01", Name: "open-pins-lso", Class: Must, Profile: Smoke, Typical: time.Second,
		Requirement: "the last stable offset stands at the first record of an open transaction, and readers at read_committed get nothing from there on",
		Consequence: "readers get records of a transaction that may still be aborted",
		Witness:     "read_uncommitted shows the open transaction's records",
		Log:         "0..2 plain | 3..4 open",
		Known:       "Tansu 689, whose bound was the end of the log",
		run: func(t *trial) {
			p := t.partition()
			t.plain(p, 3)
			w := t.producer()
			w.write(p, 2)
			a := t.committed(p, 0)
			t.wantNoError(a)
			t.wantLSO(a, 3)
			t.wantHigh(a, 5)
			t.wantEnd(a, 3)
			shown := t.wantEnd(t.uncommitted(p, 0), 5)
			t.witness(shown, "read_uncommitted of %s does not end at 5", p)
			w.commit()
		},
	},
	{
		ID: "L-02", Name: "min-of-open", Class: Must, Profile: Standard, Typical: time.Second,
		Requirement: "the last stable offset is the first offset of the oldest transaction that is still open",
		Consequence: "readers get undecided records, or wait for transactions that have ended",
		Witness:     "each transaction's marker was in the log before the next look",
		Log:         "0 t1 | 1 t2 | 2 t3 | then t2, t1 and t3 end, in that order",
		run: func(t *trial) {
			p := t.partition()
			t1, t2, t3 := t.producer(), t.producer(), t.producer()
			for _, w := range []*producer{t1, t2, t3} {
				w.write(p, 1)
			}
			look := func() answer { return t.fetch(p, 0, fetchSpec{isolation: model.ReadCommitted}) }
			t.wantLSO(look(), 0)
			t2.commit()
			t.wantLSO(look(), 0)
			t1.commit()
			t.wantLSO(look(), 2)
			t3.commit()
			t.settle(p)
			a := look()
			t.wantLSO(a, 6)
			t.witness(a.HighW == 6, "the log of %s ends at %d", p, a.HighW)
		},
	},
}
