package conformance

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// partitionsIn are those that a request names, none for a request that is about
// none, or about whole topics.
func partitionsIn(req kmsg.Request) (out []model.Partition) {
	add := func(topic string, index int32) { out = append(out, model.Partition{Topic: topic, Index: index}) }
	each := func(topic string, indexes []int32) {
		for _, index := range indexes {
			add(topic, index)
		}
	}
	switch req := req.(type) {
	case *kmsg.ProduceRequest:
		for _, topic := range req.Topics {
			for _, p := range topic.Partitions {
				add(topic.Topic, p.Partition)
			}
		}
	case *kmsg.AddPartitionsToTxnRequest:
		for _, topic := range req.Topics {
			each(topic.Topic, topic.Partitions)
		}
	case *kmsg.WriteTxnMarkersRequest:
		for _, m := range req.Markers {
			for _, topic := range m.Topics {
				each(topic.Topic, topic.Partitions)
			}
		}
	case *kmsg.DeleteRecordsRequest:
		for _, topic := range req.Topics {
			for _, p := range topic.Partitions {
				add(topic.Topic, p.Partition)
			}
		}
	case *kmsg.ListOffsetsRequest:
		for _, topic := range req.Topics {
			for _, p := range topic.Partitions {
				add(topic.Topic, p.Partition)
			}
		}
	case *kmsg.DescribeProducersRequest:
		for _, topic := range req.Topics {
			each(topic.Topic, topic.Partitions)
		}
	}
	return out
}
