package rcconsumer_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/rcconsumer"
)

// everything is one call of each method that a program may make at any time.
func everything(ctx context.Context, c *rcconsumer.Consumer) []func() {
	at := map[string]map[int32]kgo.EpochOffset{topic: {0: {Epoch: -1, Offset: 1}, 9: {Offset: 1}}}
	ids := map[string][]int32{topic: {0, 1}}
	ignore := func(*rcconsumer.Consumer, *kmsg.OffsetCommitRequest, *kmsg.OffsetCommitResponse, error) {}
	var mu sync.Mutex
	var last []*kgo.Record
	keep := func(fs kgo.Fetches) {
		mu.Lock()
		defer mu.Unlock()
		last = fs.Records()
	}
	kept := func() []*kgo.Record {
		mu.Lock()
		defer mu.Unlock()
		return last
	}
	soon := func() context.Context {
		ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		context.AfterFunc(ctx, cancel)
		return ctx
	}
	return []func(){
		func() { keep(c.PollFetches(soon())) },
		func() { keep(c.PollRecords(noWait, 3)) },
		c.AllowRebalance, c.ForceRebalance,
		func() { c.SetOffsets(at) },
		func() { c.PauseFetchTopics(topic); c.ResumeFetchTopics(topic) },
		func() { c.PauseFetchPartitions(ids); c.ResumeFetchPartitions(ids) },
		func() { c.MarkCommitRecords(kept()...) },
		func() { c.MarkCommitOffsets(at) },
		func() { _ = c.CommitRecords(ctx, kept()...) },
		func() { _ = c.CommitMarkedOffsets(ctx) },
		func() { _ = c.CommitUncommittedOffsets(ctx) },
		func() { c.CommitOffsets(ctx, at, ignore) },
		func() { c.CommitOffsetsSync(ctx, at, ignore) },
		func() { c.UncommittedOffsets(); c.CommittedOffsets(); c.MarkedOffsets() },
		func() { c.Position(topic, 0); c.Positions(); c.Stats(); c.GroupMetadata() },
		func() { c.UpdateFetchMaxBytes(1<<20, 1<<20) },
	}
}

// For the race detector; and nothing hangs.
func TestEverythingAtOnceWhileMembersComeAndGo(t *testing.T) {
	for name, opts := range map[string][]kgo.Opt{
		"auto":  {kgo.ServerSideBalancer()},
		"gated": {kgo.BlockRebalanceOnPoll(), rcconsumer.MaxPollInterval(time.Second)},
		"marks": {kgo.AutoCommitMarks(), kgo.Balancers(kgo.RangeBalancer())},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1, 3, func() {})
			opts := append(opts, kgo.HeartbeatInterval(50*time.Millisecond), kgo.AutoCommitInterval(100*time.Millisecond), kgo.RebalanceTimeout(2*time.Second))
			w.producesNumbers(3, 1, 20)
			c := w.consumer(inGroup(opts...)...)
			ctx, cancel := context.WithCancel(t.Context())
			var busy sync.WaitGroup
			for _, fn := range everything(ctx, c) {
				busy.Go(func() {
					for ctx.Err() == nil {
						fn()
						time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
					}
				})
			}
			for i := range 4 {
				m := w.joins(nil, opts...)
				w.producesNumbers(3, 21+i, 21+i)
				time.Sleep(200 * time.Millisecond)
				m.leaves()
			}
			c.CloseAllowingRebalance()
			time.Sleep(100 * time.Millisecond)
			cancel()
			busy.Wait()
			require.True(t, c.PollFetches(t.Context()).IsClientClosed())
		})
	}
}
