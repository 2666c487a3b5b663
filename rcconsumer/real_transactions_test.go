package rcconsumer_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/kafkatest"
	"example.com/readcommitted/rcconsumer"
)

func TestRealTransactionsAreDeliveredOnlyIfCommitted(t *testing.T) {
	t.Parallel()
	l := newLedger(t, kafkatest.Real(t, kafkatest.Config{}), kafkatest.TopicConfig{})
	a, b, c := l.writer(t, "a", kafkatest.ProducerConfig{}), l.writer(t, "b", kafkatest.ProducerConfig{}), l.plainWriter(t, "c")

	c.batch(t, 0, 3)
	a.whole(t, 0, commit, 2, 1)
	a.whole(t, 0, abort, 4)
	a.whole(t, 0, commit, 1) // an abort between two commits of one producer: kafka4beam/brod#659
	l.settle(t, 0)

	// Interleaved, so that the list is not in the order of first offsets.
	a.begin(abort).batch(t, 0, 2)
	b.begin(commit).batch(t, 0, 2)
	c.batch(t, 0, 1)
	a.batch(t, 0, 1)
	b.batch(t, 0, 3)
	b.end(t)
	b.begin(abort).batch(t, 0, 1)
	b.end(t)
	a.end(t)
	l.settle(t, 0)

	a.begin(abort) // a transaction that wrote nothing here but has a marker
	a.p.Add(t, l.topic, 0)
	a.parts[0] = true
	a.end(t)
	c.batch(t, 0, 1)
	l.agree(t, 0, 0, l.settle(t, 0))
}

func TestRealOpenTransactionHoldsBackUntilItEnds(t *testing.T) {
	t.Parallel()
	cluster := kafkatest.Real(t, kafkatest.Config{})
	tests := []struct {
		name    string
		fate    fate
		timeout time.Duration
		release func(*testing.T, *writer, string)
	}{
		{"commit", commit, 0, func(t *testing.T, w *writer, _ string) { w.end(t) }},
		{"abort", abort, 0, func(t *testing.T, w *writer, _ string) { w.end(t) }},
		{"timeout", exhaust, 3 * time.Second, func(_ *testing.T, w *writer, _ string) { w.ended() }},
		{"fenced producer", abort, 0, func(t *testing.T, w *writer, id string) {
			w.l.c.Fence(t, id)
			w.ended()
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := newLedger(t, cluster, kafkatest.TopicConfig{})
			id := kafkatest.Name(t)
			w := l.writer(t, "w", kafkatest.ProducerConfig{TransactionalID: id, Timeout: test.timeout})
			c := l.plainWriter(t, "plain")
			c.batch(t, 0, 5)
			w.begin(test.fate).batch(t, 0, 4)
			c.batch(t, 0, 3)

			var sent requests
			consumer := newConsumer(t, cluster, from(l.topic, 0, at(0)), kgo.WithHooks(&sent))
			h := newHarvest(consumer)
			h.untilNext(t, l.topic, 0, 5)
			h.until(t, "the high watermark", func() bool {
				pos, _ := consumer.Position(l.topic, 0)
				return pos.HighWatermark >= 12
			})
			if test.timeout == 0 {
				before := sent.fetches()
				h.quiet(t, time.Second) // no bytes is no reason to move: kafka4beam/brod#326
				require.LessOrEqual(t, sent.fetches()-before, 4, "the broker waits at the last stable offset, so does the reader")
				pos, _ := consumer.Position(l.topic, 0)
				require.EqualValues(t, 5, pos.Next)
				require.EqualValues(t, 5, pos.LastStableOffset)
				require.EqualValues(t, 7, pos.HeldBack())
				require.True(t, pos.CaughtUp(), "nothing readable is left")
				require.Zero(t, pos.ReadableLag())
			}
			require.Equal(t, l.visible(0, false, 0, 5), h.lines[l.topic][0])

			test.release(t, w, id)
			end := l.settle(t, 0)
			require.Equal(t, l.visible(0, false, 0, end), h.untilNext(t, l.topic, 0, end))
			pos, _ := consumer.Position(l.topic, 0)
			require.Zero(t, pos.HeldBack())
			l.agree(t, 0, 0, end)
			l.agree(t, 0, 7, end)
		})
	}
}

func TestRealFencedProducerIsDroppedAndItsSuccessorRead(t *testing.T) {
	t.Parallel()
	l := newLedger(t, kafkatest.Real(t, kafkatest.Config{}), kafkatest.TopicConfig{})
	id := kafkatest.Name(t)
	old := l.writer(t, "old", kafkatest.ProducerConfig{TransactionalID: id})
	old.begin(abort).batch(t, 0, 3)
	successor := l.writer(t, "new", kafkatest.ProducerConfig{TransactionalID: id}) // same producer ID, newer epoch
	old.ended()
	l.settle(t, 0)
	successor.whole(t, 0, commit, 2, 2)
	_, err := old.p.TryProduce(t.Context(), l.topic, 0, kafkatest.Values("refused"))
	require.Error(t, err)
	successor.whole(t, 0, abort, 1)
	successor.whole(t, 0, commit, 1)
	l.agree(t, 0, 0, l.settle(t, 0))
}

func TestRealAbortedDataOfEveryCodecIsDropped(t *testing.T) {
	t.Parallel() // confluentinc/librdkafka#3020: compressed batches went round the filter
	cluster := kafkatest.Real(t, kafkatest.Config{})
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	l := newLedger(t, cluster, kafkatest.TopicConfig{Partitions: int32(len(codecs))})
	w, partition := l.writer(t, "w", kafkatest.ProducerConfig{}), int32(0)
	for name, codec := range codecs {
		w.codec = codec
		w.whole(t, partition, abort, 10)
		w.whole(t, partition, commit, 10, 1)
		w.whole(t, partition, abort, 1, 10)
		t.Run(name, func(t *testing.T) { l.agree(t, partition, 0, l.settle(t, partition)) })
		partition++
	}
}

func TestRealPositionPassesATailOfMarkers(t *testing.T) {
	t.Parallel() // confluentinc/librdkafka#2539, KAFKA-12980
	l := newLedger(t, kafkatest.Real(t, kafkatest.Config{}), kafkatest.TopicConfig{})
	w := l.writer(t, "w", kafkatest.ProducerConfig{})
	w.whole(t, 0, commit, 5)
	w.whole(t, 0, abort, 4)
	w.whole(t, 0, abort, 3, 2)
	end := l.settle(t, 0)

	for start := range end + 1 {
		require.Equal(t, l.visible(0, false, start, end), l.read(t, 0, start, end), "from %d", start)
	}

	c := newConsumer(t, l.c, from(l.topic, 0, at(0)))
	h := newHarvest(c)
	require.Len(t, h.untilNext(t, l.topic, 0, end), 5)
	pos, ok := c.Position(l.topic, 0)
	require.True(t, ok)
	require.True(t, pos.CaughtUp())
	require.Zero(t, pos.ReadableLag())
	require.Equal(t, rcconsumer.PartitionStats{
		DeliveredBatches: 1, DeliveredRecords: 5, AbortedBatches: 3, AbortedRecords: 9, ControlBatches: 3,
	}, withoutBytes(c.Stats()[l.topic][0]))
}

func withoutBytes(s rcconsumer.PartitionStats) rcconsumer.PartitionStats {
	s.DeliveredBytes, s.AbortedBytes, s.FetchedBytes = 0, 0, 0
	return s
}
