package rcconsumer_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/rcconsumer"
)

// In these tests broker 0 leads partition 0 and broker 1 is its follower in the
// readers' rack, where broker 0 sends them.
const (
	leader, follower = int32(0), int32(1)
	rack             = "near"
)

// prefers is the answer of a leader with the log up to end that names a replica.
func prefers(replica int32, end int64) *kmsg.FetchResponseTopicPartition {
	p := nothing(end, end)
	p.PreferredReadReplica = replica
	return p
}

// preferring forges partition 0 with a log. The leader names a replica to those
// who send a rack. The follower answers by at, or as the log is where that is
// nil.
func preferring(w *world, replica int32, log batchtest.Log, at func(ask) *kmsg.FetchResponseTopicPartition) *forged {
	f := w.forge(0, log...)
	w.change(func() {
		f.script = func(a ask) *kmsg.FetchResponseTopicPartition {
			switch {
			case a.node == follower && at != nil:
				return at(a)
			case a.node != follower && a.rack == rack && a.offset <= f.hw:
				return prefers(replica, f.hw)
			}
			return nil
		}
	})
	return f
}

// grow appends to a forged log.
func (w *world) grow(f *forged, entries ...batchtest.Entry) {
	w.change(func() {
		f.log = append(slices.Clone(f.log), entries...)
		f.lso, f.hw = f.log.End(), f.log.End()
	})
}

// asksOf are the fetches of a forged partition that one broker had.
func (w *world) asksOf(f *forged, node int32) []ask {
	return slices.DeleteFunc(w.asks(f), func(a ask) bool { return a.node != node })
}

// senders notes which broker sent the batches that were read, by their records.
type senders struct {
	mu  sync.Mutex
	all []int32
}

func (h *senders) OnFetchBatchRead(b kgo.BrokerMetadata, _ string, _ int32, m kgo.FetchBatchMetrics) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, slices.Repeat([]int32{b.NodeID}, m.NumRecords)...)
}

func (h *senders) take() []int32 {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.all
	h.all = nil
	return all
}

// errorsTold notes the errors that are retried.
type errorsTold struct {
	mu  sync.Mutex
	all []error
}

func (h *errorsTold) OnFetchError(_ string, _ int32, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, err)
}

func (h *errorsTold) first() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.all) == 0 {
		return nil
	}
	return h.all[0]
}

// hangs reports whether a fetch waits at a broker that does not answer.
func (w *world) hangs() bool {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.flying > 0
}

// sentBy is what senders notes of n records.
func sentBy(node int32, n int) []int32 { return slices.Repeat([]int32{node}, n) }

// within is eventually for what may take long.
func within(t *testing.T, limit time.Duration, what string, condition func() bool) {
	t.Helper()
	for until := time.Now().Add(limit); !condition(); time.Sleep(10 * time.Millisecond) {
		require.True(t, time.Now().Before(until), "waited %v for %s", limit, what)
	}
}

// Source: KIP-392; Kafka's FetcherTest, testPreferredReadReplica.
func TestFollowerThatTheLeaderPrefersIsRead(t *testing.T) {
	inWorld(t, 3, 1, func(t *testing.T, w *world) {
		f := preferring(w, follower, singles(0, 4), nil)
		f.batches = 1
		var hook senders
		c := w.consumer(startAt(0), kgo.Rack(rack), kgo.WithHooks(&hook))
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
		require.Equal(t, sentBy(follower, 5), hook.take())
		for o := int64(5); o < 20; o++ {
			time.Sleep(9 * time.Second)
			w.grow(f, batchtest.Data(o, o))
			require.Equal(t, span(o, o), readOffsets(t, c, 1))
		}
		require.Equal(t, sentBy(follower, 15), hook.take())
		asked := w.asksOf(f, leader)
		require.Len(t, asked, 1, "a follower that brings records is not doubted")
		require.GreaterOrEqual(t, asked[0].version, int16(11))
		require.Less(t, w.asksOf(f, follower)[0].at-asked[0].at, 10*time.Millisecond)
		for _, a := range w.asksOf(f, follower) {
			require.Equal(t, asked[0].epoch, a.epoch)
			require.Equal(t, rack, a.rack)
		}
	})
}

func TestWithoutARackTheLeaderIsRead(t *testing.T) {
	inWorld(t, 3, 1, func(t *testing.T, w *world) {
		f := preferring(w, follower, singles(0, 4), nil)
		c := w.consumer(startAt(0))
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
		require.Empty(t, w.asksOf(f, follower))
	})
}

// A broker may be set up to choose replicas by other means than racks.
func TestReplicaIsFollowedThoughNoRackWasSent(t *testing.T) {
	inWorld(t, 3, 1, func(t *testing.T, w *world) {
		f := w.script(0, func(a ask) *kmsg.FetchResponseTopicPartition {
			if a.node == leader {
				return prefers(follower, 5)
			}
			return nil
		})
		w.grow(f, singles(0, 4)...)
		c := w.consumer(startAt(0))
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
	})
}

func TestRecordsBesideAPreferredReplicaAreUsed(t *testing.T) {
	inWorld(t, 3, 1, func(t *testing.T, w *world) {
		log := singles(0, 9)
		f := preferring(w, follower, log, nil)
		plain := f.script
		w.change(func() {
			f.script = func(a ask) *kmsg.FetchResponseTopicPartition {
				sp := plain(a)
				if sp != nil && a.node == leader {
					sp.RecordBatches = log[:5].Partition(nil).RecordBatches
				}
				return sp
			}
		})
		var hook senders
		c := w.consumer(startAt(0), kgo.Rack(rack), kgo.WithHooks(&hook))
		require.Equal(t, span(0, 9), readOffsets(t, c, 10))
		require.Equal(t, append(sentBy(leader, 5), sentBy(follower, 5)...), hook.take())
	})
}

// The lease of a replica: kgo.RecheckPreferredReplicaInterval.
func TestLeaderIsAskedAgainWhenTheTimeOfAFollowerIsOver(t *testing.T) {
	inWorld(t, 3, 1, func(t *testing.T, w *world) {
		f := preferring(w, follower, singles(0, 4), nil)
		c := w.consumer(startAt(0), kgo.Rack(rack), kgo.RecheckPreferredReplicaInterval(10*time.Second))
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
		time.Sleep(65 * time.Second)
		asked := w.asksOf(f, leader)
		require.Len(t, asked, 7)
		for i := 1; i < len(asked); i++ {
			require.InDelta(t, 10, (asked[i].at - asked[i-1].at).Seconds(), 1)
			require.Equal(t, rack, asked[i].rack)
		}
	})
}

// A follower that is cut off from its leader looks like an idle partition.
func TestLeaderIsAskedWhenAFollowerBringsNothingForLong(t *testing.T) {
	for name, wait := range map[string]time.Duration{"short polls": 500 * time.Millisecond, "long polls": time.Hour} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 3, 1, func(t *testing.T, w *world) { cutOff(t, w, kgo.FetchMaxWait(wait)) })
		})
	}
}

func cutOff(t *testing.T, w *world, opts ...kgo.Opt) {
	f := preferring(w, follower, singles(0, 4), nil)
	c := w.consumer(append(opts, startAt(0), kgo.Rack(rack))...)
	require.Equal(t, span(0, 4), readOffsets(t, c, 5))
	w.change(func() {
		f.script = nil // not in sync, so not preferred
		f.behind = map[int32]int64{follower: 5}
	})
	w.grow(f, singles(5, 9)...)
	require.Equal(t, span(5, 9), offsets(poll(c, 122*time.Second)))
}

func TestNewLeaderIsAskedForItsOwnPreference(t *testing.T) {
	inWorld(t, 3, 1, func(t *testing.T, w *world) {
		f := preferring(w, follower, singles(0, 4), nil)
		c := w.consumer(append(quick, startAt(0), kgo.Rack(rack))...)
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
		old := w.asksOf(f, follower)[0].epoch
		require.NoError(t, w.MoveTopicPartition(topic, 0, 2))
		eventually(t, "the follower again, with the new epoch", func() bool {
			all := w.asksOf(f, follower)
			return all[len(all)-1].epoch > old
		})
		asked := w.asksOf(f, 2)
		require.Len(t, asked, 1)
		require.Equal(t, rack, asked[0].rack)
		require.Len(t, w.asksOf(f, leader), 1)
		w.grow(f, singles(5, 9)...)
		require.Equal(t, span(5, 9), readOffsets(t, c, 5))
	})
}

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
