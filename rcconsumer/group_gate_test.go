package rcconsumer_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/rcconsumer"
)

// gated are the options of a member under kgo.BlockRebalanceOnPoll that notes
// its callbacks.
func gated(log *callbackLog, opts ...kgo.Opt) []kgo.Opt {
	return inGroup(append(append(opts, log.options()...), kgo.BlockRebalanceOnPoll(),
		rcconsumer.OnPartitionsCallbackBlocked(func(context.Context, *rcconsumer.Consumer) { log.add("blocked", map[string][]int32{"": {0}}) }))...)
}

// whats are the kinds of the calls that named partitions.
func (l *callbackLog) whats() (whats []string) {
	for _, c := range l.all() {
		whats = append(whats, c.what)
	}
	return whats
}

func TestNoCallbackBetweenAPollWithRecordsAndAllowRebalance(t *testing.T) {
	inGroups(t, 2, func(t *testing.T, w *world, opts []kgo.Opt) {
		var log callbackLog
		w.produce(topic, 0, "a")
		c := w.consumer(gated(&log, opts...)...)
		require.Len(t, c.PollFetches(t.Context()).Records(), 1)
		require.Equal(t, []string{"assigned"}, log.whats())
		other := w.joins(nil, opts...)
		time.Sleep(20 * time.Second)
		require.Equal(t, []string{"assigned", "blocked"}, log.whats(), "the other has been waiting")
		require.Empty(t, other.readings())
		c.AllowRebalance()
		eventually(t, "the rebalance", func() bool { return len(log.named("revoked")) > 0 })
		go func() {
			for !c.PollFetches(context.Background()).IsClientClosed() {
				c.AllowRebalance()
			}
		}()
		shared(t, 2, c, other.Consumer)
	})
}

func TestPollsWithoutRecordsHoldNothingUp(t *testing.T) {
	inGroups(t, 2, func(t *testing.T, w *world, opts []kgo.Opt) {
		var log callbackLog
		c := w.consumer(gated(&log, opts...)...)
		eventually(t, "the assignment", func() bool { return len(reads(c)) == 2 })
		silent(t, c, time.Second)               // ended by its context
		require.Empty(t, c.PollFetches(noWait)) // empty
		w.produce(topic, 0, "a")                // and one that looks at records, and returns none
		c.PauseFetchPartitions(map[string][]int32{topic: {0}})
		silent(t, c, time.Second)
		other := w.joins(nil, opts...)
		shared(t, 2, c, other.Consumer) // nobody polls, nobody allows
		require.NotContains(t, log.whats(), "blocked")
	})
}

func TestRebalancesGoOnAfterAGroupError(t *testing.T) {
	inGroups(t, 2, func(t *testing.T, w *world, opts []kgo.Opt) {
		var log callbackLog
		c := w.consumer(gated(&log, opts...)...)
		eventually(t, "the assignment", func() bool { return len(reads(c)) == 2 })
		w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat, kmsg.ConsumerGroupHeartbeat}, Err: kerr.GroupAuthorizationFailed, TopLevel: true})
		var session *kgo.ErrGroupSession
		e := failed(t, c)
		require.ErrorAs(t, e.Err, &session)
		require.ErrorIs(t, e.Err, kerr.GroupAuthorizationFailed)
		require.Equal(t, []any{"", int32(0)}, []any{e.Topic, e.Partition})
		require.Equal(t, []int32{0, 1}, log.named("lost"))
		silent(t, c, 20*time.Second) // told once
		other := w.joins(nil, opts...)
		shared(t, 2, c, other.Consumer)
		require.NotContains(t, log.whats(), "blocked")
	})
}

// What is buffered when a callback begins is never returned afterwards.
func TestRevokedRecordsAreNotReturnedOnceTheCallbackHasBegun(t *testing.T) {
	inGroups(t, 2, func(t *testing.T, w *world, opts []kgo.Opt) {
		var revoking atomic.Bool
		late := make(chan int, 1)
		w.produce(topic, 0, "a", "b")
		w.produce(topic, 1, "c", "d")
		c := w.consumer(inGroup(append(opts, rcconsumer.OnPartitionsRevoked(func(_ context.Context, c *rcconsumer.Consumer, gone map[string][]int32) {
			if len(gone) > 0 && revoking.CompareAndSwap(false, true) {
				n := 0
				for range 20 {
					c.PollFetches(noWait).EachRecord(func(r *kgo.Record) {
						for _, p := range gone[r.Topic] {
							if p == r.Partition {
								n++
							}
						}
					})
					time.Sleep(100 * time.Millisecond)
				}
				late <- n
			}
		}))...)...)
		eventually(t, "records", func() bool {
			ps := c.Positions()[topic]
			return ps[0].HighWatermark == 2 && ps[1].HighWatermark == 2
		})
		other := w.joins(nil, opts...)
		require.Zero(t, <-late)
		eventually(t, "the other to read", func() bool { return len(other.readings()) > 0 })
	})
}
