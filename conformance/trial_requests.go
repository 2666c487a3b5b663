package conformance

import (
	"math"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/conformance/internal/wire"
)

// Pauses between the attempts of something that has to wait.
const (
	pollPause  = 10 * time.Millisecond
	retryPause = 50 * time.Millisecond
)

// passing are the error codes of things that pass with time.
var passing = []int16{
	kerr.UnknownTopicOrPartition.Code, kerr.LeaderNotAvailable.Code, kerr.NotLeaderForPartition.Code,
	kerr.CoordinatorLoadInProgress.Code, kerr.CoordinatorNotAvailable.Code, kerr.NotCoordinator.Code,
	kerr.NotEnoughReplicas.Code, kerr.NotEnoughReplicasAfterAppend.Code, kerr.RequestTimedOut.Code,
	kerr.ConcurrentTransactions.Code, kerr.FencedLeaderEpoch.Code, kerr.UnknownLeaderEpoch.Code,
	kerr.ThrottlingQuotaExceeded.Code, kerr.UnknownTopicID.Code, kerr.InconsistentTopicID.Code,
	kerr.OffsetNotAvailable.Code, kerr.ReplicaNotAvailable.Code, kerr.KafkaStorageError.Code,
}

func passes(code int16) bool { return slices.Contains(passing, code) }

// do sends one request on a lane of the trial and remembers the exchange. What
// any broker may answer is asked again while brokers come and go.
func (t *trial) do(broker int32, lane string, req kmsg.Request) *wire.Exchange {
	var e *wire.Exchange
	if broker == wire.Bootstrap && t.rough.Load() {
		e = t.anybody(lane, req)
	} else {
		e = t.exchange(broker, lane, 0, req)
	}
	t.remember(step{exchange: e})
	return e
}

func (t *trial) remember(s step) {
	words := s.seen()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.trace.add(words)
	if s.exchange != nil {
		t.result.Throttled += time.Duration(s.exchange.ThrottleMillis()) * time.Millisecond
	}
}

// version is the newest version of a request that all brokers share, up to
// limit. Without one the scenario is skipped.
func (t *trial) version(key kmsg.Key, limit int16) int16 {
	v := t.run.features.max(key, limit)
	if v < 0 {
		t.skip(ReasonAbsent, "the cluster has no "+key.Name())
	}
	return v
}

// anyVersion is no limit to a version.
const anyVersion = math.MaxInt16

// pause waits a moment, or stops the script when it is out of time.
func (t *trial) pause(d time.Duration, waitsFor string) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-t.ctx.Done():
		t.undecided("waiting for %s: %v", waitsFor, t.ctx.Err())
	case <-timer.C:
	}
}

// until calls a condition again and again until it holds or limit is over, and
// reports which.
func (t *trial) until(limit time.Duration, what string, condition func() bool) bool {
	deadline := time.Now().Add(limit)
	for wait := pollPause; !condition(); wait = min(2*wait, 10*pollPause) {
		if time.Now().After(deadline) {
			return false
		}
		t.pause(wait, what)
	}
	return true
}

// settled bounds how long anything may take that a broker does after its
// answer, such as writing markers.
const settled = 10 * time.Second

// leader is the broker that leads a partition.
func (t *trial) leader(p model.Partition) int32 {
	t.mu.Lock()
	leader := t.placeLocked(p).leader
	t.mu.Unlock()
	if leader >= 0 {
		return leader
	}
	return t.refresh(p)
}

// refresh asks anew who leads a partition, and waits until somebody does.
func (t *trial) refresh(p model.Partition) int32 {
	leader, epoch := int32(-1), int32(-1)
	var id [16]byte
	if !t.until(t.bound(settled), "a leader of "+p.String(), func() bool {
		topic := t.describe(p.Topic)
		if refusal(topic.ErrorCode) == ReasonNotAuthorized {
			t.refused("metadata of "+p.Topic, kmsg.NewPtrMetadataRequest(), topic.ErrorCode)
		}
		for _, partition := range topic.Partitions {
			if partition.Partition == p.Index && partition.ErrorCode == 0 {
				leader, epoch, id = partition.Leader, partition.LeaderEpoch, topic.TopicID
			}
		}
		return leader >= 0
	}) {
		t.undecided("%s has no leader", p)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.placeLocked(p)
	at.led(leader, epoch, len(t.run.features.brokers) == 1)
	at.topicID = id
	return leader
}

// describe asks for the metadata of a topic.
func (t *trial) describe(topic string) kmsg.MetadataResponseTopic {
	return t.describeAt(wire.Bootstrap, topic)
}

// describeAt is describe by one broker.
func (t *trial) describeAt(broker int32, topic string) kmsg.MetadataResponseTopic {
	return t.metadataOf(broker, topic, false)
}

// metadataOf is describeAt, and may have the broker make the topic.
func (t *trial) metadataOf(broker int32, topic string, create bool) kmsg.MetadataResponseTopic {
	req := kmsg.NewPtrMetadataRequest()
	req.Version = t.version(kmsg.Metadata, 12)
	req.AllowAutoTopicCreation = create
	wanted := kmsg.NewMetadataRequestTopic()
	wanted.Topic = kmsg.StringPtr(topic)
	req.Topics = append(req.Topics, wanted)
	e := t.do(broker, "metadata", req)
	if e.Err != nil {
		t.broken("metadata", e)
	}
	resp := e.Response.(*kmsg.MetadataResponse)
	t.client.Learn(resp)
	if len(resp.Topics) == 0 {
		return kmsg.MetadataResponseTopic{ErrorCode: kerr.UnknownTopicOrPartition.Code}
	}
	return resp.Topics[0]
}

// coordinator is the broker that coordinates a transactional ID or a group.
func (t *trial) coordinator(key string, kind int8) int32 {
	req := t.run.features.findCoordinator(key, kind)
	broker := int32(-1)
	if !t.until(t.bound(settled), "the coordinator of "+key, func() bool {
		e := t.do(wire.Bootstrap, "metadata", req)
		if e.Err != nil {
			t.broken("find coordinator", e)
		}
		resp := e.Response.(*kmsg.FindCoordinatorResponse)
		switch {
		case resp.ErrorCode == 0:
			broker = resp.NodeID
			t.client.Learn(&kmsg.MetadataResponse{Brokers: []kmsg.MetadataResponseBroker{{NodeID: resp.NodeID, Host: resp.Host, Port: resp.Port}}})
		case !passes(resp.ErrorCode):
			t.refused("find coordinator of "+key, req, resp.ErrorCode)
		}
		return broker >= 0
	}) {
		t.undecided("%s has no coordinator", key)
	}
	return broker
}

// Kinds of coordinators.
const (
	ofGroup       int8 = 0
	ofTransaction int8 = 1
)
