package conformance

import (
	"fmt"

	"example.com/readcommitted/conformance/internal/model"
)

// sameEpoch runs transactions of one producer one after another.
func sameEpoch(t *trial) {
	p, w := t.partition(), t.producer()
	gen, visible := w.generation(), []int64{w.write(p, 1)}
	w.commit()
	t.witness(t.markers(p, gen.id) > 0, "no marker of the first transaction in %s", p)
	for i, commit := range []bool{true, false, true} {
		which := fmt.Sprintf("transaction %d of %s", i+2, gen)
		if !t.wantTaken(p, "AddPartitionsToTxn of "+which, w.tryAdd(p), fencedEnd) {
			return
		}
		r := w.tryWrite(p, 1)
		if !t.wantTaken(p, "Produce of "+which, r, fencedProduce) {
			return
		}
		marked := t.markers(p, gen.id)
		if !t.wantTaken(p, "EndTxn of "+which, w.tryEnd(commit), fencedEnd) {
			return
		}
		t.awaitMarker(p, gen.id, marked+1)
		if commit {
			visible = append(visible, r.base)
		}
	}
	t.settle(p)
	t.wantRuns(p, gen.id, model.Committed, model.Committed, model.Aborted, model.Committed)
	t.wantDelivered(p, 0, visible...)
}

// takeovers is how often a transactional ID goes from one kind of producer to
// the other.
const takeovers = 4

func mixedClients(t *trial) {
	ps, old := t.partitions(2), t.idle(t.newID(), defaultTimeout)
	old.level = TV1
	old.init()
	visible := map[model.Partition][]int64{}
	for range takeovers {
		for _, p := range ps {
			visible[p] = append(visible[p], old.write(p, 1))
		}
		old.commit()
		heir, ok := old.succeeded(ps)
		if !ok {
			t.witness(true, "")
			return
		}
		old = heir
	}
	for _, p := range ps {
		t.wantSettled(p) // an abort comes last
		l := t.oracle(p)
		t.witness(len(l.Runs) == 3*takeovers, "the log of %s is %s", p, l)
		t.wantDelivered(p, 0, visible[p]...)
	}
}

// succeeded leaves a transaction open and has a producer of the other kind take
// the ID over, which then aborts one of its own while the old one tries to
// commit. ok is false if something was missed that decides what comes next.
func (w *producer) succeeded(ps []model.Partition) (heir *producer, ok bool) {
	t, marked := w.t, w.markersIn(ps)
	for _, p := range ps {
		w.write(p, 1)
	}
	heir = t.idle(w.name, defaultTimeout)
	heir.level = TV1 + TV2 - w.level
	heir.init()
	for i, p := range ps {
		t.awaitMarker(p, w.id, marked[i]+1)
	}
	marked = heir.markersIn(ps)
	heir.write(ps[0], 1)
	who := fmt.Sprintf("of a producer of %s whose ID one of %s took over", w.level, heir.level)
	written := t.wantRefused(ps[1], "Produce "+who, w.tryWrite(ps[1], 1), fencedProduce)
	ended := t.wantRefused(ps[0], "EndTxn "+who, w.tryEnd(true), fencedEnd)
	return heir, written && ended && heir.abortsWhole(ps, marked)
}

// markersIn counts the producer's markers in each partition.
func (w *producer) markersIn(ps []model.Partition) []int {
	out := make([]int, len(ps))
	for i, p := range ps {
		out[i] = w.t.markers(p, w.id)
	}
	return out
}

// abortsWhole writes the rest of a transaction and aborts it; nobody may have
// ended it before.
func (w *producer) abortsWhole(ps []model.Partition, marked []int) bool {
	t, before := w.t, w.generation()
	who := fmt.Sprintf(" of %s after its predecessor's attempts", before)
	if w.level < TV2 && !t.wantTaken(ps[1], "AddPartitionsToTxn"+who, w.tryAdd(ps[1]), fencedEnd) {
		return false
	}
	if !t.wantTaken(ps[1], "Produce"+who, w.tryWrite(ps[1], 1), fencedProduce) ||
		!t.wantTaken(ps[0], "EndTxn(abort)"+who, w.tryEnd(false), fencedEnd) {
		return false
	}
	for i, p := range ps {
		t.awaitMarker(p, before.id, marked[i]+1)
	}
	return true
}
