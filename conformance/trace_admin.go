package conformance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// manyShown bounds the parts of one exchange in its line.
const manyShown = 8

// several are the parts of an exchange, bounded.
type several struct {
	before string // each; a space if it is empty
	parts  []string
}

func (s *several) add(format string, args ...any) {
	s.parts = append(s.parts, fmt.Sprintf(format, args...))
}

func (s *several) String() string {
	before := s.before
	if before == "" {
		before = " "
	}
	var b strings.Builder
	for _, part := range s.parts[:min(len(s.parts), manyShown)] {
		b.WriteString(before + part)
	}
	if more := len(s.parts) - manyShown; more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	return b.String()
}

func spaced(ps []model.Partition) string {
	var words several
	for _, p := range ps {
		words.add("%s", p)
	}
	return words.String()
}

// describeAdminRequest is what a request asks for that looks at the cluster or
// changes it, "" for other requests.
func describeAdminRequest(req kmsg.Request) string {
	var words several
	switch req := req.(type) {
	case *kmsg.FindCoordinatorRequest:
		words.add("of %s", req.CoordinatorKey)
	case *kmsg.MetadataRequest:
		for _, topic := range req.Topics {
			words.add("%s", topicName(topic.Topic))
		}
	case *kmsg.CreateTopicsRequest:
		for _, topic := range req.Topics {
			words.add("%s with %d partitions%s", topic.Topic, topic.NumPartitions, configsShown(topic.Configs))
		}
	case *kmsg.DeleteTopicsRequest:
		for _, name := range req.TopicNames {
			words.add("%s", name)
		}
	case *kmsg.DeleteRecordsRequest:
		for _, topic := range req.Topics {
			for _, p := range topic.Partitions {
				words.add("%s/%d below %d", topic.Topic, p.Partition, p.Offset)
			}
		}
	case *kmsg.DescribeTransactionsRequest:
		for _, id := range req.TransactionalIDs {
			words.add("%s", id)
		}
	case *kmsg.ListTransactionsRequest:
		for _, state := range req.StateFilters {
			words.add("%s", state)
		}
		for _, id := range req.ProducerIDFilters {
			words.add("pid %d", id)
		}
	default:
		return spaced(partitionsIn(req))
	}
	return words.String()
}

func configsShown(configs []kmsg.CreateTopicsRequestTopicConfig) string {
	words := ""
	for _, c := range configs {
		words += " " + c.Name
		if c.Value != nil {
			words += "=" + *c.Value
		}
	}
	return words
}

func topicName(name *string) string {
	if name == nil {
		return "a topic by its ID"
	}
	return *name
}

// describeAdminAnswer is the answer to such a request, "" for other answers.
func describeAdminAnswer(resp kmsg.Response) string {
	words := several{before: ": "}
	switch resp := resp.(type) {
	case *kmsg.FindCoordinatorResponse:
		words.add("%s broker %d", codeName(resp.ErrorCode), resp.NodeID)
	case *kmsg.MetadataResponse:
		for _, topic := range resp.Topics {
			words.add("%s %s%s", topicName(topic.Topic), codeName(topic.ErrorCode), leadersShown(topic.Partitions))
		}
	case *kmsg.CreateTopicsResponse:
		for _, topic := range resp.Topics {
			words.add("%s %s", topic.Topic, codeName(topic.ErrorCode))
		}
	case *kmsg.DeleteTopicsResponse:
		for _, topic := range resp.Topics {
			words.add("%s %s", topicName(topic.Topic), codeName(topic.ErrorCode))
		}
	case *kmsg.DeleteRecordsResponse:
		for _, topic := range resp.Topics {
			for _, p := range topic.Partitions {
				words.add("%s/%d %s log start offset %d", topic.Topic, p.Partition, codeName(p.ErrorCode), p.LowWatermark)
			}
		}
	default:
		return describeDescription(resp)
	}
	return words.String()
}

func leadersShown(partitions []kmsg.MetadataResponseTopicPartition) string {
	partitions = slices.Clone(partitions)
	slices.SortFunc(partitions, func(a, b kmsg.MetadataResponseTopicPartition) int { return int(a.Partition) - int(b.Partition) })
	var words several
	for _, p := range partitions {
		if p.ErrorCode != 0 {
			words.add("%d %s", p.Partition, codeName(p.ErrorCode))
			continue
		}
		words.add("%d led by %d in epoch %d", p.Partition, p.Leader, p.LeaderEpoch)
	}
	return words.String()
}

// describeDescription is an answer that describes producers, transactions or
// settings, "" for other answers.
func describeDescription(resp kmsg.Response) string {
	words := several{before: ": "}
	switch resp := resp.(type) {
	case *kmsg.DescribeProducersResponse:
		for _, topic := range resp.Topics {
			for _, p := range topic.Partitions {
				words.add("%s/%d %s%s", topic.Topic, p.Partition, codeName(p.ErrorCode), producersShown(p.ActiveProducers))
			}
		}
	case *kmsg.DescribeTransactionsResponse:
		for _, s := range resp.TransactionStates {
			word := fmt.Sprintf("%s %s %s pid %d/%d", s.TransactionalID, codeName(s.ErrorCode), s.State, s.ProducerID, s.ProducerEpoch)
			for _, topic := range s.Topics {
				word += fmt.Sprintf(" %s %v", topic.Topic, topic.Partitions)
			}
			words.add("%s", word)
		}
	case *kmsg.ListTransactionsResponse:
		words.add("%s", codeName(resp.ErrorCode))
		for _, s := range resp.TransactionStates {
			words.add("%s %s pid %d", s.TransactionalID, s.TransactionState, s.ProducerID)
		}
	case *kmsg.DescribeConfigsResponse:
		for _, r := range resp.Resources {
			words.add("%s %s", r.ResourceName, codeName(r.ErrorCode))
		}
	case *kmsg.ElectLeadersResponse:
		words.add("%s", codeName(resp.ErrorCode))
	case *kmsg.AlterPartitionAssignmentsResponse:
		words.add("%s", codeName(resp.ErrorCode))
	}
	return words.String()
}

func producersShown(active []kmsg.DescribeProducersResponseTopicPartitionActiveProducer) string {
	var words several
	for _, a := range active {
		words.add("pid %d/%d last sequence %d transaction from %d", a.ProducerID, a.ProducerEpoch, a.LastSequence, a.CurrentTxnStartOffset)
	}
	return words.String()
}
