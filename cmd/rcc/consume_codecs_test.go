package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/kafkatest"
)

// Half of what five producers write, each with a codec of its own, is aborted.
// What rcc prints is what they committed, and line for line what Kafka's own
// console consumer prints: offset, timestamp, headers, key and value, null ones
// too.
func TestRealConsumePrintsWhatWasCommittedInEveryCodec(t *testing.T) {
	const partitions, rounds = 3, 20
	cluster := kafkatest.Real(t, kafkatest.Config{Control: true})
	topic := cluster.Topic(t, kafkatest.TopicConfig{Partitions: partitions})
	var committed []string
	for i, codec := range []kgo.CompressionCodec{
		kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression(),
	} {
		client, err := kgo.NewClient(
			kgo.SeedBrokers(cluster.Addrs()...), kgo.TransactionalID(fmt.Sprint(topic, "-", i)),
			kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(codec),
		)
		require.NoError(t, err)
		for round := range rounds {
			records := textRecords(topic, partitions, i, round)
			require.NoError(t, client.BeginTransaction())
			require.NoError(t, client.ProduceSync(t.Context(), records...).FirstErr())
			commits := kgo.TransactionEndTry(round%2 == 0)
			require.NoError(t, client.EndTransaction(t.Context(), commits))
			if commits == kgo.TryCommit {
				for _, r := range records {
					committed = append(committed, consoleLine(r))
				}
			}
		}
		client.Close()
	}
	slices.Sort(committed)

	var read []string
	require.Eventually(t, func() bool { // the last marker may show late
		read = consumeLines(t, topic, cluster.Addrs())
		return len(read) >= len(committed)
	}, 10*time.Second, 100*time.Millisecond)
	require.Equal(t, committed, read)

	args := []string{
		"--bootstrap-server", cluster.Addrs()[0], "--topic", topic, "--from-beginning",
		"--isolation-level", "read_committed", "--max-messages", fmt.Sprint(len(committed)),
	}
	for _, field := range []string{"timestamp", "key", "offset", "partition", "headers"} {
		args = append(args, "--property", "print."+field+"=true")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := cluster.Local().Tool(ctx, "org.apache.kafka.tools.consumer.ConsoleConsumer", args...)
	require.NoError(t, err)
	console := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	slices.Sort(console)
	require.Equal(t, read, slices.DeleteFunc(console, func(line string) bool { return !strings.HasPrefix(line, "CreateTime:") }))
}

// textRecords are a few records to each partition, none of which holds a line
// end.
func textRecords(topic string, partitions int32, producer, round int) []*kgo.Record {
	var records []*kgo.Record
	for p := range partitions {
		value := []byte(fmt.Sprintf("%d/%d %s", producer, round, strings.Repeat("lorem äöü 漢字 ", round)))
		records = append(records,
			&kgo.Record{Topic: topic, Partition: p, Key: []byte("key"), Value: value},
			&kgo.Record{Topic: topic, Partition: p, Value: value, Headers: []kgo.RecordHeader{{Key: "a", Value: value[:3]}, {Key: "b"}}},
			&kgo.Record{Topic: topic, Partition: p, Key: []byte{}, Value: nil},
			&kgo.Record{Topic: topic, Partition: p, Key: []byte("null"), Value: []byte{}})
	}
	return records
}

// consumeLines reads the topic with rcc and returns its records, sorted, in the
// console consumer's form.
func consumeLines(t *testing.T, topic string, addrs []string) []string {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"consume", topic, "-b", strings.Join(addrs, ","), "--until", "stable", "-J"}, nil, &out, &errs)
	require.Equal(t, exitOK, code, errs.String())
	var lines []string
	for line := range strings.Lines(out.String()) {
		var r struct {
			Partition  int32
			Offset     int64
			Timestamp  time.Time
			Key, Value *string
			Headers    []struct{ Key, Value *string }
		}
		require.NoError(t, json.Unmarshal([]byte(line), &r))
		record := &kgo.Record{Partition: r.Partition, Offset: r.Offset, Timestamp: r.Timestamp, Key: pointed(r.Key), Value: pointed(r.Value)}
		for _, h := range r.Headers {
			record.Headers = append(record.Headers, kgo.RecordHeader{Key: *h.Key, Value: pointed(h.Value)})
		}
		lines = append(lines, consoleLine(record))
	}
	slices.Sort(lines)
	return lines
}

func pointed(s *string) []byte {
	if s == nil {
		return nil
	}
	return []byte(*s)
}

// consoleLine is a record as Kafka's DefaultMessageFormatter prints it.
func consoleLine(r *kgo.Record) string {
	word := func(b []byte) string {
		if b == nil {
			return "null"
		}
		return string(b)
	}
	headers := "NO_HEADERS"
	for i, h := range r.Headers {
		if i == 0 {
			headers = ""
		} else {
			headers += ","
		}
		headers += h.Key + ":" + word(h.Value)
	}
	return fmt.Sprintf("CreateTime:%d\tPartition:%d\tOffset:%d\t%s\t%s\t%s",
		r.Timestamp.UnixMilli(), r.Partition, r.Offset, headers, word(r.Key), word(r.Value))
}
