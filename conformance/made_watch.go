package conformance

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/wire"
)

// nothingMade are the errors with which a broker says that it made nothing.
// Others leave that open: a coordinator that could not replicate a new ID in time
// says COORDINATOR_NOT_AVAILABLE, and has it all the same.
var nothingMade = []int16{
	kerr.TopicAuthorizationFailed.Code, kerr.GroupAuthorizationFailed.Code, kerr.ClusterAuthorizationFailed.Code,
	kerr.TransactionalIDAuthorizationFailed.Code, kerr.TopicAlreadyExists.Code, kerr.InvalidConfig.Code,
	kerr.PolicyViolation.Code, kerr.InvalidPartitions.Code, kerr.InvalidReplicationFactor.Code,
	kerr.InvalidTopicException.Code, kerr.InvalidTransactionTimeout.Code, kerr.UnsupportedVersion.Code,
	kerr.ThrottlingQuotaExceeded.Code, kerr.CoordinatorLoadInProgress.Code,
}

func nothingMadeBy(code int16) bool { return slices.Contains(nothingMade, code) }

// watch is called with every exchange of a trial. What its request may have made
// is noted, unless the answer says that nothing was made.
func (m *made) watch(e *wire.Exchange) {
	if e.Sent.IsZero() {
		return // nobody heard of it
	}
	switch req := e.Request.(type) {
	case *kmsg.CreateTopicsRequest:
		resp, _ := e.Response.(*kmsg.CreateTopicsResponse)
		m.created(req, resp)
	case *kmsg.MetadataRequest:
		resp, _ := e.Response.(*kmsg.MetadataResponse)
		m.asked(req, resp)
	case *kmsg.InitProducerIDRequest:
		resp, ok := e.Response.(*kmsg.InitProducerIDResponse)
		if id := req.TransactionalID; id != nil && m.ours(*id) && (!ok || !nothingMadeBy(resp.ErrorCode)) {
			m.transactionalID(*id)
		}
	case *kmsg.JoinGroupRequest:
		resp, ok := e.Response.(*kmsg.JoinGroupResponse)
		if m.ours(req.Group) && (!ok || !nothingMadeBy(resp.ErrorCode)) {
			m.group(req.Group)
		}
	case *kmsg.OffsetCommitRequest:
		if m.ours(req.Group) && !noneCommitted(e.Response) {
			m.group(req.Group)
		}
	case *kmsg.TxnOffsetCommitRequest:
		if m.ours(req.Group) && !noneCommitted(e.Response) {
			m.group(req.Group)
		}
	}
}

func (m *made) ours(name string) bool { return strings.HasPrefix(name, m.prefix) }

// created notes topics of a creation; resp is nil without an answer.
func (m *made) created(req *kmsg.CreateTopicsRequest, resp *kmsg.CreateTopicsResponse) {
	codes := map[string]int16{}
	if resp != nil {
		for _, t := range resp.Topics {
			codes[t.Topic] = t.ErrorCode
		}
	}
	for _, t := range req.Topics {
		if m.ours(t.Topic) && !nothingMadeBy(codes[t.Topic]) {
			m.topic(t.Topic)
		}
	}
}

// asked notes topics that brokers may make because somebody asks for them.
func (m *made) asked(req *kmsg.MetadataRequest, resp *kmsg.MetadataResponse) {
	if !req.AllowAutoTopicCreation {
		return
	}
	codes := map[string]int16{}
	if resp != nil {
		for _, t := range resp.Topics {
			if t.Topic != nil {
				codes[*t.Topic] = t.ErrorCode
			}
		}
	}
	for _, t := range req.Topics {
		if t.Topic != nil && m.ours(*t.Topic) && !nothingMadeBy(codes[*t.Topic]) {
			m.topic(*t.Topic)
		}
	}
}

// noneCommitted reports whether a coordinator took none of the offsets: the first
// one that it takes makes the group.
func noneCommitted(resp kmsg.Response) bool {
	var codes []int16
	switch resp := resp.(type) {
	case *kmsg.OffsetCommitResponse:
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				codes = append(codes, p.ErrorCode)
			}
		}
	case *kmsg.TxnOffsetCommitResponse:
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				codes = append(codes, p.ErrorCode)
			}
		}
	}
	return len(codes) > 0 && !slices.ContainsFunc(codes, func(code int16) bool { return !nothingMadeBy(code) })
}
