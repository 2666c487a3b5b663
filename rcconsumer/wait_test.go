package rcconsumer_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/rcconsumer"
)

// targets names one target in partition 0 of [topic].
func targets(target int64) map[string]map[int32]int64 {
	return map[string]map[int32]int64{topic: {0: target}}
}

// waiting waits on a goroutine of its own.
func waiting(c *rcconsumer.Consumer, ctx context.Context, want map[string]map[int32]int64) <-chan error { //nolint:revive // the consumer is what the test is about
	done := make(chan error, 1)
	go func() { done <- c.WaitStable(ctx, want) }()
	return done
}

// open checks that a wait goes on while d passes.
func open(t *testing.T, done <-chan error, d time.Duration) {
	t.Helper()
	select {
	case err := <-done:
		require.Fail(t, "the wait ended", "%v", err)
	case <-time.After(d):
	}
}

// waitEnded waits for the end of a wait and returns its error.
func waitEnded(t *testing.T, done <-chan error, within time.Duration) error {
	t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(within):
		require.Fail(t, "the wait goes on")
		return nil
	}
}

func TestWaitStableReturnsWhenTheTargetIsReached(t *testing.T) {
	tests := []struct {
		name  string
		opts  []kgo.Opt
		then  func(*rcconsumer.Consumer)
		lists bool // ListOffsets is needed
		after time.Duration
	}{
		{"fetched", []kgo.Opt{startAt(40)}, nil, false, 10 * time.Millisecond},
		{"fetched from behind", []kgo.Opt{startAt(10)}, nil, false, time.Second},
		{"fetched at read_uncommitted", []kgo.Opt{startAt(50), rcconsumer.ReadUncommitted()}, nil, false, time.Second},
		{"not read", nil, nil, true, time.Second},
		{"paused", []kgo.Opt{startAt(40)}, func(c *rcconsumer.Consumer) { c.PauseFetchTopics(topic) }, true, 1100 * time.Millisecond},
		{"idle under a long wait", []kgo.Opt{startAt(50), kgo.FetchMaxWait(time.Hour)}, nil, true, 1100 * time.Millisecond},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				f := forgeRange(w)
				c := w.consumer(test.opts...)
				if len(test.opts) > 0 {
					eventually(t, "the ends", func() bool { return position(c).LastStableOffset == 40 })
				}
				if test.then != nil {
					test.then(c)
				}
				require.NoError(t, c.WaitStable(t.Context(), targets(40)), "reached already")
				done := waiting(c, t.Context(), targets(45))
				open(t, done, 20*time.Second)
				w.change(func() { f.log, f.lso = append(f.log, batchtest.Data(40, 43)), 44 })
				open(t, done, 20*time.Second)
				before := w.asked()
				open(t, done, 20*time.Second)
				require.LessOrEqual(t, w.asked()-before, 20+2*6, "once a second, and the sampler")
				w.change(func() { f.log, f.lso = append(f.log, batchtest.Data(44, 44)), 45 })
				require.NoError(t, waitEnded(t, done, test.after))
				require.Equal(t, test.lists, w.asked() > 0)
			})
		})
	}
}

func TestWaitStableNeedsNoTimeWithoutTargets(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		c := w.consumer()
		over, cancel := context.WithCancel(t.Context())
		cancel()
		for _, want := range []map[string]map[int32]int64{nil, {}, {"none": nil}, targets(0), targets(-5)} {
			require.NoError(t, c.WaitStable(over, want))
		}
		require.Zero(t, w.asked())
	})
}

func TestWaitStableThatEndsEarlyNamesWhatIsLeft(t *testing.T) {
	inWorld(t, 2, 3, func(t *testing.T, w *world) {
		for p := range int32(3) {
			f := w.forge(p, batchtest.Data(0, 9))
			w.change(func() { f.lso, f.hw = int64(5+p), 10 })
		}
		w.change(func() { w.muteList = map[int32]bool{1: true} }) // leads partition 1
		c := w.consumer()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		err := c.WaitStable(ctx, map[string]map[int32]int64{topic: {0: 5, 1: 1, 2: 9}})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotContains(t, err.Error(), "partition 0", "reached")
		require.ErrorContains(t, err, "topic t partition 1: last stable offset -1, target 1", "a silent broker")
		require.ErrorContains(t, err, "topic t partition 2: last stable offset 7, target 9")
		w.change(func() { w.muteList = nil })
		require.NoError(t, c.WaitStable(t.Context(), map[string]map[int32]int64{topic: {0: 5, 1: 1}}))
	})
}

func TestWaitStableNamesTwentyPartitionsAtMost(t *testing.T) {
	inWorld(t, 1, 30, func(t *testing.T, w *world) {
		want := make(map[int32]int64)
		for p := range int32(30) {
			w.forge(p)
			want[p] = 1
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := w.consumer().WaitStable(ctx, map[string]map[int32]int64{topic: want})
		require.ErrorContains(t, err, "partition 0: last stable offset 0, target 1, topic t partition 1: ")
		require.ErrorContains(t, err, "partition 19: last stable offset 0, target 1, and 10 more: context deadline exceeded")
	})
}

func TestWaitStableEndsWithTheConsumer(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		forgeRange(w)
		for name, c := range map[string]*rcconsumer.Consumer{"reading": w.consumer(startAt(40)), "not reading": w.consumer()} {
			done := waiting(c, t.Context(), targets(45))
			open(t, done, time.Second)
			c.Close()
			require.ErrorIs(t, waitEnded(t, done, time.Second), kgo.ErrClientClosed, name)
			require.ErrorIs(t, c.WaitStable(t.Context(), targets(45)), kgo.ErrClientClosed, name)
		}
	})
}

func TestWaitStableTellsErrorsThatStay(t *testing.T) {
	t.Run("denied", func(t *testing.T) {
		inWorld(t, 1, 1, func(t *testing.T, w *world) {
			forgeRange(w)
			w.editList = func(_ *kmsg.ListOffsetsRequest, resp *kmsg.ListOffsetsResponse) {
				resp.Topics[0].Partitions[0].ErrorCode = kerr.TopicAuthorizationFailed.Code
			}
			err := w.consumer().WaitStable(t.Context(), targets(45))
			require.ErrorIs(t, err, kerr.TopicAuthorizationFailed)
			require.ErrorContains(t, err, "topic t partition 0")
		})
	})
	for name, want := range map[string]map[string]map[int32]int64{
		"no such topic": {"nowhere": {3: 1}}, "no such partition": {topic: {3: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				began := time.Now()
				err := w.consumer().WaitStable(t.Context(), want)
				require.ErrorIs(t, err, kerr.UnknownTopicOrPartition)
				require.ErrorContains(t, err, "partition 3")
				require.InDelta(t, 3.5, time.Since(began).Seconds(), 0.6, "a new topic is unknown for a moment")
				require.Nil(t, w.TopicInfo("nowhere"), "asking does not create it")
			})
		})
	}
}

func TestWaitStableOutlastsWhatGoesAway(t *testing.T) {
	for _, code := range []*kerr.Error{kerr.NotLeaderForPartition, kerr.OffsetNotAvailable, kerr.UnknownTopicOrPartition, kerr.KafkaStorageError} {
		t.Run(code.Message, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				forgeRange(w)
				n := 0
				w.editList = func(_ *kmsg.ListOffsetsRequest, resp *kmsg.ListOffsetsResponse) {
					if n++; n <= 4 {
						resp.Topics[0].Partitions[0].ErrorCode = code.Code
					}
				}
				require.NoError(t, w.consumer().WaitStable(t.Context(), targets(40)))
				require.Equal(t, 5, n)
			})
		})
	}
	t.Run("unknown now and then", func(t *testing.T) {
		inWorld(t, 1, 1, func(t *testing.T, w *world) {
			f := forgeRange(w)
			n := 0
			w.editList = func(_ *kmsg.ListOffsetsRequest, resp *kmsg.ListOffsetsResponse) {
				if n++; n%3 != 0 {
					resp.Topics[0].Partitions[0].ErrorCode = kerr.UnknownTopicOrPartition.Code
				}
			}
			done := waiting(w.consumer(), t.Context(), targets(45))
			open(t, done, 30*time.Second)
			w.change(func() { f.lso = 45 })
			require.NoError(t, waitEnded(t, done, 4*time.Second))
		})
	})
	t.Run("a topic to come", func(t *testing.T) {
		inWorld(t, 1, 1, func(t *testing.T, w *world) {
			done := waiting(w.consumer(), t.Context(), map[string]map[int32]int64{"late": {0: 1}})
			open(t, done, time.Second)
			_, err := w.client(kgo.AllowAutoTopicCreation()).Request(t.Context(), newTopic("late"))
			require.NoError(t, err)
			w.produce("late", 0, "x")
			require.NoError(t, waitEnded(t, done, 2*time.Second))
		})
	})
}

func newTopic(name string) *kmsg.CreateTopicsRequest {
	req := kmsg.NewPtrCreateTopicsRequest()
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = name, 1, 1
	req.Topics = append(req.Topics, rt)
	return req
}

// A transaction of another client, on kfake itself.
func TestWaitStableWaitsForTheEndOfATransaction(t *testing.T) {
	inWorld(t, 3, 2, func(t *testing.T, w *world) {
		c := w.consumer(startAt(0))
		w.produce(topic, 1, "a", "b")
		finish := w.begin(topic, 1, "c", "d")
		one := map[string]map[int32]int64{topic: {1: 4}}
		require.NoError(t, c.WaitStable(t.Context(), map[string]map[int32]int64{topic: {1: 2}}))
		done := waiting(c, t.Context(), one)
		open(t, done, 10*time.Second)
		require.NoError(t, w.MoveTopicPartition(topic, 1, 2))
		open(t, done, 10*time.Second)
		finish(false)
		require.NoError(t, waitEnded(t, done, 2*time.Second))
	}, kfake.DefaultNumPartitions(1))
}

func TestManyMayWaitAtOnce(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := forgeRange(w)
		c := w.consumer(startAt(40))
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() { require.NoError(t, c.WaitStable(t.Context(), targets(int64(41+i)))) })
		}
		for lso := int64(41); lso <= 90; lso++ {
			w.change(func() { f.log, f.lso, f.hw = append(f.log, batchtest.Data(lso-1, lso-1)), lso, max(f.hw, lso) })
			time.Sleep(20 * time.Millisecond)
		}
		wg.Wait()
		require.Equal(t, span(40, 89), readOffsets(t, c, 50), "waiting takes nothing from polls")
	})
}
