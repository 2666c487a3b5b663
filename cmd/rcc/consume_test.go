package main

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/batchtest"
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
	var out, errs bytes.Buffer
	code := consumeLog(t, batchtest.Data(0, 4).Bytes(), 8, &out, &errs)
	require.Equal(t, exitOK, code, errs.String())
	require.Equal(t, "0 1 2 3 4 ", out.String())
	require.Contains(t, errs.String(), "orders/0 from 0 until 8\n")
}

// What stands before a batch that cannot be read is printed; then one line
// names the place.
func TestConsumeStopsAtABatchItCannotRead(t *testing.T) {
	for name, tt := range map[string]struct {
		batch batchtest.Batch
		want  string
	}{
		"damaged":        {batchtest.Data(3, 5).Flip(70), "CRC"},
		"unknown format": {batchtest.Data(3, 5).ClaimMagic(3), "magic"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			log := batchtest.Log{batchtest.Data(0, 2), tt.batch, batchtest.Data(6, 7)}
			code := consumeLog(t, log.Bytes(), 8, &out, &errs)
			require.Equal(t, exitError, code, errs.String())
			require.Equal(t, "0 1 2 ", out.String())
			lines := strings.Split(strings.TrimSpace(errs.String()), "\n")
			last := lines[len(lines)-1]
			require.True(t, strings.HasPrefix(last, "rcc: error: topic orders partition 0: batch at offset 3: "), last)
			require.Contains(t, strings.ToLower(last), strings.ToLower(tt.want))
		})
	}
}

// consumeLog runs a consume until the last stable offset against a broker
// whose one partition holds these bytes and ends at end.
func consumeLog(t *testing.T, log []byte, end int64, out, errs *bytes.Buffer) int {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "orders"))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	cluster.ControlKey(int16(kmsg.ListOffsets), func(req kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		return listed(req.(*kmsg.ListOffsetsRequest), end), nil, true
	})
	cluster.ControlKey(int16(kmsg.Fetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		req := kreq.(*kmsg.FetchRequest)
		if len(req.Topics) == 0 {
			return nil, nil, false
		}
		cluster.KeepControl()
		return fetchedBytes(req, log, end), nil, true
	})
	return run(t.Context(), []string{"consume", "orders", "-b", cluster.ListenAddrs()[0], "-e", "stable", "-f", "%o "}, nil, out, errs)
}

// listed answers that the log begins at 0 and ends at end.
func listed(req *kmsg.ListOffsetsRequest, end int64) *kmsg.ListOffsetsResponse {
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
	return resp
}

// fetchedBytes answers a fetch with the batches that end at or above its
// offset, as a broker does: whole batches, from a batch's start.
func fetchedBytes(req *kmsg.FetchRequest, log []byte, end int64) *kmsg.FetchResponse {
	resp := req.ResponseKind().(*kmsg.FetchResponse)
	rt := kmsg.NewFetchResponseTopic()
	rt.Topic, rt.TopicID = req.Topics[0].Topic, req.Topics[0].TopicID
	rp := kmsg.NewFetchResponseTopicPartition()
	rp.LogStartOffset, rp.LastStableOffset, rp.HighWatermark = 0, end, end
	rp.RecordBatches = log
	for len(rp.RecordBatches) > 0 && lastOffset(rp.RecordBatches) < req.Topics[0].Partitions[0].FetchOffset {
		rp.RecordBatches = rp.RecordBatches[12+binary.BigEndian.Uint32(rp.RecordBatches[8:]):]
	}
	rt.Partitions = append(rt.Partitions, rp)
	resp.Topics = append(resp.Topics, rt)
	return resp
}

// lastOffset is that of the batch at the front of b: base offset and last
// offset delta.
func lastOffset(b []byte) int64 {
	return int64(binary.BigEndian.Uint64(b)) + int64(binary.BigEndian.Uint32(b[23:]))
}
