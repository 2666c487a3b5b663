package conformance

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// member is a member of a group, in one generation of it.
type member struct {
	g          *group
	id         string
	generation int32
	instance   *string // of a static member; nil: it is none
}

// sessionTimeout is for how long a member that says nothing stays in its group.
// Brokers allow no shorter one by default.
const sessionTimeout = 6 * time.Second

// joinAs makes a static member join the group, which has no other members, for
// the partitions of a topic, and waits until the generation is complete. One
// that joins as an instance that is there already replaces it.
func (g *group) joinAs(instance string, p model.Partition) *member {
	req := g.joinRequest(instance, p)
	r := g.t.retried("JoinGroup", func() reply {
		e := g.t.do(g.coordinator(), g.lane(), req)
		if e.Err != nil {
			return reply{exchange: e, err: e.Err}
		}
		return reply{exchange: e, code: e.Response.(*kmsg.JoinGroupResponse).ErrorCode}
	})
	if !r.ok() {
		r.unusable(g.t, "JoinGroup of "+g.name)
	}
	resp := r.exchange.Response.(*kmsg.JoinGroupResponse)
	m := &member{g: g, id: resp.MemberID, generation: resp.Generation, instance: &instance}
	m.sync(resp, p)
	return m
}

func (g *group) joinRequest(instance string, p model.Partition) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version = g.t.version(kmsg.JoinGroup, 9)
	req.Group, req.InstanceID, req.ProtocolType = g.name, &instance, "consumer"
	req.SessionTimeoutMillis = int32(sessionTimeout.Milliseconds())
	req.RebalanceTimeoutMillis = req.SessionTimeoutMillis
	wants := kmsg.NewConsumerMemberMetadata()
	wants.Topics = []string{p.Topic}
	protocol := kmsg.NewJoinGroupRequestProtocol()
	protocol.Name, protocol.Metadata = "range", wants.AppendTo(nil)
	req.Protocols = append(req.Protocols, protocol)
	return req
}

// sync takes the partition, as the only member and so the leader of the group.
func (m *member) sync(joined *kmsg.JoinGroupResponse, p model.Partition) {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Version = m.g.t.version(kmsg.SyncGroup, 5)
	req.Group, req.Generation, req.MemberID, req.InstanceID = m.g.name, m.generation, m.id, m.instance
	kind := "consumer"
	req.ProtocolType, req.Protocol = &kind, joined.Protocol
	if joined.LeaderID == m.id {
		gets := kmsg.NewConsumerMemberAssignment()
		topic := kmsg.NewConsumerMemberAssignmentTopic()
		topic.Topic, topic.Partitions = p.Topic, []int32{p.Index}
		gets.Topics = append(gets.Topics, topic)
		assigned := kmsg.NewSyncGroupRequestGroupAssignment()
		assigned.MemberID, assigned.MemberAssignment = m.id, gets.AppendTo(nil)
		req.GroupAssignment = append(req.GroupAssignment, assigned)
	}
	r := m.g.t.retried("SyncGroup", func() reply {
		e := m.g.t.do(m.g.coordinator(), m.g.lane(), req)
		if e.Err != nil {
			return reply{exchange: e, err: e.Err}
		}
		return reply{exchange: e, code: e.Response.(*kmsg.SyncGroupResponse).ErrorCode}
	})
	if !r.ok() {
		r.unusable(m.g.t, "SyncGroup of "+m.g.name)
	}
}

// leave takes the instance out of the group, so that the group can be deleted.
// It may be deferred: it does what it can in a script that was stopped, too. If
// that is nothing, the session of the member ends by itself.
func (m *member) leave() {
	t := m.g.t
	req := kmsg.NewPtrLeaveGroupRequest()
	if req.Version = t.run.features.max(kmsg.LeaveGroup, 5); req.Version < 0 {
		return
	}
	req.Group, req.MemberID = m.g.name, m.id
	leaving := kmsg.NewLeaveGroupRequestMember()
	leaving.MemberID, leaving.InstanceID = m.id, m.instance
	req.Members = append(req.Members, leaving)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), sessionTimeout)
	defer cancel()
	_ = t.run.askCoordinator(ctx, m.g.name, ofGroup, req, func(resp kmsg.Response) int16 {
		return resp.(*kmsg.LeaveGroupResponse).ErrorCode
	})
}
