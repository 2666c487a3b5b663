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
		t.settle(p)
		l := t.oracle(p)
		t.witness(len(l.Runs) == 3*takeovers, "the log of %s is %s", p, l)
		t.wantDelivered(p, 0, visible[p]...)
	}
}

// succeeded leaves a transaction open and has a producer of the other kind take
// the ID over, which then aborts one of its own while the old one tries to
// commit. ok is false if something was missed that decides what comes next.
func (w *producer) succeeded(ps []model.Partition) (heir *producer, ok bool) {
	t, marked := w.t, map[model.Partition]int{}
	for _, p := range ps {
		marked[p] = t.markers(p, w.id)
		w.write(p, 1)
	}
	heir = t.idle(w.name, defaultTimeout)
	heir.level = TV1 + TV2 - w.level
	heir.init()
	for _, p := range ps {
		t.awaitMarker(p, w.id, marked[p]+1)
	}
	heir.write(ps[0], 1)
	who := fmt.Sprintf("of a producer of %s whose ID one of %s took over", w.level, heir.level)
	ok = t.wantRefused(ps[1], "Produce "+who, w.tryWrite(ps[1], 1), fencedProduce)
	ok = t.wantRefused(ps[0], "EndTxn "+who, w.tryEnd(true), fencedEnd) && ok
	if !ok {
		return nil, false
	}
	return heir, heir.abortsWhole(ps)
}

// abortsWhole writes the rest of a transaction and aborts it; nobody may have
// ended it before.
func (w *producer) abortsWhole(ps []model.Partition) bool {
	t, before, marked := w.t, w.generation(), map[model.Partition]int{}
	for _, p := range ps {
		marked[p] = t.markers(p, w.id)
	}
	if w.level < TV2 && !t.wantTaken(ps[1], fmt.Sprintf("AddPartitionsToTxn of %s, after the zombie", before), w.tryAdd(ps[1]), fencedEnd) {
		return false
	}
	if !t.wantTaken(ps[1], fmt.Sprintf("Produce of %s, after the zombie", before), w.tryWrite(ps[1], 1), fencedProduce) {
		return false
	}
	if !t.wantTaken(ps[0], fmt.Sprintf("EndTxn(abort) of %s, after the zombie", before), w.tryEnd(false), fencedEnd) {
		return false
	}
	for _, p := range ps {
		t.awaitMarker(p, before.id, marked[p]+1)
	}
	return true
}
