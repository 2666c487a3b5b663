package kafkatest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// Isolation levels of a Fetch or ListOffsets request.
const (
	ReadUncommitted int8 = 0
	ReadCommitted   int8 = 1
)

// FetchSpec is a Fetch request for one partition. The zero value of a field
// that Kafka takes no zero for means a default.
type FetchSpec struct {
	Topic     string
	Partition int32
	Offset    int64
	Isolation int8 // [ReadUncommitted] or [ReadCommitted]

	// Version is the request's version; the default is the highest that client
	// and broker share.
	Version int16

	// Broker is who is asked; the default 0 is the partition's leader. Kafka's
	// broker IDs here begin with 1.
	Broker int32

	MaxWait           time.Duration // default: answer at once
	MaxBytes          int32         // default 50 MiB
	PartitionMaxBytes int32         // default 1 MiB
	Rack              string
}

// Fetch sends one Fetch request as told and returns the answer as it came,
// errors inside included.
func (c *Cluster) Fetch(t testing.TB, spec FetchSpec) *kmsg.FetchResponse {
	t.Helper()
	var opts []kgo.Opt
	if spec.Version != 0 {
		versions := kversion.Stable()
		versions.SetMaxKeyVersion(int16(kmsg.Fetch), spec.Version)
		opts = append(opts, kgo.MaxVersions(versions))
	}
	client := c.Client(t, opts...)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), Limit+spec.MaxWait)
	defer cancel()
	p, err := c.partition(ctx, spec.Topic, spec.Partition)
	require.NoError(t, err)
	broker := p.Leader
	if spec.Broker != 0 {
		broker = spec.Broker
	}
	resp, err := client.Broker(int(broker)).Request(ctx, spec.request(p.topicID))
	require.NoError(t, err, "fetch %+v", spec)
	answer := resp.(*kmsg.FetchResponse)
	if spec.Version != 0 {
		require.Equal(t, spec.Version, answer.Version, "version of the fetch answer")
	}
	return answer
}

// FetchPartition is [Cluster.Fetch] for the answer's one partition.
func (c *Cluster) FetchPartition(t testing.TB, spec FetchSpec) kmsg.FetchResponseTopicPartition {
	t.Helper()
	answer := c.Fetch(t, spec)
	require.Len(t, answer.Topics, 1)
	require.Len(t, answer.Topics[0].Partitions, 1)
	return answer.Topics[0].Partitions[0]
}

func (s FetchSpec) request(topicID [16]byte) *kmsg.FetchRequest {
	partition := kmsg.NewFetchRequestTopicPartition()
	partition.Partition = s.Partition
	partition.FetchOffset = s.Offset
	partition.PartitionMaxBytes = orDefault(s.PartitionMaxBytes, 1<<20)
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.TopicID = s.Topic, topicID // by name up to v12, by ID above
	topic.Partitions = append(topic.Partitions, partition)
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis = int32(s.MaxWait.Milliseconds())
	req.MinBytes = 1
	req.MaxBytes = orDefault(s.MaxBytes, 50<<20)
	req.IsolationLevel = s.Isolation
	req.Rack = s.Rack
	req.SessionEpoch = -1 // no fetch session
	req.Topics = append(req.Topics, topic)
	return req
}

func orDefault(v, d int32) int32 {
	if v == 0 {
		return d
	}
	return v
}
