package kafkatest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Limit is how long helpers wait for a request or a condition before the test
// fails. It is far above what any of them needs on a busy machine.
const Limit = time.Minute

// AnyLeader makes WaitLeader wait for some leader.
const AnyLeader int32 = -1

// pollInterval is how often a condition is looked at.
const pollInterval = 20 * time.Millisecond

// Wait waits until condition reports true, asking it again and again. state
// says what it saw; the last state is in the failure message: "what: state".
func Wait(t testing.TB, what string, condition func(context.Context) (state string, ok bool)) {
	t.Helper()
	Within(t, Limit, what, condition)
}

// Within is [Wait] with another limit.
func Within(t testing.TB, limit time.Duration, what string, condition func(context.Context) (state string, ok bool)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for {
		state, ok := condition(ctx)
		if ok {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("waited %v for %s: %s", limit, what, state)
		case <-time.After(pollInterval):
		}
	}
}

// WaitLSO waits until a partition's last stable offset is want. It fails at
// once when the last stable offset is past want.
func (c *Cluster) WaitLSO(t testing.TB, topic string, partition int32, want int64) {
	t.Helper()
	c.waitOffset(t, "last stable offset", topic, partition, want, c.LSO)
}

// WaitHW waits until a partition's high watermark is want, like
// [Cluster.WaitLSO].
func (c *Cluster) WaitHW(t testing.TB, topic string, partition int32, want int64) {
	t.Helper()
	c.waitOffset(t, "high watermark", topic, partition, want, c.HW)
}

func (c *Cluster) waitOffset(t testing.TB, name, topic string, partition int32, want int64,
	ask func(context.Context, string, int32) (int64, error),
) {
	t.Helper()
	what := fmt.Sprintf("%s %d of %s/%d", name, want, topic, partition)
	Wait(t, what, func(ctx context.Context) (string, bool) {
		got, err := ask(ctx, topic, partition)
		if err != nil {
			return err.Error(), false
		}
		if got > want {
			t.Fatalf("%s: it is past that, at %d", what, got)
		}
		return fmt.Sprintf("it is %d", got), got == want
	})
}

// LSO asks the leader for a partition's last stable offset, exclusive.
func (c *Cluster) LSO(ctx context.Context, topic string, partition int32) (int64, error) {
	return one(topic, partition)(c.admin.ListCommittedOffsets(ctx, topic))
}

// HW asks the leader for a partition's high watermark, exclusive.
func (c *Cluster) HW(ctx context.Context, topic string, partition int32) (int64, error) {
	return one(topic, partition)(c.admin.ListEndOffsets(ctx, topic))
}

func one(topic string, partition int32) func(kadm.ListedOffsets, error) (int64, error) {
	return func(listed kadm.ListedOffsets, err error) (int64, error) {
		if err != nil {
			return 0, err
		}
		o, ok := listed.Lookup(topic, partition)
		if !ok {
			return 0, fmt.Errorf("%s/%d is not in the answer", topic, partition)
		}
		return o.Offset, o.Err
	}
}

// endLimit is how long transactions that nobody ends may take to end by their
// timeouts, on brokers that have just come back.
const endLimit = 4 * time.Minute

// WaitEnds waits until no transaction is open in a topic's partitions, which
// nobody may write to any more, and returns their ends: the last stable offset
// and the high watermark alike.
func (c *Cluster) WaitEnds(t testing.TB, topic string, partitions int32) map[int32]int64 {
	t.Helper()
	ends := map[int32]int64{}
	for p := range partitions {
		Within(t, endLimit, fmt.Sprintf("the end of all transactions in %s/%d", topic, p), func(ctx context.Context) (string, bool) {
			lso, err := c.LSO(ctx, topic, p)
			if err != nil {
				return err.Error(), false
			}
			ends[p], err = c.HW(ctx, topic, p)
			if err == nil && lso >= ends[p] {
				return "", true
			}
			return fmt.Sprintf("last stable offset %d, high watermark %d, %v; %s", lso, ends[p], err, c.openProducers(ctx, topic, p)), false
		})
	}
	return ends
}

// openProducers says who holds a partition back.
func (c *Cluster) openProducers(ctx context.Context, topic string, partition int32) string {
	var s kadm.TopicsSet
	s.Add(topic, partition)
	described, err := c.admin.DescribeProducers(ctx, s)
	if err != nil {
		return err.Error()
	}
	var open []string
	described.EachProducer(func(p kadm.DescribedProducer) {
		if p.CurrentTxnStartOffset >= 0 {
			open = append(open, fmt.Sprintf("producer %d epoch %d open since offset %d", p.ProducerID, p.ProducerEpoch, p.CurrentTxnStartOffset))
		}
	})
	return strings.Join(open, ", ")
}

// WaitLeader waits until broker want leads a partition, or any if want is
// [AnyLeader], and returns the leader.
func (c *Cluster) WaitLeader(t testing.TB, topic string, partition, want int32) int32 {
	t.Helper()
	var leader int32
	Wait(t, fmt.Sprintf("leader %d of %s/%d", want, topic, partition), func(ctx context.Context) (string, bool) {
		p, err := c.partition(ctx, topic, partition)
		if err != nil {
			return err.Error(), false
		}
		leader = p.Leader
		return fmt.Sprintf("it is %d", leader), leader >= 0 && (want == AnyLeader || leader == want)
	})
	return leader
}

// WaitISR waits until exactly these brokers are in sync for a partition, in
// any order.
func (c *Cluster) WaitISR(t testing.TB, topic string, partition int32, want ...int32) {
	t.Helper()
	want = slices.Sorted(slices.Values(want))
	Wait(t, fmt.Sprintf("in-sync replicas %v of %s/%d", want, topic, partition), func(ctx context.Context) (string, bool) {
		p, err := c.partition(ctx, topic, partition)
		if err != nil {
			return err.Error(), false
		}
		isr := slices.Sorted(slices.Values(p.ISR))
		return fmt.Sprintf("they are %v", isr), slices.Equal(isr, want)
	})
}

// Partition is what the cluster says about a partition now.
func (c *Cluster) Partition(t testing.TB, topic string, partition int32) kmsg.MetadataResponseTopicPartition {
	t.Helper()
	return c.described(t, topic, partition).MetadataResponseTopicPartition
}

// TopicID is a topic's ID.
func (c *Cluster) TopicID(t testing.TB, topic string) [16]byte {
	t.Helper()
	return c.described(t, topic, 0).topicID
}

// described asks until an answer knows the topic: of several brokers the one
// asked may hear of it last.
func (c *Cluster) described(t testing.TB, topic string, partition int32) (p partitionMetadata) {
	t.Helper()
	retry(t, fmt.Sprintf("metadata of %s/%d", topic, partition), func(ctx context.Context) (err error) {
		p, err = c.partition(ctx, topic, partition)
		return err
	})
	return p
}

type partitionMetadata struct {
	kmsg.MetadataResponseTopicPartition
	topicID [16]byte
}

// partition asks afresh: the client's cache would hide a change.
func (c *Cluster) partition(ctx context.Context, topic string, partition int32) (partitionMetadata, error) {
	req := kmsg.NewPtrMetadataRequest()
	reqTopic := kmsg.NewMetadataRequestTopic()
	reqTopic.Topic = kmsg.StringPtr(topic)
	req.Topics = append(req.Topics, reqTopic)
	resp, err := req.RequestWith(ctx, c.client)
	if err != nil {
		return partitionMetadata{}, err
	}
	for _, rt := range resp.Topics {
		if err := kerr.ErrorForCode(rt.ErrorCode); err != nil {
			return partitionMetadata{}, err
		}
		for _, p := range rt.Partitions {
			if p.Partition == partition {
				return partitionMetadata{p, rt.TopicID}, kerr.ErrorForCode(p.ErrorCode)
			}
		}
	}
	return partitionMetadata{}, kerr.UnknownTopicOrPartition
}
