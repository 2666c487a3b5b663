package conformance

import (
	"fmt"

	"example.com/readcommitted/conformance/internal/model"
)

// deleteBelow deletes what lies below an offset, and waits until the log starts
// there: that is the witness of what is asked then. It returns the log, with
// what was deleted.
func (t *trial) deleteBelow(p model.Partition, offset int64) *model.Log {
	t.deleteRecords(p, offset)
	start := int64(-1)
	moved := t.until(t.bound(follow), "the log start of "+p.String(), func() bool {
		start = t.list(p, model.ReadUncommitted, earliest)
		return start == offset
	})
	t.witness(moved, "the earliest offset of %s is %d after everything below %d was deleted", p, start, offset)
	if !moved {
		t.undecided("records were deleted below %d, and %s starts at %d", offset, p, start)
	}
	return t.oracle(p)
}

// deleteInsideAborted is S-05.
func deleteInsideAborted(t *trial) {
	b := t.book()
	w, other := b.author(), b.author()
	other.run(true, 2)
	run := model.Entry{ProducerID: w.id, FirstOffset: w.write(2)}
	other.write(1)
	second := w.write(3)
	w.write(1)
	other.commit()
	w.abort()
	other.run(true, 2)
	t.rest(b.p)
	b.logged()
	for _, below := range []int64{second, second + 1, second + 3} {
		l := t.deleteBelow(b.p, below)
		a := t.committed(b.p, below)
		t.wantStart(a, below)
		t.witness(a.needs(run), "%s of %s has no record of the transaction", a.about(), b.p)
		t.wantAgreement(a, l)
		b.wantDelivered(below, fetchSpec{})
		b.wantDelivered(below, fetchSpec{partitionMaxBytes: 1})
	}
	l := t.deleteBelow(b.p, second+4) // all of its records, and not its marker
	t.wantAgreement(t.committed(b.p, second+4), l)
	b.wantDelivered(second+4, fetchSpec{})
}

// wantStart asserts the log start offset of an answer, which old versions do
// not carry.
func (t *trial) wantStart(a answer, want int64) {
	t.expect(a.LogStartOffset == want || a.LogStartOffset < 0, a.Partition, a.LogStartOffset,
		fmt.Sprintf("%s: log start %d", a.about(), want), fmt.Sprintf("log start %d", a.LogStartOffset))
}

// wantAgreement asserts that the list of an answer covers all aborted data in it
// and says nothing wrong. Unlike [trial.wantList] it leaves open with which first
// offset a transaction is listed whose beginning is gone.
func (t *trial) wantAgreement(a answer, l *model.Log) {
	t.wantReadable(a)
	for _, fault := range wrongList(a, truth{log: l}) {
		t.expect(false, a.Partition, fault.offset, "an answer to Fetch that agrees with the log", fault.what)
	}
}

// deletePastOpen is S-06 with one of the two ends.
func deletePastOpen(t *trial, commit bool) {
	p, w := t.partition(), t.producer()
	w.write(p, 2)
	t.plain(p, 1)
	third := w.write(p, 2)
	t.plain(p, 1)
	t.appears(p, third+3)
	for _, below := range []int64{third - 1, third} {
		t.deleteBelow(p, below)
		a := t.committed(p, below)
		t.wantNoError(a)
		t.expect(a.LastStableOffset >= below, p, a.LastStableOffset, fmt.Sprintf("%s: LSO >= the log start %d", a.about(), below),
			fmt.Sprintf("LSO %d", a.LastStableOffset))
		t.wantHigh(a, third+3)
		t.wantNothing(a)
	}
	t.deleteIntoOpenBatch(p, third+1)
	gen := w.generation()
	w.finish(commit)
	if !t.expectAs(Live, t.settle(p), p, t.lso(p), "the last stable offset at the high watermark after the end", "below it after 10 s") {
		return
	}
	t.wantFate(t.oracle(p), gen, fateOf(commit))
	left := []int64{third + 1, third + 2}
	if !commit {
		left = left[1:]
	}
	t.wantDelivered(p, third+1, left...)
}

// deleteIntoOpenBatch deletes up to inside a batch of an open transaction, and
// records where the last stable offset is then: Apache Kafka 4.4.0 leaves it at
// the batch's base offset, below the log start. No Fetch at read_committed must
// look at that, which the invariants would not let pass.
func (t *trial) deleteIntoOpenBatch(p model.Partition, below int64) {
	t.deleteBelow(p, below)
	if lso := t.list(p, model.ReadCommitted, latest); lso < below {
		t.fact("the last stable offset is %d where the log starts at %d, inside a batch of an open transaction", lso, below)
	}
}

// emptiedLog is S-07.
func emptiedLog(t *trial) {
	b := t.book()
	w, other := b.author(), b.author()
	other.run(true, 2)
	w.run(false, 2)
	t.rest(b.p)
	end := b.logged().End
	var answers []answer
	for again := true; again; {
		l := t.deleteBelow(b.p, end)
		answers = []answer{t.committed(b.p, end), t.uncommitted(b.p, end)}
		high := max(l.End, answers[0].HighW, answers[1].HighW)
		if again = t.onlyRepeats(b.p, end, high); again {
			end = high
		}
	}
	for _, a := range answers {
		if !t.wantNoError(a) {
			continue
		}
		t.wantStart(a, end)
		t.wantHigh(a, end)
		t.wantNothing(a)
		if a.Isolation == model.ReadCommitted {
			t.wantLSO(a, end)
			t.wantEntries(a)
		}
	}
	for _, isolation := range []int8{model.ReadCommitted, model.ReadUncommitted} {
		t.wantListed(b.p, Must, isolation, earliest, end)
		t.wantListed(b.p, Must, isolation, latest, end)
	}
	other.run(true, 2)
	w.run(false, 1)
	t.rest(b.p)
	b.wantDelivered(end, fetchSpec{})
	t.wantAgreement(t.committed(b.p, end), t.oracle(b.p))
}
