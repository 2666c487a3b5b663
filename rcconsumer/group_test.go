package rcconsumer_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rcconsumer"
)

// inGroup are the options of a member of the group of these tests.
func inGroup(opts ...kgo.Opt) []kgo.Opt {
	return append([]kgo.Opt{kgo.ConsumerGroup("g"), kgo.ConsumeTopics(topic)}, opts...)
}

// committed is what the cluster holds for the group, -1 if it holds nothing.
func (w *world) committed(partition int32) int64 {
	if g := w.GroupInfo("g"); g != nil {
		if c, ok := g.Commits[topic][partition]; ok {
			return c.Offset
		}
	}
	return -1
}

func TestGroupCommitsThroughMarkers(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.begin(topic, 0, "a", "b")(true)
		c := w.consumer(inGroup()...)
		require.Equal(t, []int64{0, 1}, readOffsets(t, c, 2))
		silent(t, c, 10*time.Second)
		require.EqualValues(t, 3, position(c).Committed)
		require.EqualValues(t, 3, w.committed(0))
	})
}

// Each step of a loop over Records is a poll: the record yielded last counts as
// worked on from the next step or poll on.
func TestRecordsOfAGroupAreWorkedOnOneByOne(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.produce(topic, 0, "a", "b", "c", "d")
		c := w.consumer(inGroup(kgo.AutoCommitInterval(time.Second))...)
		for r, err := range c.Records(t.Context()) {
			require.NoError(t, err)
			time.Sleep(2 * time.Second)
			require.Equal(t, r.Offset, max(w.committed(0), 0), "the record in hand is not worked on yet")
			if r.Offset == 2 {
				break
			}
		}
		time.Sleep(2 * time.Second)
		require.EqualValues(t, 2, w.committed(0), "nor is the one the loop was left with")
		require.Equal(t, []int64{3}, offsets(c.PollFetches(t.Context())))
		time.Sleep(2 * time.Second)
		require.EqualValues(t, 3, w.committed(0))
		c.Close()
		require.EqualValues(t, 3, w.committed(0))
	})
}

// Under BlockRebalanceOnPoll a loop over Records holds rebalances back from the
// first record on until AllowRebalance, and again from the next record on.
func TestRecordsHoldBackRebalances(t *testing.T) {
	inWorld(t, 1, 2, func(t *testing.T, w *world) {
		w.produce(topic, 0, "a", "b", "c")
		w.produce(topic, 1, "a", "b", "c")
		var revoked atomic.Int32
		c := w.consumer(inGroup(kgo.BlockRebalanceOnPoll(), rcconsumer.OnPartitionsRevoked(
			func(context.Context, *rcconsumer.Consumer, map[string][]int32) { revoked.Add(1) }))...)
		n := 0
		for _, err := range c.Records(t.Context()) {
			require.NoError(t, err)
			if n++; n == 1 {
				w.consumer(inGroup()...) // wants a rebalance
				time.Sleep(10 * time.Second)
				require.Zero(t, revoked.Load())
				c.AllowRebalance()
				eventually(t, "the rebalance", func() bool { return revoked.Load() > 0 })
				continue
			}
			before := revoked.Load()
			c.ForceRebalance()
			time.Sleep(10 * time.Second)
			require.Equal(t, before, revoked.Load(), "the second record is in hand")
			break
		}
		c.AllowRebalance()
	})
}
