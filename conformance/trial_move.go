package conformance

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/conformance/internal/wire"
)

// adminWait is how long a broker may take over a change of the cluster.
const adminWait = 10_000 // ms

// moveLeader makes another replica lead a partition: it becomes the preferred
// one, and that one is elected.
func (t *trial) moveLeader(p model.Partition, to int32) {
	t.prefer(p, to)
	if !t.until(t.bound(syncLimit), "another leader of "+p.String(), func() bool {
		t.elect(p)
		return t.refresh(p) == to
	}) {
		t.undecided("%s is led by broker %d, although %d is the preferred replica and was elected", p, t.leader(p), to)
	}
}

// replicas are the brokers that hold a partition, the leader first. Without a
// second one the scenario is skipped.
func (t *trial) replicas(p model.Partition) []int32 {
	leader := t.refresh(p)
	all := slices.DeleteFunc(t.holders(p), func(b int32) bool { return b == leader })
	if len(all) == 0 {
		t.fact("%s has one replica", p)
		t.skip(ReasonFewBrokers, p.String()+" has one replica, it needs 2")
	}
	return append([]int32{leader}, all...)
}

// holders are the brokers that hold a partition.
func (t *trial) holders(p model.Partition) []int32 {
	for _, partition := range t.describe(p.Topic).Partitions {
		if partition.Partition == p.Index {
			return slices.Clone(partition.Replicas)
		}
	}
	return nil
}

// prefer puts a replica first. The others stay, so that nothing is copied.
func (t *trial) prefer(p model.Partition, first int32) {
	order := []int32{first}
	for _, b := range t.replicas(p) {
		if b != first {
			order = append(order, b)
		}
	}
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	req.Version, req.TimeoutMillis = t.version(kmsg.AlterPartitionAssignments, anyVersion), adminWait
	partition := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
	partition.Partition, partition.Replicas = p.Index, order
	topic := kmsg.NewAlterPartitionAssignmentsRequestTopic()
	topic.Topic = p.Topic
	topic.Partitions = append(topic.Partitions, partition)
	req.Topics = append(req.Topics, topic)
	r := t.byController("AlterPartitionReassignments", req, func(resp kmsg.Response) int16 {
		r := resp.(*kmsg.AlterPartitionAssignmentsResponse)
		for _, topic := range r.Topics {
			for _, partition := range topic.Partitions {
				if partition.ErrorCode != 0 {
					return partition.ErrorCode
				}
			}
		}
		return r.ErrorCode
	})
	if !r.ok() {
		r.declined(t, "AlterPartitionReassignments of "+p.String())
	}
}

// elect has the preferred replica of a partition elected. That it leads
// already, or cannot yet, is no error here.
func (t *trial) elect(p model.Partition) {
	req := kmsg.NewPtrElectLeadersRequest()
	req.Version, req.TimeoutMillis = t.version(kmsg.ElectLeaders, anyVersion), adminWait
	topic := kmsg.NewElectLeadersRequestTopic()
	topic.Topic, topic.Partitions = p.Topic, []int32{p.Index}
	req.Topics = append(req.Topics, topic)
	r := t.byController("ElectLeaders", req, func(resp kmsg.Response) int16 {
		r := resp.(*kmsg.ElectLeadersResponse)
		for _, topic := range r.Topics {
			for _, partition := range topic.Partitions {
				if partition.ErrorCode != 0 {
					return partition.ErrorCode
				}
			}
		}
		return r.ErrorCode
	})
	if !r.ok() && !r.in([]*kerr.Error{kerr.ElectionNotNeeded, kerr.PreferredLeaderNotAvailable}) {
		r.declined(t, "ElectLeaders of "+p.String())
	}
}

// byController sends a request to whoever is asked first: brokers hand it on to
// the controller, and those that do not say so. code is the answer's error code.
func (t *trial) byController(what string, req kmsg.Request, code func(kmsg.Response) int16) reply {
	broker := wire.Bootstrap
	return t.retried(what, func() reply {
		e := t.do(broker, "admin", req)
		if e.Err != nil {
			return reply{exchange: e, err: e.Err}
		}
		r := reply{exchange: e, code: code(e.Response)}
		switch r.code {
		case kerr.NotController.Code:
			broker, r.code = t.controller(), kerr.RequestTimedOut.Code // again, there
		case kerr.ReassignmentInProgress.Code:
			r.code = kerr.RequestTimedOut.Code // again, later
		}
		return r
	})
}
