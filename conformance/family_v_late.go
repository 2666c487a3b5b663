package conformance

import (
	"fmt"
	"time"

	"example.com/readcommitted/conformance/internal/model"
)

// unregisteredWrites writes without AddPartitionsToTxn: outside a transaction,
// and then within one that has another partition.
func unregisteredWrites(t *trial) {
	ps, w := t.partitions(2), t.producer()
	if !w.wantUnregistered(ps[0], "with no transaction open") {
		return
	}
	first, id := w.write(ps[0], 1), w.id
	if !w.wantUnregistered(ps[1], "with a transaction open elsewhere") {
		return
	}
	w.commit()
	t.settle(ps[0])
	t.wantRuns(ps[0], id, model.Committed)
	t.wantDelivered(ps[0], 0, first)
}

// wantUnregistered asserts that a write to a partition is refused which no
// transaction has. One that is accepted is removed.
func (w *producer) wantUnregistered(p model.Partition, when string) bool {
	t, high := w.t, w.t.highWatermark(p)
	what := fmt.Sprintf("Produce v%d to a partition that is not part of the transaction, %s", t.version(0, w.produceLimit()), when)
	r := w.tryWrite(p, 1)
	if !r.ok() {
		return t.wantRefused(p, what, r, unaddedWrite) && t.wantEndAt(p, high, "a write that was refused")
	}
	t.witness(true, "")
	observed := "accepted as part of the transaction"
	switch {
	case w.abortReaches(p):
	case t.lso(p) > r.base:
		observed = "accepted, in no transaction"
	default:
		observed = "accepted, and an abort by the coordinator does not end it: the transaction hangs"
	}
	t.expect(false, p, r.base, what+": refused", observed)
	w.freed(p)
	return false
}

// abortReaches aborts what the coordinator knows of, and reports whether that
// ends what the producer wrote to a partition.
func (w *producer) abortReaches(p model.Partition) bool {
	t, before := w.t, w.t.markers(p, w.id)
	id := w.id
	if r := w.tryEnd(false); !r.ok() {
		return false
	}
	return t.until(t.bound(follow), "a marker in "+p.String(), func() bool { return t.markers(p, id) > before })
}

// freed ends what a producer may have left hanging in a partition: with the
// partition in a transaction, the abort puts a marker there.
func (w *producer) freed(p model.Partition) {
	w.add(p)
	w.abort()
	w.t.expectAs(Live, w.t.settle(p), p, -1, "the last stable offset at the high watermark after AddPartitionsToTxn and EndTxn(abort)", "it stays below")
}

// lateTimeout is long for a transaction of one record, and short for somebody
// who waits until it is over.
const lateTimeout = 10 * time.Second

// lateProduce sends a batch of a transaction that has ended, as if the network
// had kept it.
func lateProduce(t *trial) {
	p, w := t.partition(), t.producerFor(t.newID(), t.bound(lateTimeout))
	first, late := w.write(p, 1), w.batch(p, w.newValues(1))
	w.commit()
	high := t.highWatermark(p)
	r := w.trySend(p, late)
	if r.ok() {
		t.witness(true, "")
		t.expect(false, p, r.base, "Produce of a transaction that has ended: refused", "accepted")
		w.wantLateEnded(p, r)
		return
	}
	if !t.wantRefused(p, "Produce of a transaction that has ended", r, fencedProduce) || !t.wantEndAt(p, high, "a batch that came late") {
		t.witness(true, "")
		return
	}
	next := w.write(p, 1)
	w.commit()
	t.settle(p)
	l := t.oracle(p)
	t.witness(len(l.Runs) == 2, "the log of %s is %s", p, l)
	t.wantDelivered(p, 0, first, next)
}

// wantLateEnded asserts that a late batch which was accepted does not hold
// readers back for longer than the transaction's timeout, and that the commit
// before it does not make it visible.
func (w *producer) wantLateEnded(p model.Partition, late reply) {
	t := w.t
	began := time.Now()
	t.endingAll(w.name)
	over := t.untilTimeout(w, began, func() bool { return t.lso(p) > late.base })
	if !t.expectAs(Live, over == "", p, late.base, "the transaction that the late batch began ended by "+over, "the last stable offset stays at the batch") {
		w.freed(p)
	}
	l := t.oracle(p)
	if i, ok := l.Find(late.base); ok {
		t.expectAs(Must, l.Fate(i) != model.Committed, p, late.base, "the late batch not committed", l.String())
	}
}

// delayedEnd sends the commit of a transaction once more while the next one is
// half written, and then aborts that.
func delayedEnd(t *trial) {
	ps, w := t.partitions(2), t.producer()
	id, visible := w.id, w.write(ps[0], 1)
	stale := w.endRequest(true)
	w.commit()
	first := w.write(ps[0], 1)
	held := t.committed(ps[0], 0)
	t.witness(held.LastStableOffset == first, "%s: LSO %d, not %d", held.about(), held.LastStableOffset, first)
	if w.level < TV2 {
		t.endingAll(w.name) // nobody can tell that it is not meant
	}
	late := *w
	late.side = " late"
	r := late.sendEnd(stale)
	if w.level < TV2 {
		delayedEndExposed(t, ps, w, id, r)
		return
	}
	what := "EndTxn of a transaction that had ended"
	if r.ok() { // as long as it changes nothing, it told the truth
		t.expectAs(Should, false, ps[0], first, what+": refused", "accepted")
	} else {
		t.wantRefused(ps[0], what, r, fencedEnd)
	}
	t.wantLSO(t.committed(ps[0], 0), first)
	before := w.generation()
	if other := w.tryWrite(ps[1], 1); !t.wantTaken(ps[1], "Produce after an EndTxn of the transaction before", other, fencedProduce) ||
		!t.wantTaken(ps[0], "EndTxn(abort) after an EndTxn of the transaction before", w.tryEnd(false), fencedEnd) {
		return
	}
	t.awaitMarker(ps[0], before.id, 2)
	t.awaitMarker(ps[1], before.id, 1)
	t.wantRuns(ps[0], id, model.Committed, model.Aborted)
	t.wantRuns(ps[1], id, model.Aborted)
	for _, p := range ps {
		t.wantSettled(p)
	}
	t.wantDelivered(ps[0], 0, visible)
	t.wantDelivered(ps[1], 0)
}

// delayedEndExposed goes on where the protocol has no means against a delayed
// EndTxn, and records what became of the transaction.
func delayedEndExposed(t *trial, ps []model.Partition, w *producer, id int64, r reply) {
	add, rest := w.tryAdd(ps[1]), reply{}
	if add.ok() {
		rest = w.tryWrite(ps[1], 1)
	}
	end := w.tryEnd(false)
	w.heir() // ends what may still be open
	t.awaitMarker(ps[0], id, 2)
	if add.ok() && rest.ok() {
		t.awaitMarker(ps[1], id, 1)
	}
	l := t.oracle(ps[0])
	fate := model.Open
	if len(l.Runs) > 1 {
		fate = l.Runs[1].Fate
	}
	what := "not exposed to KAFKA-17754: the next transaction was " + fate.String()
	if fate == model.Committed {
		what = "exposed to KAFKA-17754: half of the next transaction was committed"
	}
	t.fact("%s: %s; the EndTxn(commit) that came late: %s, then AddPartitionsToTxn: %s, Produce: %s, EndTxn(abort): %s", t.level, what, r, add, rest, end)
}
