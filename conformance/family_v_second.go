package conformance

import (
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// lastEpoch is the highest epoch that a producer is given; then it gets another
// producer ID.
const lastEpoch = math.MaxInt16 - 1

// wantBump asserts what the answer to an EndTxn says of the next transaction.
func (w *producer) wantBump(p model.Partition, before generation, r reply) bool {
	t, resp := w.t, r.exchange.Response.(*kmsg.EndTxnResponse)
	next := generation{resp.ProducerID, resp.ProducerEpoch}
	expected, observed := fmt.Sprintf("EndTxn of %s: pid %d/%d", before, before.id, before.epoch+1), next.String()
	fresh := next.id >= 0 && next.epoch >= 0 && (next.id != before.id || next.epoch > before.epoch)
	if !t.expect(fresh, p, -1, expected, observed) {
		return false
	}
	following := next == generation{before.id, before.epoch + 1} || before.epoch >= lastEpoch-1 && next.id != before.id
	t.expectAs(Should, following, p, -1, expected, observed)
	return true
}

// epochBump runs transactions one after another, each with what the end of the
// one before gave.
func epochBump(t *trial) {
	p, w := t.partition(), t.producer()
	var visible []int64
	for i := range 5 {
		before, marked, commit := w.generation(), t.markers(p, w.id), i%2 == 0
		r := w.tryWrite(p, 1)
		if !t.wantTaken(p, fmt.Sprintf("Produce of %s, as the last EndTxn gave it", before), r, fencedProduce) {
			t.witness(true, "")
			return
		}
		if commit {
			visible = append(visible, r.base)
		}
		end := w.tryEnd(commit)
		if !t.wantTaken(p, "EndTxn of "+before.String(), end, fencedEnd) || !w.wantBump(p, before, end) {
			t.witness(true, "")
			return
		}
		t.awaitMarker(p, before.id, marked+1)
	}
	t.settle(p)
	l := t.oracle(p)
	t.witness(len(l.Runs) == 5, "the log of %s is %s", p, l)
	t.wantEpochsGrow(l)
	t.wantDelivered(p, 0, visible...)
}

// wantEpochsGrow asserts that each transaction in the log has a higher epoch
// than the one of its producer before.
func (t *trial) wantEpochsGrow(l *model.Log) {
	for i, r := range l.Runs {
		if i > 0 && l.Runs[i-1].ProducerID == r.ProducerID && !t.expect(r.Epoch > l.Runs[i-1].Epoch, l.Partition, r.First,
			fmt.Sprintf("an epoch above %d", l.Runs[i-1].Epoch), l.String()) {
			return
		}
	}
}

// implicitAdd runs an aborted transaction and a committed one over partitions
// that nobody adds.
func implicitAdd(t *trial) {
	ps, w := t.partitions(5), t.producer()
	inside, outside, id := ps[:4], ps[4], w.id
	bases := map[model.Partition][]int64{}
	for _, commit := range []bool{false, true} {
		for _, p := range inside {
			r := w.tryWrite(p, 1)
			if !t.wantTaken(p, "Produce v12 to a partition that nobody added", r, unaddedWrite) {
				t.witness(true, "")
				return
			}
			bases[p] = append(bases[p], r.base)
		}
		held := true
		for _, p := range inside {
			held = t.wantStable(p, bases[p][len(bases[p])-1]) && held
		}
		if !held {
			t.witness(true, "")
			return
		}
		w.finish(commit)
	}
	for _, p := range inside {
		t.settle(p)
		t.wantRuns(p, id, model.Aborted, model.Committed)
		t.wantDelivered(p, 0, bases[p][1])
	}
	l := t.oracle(outside)
	t.expect(len(l.Batches) == 0, outside, 0, "nothing in a partition that no transaction touched", l.String())
}

// emptyEnds ends transactions that have nothing: the first of a producer, one
// after a commit and one after an abort.
func emptyEnds(t *trial) {
	for _, commit := range []bool{false, true} {
		p, w := t.partition(), t.producer()
		if !w.emptyEnd(p, commit, "its first") {
			return
		}
		first, ok := w.goesOn(p, true)
		if !ok || !w.emptyEnd(p, commit, "the one after a commit") {
			return
		}
		if _, ok = w.goesOn(p, false); !ok || !w.emptyEnd(p, commit, "the one after an abort") {
			return
		}
		last, ok := w.goesOn(p, true)
		if !ok {
			return
		}
		t.settle(p)
		l := t.oracle(p)
		t.witness(len(l.Runs) == 3, "the log of %s is %s", p, l)
		t.wantDelivered(p, 0, first, last)
	}
}

// emptyEnd ends a transaction in which nothing was written.
func (w *producer) emptyEnd(p model.Partition, commit bool, which string) bool {
	t, before := w.t, w.generation()
	r := w.tryEnd(commit)
	what := fmt.Sprintf("EndTxn (commit %v) of an empty transaction, %s", commit, which)
	switch {
	case r.ok():
		t.witness(true, "")
		w.wantBump(p, before, r)
		return true
	case commit && r.in([]*kerr.Error{kerr.InvalidTxnState}):
		t.fact("%s: %s", what, r)
		return true
	case r.in(fencedEnd):
		t.witness(true, "")
		return t.expect(false, p, -1, what+": NONE", r.String())
	}
	r.unusable(t, what)
	return false
}

// goesOn runs a transaction of one record, which nothing may have fenced.
func (w *producer) goesOn(p model.Partition, commit bool) (base int64, ok bool) {
	t, before, marked := w.t, w.generation(), w.t.markers(p, w.id)
	r := w.tryWrite(p, 1)
	if !t.wantTaken(p, fmt.Sprintf("Produce of %s after an empty transaction", before), r, fencedProduce) {
		return 0, false
	}
	if !t.wantTaken(p, fmt.Sprintf("EndTxn of %s after an empty transaction", before), w.tryEnd(commit), fencedEnd) {
		return 0, false
	}
	t.awaitMarker(p, before.id, marked+1)
	return r.base, true
}
