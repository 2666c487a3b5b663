package main

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/kafkatest"
)

// Kafka's own console consumer prints the same records in the same order, at
// both isolation levels.
func TestRealConsumeAgreesWithConsoleConsumer(t *testing.T) {
	cluster := kafkatest.Real(t, kafkatest.Config{Control: true})
	topic := cluster.Topic(t, kafkatest.TopicConfig{})
	s := newScript(topic, topic+"-", cluster.Admin(), []kgo.Opt{kgo.SeedBrokers(cluster.Addrs()...)})
	defer s.close(t.Context())
	require.NoError(t, s.play(t.Context(), demoScript...))

	for level, until := range map[string]string{"read_committed": "stable", "read_uncommitted": "hw"} {
		t.Run(level, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := run(t.Context(), []string{
				"consume", topic, "-b", strings.Join(cluster.Addrs(), ","),
				"--isolation-level", level, "--until", until, "-f", `%v\n`,
			}, nil, &out, &errs)
			require.Equal(t, exitOK, code, errs.String())

			// It cannot stop at an offset, so it waits for more until a timeout.
			want, err := cluster.Local().Tool(t.Context(), "org.apache.kafka.tools.consumer.ConsoleConsumer",
				"--bootstrap-server", cluster.Addrs()[0], "--topic", topic, "--from-beginning",
				"--isolation-level", level, "--timeout-ms", strconv.Itoa(int(4*time.Second/time.Millisecond)))
			require.NoError(t, err)
			require.NotEmpty(t, want)
			require.Equal(t, want, out.String())
		})
	}
}

// A read ends although compaction took the last records below its end and no
// record or marker will ever come from there.
func TestConsumeEndsAtACompactedTail(t *testing.T) {
	const tail = 8
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "orders"))
	require.NoError(t, err)
	defer cluster.Close()
	opts := []kgo.Opt{kgo.SeedBrokers(cluster.ListenAddrs()...)}
	admin, err := connect(t.Context(), cluster.ListenAddrs(), opts)
	require.NoError(t, err)
	defer admin.Close()
	s := newScript("orders", "", admin, opts)
	defer s.close(t.Context())
	require.NoError(t, s.play(t.Context(), step{"plain", send, 5}))
	cluster.ControlKey(int16(kmsg.ListOffsets), emptyTailOffsets(cluster, tail))
	cluster.ControlKey(int16(kmsg.Fetch), emptyTailFetch(cluster, 5, tail))

	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"consume", "orders", "-b", cluster.ListenAddrs()[0], "-e", "stable", "-f", "%o "}, nil, &out, &errs)
	require.Equal(t, exitOK, code, errs.String())
	require.Equal(t, "0 1 2 3 4 ", out.String())
	require.Contains(t, errs.String(), "orders/0 from 0 until 8\n")
}

// emptyTailOffsets says that a log begins at 0 and ends at end.
func emptyTailOffsets(cluster *kfake.Cluster, end int64) func(kmsg.Request) (kmsg.Response, error, bool) {
	return func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		req := kreq.(*kmsg.ListOffsetsRequest)
		resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
		for _, topic := range req.Topics {
			rt := kmsg.NewListOffsetsResponseTopic()
			rt.Topic = topic.Topic
			for _, p := range topic.Partitions {
				rp := kmsg.NewListOffsetsResponseTopicPartition()
				rp.Partition, rp.Offset, rp.LeaderEpoch = p.Partition, 0, 0
				if p.Timestamp == -1 {
					rp.Offset = end
				}
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp, nil, true
	}
}

// emptyTailFetch answers fetches at or above from as a log whose offsets from
// there to end are gone; it leaves others to the broker.
func emptyTailFetch(cluster *kfake.Cluster, from, end int64) func(kmsg.Request) (kmsg.Response, error, bool) {
	return func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		req := kreq.(*kmsg.FetchRequest)
		if len(req.Topics) != 1 || req.Topics[0].Partitions[0].FetchOffset < from {
			return nil, nil, false
		}
		cluster.KeepControl()
		resp := req.ResponseKind().(*kmsg.FetchResponse)
		rt := kmsg.NewFetchResponseTopic()
		rt.Topic, rt.TopicID = req.Topics[0].Topic, req.Topics[0].TopicID
		rp := kmsg.NewFetchResponseTopicPartition()
		rp.LogStartOffset, rp.LastStableOffset, rp.HighWatermark = 0, end, end
		rt.Partitions = append(rt.Partitions, rp)
		resp.Topics = append(resp.Topics, rt)
		return resp, nil, true
	}
}
