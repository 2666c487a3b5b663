package kafkatest_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/kafkatest"
	"example.com/readcommitted/internal/kafkatest/capture"
)

// fixedTime makes what is captured depend less on the clock.
const fixedTime = 1_700_000_000_000

// rollingTopic is compacted only when told, see clean. A record more than a
// minute younger than the first of its segment begins the next one.
var rollingTopic = map[string]string{
	"cleanup.policy":            "compact",
	"min.cleanable.dirty.ratio": "1.0",
	"segment.ms":                "60000",
	"delete.retention.ms":       "0",
}

func shapes() []shape {
	committed, uncommitted := kafkatest.ReadCommitted, kafkatest.ReadUncommitted
	list := []shape{
		{
			name: "idempotent", doc: "two batches of an idempotent producer, sequences 0 and 2",
			write: writeIdempotent, fetch: kafkatest.FetchSpec{Isolation: committed}, visible: []int64{0, 1, 2},
		},
		{
			name: "append-time", doc: "the broker stamps the batch: base and max timestamp are its append time",
			topic: map[string]string{"message.timestamp.type": "LogAppendTime"},
			write: writeVaried, fetch: kafkatest.FetchSpec{Isolation: committed}, visible: []int64{0, 1, 2, 3},
		},
		{
			name: "transactions-v1", doc: "commit and abort markers, producer epoch as in the data (transaction.version 1)",
			write: writeTransactions(1), fetch: kafkatest.FetchSpec{Isolation: committed}, visible: []int64{0, 1, 5, 6},
		},
		{
			name: "transactions-v2", doc: "commit and abort markers, producer epoch one above the data's (transaction.version 2)", only: "4.4.0",
			write: writeTransactions(2), fetch: kafkatest.FetchSpec{Isolation: committed}, visible: []int64{0, 1, 5, 6},
		},
		{
			name: "transactions-read-uncommitted", doc: "the log of transactions-v1 at read_uncommitted: the list is null",
			write: writeTransactions(1), fetch: kafkatest.FetchSpec{Isolation: uncommitted}, visible: []int64{0, 1, 3, 5, 6, 7},
		},
		{
			name: "one-batch-long-list", doc: "PartitionMaxBytes 1: one whole batch, while the list reaches far beyond the bytes",
			write: writeTransactions(1), fetch: kafkatest.FetchSpec{Isolation: committed, PartitionMaxBytes: 1}, visible: []int64{0, 1},
		},
		{
			name: "open-transaction", doc: "bytes end at the last stable offset: a transaction is open",
			write: writeOpen, fetch: kafkatest.FetchSpec{Isolation: committed}, visible: []int64{0},
		},
		{
			name: "cut-tail", doc: "PartitionMaxBytes 200: the last batch is cut",
			write: writePlain(5), fetch: kafkatest.FetchSpec{Isolation: committed, PartitionMaxBytes: 200}, visible: []int64{0, 1},
		},
		{
			name: "log-start-inside-a-batch", doc: "records below 2 were deleted: the batch comes whole",
			write: writeDeleted, fetch: kafkatest.FetchSpec{Isolation: committed, Offset: 2}, visible: []int64{2, 3},
		},
		{
			name: "compacted-once", doc: "compacted: batches without records that keep a producer's last sequence, a tombstone with a delete horizon",
			topic: rollingTopic,
			write: writeCompacted(1), fetch: kafkatest.FetchSpec{Isolation: committed}, visible: []int64{6, 7, 8, 9},
		},
		{
			name: "compacted-twice", doc: "compacted again, the transactions' data being gone: markers with a delete horizon",
			topic: rollingTopic,
			write: writeCompacted(2), fetch: kafkatest.FetchSpec{Isolation: committed}, visible: []int64{7, 8, 9, 10},
		},
		{
			name: "compacted-thrice", doc: "compacted past the markers' delete horizon: a control batch without records is left where it keeps a producer's epoch",
			topic: rollingTopic,
			write: writeCompacted(3), fetch: kafkatest.FetchSpec{Isolation: committed}, visible: []int64{8, 9, 10, 11},
		},
	}
	for _, codec := range []string{"uncompressed", "gzip", "snappy", "lz4", "zstd"} {
		list = append(list, shape{
			name: "codec-" + codec, doc: "compressed by the broker with the Java client's codec; null and empty keys, values and headers",
			topic: map[string]string{"compression.type": codec},
			write: writeVaried, fetch: kafkatest.FetchSpec{Isolation: committed}, visible: []int64{0, 1, 2, 3},
		})
	}
	return list
}

func writeVaried(t *testing.T, c *kafkatest.Cluster, topic string) {
	long := "a value that is long enough to be worth it, worth it, worth it, worth it, worth it, worth it"
	c.Produce(t, topic, 0, kafkatest.Batch{Timestamp: fixedTime, Records: []kafkatest.Record{
		{Key: []byte("key"), Value: []byte(long), Headers: []kmsg.Header{{Key: "a", Value: []byte("x")}, {Key: "b", Value: []byte{}}, {Key: "c"}}},
		{Key: nil, Value: []byte(long)},
		{Key: []byte{}, Value: []byte{}},
		{Key: []byte("tombstone"), Value: nil},
	}})
}

func writePlain(n int) func(*testing.T, *kafkatest.Cluster, string) {
	return func(t *testing.T, c *kafkatest.Cluster, topic string) {
		for i := range n {
			c.Produce(t, topic, 0, kafkatest.Values(fmt.Sprint("value-", i)))
		}
	}
}

func writeIdempotent(t *testing.T, c *kafkatest.Cluster, topic string) {
	p := c.Producer(t, kafkatest.ProducerConfig{Idempotent: true})
	p.Produce(t, topic, 0, kafkatest.Values("a", "b"))
	p.Produce(t, topic, 0, kafkatest.Values("c"))
}

// writeTransactions: A commits 0-1, B aborts 3, plain 5, A commits 6, B aborts
// 7 with its marker before A's.
func writeTransactions(version int16) func(*testing.T, *kafkatest.Cluster, string) {
	return func(t *testing.T, c *kafkatest.Cluster, topic string) {
		a := c.Producer(t, kafkatest.ProducerConfig{TransactionalID: kafkatest.Name(t), TransactionVersion: version})
		b := c.Producer(t, kafkatest.ProducerConfig{TransactionalID: kafkatest.Name(t), TransactionVersion: version})
		a.Produce(t, topic, 0, kafkatest.Values("a0", "a1"))
		a.Commit(t)
		c.WaitLSO(t, topic, 0, 3)
		b.Produce(t, topic, 0, kafkatest.Values("b3"))
		b.Abort(t)
		c.WaitLSO(t, topic, 0, 5)
		c.Produce(t, topic, 0, kafkatest.Values("n5"))
		a.Produce(t, topic, 0, kafkatest.Values("a6"))
		b.Produce(t, topic, 0, kafkatest.Values("b7"))
		b.Abort(t)
		c.WaitHW(t, topic, 0, 9)
		a.Commit(t)
		c.WaitLSO(t, topic, 0, 10)
	}
}

func writeOpen(t *testing.T, c *kafkatest.Cluster, topic string) {
	p := c.Producer(t, kafkatest.ProducerConfig{TransactionalID: kafkatest.Name(t)})
	c.Produce(t, topic, 0, kafkatest.Values("n0"))
	p.Produce(t, topic, 0, kafkatest.Values("p1"))
	c.Produce(t, topic, 0, kafkatest.Values("n2"))
	c.WaitHW(t, topic, 0, 3)
}

func writeDeleted(t *testing.T, c *kafkatest.Cluster, topic string) {
	c.Produce(t, topic, 0, kafkatest.Values("a", "b", "c", "d"))
	c.DeleteRecords(t, topic, 0, 2)
}

// writeCompacted: A commits k1, k2 at 0-1 (marker 2), B writes k3 at 3 and is
// fenced (marker 4, next epoch), an idempotent producer writes k4 at 5, a
// tombstone for k5 at 6; then k1, k2, k4 again at 7-9 in the second segment
// and, in a third that is not compacted because it is the last, k9 at 10.
// Then the log is compacted, up to three times. Before the second time k1 is
// written at 11, before the third k2 at 12, each in a new last segment.
func writeCompacted(times int) func(*testing.T, *kafkatest.Cluster, string) {
	return func(t *testing.T, c *kafkatest.Cluster, topic string) {
		bID := kafkatest.Name(t)
		a := c.Producer(t, kafkatest.ProducerConfig{TransactionalID: kafkatest.Name(t)})
		b := c.Producer(t, kafkatest.ProducerConfig{TransactionalID: bID})
		i := c.Producer(t, kafkatest.ProducerConfig{Idempotent: true})
		a.Produce(t, topic, 0, keyed(0, "k1", "k2"))
		a.Commit(t)
		c.WaitLSO(t, topic, 0, 3)
		b.Produce(t, topic, 0, keyed(0, "k3"))
		c.Fence(t, bID)
		c.WaitLSO(t, topic, 0, 5)
		i.Produce(t, topic, 0, keyed(0, "k4"))
		tombstone := keyed(0, "k5")
		tombstone.Records[0].Value = nil
		c.Produce(t, topic, 0, tombstone)
		c.Produce(t, topic, 0, keyed(20*time.Minute, "k1", "k2", "k4"))
		c.Produce(t, topic, 0, keyed(30*time.Minute, "k9"))
		clean(t, c, topic, "a delete horizon", func(b capture.Batch) bool { return b.DeleteHorizon })
		if times > 1 {
			c.Produce(t, topic, 0, keyed(40*time.Minute, "k1"))
			clean(t, c, topic, "a marker's delete horizon", func(b capture.Batch) bool { return b.Control && b.DeleteHorizon })
		}
		if times > 2 {
			c.Produce(t, topic, 0, keyed(50*time.Minute, "k2"))
			clean(t, c, topic, "a marker without a record", func(b capture.Batch) bool { return b.Control && len(b.Records) == 0 })
		}
	}
}

// keyed is a batch with one record a key, from the current time on plus ahead
// (brokers refuse more than an hour).
func keyed(ahead time.Duration, keys ...string) kafkatest.Batch {
	b := kafkatest.Batch{Timestamp: time.Now().Add(ahead).UnixMilli()}
	for _, k := range keys {
		b.Records = append(b.Records, kafkatest.Record{Key: []byte(k), Value: []byte("value-of-" + k)})
	}
	return b
}

// clean lets the log cleaner at the topic until the log holds a batch as
// wanted.
func clean(t *testing.T, c *kafkatest.Cluster, topic, what string, want func(capture.Batch) bool) {
	setRatio(t, c, topic, "0.001")
	kafkatest.Wait(t, what, func(context.Context) (string, bool) {
		got := c.FetchPartition(t, kafkatest.FetchSpec{Topic: topic})
		batches, _, err := capture.Decode(got.RecordBatches)
		require.NoError(t, err)
		return fmt.Sprintf("%+v", batches), slices.ContainsFunc(batches, want)
	})
	setRatio(t, c, topic, "1.0")
}

func setRatio(t *testing.T, c *kafkatest.Cluster, topic, ratio string) {
	responses, err := c.Admin().AlterTopicConfigs(t.Context(), []kadm.AlterConfig{
		{Op: kadm.SetConfig, Name: "min.cleanable.dirty.ratio", Value: &ratio},
	}, topic)
	require.NoError(t, err)
	require.NoError(t, responses[0].Err)
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }
