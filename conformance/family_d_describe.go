package conformance

import (
	"fmt"
	"slices"
	"time"

	"example.com/readcommitted/conformance/internal/model"
)

// describedProducers looks at a transaction with DescribeProducers before and
// after its end.
func describedProducers(t *trial) {
	p := t.partition()
	t.plain(p, 7)
	w := t.producer()
	first, id := w.write(p, 2), w.id
	lso := t.committed(p, 0).LastStableOffset
	all := t.uncommitted(p, 0)
	t.witness(all.End() == first+2, "read_uncommitted of %s ends at %d", p, all.End())
	a := t.activeProducer(p, id)
	if t.expect(a != nil, p, first, fmt.Sprintf("pid %d in DescribeProducers", id), "no such") {
		t.expect(a.CurrentTxnStartOffset == first && lso == first, p, first,
			fmt.Sprintf("the transaction from %d on, which is the last stable offset", first),
			fmt.Sprintf("one from %d on, LSO %d", a.CurrentTxnStartOffset, lso))
		t.expect(a.ProducerEpoch == int32(w.epoch), p, first, fmt.Sprintf("producer epoch %d", w.epoch), fmt.Sprint(a.ProducerEpoch))
		t.fact("%s: of an open transaction of two records DescribeProducers gives last sequence %d, coordinator epoch %d", t.level, a.LastSequence, a.CoordinatorEpoch)
	}
	w.commit()
	t.wantSettled(p)
	if a = t.activeProducer(p, id); a != nil {
		t.expect(a.CurrentTxnStartOffset < 0, p, a.CurrentTxnStartOffset, "no transaction of the producer after its end",
			fmt.Sprintf("one from %d on", a.CurrentTxnStartOffset))
	}
}

// describedTransactions looks at two transactions with DescribeTransactions
// before and after their ends.
func describedTransactions(t *trial) {
	ps, w := t.partitions(4), t.producer()
	for _, commit := range []bool{true, false} {
		for _, p := range ps[:3] {
			w.write(p, 1)
		}
		t.witness(true, "")
		w.wantOngoing(ps[:3])
		w.finish(commit)
		w.wantEnded(ps[0], commit)
	}
}

// wantOngoing asserts what the coordinator says of an open transaction.
func (w *producer) wantOngoing(inside []model.Partition) {
	t, at := w.t, inside[0]
	s := t.describeTransaction(w.name)
	t.expect(s.State == stateOngoing, at, -1, "state Ongoing", s.State)
	t.expect(s.ProducerID == w.id && s.ProducerEpoch == w.epoch, at, -1,
		fmt.Sprintf("pid %d/%d", w.id, w.epoch), fmt.Sprintf("pid %d/%d", s.ProducerID, s.ProducerEpoch))
	t.expect(time.Duration(s.TimeoutMillis)*time.Millisecond == w.timeout, at, -1,
		fmt.Sprintf("a timeout of %s", w.timeout), fmt.Sprintf("%d ms", s.TimeoutMillis))
	t.expect(s.StartTimestamp > 0, at, -1, "when it began", fmt.Sprint(s.StartTimestamp))
	var got []int32
	for _, topic := range s.Topics {
		if topic.Topic == at.Topic {
			got = append(got, topic.Partitions...)
		}
	}
	slices.Sort(got)
	var want []int32
	for _, p := range inside {
		want = append(want, p.Index)
	}
	t.expect(slices.Equal(got, want) && len(s.Topics) == 1, at, -1, fmt.Sprintf("partitions %v", want),
		fmt.Sprintf("%v, in %d topics", got, len(s.Topics)))
}

// wantEnded asserts that the coordinator says how a transaction ended, or that
// there is none.
func (w *producer) wantEnded(p model.Partition, commit bool) {
	complete := "CompleteAbort"
	if commit {
		complete = "CompleteCommit"
	}
	state := ""
	ok := w.t.until(w.t.bound(settled), "the state of "+w.name, func() bool {
		state = w.t.describeTransaction(w.name).State
		return state == complete || state == stateEmpty
	})
	w.t.expect(ok, p, -1, "state "+complete+" or Empty after the markers", state)
	w.t.factOnce(fmt.Sprintf("%s: a transaction that ended is %s", w.t.level, state))
}

// explained bounds how long a last stable offset may stay below the high
// watermark without a reason: a marker may wait for replicas for 30 s.
const explained = 45 * time.Second

// explainedPins holds a last stable offset back and lets it go, by a commit and
// by a takeover.
func explainedPins(t *trial) {
	p, name := t.partition(), t.newID()
	t.plain(p, 1)
	w := t.producerFor(name, defaultTimeout)
	for _, end := range []func(){w.commit, func() { t.producerFor(name, defaultTimeout) }} {
		w.write(p, 1)
		lso, high := t.lso(p), t.highWatermark(p)
		t.witness(lso < high, "the last stable offset of %s is at the high watermark %d", p, high)
		t.wantExplained(p, name)
		end()
		t.until(t.bound(explained), "the last stable offset of "+p.String(), func() bool { return t.lso(p) == t.highWatermark(p) })
		t.wantExplained(p, name)
	}
}

// wantExplained asserts that the last stable offset is at the high watermark,
// or where the cluster says that an open transaction of this ID begins, or
// where one begins whose marker is in the log.
func (t *trial) wantExplained(p model.Partition, name string) {
	observed := ""
	ok := t.until(t.bound(explained), "a reason for the last stable offset of "+p.String(), func() bool {
		lso, high := t.lso(p), t.highWatermark(p)
		s := t.describeTransaction(name)
		observed = fmt.Sprintf("LSO %d, HW %d, %s is %s with pid %d", lso, high, name, s.State, s.ProducerID)
		return lso >= high || t.startsAt(p, lso, s.ProducerID) && s.unfinished() || t.markedFrom(p, lso)
	})
	if !t.expect(ok, p, t.lso(p), "a transaction that begins at the last stable offset", observed) {
		t.stop(Fail, "the last stable offset stays and nobody says why")
	}
}

// startsAt reports whether the leader knows an open transaction of a producer
// that begins at an offset, or at the log's start if it began before.
func (t *trial) startsAt(p model.Partition, offset, id int64) bool {
	a := t.activeProducer(p, id)
	return a != nil && a.CurrentTxnStartOffset >= 0 && max(a.CurrentTxnStartOffset, t.list(p, model.ReadUncommitted, earliest)) == offset
}

// markedFrom reports whether the transaction that begins at an offset has its
// marker in the log.
func (t *trial) markedFrom(p model.Partition, offset int64) bool {
	for _, r := range t.oracle(p).Runs {
		if r.First == offset && r.Marker >= 0 {
			return true
		}
	}
	return false
}
