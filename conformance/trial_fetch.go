package conformance

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/conformance/internal/wire"
)

// fetchSpec is a Fetch for one partition, beyond partition and offset. The zero
// value of a field means what its comment says.
type fetchSpec struct {
	isolation         int8          // model.ReadUncommitted
	version           int16         // the newest that is shared
	maxWait           time.Duration // 20 ms: some brokers answer a wait of 0 without looking
	zeroWait          bool          // send a wait of 0 all the same
	minBytes          int32         // 1
	maxBytes          int32         // 50 MiB
	partitionMaxBytes int32         // 8 MiB
	lane              string        // "fetch"
	broker            int32         // 0: the leader; else the node ID + 1
	rack              string
}

// Defaults of a fetchSpec.
const (
	defaultMaxWait           = 20 * time.Millisecond
	defaultMaxBytes          = 50 << 20
	defaultPartitionMaxBytes = 8 << 20
)

// answer is one partition of an answer to a Fetch.
type answer struct {
	*model.View
	took   time.Duration
	absent bool // the partition is not in the answer, whose error code is that of the whole
}

// nothing says what came instead of a batch.
func (a answer) nothing() string {
	switch {
	case a.absent:
		return fmt.Sprintf("an answer without the partition (error %s)", codeName(a.ErrorCode))
	case a.ErrorCode != 0:
		return codeName(a.ErrorCode)
	}
	return fmt.Sprintf("no batch, %d bytes of one", a.Tail)
}

// committed fetches at read_committed.
func (t *trial) committed(p model.Partition, offset int64) answer {
	return t.fetch(p, offset, fetchSpec{isolation: model.ReadCommitted})
}

// uncommitted fetches at read_uncommitted.
func (t *trial) uncommitted(p model.Partition, offset int64) answer {
	return t.fetch(p, offset, fetchSpec{isolation: model.ReadUncommitted})
}

// fetch sends a Fetch, again if the broker throttles or does not lead, or leads
// since a moment only, and keeps the answer to be judged. Errors of the partition that do not pass are
// in the answer.
func (t *trial) fetch(p model.Partition, offset int64, spec fetchSpec) answer {
	a := t.tryFetch(p, offset, spec)
	if a.absent {
		t.undecided("fetch of %s: %s", p, a.nothing())
	}
	return a
}

// tryFetch is fetch for who has a use for an answer without the partition.
func (t *trial) tryFetch(p model.Partition, offset int64, spec fetchSpec) answer {
	deadline := time.Now().Add(t.bound(settled))
	for {
		told := t.reached(p)
		e, quiet := t.fetchOnce(p, offset, spec)
		if t.outage(e.Err) && time.Now().Before(deadline) {
			t.pause(retryPause, "a leader of "+p.String())
			t.refresh(p)
			continue
		}
		if e.Err != nil {
			t.broken("fetch of "+p.String(), e)
		}
		if e.Throttled() {
			t.pause(time.Duration(e.ThrottleMillis())*time.Millisecond, "the end of a throttle")
			continue
		}
		v := t.viewOf(p, offset, spec, e, quiet)
		if v == nil {
			return absentFrom(e, p, offset, spec)
		}
		if passes(v.ErrorCode) {
			t.pause(retryPause, "a leader of "+p.String())
			t.refresh(p)
			continue
		}
		if refusal(v.ErrorCode) == ReasonNotAuthorized {
			t.refused("fetch of "+p.String(), kmsg.NewPtrFetchRequest(), v.ErrorCode)
		}
		if spec.broker == 0 && v.Follower {
			continue // it lost its office meanwhile
		}
		if spec.broker == 0 && t.lags(v, told) && t.stillNew(p, deadline) {
			continue
		}
		return answer{View: v, took: e.Took()}
	}
}

// absentFrom is an answer in which the partition asked for is not.
func absentFrom(e *wire.Exchange, p model.Partition, offset int64, spec fetchSpec) answer {
	resp := e.Response.(*kmsg.FetchResponse)
	v := &model.View{Partition: p, Isolation: spec.isolation, FetchOffset: offset, Version: resp.Version, ErrorCode: resp.ErrorCode}
	return answer{View: v, took: e.Took(), absent: true}
}

// fetchOnce sends a Fetch. quiet says whether nothing was happening to the
// partition all the while.
func (t *trial) fetchOnce(p model.Partition, offset int64, spec fetchSpec) (e *wire.Exchange, quiet bool) {
	req := t.fetchRequest(p, offset, spec)
	broker := spec.broker - 1
	if spec.broker == 0 {
		broker = t.leader(p) // after the epoch: a newer leader refuses it, while followers answer too
	}
	lane := spec.lane
	if lane == "" {
		lane = "fetch"
	}
	before, quietBefore := t.quietNow(p)
	e = t.exchange(broker, lane, time.Duration(req.MaxWaitMillis)*time.Millisecond, req)
	after, quietAfter := t.quietNow(p)
	if e.Err != nil || e.Throttled() {
		t.remember(step{exchange: e})
	}
	return e, quietBefore && quietAfter && before == after
}

func (t *trial) fetchRequest(p model.Partition, offset int64, spec fetchSpec) *kmsg.FetchRequest {
	t.leader(p) // so that its epoch is known
	req := kmsg.NewPtrFetchRequest()
	req.Version = spec.version
	if spec.version == 0 {
		req.Version = t.version(kmsg.Fetch, t.fetchLimit(p))
	}
	req.MaxWaitMillis = int32(orElse(spec.maxWait, defaultMaxWait).Milliseconds())
	if spec.zeroWait {
		req.MaxWaitMillis = 0
	}
	req.MinBytes = orElse(spec.minBytes, 1)
	req.MaxBytes = orElse(spec.maxBytes, defaultMaxBytes)
	req.IsolationLevel = spec.isolation
	req.SessionEpoch = -1 // no fetch session
	req.Rack = spec.rack
	partition := kmsg.NewFetchRequestTopicPartition()
	partition.Partition, partition.FetchOffset = p.Index, offset
	partition.CurrentLeaderEpoch, partition.LogStartOffset = t.leaderEpoch(p), -1
	partition.PartitionMaxBytes = orElse(spec.partitionMaxBytes, defaultPartitionMaxBytes)
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.TopicID = p.Topic, t.topicID(p)
	topic.Partitions = append(topic.Partitions, partition)
	req.Topics = append(req.Topics, topic)
	return req
}

// fetchLimit is the newest version for a topic: from v13 on it needs an ID.
func (t *trial) fetchLimit(p model.Partition) int16 {
	if t.topicID(p) == ([16]byte{}) {
		return 12
	}
	return anyVersion
}

// topicID is the ID of a partition's topic, zero if the cluster has none.
func (t *trial) topicID(p model.Partition) [16]byte {
	t.mu.Lock()
	id := t.placeLocked(p).topicID
	t.mu.Unlock()
	if id != ([16]byte{}) || !t.run.features.has(kmsg.Metadata, 10) {
		return id
	}
	id = t.describe(p.Topic).TopicID
	t.mu.Lock()
	defer t.mu.Unlock()
	t.placeLocked(p).topicID = id
	return id
}

// viewOf makes a view of the one partition asked for, and keeps it to be judged.
func (t *trial) viewOf(p model.Partition, offset int64, spec fetchSpec, e *wire.Exchange, quiet bool) *model.View {
	resp := e.Response.(*kmsg.FetchResponse)
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return nil
	}
	rp := &resp.Topics[0].Partitions[0]
	v := newView(p, rp)
	v.Isolation, v.FetchOffset, v.Version = spec.isolation, offset, resp.Version
	v.Conn, v.Sent, v.Received, v.Throttled, v.Quiet = e.Conn, e.Sent, e.Received, e.Throttled(), quiet
	v.Broker, v.LeaderEpoch, v.Body = e.Broker, epochSent(e.Request.(*kmsg.FetchRequest), p.Index), e.Bytes
	v.Open = t.pinnedDuring(p, e.Sent, e.Received)
	v.Elected = t.elected(p, v.LeaderEpoch)
	v.Follower = spec.broker != 0 || !t.leads(e.Broker, p)
	t.keep(v)
	if !v.Follower && v.ErrorCode == 0 && !v.Throttled {
		t.tells(v)
	}
	return v
}

// newView takes over what the answer itself says.
func newView(p model.Partition, rp *kmsg.FetchResponseTopicPartition) *model.View {
	v := &model.View{
		Partition: p, ErrorCode: rp.ErrorCode,
		LogStartOffset: rp.LogStartOffset, LastStableOffset: rp.LastStableOffset, HighW: rp.HighWatermark,
		ListNull: rp.AbortedTransactions == nil,
	}
	for _, a := range rp.AbortedTransactions {
		v.List = append(v.List, model.Entry{ProducerID: a.ProducerID, FirstOffset: a.FirstOffset})
	}
	v.Batches, v.Tail, v.Problem = model.Parse(rp.RecordBatches)
	return v
}

// keep remembers a view, to be judged when the script has ended. What is not held
// against the log is judged at once instead, so that its bytes need not be kept:
// scripts that wait for a cleaner read the whole log again and again.
func (t *trial) keep(v *model.View) {
	t.remember(step{view: v})
	t.mu.Lock()
	cleaned := t.cleaned
	t.mu.Unlock()
	if cleaned {
		t.judgeAlone(v)
		v = v.Bounds()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.views = append(t.views, v)
}

func orElse[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}
