package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// describeOffsetRequest is what a request about a group asks for, "" for other
// requests.
func describeOffsetRequest(req kmsg.Request) string {
	var b strings.Builder
	switch req := req.(type) {
	case *kmsg.AddOffsetsToTxnRequest:
		fmt.Fprintf(&b, " %s pid %d/%d %s", req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group)
	case *kmsg.TxnOffsetCommitRequest:
		fmt.Fprintf(&b, " %s pid %d/%d %s", req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group)
		if req.MemberID != "" {
			fmt.Fprintf(&b, " member %s in generation %d", req.MemberID, req.Generation)
		}
		for _, topic := range req.Topics {
			for _, p := range topic.Partitions {
				fmt.Fprintf(&b, " %s/%d offset %d", topic.Topic, p.Partition, p.Offset)
			}
		}
	case *kmsg.OffsetCommitRequest:
		fmt.Fprintf(&b, " %s", req.Group)
		for _, topic := range req.Topics {
			for _, p := range topic.Partitions {
				fmt.Fprintf(&b, " %s/%d offset %d", topic.Topic, p.Partition, p.Offset)
			}
		}
	case *kmsg.OffsetFetchRequest:
		fmt.Fprintf(&b, " %s", req.Group)
		for _, g := range req.Groups {
			b.WriteString(g.Group)
		}
		if req.RequireStable {
			b.WriteString(", stable offsets only")
		}
	case *kmsg.JoinGroupRequest:
		fmt.Fprintf(&b, " %s", req.Group)
	}
	return b.String()
}

// describeOffsetAnswer is the answer to a request about a group, "" for other
// answers.
func describeOffsetAnswer(resp kmsg.Response) string {
	var b strings.Builder
	switch resp := resp.(type) {
	case *kmsg.AddOffsetsToTxnResponse:
		fmt.Fprintf(&b, ": %s", codeName(resp.ErrorCode))
	case *kmsg.TxnOffsetCommitResponse:
		for _, topic := range resp.Topics {
			for _, p := range topic.Partitions {
				fmt.Fprintf(&b, ": %s/%d %s", topic.Topic, p.Partition, codeName(p.ErrorCode))
			}
		}
	case *kmsg.OffsetCommitResponse:
		for _, topic := range resp.Topics {
			for _, p := range topic.Partitions {
				fmt.Fprintf(&b, ": %s/%d %s", topic.Topic, p.Partition, codeName(p.ErrorCode))
			}
		}
	case *kmsg.OffsetFetchResponse:
		found := offsetsIn(resp)
		if found.code != 0 {
			fmt.Fprintf(&b, ": %s", codeName(found.code))
		}
		for _, p := range slices.SortedFunc(maps.Keys(found.partitions), comparePartitions) {
			fmt.Fprintf(&b, ": %s %s", p, found.partitions[p])
		}
	case *kmsg.JoinGroupResponse:
		fmt.Fprintf(&b, ": %s member %s in generation %d", codeName(resp.ErrorCode), resp.MemberID, resp.Generation)
	}
	return b.String()
}
