package rcconsumer_test

import (
	"slices"
	"sync/atomic"
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

// Source: Kafka's FetcherTest, testPreferredReadReplicaOffsetError,
// testFetchErrorShouldClearPreferredReadReplica; IBM/sarama commits cbcd734b and
// 2441dcb4; KAFKA-14372, KAFKA-14379.
func TestErrorOfAFollowerSendsBackToTheLeader(t *testing.T) {
	for _, code := range []*kerr.Error{
		kerr.OffsetOutOfRange, kerr.NotLeaderForPartition, kerr.ReplicaNotAvailable, kerr.KafkaStorageError,
		kerr.OffsetNotAvailable, kerr.UnknownTopicOrPartition, kerr.UnknownTopicID, kerr.InconsistentTopicID,
		kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch, kerr.UnknownServerError, kerr.CorruptMessage, kerr.TopicAuthorizationFailed,
	} {
		t.Run(code.Message, func(t *testing.T) {
			inWorld(t, 3, 1, func(t *testing.T, w *world) {
				f := preferring(w, follower, singles(0, 4), always(failure(code)))
				var moves resetHook
				var told errorsTold
				c := w.consumer(startAt(0), kgo.Rack(rack), rcconsumer.WithHooks(&moves, &told))
				began := time.Now()
				require.Equal(t, span(0, 4), readOffsets(t, c, 5), "no error is handed out")
				require.Less(t, time.Since(began), time.Second)
				require.ErrorIs(t, told.first(), code)
				before := w.asksOf(f, follower)
				silent(t, c, 10*time.Minute)
				require.Empty(t, moves.all())
				again := len(w.asksOf(f, follower)) - len(before)
				require.Positive(t, again, "it is tried again")
				require.LessOrEqual(t, again, 5*16, "ever more seldom")
				require.LessOrEqual(t, w.during(time.Minute), 130)
				w.mu.Lock()
				defer w.mu.Unlock()
				require.Empty(t, w.lists)
			})
		})
	}
}

func TestRetriableErrorOfAFollowerIsHandedOutIfAskedFor(t *testing.T) {
	for code, handed := range map[*kerr.Error]bool{kerr.KafkaStorageError: true, kerr.OffsetOutOfRange: false, kerr.FencedLeaderEpoch: false} {
		t.Run(code.Message, func(t *testing.T) {
			inWorld(t, 3, 1, func(t *testing.T, w *world) {
				preferring(w, follower, singles(0, 4), always(failure(code)))
				c := w.consumer(startAt(0), kgo.Rack(rack), kgo.KeepRetryableFetchErrors())
				if handed {
					require.ErrorIs(t, failed(t, c).Err, code)
				}
				require.Equal(t, span(0, 4), readOffsets(t, c, 5))
			})
		})
	}
}

func TestFollowerThatHearsOfTheEpochALittleLaterIsRead(t *testing.T) {
	inWorld(t, 3, 1, func(t *testing.T, w *world) {
		var late atomic.Int32
		late.Store(3)
		f := preferring(w, follower, singles(0, 4), func(ask) *kmsg.FetchResponseTopicPartition {
			if late.Add(-1) >= 0 {
				return failure(kerr.UnknownLeaderEpoch)
			}
			return nil
		})
		var hook senders
		c := w.consumer(startAt(0), kgo.Rack(rack), kgo.WithHooks(&hook))
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
		require.Equal(t, sentBy(follower, 5), hook.take())
		require.Len(t, w.asksOf(f, leader), 1)
	})
}

// What is out of range at the leader too is reset, by offsets that the leader
// lists.
func TestOutOfRangeAtTheFollowerAndAtTheLeaderIsReset(t *testing.T) {
	inWorld(t, 3, 1, func(t *testing.T, w *world) {
		f := preferring(w, follower, singles(10, 14), always(failure(kerr.OffsetOutOfRange)))
		plain := f.script
		w.change(func() {
			f.start = 10
			f.script = func(a ask) *kmsg.FetchResponseTopicPartition {
				if a.node == leader && a.offset < 10 && a.rack == "" {
					return failure(kerr.OffsetOutOfRange)
				}
				return plain(a)
			}
			w.editList = func(*kmsg.ListOffsetsRequest, *kmsg.ListOffsetsResponse) {
				if node := w.CurrentNode(); node != leader {
					t.Errorf("broker %d was asked for offsets", node)
				}
			}
		})
		var moves resetHook
		c := w.consumer(startAt(3), kgo.Rack(rack), rcconsumer.WithHooks(&moves))
		require.Equal(t, span(10, 14), readOffsets(t, c, 5))
		require.Equal(t, [][2]int64{{3, 10}}, moves.all())
	})
}

func TestFollowerWhoseConnectionsBreakIsLeft(t *testing.T) {
	inWorld(t, 3, 1, func(t *testing.T, w *world) {
		f := preferring(w, follower, singles(0, 4), nil)
		c := w.consumer(startAt(0), kgo.Rack(rack))
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
		w.change(func() { w.broken[follower] = true })
		w.grow(f, singles(5, 9)...)
		began := time.Now()
		require.Equal(t, span(5, 9), readOffsets(t, c, 5))
		require.Less(t, time.Since(began), time.Second)
		time.Sleep(10 * time.Minute)
		require.LessOrEqual(t, w.during(time.Minute), 130)
		w.change(func() { w.broken[follower] = false })
		within(t, 3*time.Minute, "the follower again", func() bool {
			all := w.asks(f)
			return all[len(all)-1].node == follower
		})
		before := len(w.asksOf(f, leader))
		time.Sleep(20 * time.Second)
		require.Len(t, w.asksOf(f, leader), before)
	})
}

func TestFollowerThatDoesNotAnswerIsLeft(t *testing.T) {
	inWorld(t, 3, 1, func(t *testing.T, w *world) {
		f := preferring(w, follower, singles(0, 4), nil)
		c := w.consumer(startAt(0), kgo.Rack(rack))
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
		w.change(func() { w.mute[follower] = true })
		w.grow(f, singles(5, 9)...)
		began := time.Now()
		require.Equal(t, span(5, 9), readOffsets(t, c, 5))
		require.Less(t, time.Since(began), 12*time.Second, "kgo's read timeout, 10 s and the wait")
	})
}

func TestReplicaThatIsUnknownIsNotFollowed(t *testing.T) {
	for name, replica := range map[string]int32{"no broker": 77, "the leader itself": leader} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 3, 1, func(t *testing.T, w *world) {
				f := preferring(w, replica, singles(0, 4), nil)
				var told errorsTold
				c := w.consumer(startAt(0), kgo.Rack(rack), rcconsumer.WithHooks(&told))
				began := time.Now()
				require.Equal(t, span(0, 4), readOffsets(t, c, 5))
				require.Less(t, time.Since(began), time.Second)
				require.ErrorContains(t, told.first(), "prefers replica")
				require.Empty(t, w.asksOf(f, follower))
				time.Sleep(10 * time.Minute)
				require.LessOrEqual(t, w.during(time.Minute), 130)
				w.mu.Lock()
				defer w.mu.Unlock()
				require.LessOrEqual(t, w.metadata, 40, "in 11 minutes")
			})
		})
	}
}

// Source: KAFKA-14379: after a follower had left and returned, readers hung.
func TestFollowerThatLeavesTheClusterIsLeftAndTakenUpAgain(t *testing.T) {
	inWorld(t, 3, 1, func(t *testing.T, w *world) {
		var gone atomic.Bool
		w.answerMetadata(func(req *kmsg.MetadataRequest, _ int) *kmsg.MetadataResponse {
			resp := w.metadataOf(req, w.id, [2]int32{leader, 3})
			if gone.Load() {
				resp.Brokers = slices.DeleteFunc(resp.Brokers, func(b kmsg.MetadataResponseBroker) bool { return b.NodeID == follower })
			}
			return resp
		})
		f := preferring(w, follower, singles(0, 4), nil)
		var hook senders
		c := w.consumer(append(quick, startAt(0), kgo.Rack(rack), kgo.WithHooks(&hook))...)
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
		require.Equal(t, sentBy(follower, 5), hook.take())
		gone.Store(true)
		eventually(t, "the leader to be asked", func() bool { return len(w.asksOf(f, leader)) > 1 })
		w.grow(f, singles(5, 9)...)
		require.Equal(t, span(5, 9), readOffsets(t, c, 5))
		require.Equal(t, sentBy(leader, 5), hook.take())
		gone.Store(false)
		within(t, 3*time.Minute, "the follower again", func() bool {
			all := w.asks(f)
			return all[len(all)-1].node == follower
		})
		w.grow(f, singles(10, 14)...)
		require.Equal(t, span(10, 14), readOffsets(t, c, 5))
		require.Equal(t, sentBy(follower, 5), hook.take())
	}, kfake.Ports(9092, 9093, 9094))
}

func TestFollowerThatLeavesTheClusterWhileItIsNotAskedIsLeft(t *testing.T) {
	inWorld(t, 3, 1, func(t *testing.T, w *world) {
		said := w.answerCluster()
		f := preferring(w, follower, singles(0, 4), nil)
		w.change(func() { w.throttle[follower] = 30_000 })
		c := w.consumer(append(quick, startAt(0), kgo.Rack(rack))...)
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
		said.gone.Store(follower)
		w.grow(f, singles(5, 9)...)
		began := time.Now()
		require.Equal(t, span(5, 9), readOffsets(t, c, 5))
		require.Less(t, time.Since(began), 3*time.Second)
	})
}

// A leader that answers nothing but a name, and a follower that cannot be read.
func TestNothingLoopsBetweenLeaderAndFollower(t *testing.T) {
	for name, at := range map[string]func(ask) *kmsg.FetchResponseTopicPartition{
		"error":        always(failure(kerr.NotLeaderForPartition)),
		"out of range": always(failure(kerr.OffsetOutOfRange)),
		"names itself": always(prefers(follower, 5)),
		"names leader": always(prefers(leader, 5)),
		"lags":         always(nothing(0, 0)),
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 3, 1, func(t *testing.T, w *world) {
				w.script(0, func(a ask) *kmsg.FetchResponseTopicPartition {
					if a.node == follower {
						return at(a)
					}
					return prefers(follower, 5) // rack or not
				})
				w.consumer(startAt(3), kgo.Rack(rack))
				for range 20 {
					require.LessOrEqual(t, w.during(10*time.Second), 50)
				}
				require.Positive(t, w.during(time.Minute), "but it goes on asking")
			})
		})
	}
}

func TestFollowerThatLagsIsWaitedFor(t *testing.T) {
	inWorld(t, 3, 1, func(t *testing.T, w *world) {
		var lags atomic.Bool
		lags.Store(true)
		f := preferring(w, follower, singles(0, 9), func(a ask) *kmsg.FetchResponseTopicPartition {
			if !lags.Load() {
				return nil
			}
			return nothing(4, 6)
		})
		var moves resetHook
		var hook senders
		c := w.consumer(startAt(6), kgo.Rack(rack), rcconsumer.WithHooks(&moves), kgo.WithHooks(&hook))
		eventually(t, "the follower", func() bool { return len(w.asksOf(f, follower)) > 2 })
		for range 2 { // not as long as a follower may bring nothing
			require.LessOrEqual(t, w.during(10*time.Second), 25)
		}
		pos := position(c)
		require.Equal(t, []int64{10, 10}, []int64{pos.LastStableOffset, pos.HighWatermark}, "as the leader said")
		require.False(t, pos.CaughtUp())
		lags.Store(false)
		require.Equal(t, span(6, 9), readOffsets(t, c, 4))
		require.Equal(t, sentBy(follower, 4), hook.take())
		require.Len(t, w.asksOf(f, leader), 1)
		require.Empty(t, moves.all())
	})
}

func TestBatchThatIsDamagedAtTheFollowerIsReadAtTheLeader(t *testing.T) {
	whole := batchtest.Log{batchtest.Data(0, 2), batchtest.Data(3, 5), batchtest.Data(6, 8)}
	for name, log := range map[string]batchtest.Log{
		"damaged":   {batchtest.Data(0, 2), batchtest.Data(3, 5).Flip(30), batchtest.Data(6, 8)},
		"never all": {batchtest.Data(0, 2).Cut(1)},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 3, 1, func(t *testing.T, w *world) {
				preferring(w, follower, whole, always(log.Partition(nil)))
				c := w.consumer(startAt(0), kgo.Rack(rack))
				began := time.Now()
				require.Equal(t, span(0, 8), readOffsets(t, c, 9), "no error is handed out")
				require.Less(t, time.Since(began), time.Second)
			})
		})
	}
}

// A late answer of a follower must not bring its records a second time.
func TestAnswerOfAFollowerThatWasLeftChangesNothing(t *testing.T) {
	inWorld(t, 3, 1, func(t *testing.T, w *world) {
		f := preferring(w, follower, singles(0, 4), nil)
		c := w.consumer(append(quick, startAt(0), kgo.Rack(rack))...)
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
		w.change(func() { w.mute[follower] = true })
		w.grow(f, singles(5, 9)...)
		eventually(t, "a fetch that hangs", w.hangs)
		require.NoError(t, w.MoveTopicPartition(topic, 0, 2))
		w.change(func() {
			f.script = func(a ask) *kmsg.FetchResponseTopicPartition {
				if a.node == follower {
					return failure(kerr.OffsetOutOfRange)
				}
				return nil
			}
		})
		require.Equal(t, span(5, 9), readOffsets(t, c, 5))
		w.change(func() { w.mute[follower] = false })
		silent(t, c, 20*time.Second)
		w.see(func() { require.Empty(t, w.lists) })
		w.grow(f, singles(10, 14)...)
		require.Equal(t, span(10, 14), readOffsets(t, c, 5))
	})
}

func TestSeekStaysWithTheFollower(t *testing.T) {
	inWorld(t, 3, 1, func(t *testing.T, w *world) {
		f := preferring(w, follower, singles(0, 9), nil)
		c := w.consumer(startAt(5), kgo.Rack(rack))
		require.Equal(t, span(5, 9), readOffsets(t, c, 5))
		seek(c, 0)
		require.Equal(t, span(0, 9), readOffsets(t, c, 10))
		require.Len(t, w.asksOf(f, leader), 1)
	})
}

// The rack is a matter of whole requests: partitions whose followers fail for
// good must not keep others from theirs.
func TestPartitionsWhoseFollowersFailLeaveOthersTheirRack(t *testing.T) {
	const partitions, fails = 30, 20 * time.Minute
	inWorld(t, 3, partitions, func(t *testing.T, w *world) {
		from := map[int32]kgo.Offset{0: kgo.NewOffset().At(0)}
		var failed atomic.Bool
		good := w.script(0, func(a ask) *kmsg.FetchResponseTopicPartition {
			switch {
			case a.node == leader && a.rack != "":
				return prefers(follower, 0)
			case a.node == follower && a.at > fails && failed.CompareAndSwap(false, true):
				return failure(kerr.KafkaStorageError)
			}
			return nil
		})
		for p := int32(3); p < partitions; p += 3 { // led by the same broker
			from[p] = kgo.NewOffset().At(0)
			w.script(p, func(a ask) *kmsg.FetchResponseTopicPartition {
				switch {
				case a.node == leader && a.rack != "":
					return prefers(follower, 0)
				case a.node == follower && a.at > time.Duration(p)*20*time.Second: // each at other times
					return failure(kerr.KafkaStorageError)
				}
				return nil
			})
		}
		w.consumer(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}), kgo.Rack(rack))
		within(t, fails+time.Minute, "the failure", failed.Load)
		before := len(w.asksOf(good, follower))
		within(t, 70*time.Second, "the follower again", func() bool { return len(w.asksOf(good, follower)) > before })
	})
}
