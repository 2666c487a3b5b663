package conformance

import (
	"fmt"
	"time"

	"example.com/readcommitted/conformance/internal/model"
)

var familyVEpochs = []*Scenario{
	{
		ID: "V-07", Name: "epoch-exhaustion", Class: Must, Profile: Soak, Typical: 4 * time.Minute, Limit: 30 * time.Minute,
		Requirement: "a producer whose epochs are used up gets another producer ID and goes on",
		Consequence: "a producer that has run for long enough fences itself, or its epochs begin anew and nobody can tell old requests from new ones",
		Witness:     "the producer ID changed, and the log holds the transactions before and after that",
		Log:         "epoch 32759: 0 committed | 1 commit | epoch 32760: 2 committed | 3 commit | and so on, beyond the last epoch",
		Known:       "KAFKA-18660, where the epoch after the last one was not handled",
		run:         exhaustEpochs,
	},
}

// epochsLeft is how many epochs before the last one the transactions begin.
const epochsLeft = 8

// exhaustEpochs takes a transactional ID over until its epochs are nearly used
// up, and then runs transactions, each in a new epoch, past that.
func exhaustEpochs(t *trial) {
	p, w := t.partition(), t.producer()
	for old := w.generation(); w.id == old.id && w.epoch < lastEpoch-epochsLeft; old = w.generation() {
		if !w.wantNext(p, old) {
			t.witness(true, "")
			return
		}
	}
	ids, offsets := []int64{w.id}, []int64{}
	for range 2 * epochsLeft {
		base, ok := w.runsInNewEpoch(p)
		if !ok {
			t.witness(true, "")
			return
		}
		offsets = append(offsets, base)
		if w.id != ids[len(ids)-1] {
			ids = append(ids, w.id)
		}
	}
	t.settle(p)
	l := t.oracle(p)
	t.fact("%s: producer IDs %v, the last epoch %d", t.level, ids, w.epoch)
	t.witness(len(l.Runs) == 2*epochsLeft, "the log of %s is %s", p, l)
	t.expect(len(ids) > 1, p, -1, fmt.Sprintf("another producer ID after epoch %d", lastEpoch), w.generation().String())
	t.wantEpochsGrow(l)
	t.wantDelivered(p, 0, offsets...)
}

// wantNext takes the transactional ID over, which has to give an epoch that
// nobody had.
func (w *producer) wantNext(p model.Partition, old generation) bool {
	if !w.t.wantTaken(p, "InitProducerId after "+old.String(), w.tryInit(), fencedInit) {
		return false
	}
	return w.t.expect(w.epoch >= 0 && (w.id != old.id || w.epoch > old.epoch), p, -1, "an epoch above "+old.String()+", or another producer ID", w.generation().String())
}

// runsInNewEpoch commits a transaction of one record and begins a new epoch. ok
// is false if the producer was fenced on the way.
func (w *producer) runsInNewEpoch(p model.Partition) (base int64, ok bool) {
	t, before, marked := w.t, w.generation(), w.t.markers(p, w.id)
	if w.level < TV2 && !t.wantTaken(p, "AddPartitionsToTxn of "+before.String(), w.tryAdd(p), fencedEnd) {
		return 0, false
	}
	r := w.tryWrite(p, 1)
	if !t.wantTaken(p, "Produce of "+before.String(), r, fencedProduce) {
		return 0, false
	}
	end := w.tryEnd(true)
	if !t.wantTaken(p, "EndTxn of "+before.String(), end, fencedEnd) {
		return 0, false
	}
	t.awaitMarker(p, before.id, marked+1)
	if w.level < TV2 {
		return r.base, w.wantNext(p, before)
	}
	return r.base, w.wantBump(p, before, end)
}
