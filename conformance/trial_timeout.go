package conformance

import (
	"time"

	"example.com/readcommitted/conformance/internal/model"
)

// silent opens a transaction in the partitions of a new topic, one record in
// each, whose producer will be silent. Where a machine is so slow that the
// timeout is over before all of it is written, it starts anew with a longer one.
func (t *trial) silent(partitions int32, timeout time.Duration) ([]model.Partition, *producer) {
	for {
		ps, w := t.partitions(partitions), t.producerFor(t.newID(), timeout)
		if w.fills(ps) {
			return ps, w
		}
		timeout *= 4
	}
}

// fills writes a record to each partition, and reports whether that came before
// the timeout.
func (w *producer) fills(ps []model.Partition) bool {
	for _, p := range ps {
		if w.level < TV2 {
			if r := w.tryAdd(p); !r.ok() {
				return w.tooLate("AddPartitionsToTxn", r)
			}
		}
		if r := w.tryWrite(p, 1); !r.ok() {
			return w.tooLate("Produce to "+p.String(), r)
		}
	}
	return true
}

// tooLate is false, unless it ends the script: the refusal must be one that a
// timeout explains.
func (w *producer) tooLate(what string, r reply) bool {
	if time.Since(w.began) < w.timeout || !r.in(fencedEnd) && !r.in(fencedProduce) {
		r.unusable(w.t, what)
	}
	w.t.fact("a timeout of %v was over before the transaction was written", w.timeout)
	return false
}

// timedOut waits for the cluster to end a producer's transaction by itself, in
// the first partition that it wrote to, and reports whether that came within a
// bound after the timeout. Then all partitions have their markers.
func (t *trial) timedOut(w *producer, slack time.Duration) bool {
	inside := w.partitionsInside()
	bound := w.timeout + t.bound(slack) - time.Since(w.began)
	if !t.until(bound, "the end of a transaction's timeout", func() bool { return t.markers(inside[0], w.id) > 0 }) {
		return false
	}
	age := time.Since(w.began)
	t.witness(age >= w.timeout, "the marker came %v after the transaction began, at a timeout of %v", age, w.timeout)
	t.endingAll(w.name)
	for _, p := range inside {
		t.awaitMarker(p, w.id, 1)
	}
	return true
}
