package rcconsumer_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/rcconsumer"
)

// callbackLog notes what a group calls.
type callbackLog struct {
	mu    sync.Mutex
	calls []call
}

type call struct {
	what string
	ids  map[string][]int32
}

func (l *callbackLog) note(what string) func(context.Context, *rcconsumer.Consumer, map[string][]int32) {
	return func(_ context.Context, _ *rcconsumer.Consumer, ids map[string][]int32) { l.add(what, ids) }
}

func (l *callbackLog) add(what string, ids map[string][]int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, ps := range ids {
		slices.Sort(ps)
	}
	l.calls = append(l.calls, call{what, ids})
}

// all are the calls that named partitions.
func (l *callbackLog) all() (named []call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.calls {
		if len(c.ids) > 0 {
			named = append(named, c)
		}
	}
	return named
}

// named are the partitions that calls of one kind named.
func (l *callbackLog) named(what string) (ids []int32) {
	for _, c := range l.all() {
		if c.what == what {
			for _, ps := range c.ids {
				ids = append(ids, ps...)
			}
		}
	}
	return ids
}

func (l *callbackLog) options() []kgo.Opt {
	return []kgo.Opt{
		rcconsumer.OnPartitionsAssigned(l.note("assigned")),
		rcconsumer.OnPartitionsRevoked(l.note("revoked")),
		rcconsumer.OnPartitionsLost(l.note("lost")),
	}
}

// commitError is the first error of a commit of offset 1 of partition 0.
func commitError(c *rcconsumer.Consumer, offset int64) (err error) {
	c.CommitOffsetsSync(context.Background(), map[string]map[int32]kgo.EpochOffset{topic: {0: {Epoch: -1, Offset: offset}}},
		func(_ *rcconsumer.Consumer, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, failed error) {
			if err = failed; err == nil {
				err = kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode)
			}
		})
	return err
}

// Source: KIP-62, max.poll.interval.ms; kgo beats without polls.
func TestStuckMemberLosesItsPartitionsUntilItPolls(t *testing.T) {
	inGroups(t, 2, func(t *testing.T, w *world, opts []kgo.Opt) {
		for p := range int32(2) {
			w.produce(topic, p, "a", "b", "c", "d")
		}
		var log callbackLog
		stuck := w.consumer(inGroup(append(append(opts, log.options()...),
			rcconsumer.MaxPollInterval(10*time.Second), kgo.BlockRebalanceOnPoll())...)...)
		require.Len(t, stuck.PollRecords(t.Context(), 3).Records(), 3)
		require.NoError(t, stuck.CommitUncommittedOffsets(t.Context()))
		stuck.AllowRebalance()
		require.Len(t, stuck.PollRecords(t.Context(), 1).Records(), 1) // not committed, and no AllowRebalance
		hung := time.Now()

		other := w.joins(nil, opts...)
		time.Sleep(9 * time.Second)
		require.Empty(t, other.readings(), "nobody else reads what may still be worked on")
		got(t, []string{"a", "b", "c", "d"}, other)
		eventually(t, "all of it", func() bool { return len(other.readings()) >= 5 })
		require.Len(t, other.readings(), 8-3, "from the commit on")
		require.Less(t, time.Since(hung), 30*time.Second)
		require.Empty(t, reads(stuck))
		require.ElementsMatch(t, []int32{0, 1}, log.named("lost"))
		require.Empty(t, log.named("revoked"))
		require.ErrorIs(t, commitError(stuck, 1), kerr.RebalanceInProgress, "it would set the other back")
		time.Sleep(time.Minute)
		require.Empty(t, reads(stuck))

		var late *rcconsumer.PollIntervalError
		e := failed(t, stuck)
		require.ErrorAs(t, e.Err, &late)
		require.Equal(t, []any{"", int32(-1)}, []any{e.Topic, e.Partition})
		require.Equal(t, rcconsumer.PollIntervalError{Interval: 10 * time.Second, Since: hung}, *late)
		go poll(stuck, patience)
		shared(t, 2, stuck, other.Consumer)
		require.Empty(t, other.failures())
	})
}

func TestStuckMemberThatPollsWhileItsPartitionsGoComesBack(t *testing.T) {
	inGroups(t, 1, func(t *testing.T, w *world, opts []kgo.Opt) {
		w.produce(topic, 0, "a")
		var losing atomic.Bool
		c := w.consumer(inGroup(append(opts, rcconsumer.MaxPollInterval(2*time.Second),
			rcconsumer.OnPartitionsLost(func(context.Context, *rcconsumer.Consumer, map[string][]int32) {
				losing.Store(true)
				time.Sleep(5 * time.Second)
			}))...)...)
		readOffsets(t, c, 1)
		eventually(t, "the loss", losing.Load)
		var late *rcconsumer.PollIntervalError
		require.ErrorAs(t, failed(t, c).Err, &late)
		require.Equal(t, []int64{0}, readOffsets(t, c, 1), "not committed")
	})
}

func TestMemberThatPollsSeldomButInTimeKeepsItsPartitions(t *testing.T) {
	inGroups(t, 1, func(t *testing.T, w *world, opts []kgo.Opt) {
		var log callbackLog
		c := w.consumer(inGroup(append(append(opts, log.options()...), rcconsumer.MaxPollInterval(2*time.Second))...)...)
		silent(t, c, 10*time.Second) // a poll that waits is not late
		for range 5 {
			time.Sleep(1900 * time.Millisecond)
			require.NoError(t, c.PollFetches(noWait).Err())
		}
		require.Equal(t, []call{{"assigned", map[string][]int32{topic: {0}}}}, log.all())
	}, "cooperative", "KIP-848")
}

func TestStuckMemberOfAPatternLeavesForGood(t *testing.T) {
	inGroups(t, 1, func(t *testing.T, w *world, opts []kgo.Opt) {
		w.produce(topic, 0, "a", "b")
		opts = append(opts, kgo.ConsumeRegex(), kgo.ConsumeTopics("^t$"))
		stuck := w.consumer(inGroup(append(opts, rcconsumer.MaxPollInterval(2*time.Second))...)...)
		readOffsets(t, stuck, 2)
		other := w.joins(nil, opts...)
		got(t, []string{"a", "b"}, other)
		for range 2 {
			var late *rcconsumer.PollIntervalError
			require.ErrorAs(t, failed(t, stuck).Err, &late)
			require.True(t, late.Left)
			require.ErrorContains(t, late, "does not come back")
		}
		require.Error(t, commitError(stuck, 1))
		require.EqualValues(t, 1, len(w.GroupInfo("g").Members))
	}, "range", "cooperative", "KIP-848")
}

func TestMaxPollIntervalIsRefusedWhereItMeansNothing(t *testing.T) {
	_, err := rcconsumer.New(kgo.SeedBrokers("127.0.0.1:1"), rcconsumer.MaxPollInterval(time.Second))
	require.ErrorContains(t, err, "MaxPollInterval")
	_, err = rcconsumer.New(kgo.SeedBrokers("127.0.0.1:1"), kgo.ConsumerGroup("g"), rcconsumer.MaxPollInterval(time.Second-1))
	require.ErrorContains(t, err, "MaxPollInterval")
}
