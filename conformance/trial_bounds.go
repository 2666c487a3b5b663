package conformance

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"example.com/readcommitted/conformance/internal/model"
)

// stableFollows bounds how long the last stable offset may take to follow a
// marker that is in the log already.
const stableFollows = 3 * time.Second

// wantStable asserts that the last stable offset comes to stand at want. One
// above it is a breach of safety at once; one below is a breach of progress,
// and only if it stays.
func (t *trial) wantStable(p model.Partition, want int64) bool {
	lso := int64(-1)
	came := t.until(t.bound(stableFollows), "the last stable offset of "+p.String(), func() bool {
		lso = t.bounds(p).LastStableOffset
		return lso >= want
	})
	expected, observed := fmt.Sprintf("LSO %d", want), fmt.Sprintf("LSO %d", lso)
	if !came {
		t.reportAs(Live, p, lso, fmt.Sprintf("%s within %s", expected, t.bound(stableFollows)), observed)
		return false
	}
	return t.expectAs(Must, lso == want, p, lso, expected, observed)
}

// wantAllStable asserts that nothing of a partition is held back, as far as it
// goes at the moment: another marker may come at any time, as coordinators may
// write one twice.
func (t *trial) wantAllStable(p model.Partition) bool {
	lso, high := int64(-1), int64(-1)
	came := t.until(t.bound(stableFollows), "the last stable offset of "+p.String(), func() bool {
		a := t.bounds(p)
		lso, high = a.LastStableOffset, a.HighW
		return lso >= high
	})
	observed := fmt.Sprintf("LSO %d", lso)
	if !came {
		t.reportAs(Live, p, lso, fmt.Sprintf("LSO %d, the high watermark, within %s", high, t.bound(stableFollows)), observed)
		return false
	}
	high = t.bounds(p).HighW
	return t.expectAs(Must, lso <= high, p, lso, fmt.Sprintf("an LSO not above HW %d", high), observed)
}

// bounds asks for the bounds of a partition that has its first records, by a
// Fetch: ListOffsets is judged by it.
func (t *trial) bounds(p model.Partition) answer {
	a := t.fetch(p, 0, fetchSpec{isolation: model.ReadCommitted, maxWait: time.Millisecond, partitionMaxBytes: 1})
	if a.ErrorCode == kerr.OffsetOutOfRange.Code {
		t.stillThere(p, 0)
	}
	return a
}

// appears waits until a partition shows what was acknowledged up to an offset:
// readers may learn of it later than the producer.
func (t *trial) appears(p model.Partition, end int64) {
	high := int64(-1)
	if !t.until(t.bound(settled), "the acknowledged records of "+p.String(), func() bool {
		high = t.bounds(p).HighW
		return high >= end
	}) {
		t.reportAs(Live, p, high, fmt.Sprintf("the acknowledged records up to %d, exclusive, below the high watermark within 10 s", end), fmt.Sprintf("HW %d", high))
		t.stop(Inconclusive, "readers do not get what was acknowledged in "+p.String())
	}
}

// wantNothing asserts that an answer holds no batch.
func (t *trial) wantNothing(a answer) {
	t.expectAs(Must, len(a.Batches) == 0, a.Partition, a.FetchOffset, a.about()+": no batch",
		fmt.Sprintf("batches up to %d", a.End()))
}

// wantHeldBack asserts that an answer goes no further than the transactions
// that were open all the while.
func (t *trial) wantHeldBack(a answer) {
	for _, b := range model.U2b(a.View) {
		t.reportAs(Must, a.Partition, b.Offset, b.Expected, b.Observed)
	}
}

// stopwatch measures from now on, without the time for which brokers asked the
// client to wait.
func (t *trial) stopwatch() func() time.Duration {
	begin, before := time.Now(), t.throttled()
	return func() time.Duration { return time.Since(begin) - (t.throttled() - before) }
}

func (t *trial) throttled() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.result.Throttled
}
