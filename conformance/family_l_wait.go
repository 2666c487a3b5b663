package conformance

import (
	"fmt"
	"time"

	"example.com/readcommitted/conformance/internal/model"
)

// stableWaits are the scenarios on fetches that wait at the last stable offset.
var stableWaits = []*Scenario{
	{
		ID: "L-06", Name: "fetch-at-lso-waits", Class: Must, Profile: Standard, Typical: 2 * time.Second, alone: true,
		Requirement: "a fetch at the last stable offset below an open transaction waits, and then answers nothing",
		Consequence: "readers get undecided records, or ask again and again without a pause",
		Witness:     "read_uncommitted shows records from the fetch offset on",
		Log:         "0..2 plain | 3..4 open; the fetch begins at 3",
		run:         fetchAtStableWaits,
	},
	{
		ID: "L-07", Name: "long-poll-woken-by-end", Class: Must, Profile: Smoke, Typical: time.Second, alone: true,
		Requirement: "a fetch that waits at the last stable offset is answered soon after it moves, and what it answers comes with the list of aborted transactions",
		Consequence: "readers hand out records of an aborted transaction, or get decided ones late",
		Witness:     "the fetch was sent before the transactions were ended",
		Log:         "0 plain | 1..2 t1 | 3 t2 | 4 abort t2 | 5 commit t1; the fetch begins at 1 and both end while it waits",
		Known:       "KAFKA-5376: a delayed fetch lost the list",
		run:         func(t *trial) { t.parkedInTime(longPollWokenByEnd) },
	},
	{
		ID: "L-08", Name: "long-poll-woken-by-abort", Class: Live, Profile: Standard, Typical: time.Second, alone: true,
		Requirement: "a reader that waits at the last stable offset gets past a transaction that is aborted, with nothing after it",
		Consequence: "readers stand still, and their lag never goes away",
		Witness:     "the transaction was aborted after the fetch was sent",
		Log:         "0 plain | 1..2 t1 | 3 abort; the fetch begins at 1 and t1 ends while it waits",
		run:         func(t *trial) { t.parkedInTime(longPollWokenByAbort) },
	},
	{
		ID: "L-09", Name: "minbytes-counts-stable", Class: Should, Profile: Standard, Typical: 2 * time.Second, alone: true,
		Requirement: "MinBytes counts only what a reader at read_committed may get",
		Consequence: "readers ask again and again without a pause while a transaction is open",
		Witness:     "read_uncommitted shows more bytes than MinBytes from the fetch offset on",
		Log:         "0 plain, small | 1 open, of 1 kB",
		run:         minBytesCountsStable,
	},
}

const (
	fetchWait   = 700 * time.Millisecond // MaxWait of a fetch that is not to be woken
	parkedWait  = 10 * time.Second       // MaxWait of one that is, at least: see longPoll
	wakesWithin = 2 * time.Second        // after the last stable offset was seen to move
	waitTries   = 3                      // a fetch may be answered early for reasons of its own
	restless    = 5                      // empty answers of a broker that lets no fetch wait
)

// longPoll is MaxWait of a fetch that is to be woken. Bounds on time do not reach
// it, however they are scaled: the answer of a broker that wakes no fetch comes
// after MaxWait, too late for any of them.
func (t *trial) longPoll() time.Duration { return max(parkedWait, t.bound(parkedWait)) }

// early is the time before which an answer did not wait.
func early(maxWait time.Duration) time.Duration { return maxWait * 9 / 10 }

func fetchAtStableWaits(t *trial) {
	p, w := t.partition(), t.producer()
	t.plain(p, 3)
	w.write(p, 2)
	t.appears(p, 5)
	t.witness(t.uncommitted(p, 3).End() == 5, "read_uncommitted of %s has nothing at 3", p)
	if !t.wantStable(p, 3) {
		return
	}
	waited := t.waits(p, 3, fetchSpec{isolation: model.ReadCommitted, maxWait: fetchWait}, func(a answer) {
		t.wantNoError(a)
		t.wantLSO(a, 3)
		t.wantNothing(a)
		t.wantHeldBack(a)
	})
	limit := t.bound(3 * fetchWait)
	t.expectAs(Live, waited <= limit, p, 3, fmt.Sprintf("an answer after MaxWait %s, at the latest after %s", fetchWait, limit),
		fmt.Sprintf("after %s", waited))
	w.abort()
}

// waits fetches until one answer waited for MaxWait, which no answer that comes
// early may keep it from, and returns how long that one took. If all come
// early, that is worth a warning: readers have no other pause.
func (t *trial) waits(p model.Partition, offset int64, spec fetchSpec, judge func(answer)) (took time.Duration) {
	for range waitTries {
		a := t.fetch(p, offset, spec)
		judge(a)
		if took = a.took; took >= early(spec.maxWait) {
			return took
		}
	}
	t.expectAs(Should, false, p, offset, fmt.Sprintf("an answer after MaxWait %s", spec.maxWait), fmt.Sprintf("%d answers in a row that came early, the last after %s", waitTries, took))
	return took
}

func minBytesCountsStable(t *trial) {
	p, w := t.partition(), t.producer()
	w.padding = 1000
	spec := fetchSpec{isolation: model.ReadCommitted, maxWait: fetchWait, minBytes: 500}
	t.plain(p, 1)
	w.write(p, 1)
	t.appears(p, 2)
	if !t.wantStable(p, 1) {
		return
	}
	raw := t.uncommitted(p, 0)
	t.witness(bytesOf(raw.Batches) >= 1000, "read_uncommitted of %s shows %d bytes", p, bytesOf(raw.Batches))
	if small := bytesOf(raw.Batches[:min(1, len(raw.Batches))]); small >= 500 {
		t.undecided("a plain record takes %d bytes in %s", small, p)
	}
	for _, from := range []int64{0, 1} { // with something to give, and with nothing
		t.waits(p, from, spec, t.heldBackAt(1))
	}
	t.grows(p, w, spec)
	w.commit()
}

// heldBackAt judges an answer below an open transaction.
func (t *trial) heldBackAt(lso int64) func(answer) {
	return func(a answer) {
		t.wantNoError(a)
		t.expectAs(Must, a.End() <= lso, a.Partition, a.End(), fmt.Sprintf("%s: batches up to %d, exclusive", a.about(), lso), fmt.Sprintf("batches up to %d", a.End()))
	}
}

// grows lets more undecided bytes come while a fetch waits at the last stable
// offset: they must not wake it.
func (t *trial) grows(p model.Partition, w *producer, spec fetchSpec) {
	var took time.Duration
	for range waitTries {
		poll := t.park(p, 1, spec)
		poll.settleIn()
		w.write(p, 1)
		a, ok := poll.answer(t.bound(settled))
		poll.close()
		if !ok {
			t.undecided("a fetch of %s with MaxWait %s was not answered within %s", p, spec.maxWait, t.bound(settled))
		}
		t.heldBackAt(1)(a)
		if took = a.took; took >= early(spec.maxWait) {
			return
		}
	}
	t.expectAs(Should, false, p, 1, "no answer before MaxWait while undecided bytes come", fmt.Sprintf("an answer after %s", took))
}

func bytesOf(batches []model.Batch) (n int) {
	for i := range batches {
		n += len(batches[i].Raw)
	}
	return n
}
