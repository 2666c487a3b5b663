package conformance

import (
	"fmt"
	"slices"
	"time"

	"example.com/readcommitted/conformance/internal/model"
)

// parkedInTime makes a situation again that did not come about, since the Fetch was
// too late to wait for the end: a busy machine needs several attempts.
func (t *trial) parkedInTime(situation func(*trial) (waited bool)) {
	for range waitTries {
		if situation(t) {
			t.witness(true, "")
			return
		}
	}
	t.witness(false, "the fetch that was answered with data was sent after the end, or waited for MaxWait, %d times", waitTries)
}

func longPollWokenByEnd(t *trial) bool {
	p, t1, t2 := t.partition(), t.producer(), t.producer()
	t.plain(p, 1)
	t1.write(p, 2)
	t2.write(p, 1)
	t.appears(p, 4)
	if !t.wantStable(p, 1) {
		return true
	}
	poll := t.parkForData(p, 1, fetchSpec{isolation: model.ReadCommitted, maxWait: t.longPoll()})
	defer poll.close()
	poll.settleIn()
	t2.abort()
	poll.settleIn() // again, if it was answered with nothing
	ending := time.Now()
	t1.commit()
	if !t.wantAllStable(p) {
		return true
	}
	a, ok := poll.answer(t.bound(wakesWithin))
	if !t.expectAs(Live, ok, p, 1, fmt.Sprintf("an answer with data within %s after the last stable offset moved", t.bound(wakesWithin)), "none") {
		return true
	}
	t.wantNoError(a)
	t.wantHeldBack(a)
	t.wantPassedOn(a, 1, 2)
	return t.parkedUntil(poll, a, ending)
}

// parkedUntil reports whether the answer was asked for before a moment and came
// before MaxWait, after which it comes without anything that wakes it; or the
// broker lets no fetch wait anyway.
func (t *trial) parkedUntil(poll *parked, a answer, moment time.Time) bool {
	n := poll.empty.Load()
	if n > 0 {
		t.fact("%d empty answers before MaxWait came before the one with data", n)
	}
	return a.Sent.Before(moment) && a.took < early(poll.spec.maxWait) || n >= restless
}

// wantPassedOn asserts what a client hands out that follows the list of an
// answer, and goes on after it up to the last stable offset.
func (t *trial) wantPassedOn(a answer, want ...int64) {
	got, err := model.Deliver(a.List, a.Batches, a.FetchOffset)
	if err != nil || a.Problem != nil {
		t.unreadableBatches(a, err)
	}
	got = slices.Concat(got, t.delivered(a.Partition, a.End()))
	t.wantOffsets(a.Partition, fmt.Sprintf("delivered at read_committed by the %s that waited, list %s, and after it", a.about(), model.ListString(a.List)), got, want)
}

// unreadableBatches ends the script for an answer that cannot be followed.
func (t *trial) unreadableBatches(a answer, err error) {
	if a.Problem != nil {
		t.unreadable(a.Partition, a)
	}
	t.undecided("reading %s at %d: %v", a.Partition, a.FetchOffset, err)
}

func longPollWokenByAbort(t *trial) bool {
	p, w := t.partition(), t.producer()
	t.plain(p, 1)
	w.write(p, 2)
	t.appears(p, 3)
	if !t.wantStable(p, 1) {
		return true
	}
	poll := t.parkForData(p, 1, fetchSpec{isolation: model.ReadCommitted, maxWait: t.longPoll()})
	defer poll.close()
	poll.settleIn()
	ending := time.Now()
	w.abort()
	if !t.wantAllStable(p) {
		return true
	}
	took := t.stopwatch()
	a, ok := poll.answer(t.bound(wakesWithin))
	waited, position := !ok || t.parkedUntil(poll, a, ending), int64(1)
	for ok {
		if position = t.wantSkipped(a); position >= 4 || took() > t.bound(wakesWithin) {
			break
		}
		a = t.committed(p, position)
	}
	t.expect(position >= 4, p, position, fmt.Sprintf("a position of 4, after the abort marker, within %s after the last stable offset moved", t.bound(wakesWithin)),
		fmt.Sprintf("position %d", position))
	return waited
}

// wantSkipped asserts that a client that follows the list of an answer hands
// out nothing of it, and returns where it reads on.
func (t *trial) wantSkipped(a answer) (position int64) {
	got, err := model.Deliver(a.List, a.Batches, a.FetchOffset)
	if err != nil || a.Problem != nil {
		t.unreadableBatches(a, err)
	}
	t.expectAs(Must, len(got) == 0, a.Partition, a.FetchOffset, a.about()+": nothing to hand out", "offsets "+model.Spans(got))
	return a.End()
}
