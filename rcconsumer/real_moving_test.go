package rcconsumer_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/kafkatest"
)

// rounds writes aborted and committed transactions to partitions of a ledger.
func rounds(t *testing.T, w *writer, n int, partitions ...int32) {
	t.Helper()
	for range n {
		for _, p := range partitions {
			w.whole(t, p, abort, 3)
			w.whole(t, p, commit, 4)
		}
	}
}

func TestRealPartitionsAreAddedAndRemoved(t *testing.T) {
	t.Parallel()
	l := newLedger(t, kafkatest.Real(t, kafkatest.Config{}), kafkatest.TopicConfig{Partitions: 3})
	w := l.writer(t, "w", kafkatest.ProducerConfig{})
	rounds(t, w, 5, 0, 1, 2)
	c := newConsumer(t, l.c, kgo.MetadataMaxAge(300*time.Millisecond))
	newHarvest(c).quiet(t, time.Second)

	c.AddConsumePartitions(map[string]map[int32]kgo.Offset{l.topic: {0: at(10), 1: kgo.NewOffset().AtStart()}})
	h := newHarvest(c)
	for p, start := range []int64{10, 0} {
		end := l.settle(t, int32(p))
		require.Equal(t, l.visible(int32(p), false, start, end), h.untilNext(t, l.topic, int32(p), end))
	}

	c.RemoveConsumePartitions(map[string][]int32{l.topic: {0}})
	rounds(t, w, 2, 0, 1, 2)
	ends := []int64{l.settle(t, 0), l.settle(t, 1), l.settle(t, 2)}
	require.Equal(t, l.visible(1, false, 0, ends[1]), h.untilNext(t, l.topic, 1, ends[1]), "the other is read on")
	h.quiet(t, time.Second)
	_, read := c.Position(l.topic, 0)
	require.False(t, read)

	c.AddConsumePartitions(map[string]map[int32]kgo.Offset{l.topic: {0: at(3), 2: at(ends[2] - 8)}})
	again := newHarvest(c)
	require.Equal(t, l.visible(0, false, 3, ends[0]), again.untilNext(t, l.topic, 0, ends[0]))
	require.Equal(t, l.visible(2, false, ends[2]-8, ends[2]), again.untilNext(t, l.topic, 2, ends[2]))
	again.quiet(t, time.Second)
}

func TestRealTopicsAreAddedBeforeTheyExistAndPurged(t *testing.T) {
	t.Parallel()
	cluster := kafkatest.Real(t, kafkatest.Config{})
	first := newLedger(t, cluster, kafkatest.TopicConfig{})
	rounds(t, first.writer(t, "first", kafkatest.ProducerConfig{}), 5, 0)
	c := newConsumer(t, cluster, kgo.ConsumeTopics(first.topic), kgo.MetadataMaxAge(300*time.Millisecond))
	h := newHarvest(c)
	end := first.settle(t, 0)
	require.Equal(t, first.visible(0, false, 0, end), h.untilNext(t, first.topic, 0, end))

	later := ledgerOf(cluster, kafkatest.Name(t))
	c.AddConsumeTopics(later.topic)
	h.quiet(t, time.Second)
	createTopic(t, cluster, later.topic, 1)
	w := later.writer(t, "later", kafkatest.ProducerConfig{})
	rounds(t, w, 3, 0)
	h.untilNext(t, later.topic, 0, later.settle(t, 0))
	_, err := cluster.Admin().UpdatePartitions(t.Context(), 2, later.topic)
	require.NoError(t, err)
	cluster.WaitLeader(t, later.topic, 1, kafkatest.AnyLeader)
	rounds(t, w, 2, 0, 1)
	for p := range int32(2) {
		end := later.settle(t, p)
		require.Equal(t, later.visible(p, false, 0, end), h.untilNext(t, later.topic, p, end))
	}

	c.PurgeTopicsFromClient(later.topic, first.topic)
	require.Empty(t, c.GetConsumeTopics())
	rounds(t, w, 1, 0, 1)
	h.quiet(t, time.Second)
	require.Empty(t, c.Positions())

	c.AddConsumeTopics(later.topic)
	anew := newHarvest(c)
	for p := range int32(2) {
		end := later.settle(t, p)
		require.Equal(t, later.visible(p, false, 0, end), anew.untilNext(t, later.topic, p, end))
	}
	require.Len(t, anew.lines, 1)
}

// Source: KAFKA-12257, twmb/franz-go#908: purging and adding is how users of kgo
// take up a topic that was deleted and created again.
func TestRealRecreatedTopicIsTakenUpByPurgeAndAdd(t *testing.T) {
	t.Parallel()
	cluster := kafkatest.Real(t, kafkatest.Config{})
	topic := kafkatest.Name(t)
	createTopic(t, cluster, topic, 2)
	before := ledgerOf(cluster, topic)
	rounds(t, before.writer(t, "before", kafkatest.ProducerConfig{}), 5, 0, 1)
	c := newConsumer(t, cluster, kgo.ConsumeTopics(topic))
	h := newHarvest(c)
	for p := range int32(2) {
		h.untilNext(t, topic, p, before.settle(t, p))
	}
	c.PurgeTopicsFromClient(topic)
	deleteTopic(t, cluster, topic)
	createTopic(t, cluster, topic, 1)
	after := ledgerOf(cluster, topic)
	rounds(t, after.writer(t, "after", kafkatest.ProducerConfig{}), 1, 0)
	end := after.settle(t, 0)
	c.AddConsumeTopics(topic)
	fresh := newHarvest(c)
	require.Equal(t, after.visible(0, false, 0, end), fresh.untilNext(t, topic, 0, end))
	fresh.quiet(t, time.Second)
	_, second := c.Position(topic, 1)
	require.False(t, second)
}
