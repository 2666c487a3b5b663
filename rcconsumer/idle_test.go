package rcconsumer_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/rcconsumer"
)

// plainWriter is what a program uses that only writes or administers.
type plainWriter interface {
	ProduceSync(context.Context, ...*kgo.Record) kgo.ProduceResults
	Request(context.Context, kmsg.Request) (kmsg.Response, error)
	BeginTransaction() error
	EndTransaction(context.Context, kgo.TransactionEndTry) error
	Close()
}

// writesForAnHour writes in and out of transactions, asks, and waits for an hour.
func writesForAnHour(t *testing.T, cl plainWriter) {
	for range 3 {
		require.NoError(t, cl.BeginTransaction())
		require.NoError(t, cl.ProduceSync(t.Context(), kgo.StringRecord("a")).FirstErr())
		require.NoError(t, cl.EndTransaction(t.Context(), kgo.TryCommit))
	}
	resp, err := cl.Request(t.Context(), kmsg.NewPtrMetadataRequest())
	require.NoError(t, err)
	require.Len(t, resp.(*kmsg.MetadataResponse).Topics, 1)
	time.Sleep(time.Hour)
	cl.Close()
}

// A consumer that reads nothing sends what a client of kgo's sends, request for
// request.
func TestConsumerThatReadsNothingSendsNothingOfItsOwn(t *testing.T) {
	t.Parallel()
	var theirs, ours map[int16]int
	opts := func(h *counter) []kgo.Opt {
		return []kgo.Opt{kgo.TransactionalID("x"), kgo.DefaultProduceTopic(topic), kgo.WithHooks(h)}
	}
	makeWorld(t, 1, 1, func(t *testing.T, w *world) {
		hook := &counter{written: make(map[int16]int)}
		writesForAnHour(t, w.client(opts(hook)...))
		theirs = hook.written
	})
	makeWorld(t, 1, 1, func(t *testing.T, w *world) {
		hook := &counter{written: make(map[int16]int)}
		writesForAnHour(t, w.consumer(opts(hook)...))
		ours = hook.written
	})
	require.NotZero(t, theirs[int16(kmsg.Metadata)])
	require.NotZero(t, theirs[int16(kmsg.EndTxn)])
	require.Equal(t, theirs, ours)
}

func TestPollsWaitForTheFirstSubscription(t *testing.T) {
	for name, add := range map[string]func(*rcconsumer.Consumer){
		"topics": func(c *rcconsumer.Consumer) { c.AddConsumeTopics(topic) },
		"partitions": func(c *rcconsumer.Consumer) {
			c.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				w.produce(topic, 0, "a")
				c := w.consumer()
				require.Empty(t, c.PollFetches(noWait))
				silent(t, c, time.Minute)
				c.ForceMetadataRefresh()
				c.RemoveConsumePartitions(map[string][]int32{topic: {0}})
				c.PurgeTopicsFromConsuming(topic)
				c.PauseFetchTopics("other")
				c.AddConsumeTopics()
				c.AddConsumePartitions(nil)
				c.UpdateFetchMaxBytes(1000, 1000)
				require.Zero(t, w.count()+w.asked())
				got := make(chan []int64)
				go func() { got <- offsets(poll(c, patience)) }()
				synctest.Wait() // it waits
				add(c)
				require.Equal(t, []int64{0}, <-got)
				require.NotZero(t, w.count())
			})
		})
	}
}

func TestConsumerMayStartAndCloseAtAnyTime(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.produce(topic, 0, "a")
		for range 50 {
			c := w.consumer()
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() { c.AddConsumeTopics(topic) })
				wg.Go(func() {
					c.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}})
				})
			}
			wg.Go(func() { poll(c, time.Second) })
			wg.Go(c.Close)
			wg.Wait()
			require.True(t, c.PollFetches(noWait).IsClientClosed())
			c.AddConsumeTopics(topic)
		}
	})
}
