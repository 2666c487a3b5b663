package kafkatest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"example.com/readcommitted/internal/kafkatest"
)

func TestProducerTransactionsEndAsChosen(t *testing.T) {
	kafkatest.Each(t, kafkatest.Config{}, func(t *testing.T, c *kafkatest.Cluster) {
		for _, version := range []int16{1, 0} { // 0: what the cluster has
			topic := c.Topic(t, kafkatest.TopicConfig{})
			p := c.Producer(t, kafkatest.ProducerConfig{TransactionalID: kafkatest.Name(t), TransactionVersion: version})

			require.EqualValues(t, 0, p.Produce(t, topic, 0, kafkatest.Values("a", "b")))
			c.WaitLSO(t, topic, 0, 0)
			p.Commit(t)
			c.WaitLSO(t, topic, 0, 3)

			require.EqualValues(t, 3, p.Produce(t, topic, 0, kafkatest.Values("c")))
			p.Abort(t)
			c.WaitLSO(t, topic, 0, 5)

			require.EqualValues(t, 5, c.Produce(t, topic, 0, kafkatest.Values("d")))
			require.EqualValues(t, 6, p.Produce(t, topic, 0, kafkatest.Values("e")))
			c.WaitHW(t, topic, 0, 7)
			c.WaitLSO(t, topic, 0, 6)

			require.Equal(t, []string{"a", "b", "d"}, read(t, c, topic, 3))
		}
	})
}

func TestFenceAbortsTheOpenTransaction(t *testing.T) {
	kafkatest.Each(t, kafkatest.Config{}, func(t *testing.T, c *kafkatest.Cluster) {
		topic := c.Topic(t, kafkatest.TopicConfig{})
		id := kafkatest.Name(t)
		p := c.Producer(t, kafkatest.ProducerConfig{TransactionalID: id})
		p.Produce(t, topic, 0, kafkatest.Values("a"))
		producerID, epoch := c.Fence(t, id)
		c.WaitLSO(t, topic, 0, 2)
		require.Equal(t, p.ID(), producerID)
		require.Greater(t, epoch, p.Epoch())
		_, err := p.TryProduce(t.Context(), topic, 0, kafkatest.Values("b"))
		require.Error(t, err, "produce of a fenced producer")
	})
}

func TestTransactionTimeoutIsTheChosenOne(t *testing.T) {
	kafkatest.Each(t, kafkatest.Config{}, func(t *testing.T, c *kafkatest.Cluster) {
		topic := c.Topic(t, kafkatest.TopicConfig{})
		p := c.Producer(t, kafkatest.ProducerConfig{TransactionalID: kafkatest.Name(t), Timeout: time.Second})
		p.Produce(t, topic, 0, kafkatest.Values("a"))
		c.WaitLSO(t, topic, 0, 2) // the coordinator aborts it
	})
}

func TestProduceWritesOneBatchInTheCodec(t *testing.T) {
	codecs := []kgo.CompressionCodec{
		kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression(),
	}
	kafkatest.Each(t, kafkatest.Config{}, func(t *testing.T, c *kafkatest.Cluster) {
		topic := c.Topic(t, kafkatest.TopicConfig{})
		p := c.Producer(t, kafkatest.ProducerConfig{Idempotent: true})
		for i, codec := range codecs {
			base := p.Produce(t, topic, 0, kafkatest.Values("a", "b", "c").With(codec))
			got := c.FetchPartition(t, kafkatest.FetchSpec{Topic: topic, Offset: base, PartitionMaxBytes: 1, Version: 11})
			var batch kmsg.RecordBatch
			require.NoError(t, batch.ReadFrom(got.RecordBatches))
			require.EqualValues(t, i, batch.Attributes&7, "codec")
			require.EqualValues(t, 3, batch.NumRecords)
			require.Equal(t, p.ID(), batch.ProducerID)
		}
		require.Len(t, read(t, c, topic, 15), 15)
	})
}

func TestDeleteRecordsMovesTheLogStart(t *testing.T) {
	kafkatest.Each(t, kafkatest.Config{}, func(t *testing.T, c *kafkatest.Cluster) {
		topic := c.Topic(t, kafkatest.TopicConfig{})
		c.Produce(t, topic, 0, kafkatest.Values("a", "b", "c"))
		c.DeleteRecords(t, topic, 0, 2)
		require.Equal(t, []string{"c"}, read(t, c, topic, 1))
	})
}

func TestHangingTransactionStaysUntilMarker(t *testing.T) {
	c := kafkatest.Real(t, kafkatest.Config{Settings: kafkatest.HangSettings()})
	topic := c.Topic(t, kafkatest.TopicConfig{})
	c.Produce(t, topic, 0, kafkatest.Values("a"))
	id, epoch, base := c.Hang(t, topic, 0, kafkatest.Values("b"))
	require.EqualValues(t, 1, base)
	c.Produce(t, topic, 0, kafkatest.Values("c"))
	c.WaitHW(t, topic, 0, 3)
	c.WaitLSO(t, topic, 0, 1)
	c.WriteMarker(t, topic, 0, id, epoch, false)
	c.WaitLSO(t, topic, 0, 4)
	require.Equal(t, []string{"a", "c"}, read(t, c, topic, 2))
}

func TestFetchAnswersAtTheChosenIsolationAndVersion(t *testing.T) {
	kafkatest.Each(t, kafkatest.Config{}, func(t *testing.T, c *kafkatest.Cluster) {
		topic := c.Topic(t, kafkatest.TopicConfig{})
		p := c.Producer(t, kafkatest.ProducerConfig{TransactionalID: kafkatest.Name(t)})
		p.Produce(t, topic, 0, kafkatest.Values("a"))
		p.Abort(t)
		c.WaitLSO(t, topic, 0, 2)
		for _, version := range []int16{4, 12, 13, 0} {
			spec := kafkatest.FetchSpec{Topic: topic, Version: version, Isolation: kafkatest.ReadCommitted}
			got := c.FetchPartition(t, spec)
			require.Zero(t, got.ErrorCode)
			require.Len(t, got.AbortedTransactions, 1, "version %d", version)
			spec.Isolation = kafkatest.ReadUncommitted
			require.Empty(t, c.FetchPartition(t, spec).AbortedTransactions, "version %d", version)
		}
	})
}

func TestControlledBrokersComeBackForTheNextTest(t *testing.T) {
	config := kafkatest.Config{Control: true}
	var topic string
	t.Run("kill", func(t *testing.T) {
		c := kafkatest.Real(t, config)
		topic = c.Topic(t, kafkatest.TopicConfig{})
		require.NoError(t, c.Local().Node(0).Kill())
	})
	t.Run("pause", func(t *testing.T) {
		require.NoError(t, kafkatest.Real(t, config).Local().Node(0).Pause())
	})
	t.Run("use", func(t *testing.T) {
		c := kafkatest.Real(t, config)
		c.Produce(t, c.Topic(t, kafkatest.TopicConfig{}), 0, kafkatest.Values("a"))
		p := c.Admin()
		topics, err := p.ListTopics(t.Context(), topic)
		require.NoError(t, err)
		require.ErrorIs(t, topics[topic].Err, kerr.UnknownTopicOrPartition, "a test's topic is deleted when it ends")
	})
}

func TestClustersLeaveNoGoroutines(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t, kafkatest.LeakOptions()...) })
	kafkatest.Each(t, kafkatest.Config{}, func(t *testing.T, c *kafkatest.Cluster) {
		c.Produce(t, c.Topic(t, kafkatest.TopicConfig{}), 0, kafkatest.Values("a"))
	})
}

// read returns the values of the first n records that kgo's own consumer
// delivers at read_committed.
func read(t *testing.T, c *kafkatest.Cluster, topic string, n int) []string {
	t.Helper()
	client := c.Client(t, kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), kafkatest.Limit)
	defer cancel()
	var values []string
	for len(values) < n && ctx.Err() == nil {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			require.NoError(t, err)
		}
		fetches.EachRecord(func(r *kgo.Record) { values = append(values, string(r.Value)) })
	}
	return values
}
