package conformance

import (
	"fmt"
	"maps"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"example.com/readcommitted/conformance/internal/model"
)

var familyFSequences = []*Scenario{
	{
		ID: "F-06", Name: "plain-batch-in-open-txn", Class: Should, Profile: Standard, Typical: time.Second,
		Requirement: "a batch outside the transaction is refused while its producer has one open in the partition",
		Consequence: "records of a producer are visible or not by chance: clients drop them with the transaction, or do not",
		Witness:     "the producer's transaction was open",
		Log:         "0 open | the plain batch | commit",
		run:         plainInTransaction,
	},
	{
		ID: "F-07", Name: "duplicate-batch", Class: Must, Profile: Smoke, Typical: time.Second,
		Requirement: "a batch that is sent again is in the log once, and its answer names that place",
		Consequence: "readers get records twice after any lost answer",
		Witness:     "six batches with ascending sequences are in the log",
		Log:         "0..5 one batch each | sent again: 5, 4, 2, 1, 0",
		Known:       "Redpanda 3039, an error to the repetition of a batch that was there; the mock cluster of librdkafka appends it again",
		run: func(t *trial) {
			duplicates(t, t.producer())
			w := t.idle("", 0)
			if r := w.tryInit(); r.ok() {
				duplicates(t, w)
			} else {
				t.fact("a producer without transactions gets no producer ID: %s", r)
			}
		},
	},
	{
		ID: "F-08", Name: "sequence-gap", Class: Must, Profile: Standard, Typical: time.Second,
		Requirement: "a batch whose sequence does not follow the last one is refused and not appended",
		Consequence: "a batch that was lost on its way is missing in the middle, and nobody notices",
		Witness:     "the batch before the gap is in the log",
		Log:         "0 sequence 0 | refused: sequence 2 | 1 sequence 1 | 2 commit",
		Known:       "the mock cluster of librdkafka",
		run:         sequenceGap,
	},
}

// plainTwin is the producer without its transaction, at the same sequences.
func (w *producer) plainTwin() *producer {
	return &producer{t: w.t, level: w.level, id: w.id, epoch: w.epoch, sequence: maps.Clone(w.sequence)}
}

func plainInTransaction(t *trial) {
	p, w := t.partition(), t.producer()
	w.write(p, 1)
	high := t.highWatermark(p)
	twin := w.plainTwin()
	r := twin.tryWrite(p, 1)
	t.witness(t.lso(p) == 0, "the last stable offset of %s is not at the transaction", p)
	if t.wantRefused(p, "a plain batch of a producer with an open transaction", r, fencedProduce) {
		t.wantEndAt(p, high, "a plain batch that was refused")
		w.commit()
		t.settle(p)
		t.wantDelivered(p, 0, 0)
	}
}

// repeated is how a cluster may refuse what it has already; none of these made
// it append the batch again.
var (
	repeated    = []*kerr.Error{kerr.DuplicateSequenceNumber}
	repeatedOld = []*kerr.Error{kerr.DuplicateSequenceNumber, kerr.OutOfOrderSequenceNumber, kerr.TransactionAbortable}
	gapRefused  = []*kerr.Error{kerr.OutOfOrderSequenceNumber, kerr.TransactionAbortable}
)

// cached is how many of a producer's last batches a broker knows by their
// sequences.
const cached = 5

func duplicates(t *trial, w *producer) {
	p := t.partition()
	if w.transactional() && w.level < TV2 {
		w.add(p)
	}
	batches, bases := make([]model.Write, cached+1), make([]int64, cached+1)
	for i := range batches {
		batches[i] = w.batch(p, w.newValues(1))
		r := w.trySend(p, batches[i])
		if !r.ok() {
			r.unusable(t, "Produce to "+p.String())
		}
		bases[i] = r.base
	}
	high := t.highWatermark(p)
	t.witness(high == cached+1, "the log of %s ends at %d", p, high)
	written := w.generation()
	for _, i := range []int{5, 4, 2, 1, 0} {
		t.wantRepeated(p, i, w.trySend(p, batches[i]), bases[i])
	}
	t.wantEndAt(p, high, "batches that were there already")
	if w.transactional() {
		w.end(true)
		t.awaitMarker(p, written.id, 1)
	}
	t.settle(p)
	l := t.oracle(p)
	t.expect(len(dataOf(l, written)) == len(batches), p, -1, fmt.Sprintf("%d batches of %s", len(batches), written), l.String())
	t.wantDelivered(p, 0, bases...)
}

// wantRepeated asserts the answer to batch i of a producer when it came again.
func (t *trial) wantRepeated(p model.Partition, i int, r reply, base int64) {
	what := fmt.Sprintf("Produce of a batch that is at %d", base)
	switch refusals := repeated; {
	case r.ok() && r.base < 0: // clients take it for an unknown offset
		t.expectAs(Should, false, p, base, fmt.Sprintf("%s: base offset %d", what, base), "no base offset")
	case r.ok():
		t.expect(r.base == base, p, r.base, fmt.Sprintf("%s: base offset %d", what, base), fmt.Sprintf("base offset %d", r.base))
	default:
		if i == 0 { // five others came after it
			refusals = repeatedOld
		}
		t.wantRefused(p, what, r, refusals)
	}
}

func sequenceGap(t *trial) {
	p, w := t.partition(), t.producer()
	first := w.write(p, 1)
	high := t.highWatermark(p)
	t.witness(high == 1, "the log of %s ends at %d", p, high)
	early := w.batch(p, w.newValues(1))
	early.BaseSequence++
	if !t.wantRefused(p, "Produce of a batch that leaves a sequence out", w.trySend(p, early), gapRefused) {
		return
	}
	if !t.wantEndAt(p, high, "a batch that was refused") {
		return
	}
	next := w.write(p, 1)
	w.commit()
	t.settle(p)
	t.wantDelivered(p, 0, first, next)
}
