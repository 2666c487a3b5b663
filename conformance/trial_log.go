package conformance

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// Timestamps that ListOffsets takes for something else (KIP-79, KIP-734).
const (
	latest       int64 = -1
	earliest     int64 = -2
	maxTimestamp int64 = -3
)

// list asks for an offset by time. It answers -1 where no record qualifies.
func (t *trial) list(p model.Partition, isolation int8, timestamp int64) int64 {
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version = t.version(kmsg.ListOffsets, anyVersion)
	return t.listAt(p, isolation, timestamp, req.Version)
}

// listAt is list in a version.
func (t *trial) listAt(p model.Partition, isolation int8, timestamp int64, version int16) int64 {
	a := t.tryListAt(p, isolation, timestamp, version)
	if !a.ok() {
		t.undecided("list offsets of %s: %s", p, a)
	}
	return a.offset
}

// listed is one partition of an answer to ListOffsets.
type listed struct {
	offset int64
	code   int16
	absent bool // the partition is not in the answer
}

func (a listed) ok() bool { return a.code == 0 && !a.absent }

func (a listed) String() string {
	switch {
	case a.absent:
		return "an answer without the partition"
	case a.code != 0:
		return codeName(a.code)
	}
	return fmt.Sprint(a.offset)
}

// tryListAt is listAt for who has a use for errors that do not pass.
func (t *trial) tryListAt(p model.Partition, isolation int8, timestamp int64, version int16) (a listed) {
	req := listRequest(p, isolation, timestamp, version)
	if !t.until(t.bound(settled), "an answer to ListOffsets", func() bool {
		leader := t.leader(p)
		req.Topics[0].Partitions[0].CurrentLeaderEpoch = t.leaderEpoch(p)
		e := t.do(leader, "list", req)
		if t.outage(e.Err) {
			t.refresh(p)
			return false
		}
		if e.Err != nil {
			t.broken("list offsets of "+p.String(), e)
		}
		a = listedIn(e.Response.(*kmsg.ListOffsetsResponse))
		if passes(a.code) {
			t.refresh(p)
			return false
		}
		if harmless(a.code) {
			t.refused("list offsets of "+p.String(), kmsg.NewPtrListOffsetsRequest(), a.code)
		}
		return true
	}) {
		t.undecided("list offsets of %s: no leader answers", p)
	}
	return a
}

func listedIn(resp *kmsg.ListOffsetsResponse) listed {
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return listed{offset: -1, absent: true}
	}
	rp := &resp.Topics[0].Partitions[0]
	return listed{offset: rp.Offset, code: rp.ErrorCode}
}

func listRequest(p model.Partition, isolation int8, timestamp int64, version int16) *kmsg.ListOffsetsRequest {
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.IsolationLevel, req.ReplicaID = version, isolation, -1
	req.TimeoutMillis = 10_000
	partition := kmsg.NewListOffsetsRequestTopicPartition()
	partition.Partition, partition.Timestamp = p.Index, timestamp
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic = p.Topic
	topic.Partitions = append(topic.Partitions, partition)
	req.Topics = append(req.Topics, topic)
	return req
}

// highWatermark is the end of a partition.
func (t *trial) highWatermark(p model.Partition) int64 {
	return t.list(p, model.ReadUncommitted, latest)
}

// lso is the last stable offset as an answer to a Fetch gives it, -1 if only an
// error comes. A new leader's high watermark may be lower for a moment.
func (t *trial) lso(p model.Partition) int64 {
	lso := int64(-1)
	t.until(t.bound(follow), "the last stable offset of "+p.String(), func() bool {
		end := t.highWatermark(p)
		a := t.fetch(p, end, fetchSpec{isolation: model.ReadCommitted, maxWait: time.Millisecond})
		switch a.ErrorCode {
		case 0:
			lso = a.LastStableOffset
		case kerr.OffsetOutOfRange.Code:
			t.stillThere(p, end)
		}
		return a.ErrorCode != kerr.OffsetOutOfRange.Code
	})
	return lso
}

// patient is how long a Fetch may wait after one that came back empty although
// there is something: storage may need longer than a short wait.
const patient = 500 * time.Millisecond

// walk reads a partition at read_uncommitted from an offset up to another,
// exclusive, and returns the batches.
func (t *trial) walk(p model.Partition, from, to int64) []model.Batch {
	var out []model.Batch
	spec := fetchSpec{isolation: model.ReadUncommitted}
	deadline := time.Now().Add(t.bound(settled))
	for from < to {
		a := t.fetch(p, from, spec)
		if a.ErrorCode != 0 {
			t.undecided("reading %s at %d: %s", p, from, codeName(a.ErrorCode))
		}
		if a.Problem != nil {
			t.unreadable(p, a)
		}
		before := from
		for _, b := range a.Batches {
			if b.Last >= from && b.Base < to {
				out = append(out, b)
				from = b.Last + 1
			}
		}
		spec.maxWait = 0
		if from > before {
			deadline = time.Now().Add(t.bound(settled))
		} else if spec.maxWait = patient; time.Now().After(deadline) {
			t.undecided("reading %s: nothing at offset %d, below %d", p, from, to)
		}
	}
	return out
}

// unreadable ends the script: bytes that do not parse are a finding, and
// nothing else can be said.
func (t *trial) unreadable(p model.Partition, a answer) {
	t.report(Finding{
		Outcome: Fail, Invariant: "U7", Topic: p.Topic, Partition: p.Index, Offset: a.Problem.Offset,
		Requirement: "what a Fetch answers are batches of format v2",
		Consequence: "no client can read the partition",
		Expected:    "batches", Observed: a.Problem.Error(), views: []*model.View{a.View},
	})
	t.undecided("reading %s: %v", p, a.Problem)
}

// oracle reads the whole partition anew at read_uncommitted, up to the high
// watermark of this moment, and works out what became of each transaction.
func (t *trial) oracle(p model.Partition) *model.Log {
	start, end := t.list(p, model.ReadUncommitted, earliest), t.highWatermark(p)
	t.begins(p, start)
	l := model.NewLog(p, start, end, t.walk(p, start, end))
	t.mu.Lock()
	defer t.mu.Unlock()
	return l.Over(t.placeLocked(p).before)
}

// begins notes where the log of a partition begins by now.
func (t *trial) begins(p model.Partition, start int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.placeLocked(p).start = start
}

// keepLog remembers what the partition holds, before records of it go.
func (t *trial) keepLog(p model.Partition) {
	l := t.oracle(p)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.placeLocked(p).before = l
}

// onlyRepeats reports whether a partition has nothing between two offsets but
// markers of transactions that had ended before: a coordinator whose request was
// written, and refused all the same, sends it again at any time.
func (t *trial) onlyRepeats(p model.Partition, from, to int64) bool {
	var l *model.Log
	t.guarded(func() { l = t.oracle(p) })
	if l == nil || from >= to || l.End < to {
		return false
	}
	inside := func(offset int64) bool { return from <= offset && offset < to }
	return !slices.ContainsFunc(l.Runs, func(r model.Run) bool { return inside(r.Marker) }) &&
		!slices.ContainsFunc(l.Batches, func(b model.Batch) bool { return inside(b.Last) && !b.Control() })
}

// scan reads what is new in a partition and returns all of it.
func (t *trial) scan(p model.Partition) []model.Batch {
	t.mu.Lock()
	at := t.placeLocked(p)
	next := at.next
	t.mu.Unlock()
	start := t.list(p, model.ReadUncommitted, earliest)
	t.begins(p, start)
	fresh := t.walk(p, max(next, start), t.highWatermark(p))
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, b := range fresh {
		if b.Base >= at.next {
			at.scanned = append(at.scanned, b)
			at.next = b.Last + 1
		}
	}
	return at.scanned[:len(at.scanned):len(at.scanned)]
}

// markers counts the markers of a producer in a partition.
func (t *trial) markers(p model.Partition, producerID int64) int {
	n := 0
	for _, b := range t.scan(p) {
		if b.ProducerID == producerID && (b.Kind == model.CommitMarker || b.Kind == model.AbortMarker) {
			n++
		}
	}
	return n
}

// settle waits until nothing of a partition is held back, and reports whether
// that came. Only where nothing is open.
func (t *trial) settle(p model.Partition) bool {
	return t.inTime(settled, p, func() bool { return t.lso(p) == t.highWatermark(p) })
}

// wantSettled asserts that nothing of a partition is held back once everything in
// it has ended. Without it, a reader who gets nothing of what was aborted proves
// nothing: it may not get that far.
func (t *trial) wantSettled(p model.Partition) bool {
	if t.settle(p) {
		return true
	}
	lso := t.lso(p)
	t.reportAs(t.lateness(), p, lso, fmt.Sprintf("the last stable offset at the high watermark within %v: every transaction has ended", t.bound(settled)),
		fmt.Sprintf("LSO %d, HW %d", lso, t.highWatermark(p)))
	return false
}

// inTime waits for something about the last stable offset.
func (t *trial) inTime(limit time.Duration, p model.Partition, condition func() bool) bool {
	ok := t.until(t.bound(limit), "the last stable offset of "+p.String(), condition)
	if !ok {
		t.beLate()
	}
	return ok
}

// settleTo waits until the last stable offset is where it has to be.
func (t *trial) settleTo(p model.Partition, lso int64) bool {
	return t.inTime(settled, p, func() bool { return t.lso(p) == lso })
}

// delivered is what a client that follows the lists gets at read_committed,
// from an offset up to the last stable offset.
func (t *trial) delivered(p model.Partition, from int64) []int64 {
	return t.deliveredBy(p, from, fetchSpec{isolation: model.ReadCommitted})
}

// deliveredBy is delivered with other limits of the Fetch.
func (t *trial) deliveredBy(p model.Partition, from int64, spec fetchSpec) []int64 {
	var out []int64
	t.eachStable(p, from, spec, func(a answer) {
		got, err := model.Deliver(a.List, a.Batches, a.FetchOffset)
		if err != nil {
			t.undecided("reading %s at %d: %v", p, a.FetchOffset, err)
		}
		out = append(out, got...)
	})
	return out
}

// eachStable goes through the answers from an offset up to the last stable
// offset.
func (t *trial) eachStable(p model.Partition, from int64, spec fetchSpec, take func(answer)) {
	end := t.lso(p)
	if end < 0 {
		t.undecided("%s has no last stable offset", p)
	}
	deadline := time.Now().Add(t.bound(settled))
	for from < end {
		a := t.fetch(p, from, spec)
		if a.ErrorCode != 0 {
			t.undecided("reading %s at %d: %s", p, from, codeName(a.ErrorCode))
		}
		if a.Problem != nil {
			t.unreadable(p, a)
		}
		take(a)
		if next := a.End(); next > from {
			from = next
			deadline = time.Now().Add(t.bound(settled))
		} else if spec.maxWait = max(spec.maxWait, patient); time.Now().After(deadline) {
			t.reportAs(Live, p, from, "data at every offset below the last stable offset", "nothing at an offset below it")
			t.stop(Inconclusive, "the reader cannot get past an offset")
		}
	}
}
