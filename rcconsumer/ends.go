package rcconsumer

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Isolation levels on the wire.
const (
	isolationUncommitted int8 = 0
	isolationCommitted   int8 = 1
)

// question is one partition whose end is asked for.
type question struct {
	key   key   // by topic name
	epoch int32 // leader epoch of the asker, -1 to ask whoever leads
}

// ends is the answer of one leader, with every partition asked for.
type ends map[key]listed

func (p *partition) key() key { return key{topic: p.topic, partition: p.id} }

// listEnds asks one leader, once, for the ends of partitions: the last stable
// offsets at isolationCommitted, the high watermarks at isolationUncommitted.
// The error is that of the whole request. Other than [Consumer.list] it goes to
// the leader named and is not retried, so that its cost is known.
func (c *Consumer) listEnds(ctx context.Context, leader int32, isolation int8, of []question) (ends, error) {
	defer c.listing.enter(ctx, leader, false)()
	resp, err := c.cl.Broker(int(leader)).Request(ctx, endsRequest(isolation, of))
	if err != nil {
		return nil, fmt.Errorf("list offsets of broker %d: %w", leader, err)
	}
	answer := resp.(*kmsg.ListOffsetsResponse) //nolint:forcetypeassert // kgo answers a ListOffsetsRequest with nothing else
	c.listing.note(leader, time.Duration(answer.ThrottleMillis)*time.Millisecond)
	e := make(ends, len(of))
	if answer.Version < minListVersion {
		return e, &VersionError{Request: "ListOffsets", Got: answer.Version, Need: minListVersion}
	}
	for _, q := range of {
		e[q.key] = listed{offset: -1, epoch: -1, err: q.key.listError(errLeftOut)}
	}
	for i := range answer.Topics {
		for j := range answer.Topics[i].Partitions {
			p := &answer.Topics[i].Partitions[j]
			k := key{topic: answer.Topics[i].Topic, partition: p.Partition}
			if _, asked := e[k]; asked {
				e[k] = k.listedOf(p, false)
			}
		}
	}
	return e, nil
}

func endsRequest(isolation int8, of []question) *kmsg.ListOffsetsRequest {
	req := kmsg.NewPtrListOffsetsRequest()
	req.IsolationLevel = isolation
	topics := make(map[string]int)
	for _, q := range of {
		i, ok := topics[q.key.topic]
		if !ok {
			i = len(req.Topics)
			topics[q.key.topic] = i
			t := kmsg.NewListOffsetsRequestTopic()
			t.Topic = q.key.topic
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.CurrentLeaderEpoch, p.Timestamp = q.key.partition, q.epoch, timestampEnd
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, p)
	}
	return req
}

func (k key) listError(err error) error {
	return fmt.Errorf("topic %s partition %d: list offsets: %w", k.topic, k.partition, err)
}
