package conformance

import (
	"fmt"
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

// lookInterval is how often a coordinator of Apache Kafka looks for transactions
// that timed out, and usually its value, which abortSlack has room for.
const (
	lookInterval = "transaction.abort.timed.out.transaction.cleanup.interval.ms"
	usualLook    = 10 * time.Second
)

// untilTimeout waits for a sign that the cluster has ended a producer's
// transaction by itself, until so long after its timeout as a coordinator may
// take. late says when that was over, "" if the sign came before. Where the
// interval of the coordinator's looks leaves a scenario no time, it ends.
func (t *trial) untilTimeout(w *producer, began time.Time, sign func() bool) (late string) {
	slack := t.bound(abortSlack)
	if t.until(time.Until(began.Add(w.timeout+slack)), "the end of a transaction's timeout", sign) {
		return ""
	}
	millis, told, withheld := t.brokerSetting(w.coordinator(), lookInterval)
	if withheld {
		t.undecided("the cluster has not ended a transaction %v after its timeout of %v, and how often it looks for such (%s) is told to those with DescribeConfigs on the cluster",
			slack, w.timeout, lookInterval)
	}
	more := time.Duration(millis)*time.Millisecond - usualLook
	switch end := time.Now().Add(more); {
	case !told:
		return fmt.Sprintf("%v after the timeout of %v (the cluster does not tell its %s)", slack, w.timeout, lookInterval)
	case more <= 0:
		return fmt.Sprintf("%v after the timeout of %v", slack, w.timeout)
	case t.endsBefore(end.Add(usualLook)):
		t.undecided("the cluster looks for transactions that timed out every %v (%s), which the scenario has no time for", usualLook+more, lookInterval)
	}
	if t.until(more, "the end of a transaction's timeout", sign) {
		return ""
	}
	return fmt.Sprintf("%v after the timeout of %v, at looks every %v", slack+more, w.timeout, usualLook+more)
}

// endsBefore reports whether the script's time is over before a moment.
func (t *trial) endsBefore(moment time.Time) bool {
	end, ok := t.ctx.Deadline()
	return ok && end.Before(moment)
}

// timedOut waits for the cluster to end a producer's transaction by itself, in
// the first partition that it wrote to. Then all partitions have their markers.
// If that does not come in time, the script ends.
func (t *trial) timedOut(w *producer) {
	inside := w.partitionsInside()
	if late := t.untilTimeout(w, w.began, func() bool { return t.markers(inside[0], w.id) > 0 }); late != "" {
		t.undecided("the cluster had not ended the transaction %s", late)
	}
	age := time.Since(w.began)
	t.witness(age >= w.timeout, "the marker came %v after the transaction began, at a timeout of %v", age, w.timeout)
	t.endingAll(w.name)
	for _, p := range inside {
		t.awaitMarker(p, w.id, 1)
	}
}
