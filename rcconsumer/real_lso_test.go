package rcconsumer_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/kafkatest"
	"example.com/readcommitted/rcconsumer"
)

// Source: Kafka's ReplicaManagerTest testReadCommittedFetchLimitedAtLSO. The end
// of the transaction is seen by who fetches, who is paused and who only waits.
func TestRealOpenTransactionIsSeenByReadersOfAllKinds(t *testing.T) {
	t.Parallel()
	l := newLedger(t, kafkatest.Real(t, kafkatest.Config{}), kafkatest.TopicConfig{})
	w := l.writer(t, "w", kafkatest.ProducerConfig{})
	w.begin(commit).batch(t, 0, 3)
	reader := newConsumer(t, l.c, from(l.topic, 0, at(0)))
	paused := newConsumer(t, l.c, from(l.topic, 0, at(0)), rcconsumer.StableOffsetInterval(500*time.Millisecond))
	paused.PauseFetchTopics(l.topic)
	waiter := newConsumer(t, l.c)
	for name, c := range map[string]*rcconsumer.Consumer{"fetching": reader, "paused": paused} {
		kafkatest.Wait(t, name, func(context.Context) (string, bool) {
			p, _ := c.Position(l.topic, 0)
			return "the high watermark is not known", p.HighWatermark == 3
		})
		p, _ := c.Position(l.topic, 0)
		require.Equal(t, []int64{0, 0, 3, 3}, []int64{p.Next, p.LastStableOffset, p.HighWatermark, p.HeldBack()}, name)
		require.Zero(t, c.Lag()[0].OldestUnread, name)
	}
	target := map[string]map[int32]int64{l.topic: {0: 4}}
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	err := waiter.WaitStable(short, target)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "last stable offset 0, target 4")

	ctx, cancel := context.WithTimeout(t.Context(), kafkatest.Limit)
	defer cancel()
	all := []<-chan error{waiting(waiter, ctx, target), waiting(reader, ctx, target), waiting(paused, ctx, target)}
	open(t, all[0], time.Second)
	w.end(t)
	for _, done := range all {
		require.NoError(t, <-done)
	}
	require.Equal(t, l.visible(0, false, 0, 4), newHarvest(reader).untilNext(t, l.topic, 0, 4))
	kafkatest.Wait(t, "the paused reader", func(context.Context) (string, bool) {
		p, _ := paused.Position(l.topic, 0)
		return "the transaction's end is not seen", p.ReadableLag() == 4 && p.HeldBack() == 0
	})
}

// Sources: Kafka's TransactionsTest testDelayedFetchIncludesAbortedTransaction,
// KAFKA-5376: a fetch that has waited has its list all the same.
func TestRealFetchThatWaitedHasItsListOfAbortedTransactions(t *testing.T) {
	t.Parallel()
	l := newLedger(t, kafkatest.Real(t, kafkatest.Config{}), kafkatest.TopicConfig{})
	c := newConsumer(t, l.c, from(l.topic, 0, at(0)), kgo.FetchMinBytes(1<<20), kgo.FetchMaxWait(3*time.Second))
	h := newHarvest(c)
	h.quiet(t, 500*time.Millisecond) // the fetch is on its way
	a, b := l.writer(t, "a", kafkatest.ProducerConfig{}), l.writer(t, "b", kafkatest.ProducerConfig{})
	a.begin(commit).batch(t, 0, 1)
	b.begin(abort).batch(t, 0, 1)
	b.batch(t, 0, 1)
	a.batch(t, 0, 1)
	b.end(t)
	a.end(t)
	end := l.settle(t, 0)
	got := h.untilNext(t, l.topic, 0, end)
	require.Equal(t, l.visible(0, false, 0, end), got)
	require.Len(t, got, 2)
	stats := c.Stats()[l.topic][0]
	require.EqualValues(t, 2, stats.AbortedBatches)
	require.Zero(t, stats.Anomalies)
}

// Source: Kafka's PartitionTest testListOffsetIsolationLevels.
func TestRealStartAtTheEndDependsOnTheIsolationLevel(t *testing.T) {
	t.Parallel()
	l := newLedger(t, kafkatest.Real(t, kafkatest.Config{}), kafkatest.TopicConfig{})
	w := l.writer(t, "w", kafkatest.ProducerConfig{})
	w.begin(abort).batch(t, 0, 3)
	defer w.end(t)
	for name, test := range map[string]struct {
		start kgo.Offset
		level kgo.IsolationLevel
		next  int64
	}{
		"latest committed":     {kgo.NewOffset().AtEnd(), kgo.ReadCommitted(), 0},
		"latest uncommitted":   {kgo.NewOffset().AtEnd(), kgo.ReadUncommitted(), 3},
		"earliest committed":   {kgo.NewOffset().AtStart(), kgo.ReadCommitted(), 0},
		"earliest uncommitted": {kgo.NewOffset().AtStart(), kgo.ReadUncommitted(), 0},
	} {
		c := newConsumer(t, l.c, from(l.topic, 0, test.start), kgo.FetchIsolationLevel(test.level))
		kafkatest.Wait(t, name, func(context.Context) (string, bool) {
			p, _ := c.Position(l.topic, 0)
			return "the start is not known", p.Next >= 0
		})
		p, _ := c.Position(l.topic, 0)
		require.Equal(t, test.next, p.Next, name)
	}
}

// Records in a loop, against the writers' account.
func TestRealLoopReadsWhatPollsRead(t *testing.T) {
	t.Parallel()
	l := newLedger(t, kafkatest.Real(t, kafkatest.Config{}), kafkatest.TopicConfig{})
	end := mixed(t, l)
	want := l.visible(0, false, 0, end)
	c := newConsumer(t, l.c, from(l.topic, 0, at(0)))
	var got []line
	for r, err := range c.Records(t.Context()) {
		require.NoError(t, err)
		got = append(got, line{r.Offset, string(r.Value)})
		p, _ := c.Position(l.topic, 0)
		require.Greater(t, p.Next, r.Offset)
		if len(got) == len(want) {
			break
		}
	}
	require.Equal(t, want, got)
}
