package conformance

import (
	"slices"
	"time"

	"example.com/readcommitted/conformance/internal/model"
)

// Family F: fencing and idempotence.
var familyF = slices.Concat(familyFFencing, familyFInit, familyFSequences)

var familyFFencing = []*Scenario{
	{
		ID: "F-01", Name: "reinit-aborts-open", Class: Must, Profile: Smoke, Typical: time.Second,
		Requirement: "who takes over a transactional ID finds the transaction of its predecessor aborted",
		Consequence: "records of a producer that crashed are committed by its successor, or hold readers back until a timeout",
		Witness:     "the log holds a record of each generation",
		Log:         "0 old generation | 1 abort | 2 new generation | 3 commit",
		Known:       "the mock cluster of librdkafka, whose old transaction goes on; kfake until 2026, whose old records were committed with the new ones",
		run: func(t *trial) {
			p, old := t.partition(), t.producer()
			first := old.write(p, 1)
			heir := old.heir()
			written := heir.write(p, 1)
			heirs := heir.generation()
			heir.end(true)
			l := t.awaitSuccession(p, old.generation(), heirs)
			t.witness(len(dataOf(l, old.generation())) == 1 && len(dataOf(l, heirs)) == 1, "the log of %s is %s", p, l)
			if !t.wantAbortedBefore(l, old.generation(), heirs) {
				return
			}
			t.settle(p)
			t.wantEntries(t.shown(p, 0, written), model.Entry{ProducerID: old.id, FirstOffset: first})
			t.wantDelivered(p, 0, written)
		},
	},
	{
		ID: "F-02", Name: "zombie-rejected", Class: Must, Profile: Smoke, Typical: time.Second,
		Requirement: "a producer whose transactional ID was taken over can neither write nor add partitions nor end a transaction",
		Consequence: "two instances of one application write side by side, and either ends what the other has not finished",
		Witness:     "the new generation's transaction was open while the old one tried",
		Log:         "0 old generation | 1 abort | 2 new generation | 3 abort | 4 new generation | 5 commit",
		Known:       "the mock cluster of librdkafka; Tansu 0.6.0 cuts the connection of a fenced EndTxn",
		run:         zombieRejected,
	},
	{
		ID: "F-03", Name: "abort-marker-before-new-data", Class: Must, Profile: Standard, Typical: time.Second,
		Requirement: "in every partition the abort marker of the old generation precedes the first record of the new one",
		Consequence: "the late marker aborts records of the new generation, or its commit takes in the old ones",
		Witness:     "each partition's log holds a record of each generation",
		Log:         "six partitions: 0 old generation | 1 abort | 2 new generation | 3 commit",
		Known:       "kfake until 2026",
		run: func(t *trial) {
			ps, old := t.partitions(6), t.producer()
			for _, p := range ps {
				old.write(p, 1)
			}
			heir := old.heir()
			written := make([]int64, len(ps))
			for i, p := range ps {
				written[i] = heir.write(p, 1)
			}
			heirs := heir.generation()
			heir.end(true)
			for i, p := range ps {
				l := t.awaitSuccession(p, old.generation(), heirs)
				t.witness(len(dataOf(l, old.generation())) == 1 && len(dataOf(l, heirs)) == 1, "the log of %s is %s", p, l)
				if t.wantAbortedBefore(l, old.generation(), heirs) {
					t.settle(p)
					t.wantDelivered(p, 0, written[i])
				}
			}
		},
	},
	{
		ID: "F-09", Name: "independent-ids", Class: Must, Profile: Standard, Typical: time.Second,
		Requirement: "taking over one transactional ID does nothing to the transaction of another",
		Consequence: "the restart of one application aborts what another is doing",
		Witness:     "the log holds both transactions, which overlap, and the takeover came between them",
		Log:         "0 a | 1 b | 2 abort of a, by a takeover | 3 b | 4 commit of b",
		run:         independentIDs,
	},
}

func zombieRejected(t *trial) {
	p, zombie := t.partition(), t.producer()
	zombie.write(p, 1)
	heir := zombie.heir()
	t.awaitMarker(p, zombie.id, 1)
	first := heir.write(p, 1)
	high := t.highWatermark(p)
	l := t.oracle(p)
	t.witness(slices.ContainsFunc(dataOf(l, heir.generation()), func(i int) bool { return l.Fate(i) == model.Open }),
		"the log of %s is %s", p, l)
	added := t.wantRefused(p, "AddPartitionsToTxn of a fenced producer", zombie.tryAdd(p), fencedEnd)
	written := t.wantRefused(p, "Produce of a fenced producer", zombie.tryWrite(p, 1), fencedProduce)
	ended := t.wantRefused(p, "EndTxn of a fenced producer", zombie.tryEnd(true), fencedEnd)
	still := t.wantEndAt(p, high, "what a fenced producer tried")
	if held := t.wantLSO(t.committed(p, 0), first); !added || !written || !ended || !still || !held {
		return // what comes now depends on what the zombie did
	}
	heir.abort()
	last := heir.write(p, 1)
	heir.commit()
	t.settle(p)
	t.wantDelivered(p, 0, last)
}

func independentIDs(t *trial) {
	p, a, b := t.partition(), t.producer(), t.producer()
	a.write(p, 1)
	first := b.write(p, 1)
	a.heir()
	t.awaitMarker(p, a.id, 1)
	r := b.tryWrite(p, 1)
	if !t.wantTaken(p, "Produce of another transactional ID", r, fencedProduce) {
		t.witness(true, "")
		return
	}
	written := b.generation()
	end := b.tryEnd(true)
	if !t.wantTaken(p, "EndTxn of another transactional ID", end, fencedEnd) {
		t.witness(true, "")
		return
	}
	t.awaitMarker(p, written.id, 1)
	t.settle(p)
	l := t.oracle(p)
	t.witness(len(dataOf(l, a.generation())) == 1 && len(dataOf(l, written)) == 2 && l.Run(dataOf(l, a.generation())[0]).Marker < r.base,
		"the log of %s is %s", p, l)
	t.wantFate(l, written, model.Committed)
	t.wantDelivered(p, 0, first, r.base)
}
