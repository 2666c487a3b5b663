package rcconsumer_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/rcconsumer"
)

// errorHook notes errors that are retried.
type errorHook struct {
	mu  sync.Mutex
	all []error
}

func (h *errorHook) OnFetchError(_ string, _ int32, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, err)
}

func (h *errorHook) saw(target error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.all, func(err error) bool { return errors.Is(err, target) })
}

// refuse forges a partition that answers with an error n times, then with data.
// metadata gets how many Metadata requests there had been at the first refusal.
func (w *world) refuse(code *kerr.Error, n int) (f *forged, metadata *int) {
	metadata = new(int)
	f = w.forge(0, batchtest.Data(0, 4))
	f.script = func(a ask) *kmsg.FetchResponseTopicPartition {
		if a.nth == 0 {
			*metadata = w.metadata
		}
		if a.nth < n {
			return failure(code)
		}
		return nil
	}
	return f, metadata
}

// Sources: Kafka's FetchCollector, handleInitializeErrors; FetcherTest
// testHandleFetchResponseError.
func TestRetriableErrorsAreRetriedInSilence(t *testing.T) {
	tests := []struct {
		code    *kerr.Error
		refresh bool // metadata is asked for
	}{
		{kerr.NotLeaderForPartition, true},
		{kerr.ReplicaNotAvailable, true},
		{kerr.KafkaStorageError, true},
		{kerr.FencedLeaderEpoch, true},
		{kerr.OffsetNotAvailable, true},
		{kerr.UnknownTopicOrPartition, true},
		{kerr.UnknownTopicID, true},
		{kerr.InconsistentTopicID, true},
		{kerr.UnknownLeaderEpoch, false},
	}
	for _, test := range tests {
		t.Run(test.code.Message, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				f, metadata := w.refuse(test.code, 4)
				var hook errorHook
				c := w.consumer(startAt(0), rcconsumer.WithHooks(&hook))
				require.Equal(t, span(0, 4), readOffsets(t, c, 5))
				require.Len(t, w.asks(f)[:5], 5)
				w.see(func() {
					require.Equal(t, test.refresh, w.metadata > *metadata)
					require.LessOrEqual(t, w.metadata-*metadata, 5)
				})
				require.True(t, hook.saw(test.code))
			})
		})
	}
}

func TestSameErrorIsToldOnceASecond(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.script(0, always(failure(kerr.KafkaStorageError)))
		var hook errorHook
		w.consumer(startAt(0), rcconsumer.WithHooks(&hook))
		time.Sleep(900 * time.Millisecond)
		require.Greater(t, len(w.asks(f)), 3)
		hook.mu.Lock()
		defer hook.mu.Unlock()
		require.Len(t, hook.all, 1)
	})
}

func TestErrorsThatStayAreHandedOutAndAskedForAgain(t *testing.T) {
	for _, code := range []*kerr.Error{
		kerr.TopicAuthorizationFailed, kerr.CorruptMessage, kerr.UnsupportedVersion, kerr.UnsupportedCompressionType,
		kerr.UnknownServerError,
	} {
		t.Run(code.Message, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				w.refuse(code, 3)
				c := w.consumer(startAt(0))
				var last time.Time
				for i := range 3 {
					e := failed(t, c)
					require.ErrorIs(t, e.Err, code)
					require.Equal(t, topic, e.Topic)
					require.Contains(t, e.Err.Error(), "offset 0")
					if i > 0 {
						require.GreaterOrEqual(t, time.Since(last), 200*time.Millisecond)
					}
					last = time.Now()
					require.Equal(t, int64(0), position(c).Next)
				}
				require.Equal(t, span(0, 4), readOffsets(t, c, 5))
			})
		})
	}
}

func TestRetriableErrorsAreHandedOutIfKept(t *testing.T) {
	for code, kept := range map[*kerr.Error]bool{
		kerr.NotLeaderForPartition: true, kerr.KafkaStorageError: true, kerr.UnknownLeaderEpoch: true,
		kerr.FencedLeaderEpoch: false, // as in kgo
	} {
		t.Run(code.Message, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				w.refuse(code, 3)
				c := w.consumer(startAt(0), kgo.KeepRetryableFetchErrors())
				failures := 0
				var got []int64
				for len(got) < 5 {
					fs := poll(c, patience)
					require.False(t, timedOut(fs))
					got = append(got, offsets(fs)...)
					fs.EachError(func(_ string, _ int32, err error) {
						require.ErrorIs(t, err, code)
						failures++
					})
				}
				require.Equal(t, span(0, 4), got)
				require.Equal(t, kept, failures > 0)
				require.LessOrEqual(t, failures, 3)
			})
		})
	}
}

// A new topic is unknown to some brokers for a moment, a deleted one for ever.
func TestUnknownTopicIDIsHandedOutFromTheSixthInARow(t *testing.T) {
	for n, fails := range map[int]bool{5: false, 6: true} {
		t.Run(map[bool]string{false: "five", true: "six"}[fails], func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				f, _ := w.refuse(kerr.UnknownTopicID, n)
				c := w.consumer(startAt(0))
				if fails {
					require.ErrorIs(t, failed(t, c).Err, kerr.UnknownTopicID)
					require.Len(t, w.asks(f), 6)
				}
				require.Equal(t, span(0, 4), readOffsets(t, c, 5))
			})
		})
	}
}

// Sources: KIP-951; Kafka's FetcherTest
// testWhenFetchResponseReturnsALeaderShipChangeError.
func TestLeaderHintIsFollowedIfItIsNewer(t *testing.T) {
	for _, code := range []*kerr.Error{kerr.NotLeaderForPartition, kerr.FencedLeaderEpoch} {
		for _, newer := range []bool{true, false} {
			t.Run(code.Message+map[bool]string{true: " newer", false: " stale"}[newer], func(t *testing.T) {
				inWorld(t, 2, 1, func(t *testing.T, w *world) {
					old := w.LeaderFor(topic, 0)
					f := w.forge(0, batchtest.Data(0, 4))
					metadata, between := 0, 0
					f.script = func(a ask) *kmsg.FetchResponseTopicPartition {
						switch a.nth {
						case 0:
							metadata = w.metadata
							sp := failure(code)
							sp.CurrentLeader.LeaderID, sp.CurrentLeader.LeaderEpoch = 1-old, a.epoch
							if newer {
								sp.CurrentLeader.LeaderEpoch++
							}
							return sp
						case 1:
							between = w.metadata - metadata
						}
						return nil
					}
					c := w.consumer(startAt(0))
					require.Equal(t, span(0, 4), readOffsets(t, c, 5))
					want := old
					if newer {
						want = 1 - old
					}
					asks := w.asks(f)
					require.Equal(t, want, asks[1].node)
					if newer {
						require.Zero(t, between, "a hint needs no metadata")
					}
					require.Equal(t, newer, asks[1].epoch > asks[0].epoch)
					time.Sleep(5 * time.Second) // metadata that knows less must not undo it
					asks = w.asks(f)
					require.Equal(t, want, asks[len(asks)-1].node)
				})
			})
		}
	}
}

// Sources: KAFKA-8052 (session errors); Kafka's FetcherTest
// testHandleFetchResponseError: metadata is asked for as well.
func TestErrorOfAWholeAnswerIsRetried(t *testing.T) {
	for _, code := range []*kerr.Error{
		kerr.FetchSessionIDNotFound, kerr.InvalidFetchSessionEpoch, kerr.FetchSessionTopicIDError, kerr.UnknownServerError,
	} {
		t.Run(code.Message, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				w.forge(0, batchtest.Data(0, 4))
				n, metadata := 3, 0
				w.edit = func(_ *kmsg.FetchRequest, resp *kmsg.FetchResponse) {
					if n == 3 {
						metadata = w.metadata
					}
					if n--; n >= 0 {
						resp.ErrorCode, resp.Topics = code.Code, nil
					}
				}
				var hook errorHook
				c := w.consumer(startAt(0), rcconsumer.WithHooks(&hook))
				require.Equal(t, span(0, 4), readOffsets(t, c, 5))
				require.True(t, hook.saw(code))
				require.LessOrEqual(t, w.count(), 5)
				w.see(func() { require.Greater(t, w.metadata, metadata) })
			})
		})
	}
}

func TestReadingFollowsALeaderThatMoves(t *testing.T) {
	inWorld(t, 3, 1, func(t *testing.T, w *world) {
		c := w.consumer(kgo.ConsumeTopics(topic))
		next := int64(0)
		for round := range 6 {
			w.produce(topic, 0, "a", "b")
			require.Equal(t, span(next, next+1), readOffsets(t, c, 2))
			end := w.begin(topic, 0, "dropped")
			require.NoError(t, w.MoveTopicPartition(topic, 0, int32(round%3)))
			end(false)
			next += 4
		}
		untilNext(t, c, next)
	})
}

// A broker that is gone answers nothing, and waiting for it would be a stall.
func TestNewLeaderIsNotHeldUpByTheOldOne(t *testing.T) {
	inWorld(t, 2, 1, func(t *testing.T, w *world) {
		old := w.LeaderFor(topic, 0)
		f := w.forge(0)
		f.hw = 5
		c := w.consumer(startAt(0), kgo.FetchMaxWait(time.Hour), kgo.MetadataMaxAge(time.Second))
		eventually(t, "a fetch in flight", func() bool { return w.count() == 1 })
		require.NoError(t, w.MoveTopicPartition(topic, 0, 1-old))
		eventually(t, "a fetch from the new leader", func() bool { return w.count() == 2 })
		require.Less(t, time.Since(w.began), 5*time.Second)
		w.change(func() { f.log, f.lso = batchtest.Log{batchtest.Data(0, 4)}, 5 }) // both answer
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
		silent(t, c, 10*time.Second)
		require.Equal(t, 1-old, w.asks(f)[1].node)
	})
}

// A successor is elected some time after a broker died, most often while the
// consumer backs off from the dead one.
func TestNewLeaderIsFoundWhileTheOldOneIsBackedOffFrom(t *testing.T) {
	inWorld(t, 2, 1, func(t *testing.T, w *world) {
		old := w.LeaderFor(topic, 0)
		w.forge(0, batchtest.Data(0, 4))
		w.change(func() { w.broken[old] = true })
		c := w.consumer(startAt(0), kgo.RetryBackoffFn(func(int) time.Duration { return patience / 2 }))
		eventually(t, "a fetch that fails", func() bool { return w.count() == 1 })
		silent(t, c, 6*time.Second)
		require.NoError(t, w.MoveTopicPartition(topic, 0, 1-old))
		moved := time.Now()
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
		require.Less(t, time.Since(moved), 2*time.Second)
	})
}

// Sources: KAFKA-12257, twmb/franz-go#908 and #1364: offsets of the old topic
// mean nothing in the new one.
func TestRecreatedTopicIsReadAnew(t *testing.T) {
	tests := []struct {
		name string
		opts []kgo.Opt
		want []string
	}{
		{"default", nil, []string{"new 0", "new 1", "new 2", "new 3"}},
		{"end", []kgo.Opt{kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd())}, []string{"new 3"}},
		{"no reset", []kgo.Opt{kgo.ConsumeResetOffset(kgo.NoResetOffset()), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart())}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				w.produce(topic, 0, "old 0", "old 1")
				var hook resetHook
				opts := append([]kgo.Opt{
					kgo.ConsumeTopics(topic), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), rcconsumer.WithHooks(&hook),
				}, test.opts...)
				c := w.consumer(opts...)
				readOffsets(t, c, 2)
				require.NoError(t, w.DeleteTopic(topic))
				require.NoError(t, w.CreateTopic(topic, 1, nil))
				w.produce(topic, 0, "new 0", "new 1", "new 2")
				if test.want == nil {
					require.ErrorIs(t, failed(t, c).Err, kerr.UnknownTopicID)
					silent(t, c, 10*time.Second)
					seek(c, 1)
					require.Equal(t, span(1, 2), readOffsets(t, c, 2))
					return
				}
				eventually(t, "the reset", func() bool { return len(hook.all()) == 1 && position(c).Next >= 0 })
				w.produce(topic, 0, "new 3")
				var got []string
				for _, r := range read(t, c, len(test.want)) {
					got = append(got, string(r.Value))
				}
				require.Equal(t, test.want, got)
				require.Equal(t, int64(4), position(c).Next)
				require.Equal(t, int64(4), position(c).HighWatermark)
			})
		})
	}
}

func TestPartitionsAddedLaterAreRead(t *testing.T) {
	inWorld(t, 2, 1, func(t *testing.T, w *world) {
		c := w.consumer(kgo.ConsumeTopics(topic), kgo.MetadataMaxAge(time.Second))
		w.produce(topic, 0, "a")
		read(t, c, 1)
		_, err := kadm.NewClient(w.client()).CreatePartitions(t.Context(), 2, topic)
		require.NoError(t, err)
		w.produce(topic, 1, "b")
		w.produce(topic, 2, "c")
		read(t, c, 2)
		require.Len(t, c.Positions()[topic], 3)
	})
}

func TestPartitionNamedBeforeItExistsIsReadOnceItDoes(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		c := w.consumer(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {2: kgo.NewOffset().AtStart()}}))
		silent(t, c, 10*time.Second)
		_, err := kadm.NewClient(w.client()).CreatePartitions(t.Context(), 2, topic)
		require.NoError(t, err)
		w.produce(topic, 2, "c")
		require.Equal(t, int32(2), read(t, c, 1)[0].Partition)
		require.Len(t, c.Positions()[topic], 1)
	})
}

func TestPatternsIncludeLaterTopicsAndExclude(t *testing.T) {
	inWorld(t, 1, 0, func(t *testing.T, w *world) {
		for _, name := range []string{"a-1", "a-x", "b-1"} {
			require.NoError(t, w.CreateTopic(name, 1, nil))
		}
		c := w.consumer(kgo.ConsumeTopics("^a-"), kgo.ConsumeRegex(), kgo.ConsumeExcludeTopics("-x$"), kgo.MetadataMaxAge(time.Second))
		require.NoError(t, w.CreateTopic("a-2", 1, nil))
		for _, name := range []string{"a-1", "a-2", "a-x", "b-1"} {
			w.produce(name, 0, name)
		}
		var got []string
		for _, r := range read(t, c, 2) {
			got = append(got, string(r.Value))
		}
		slices.Sort(got)
		require.Equal(t, []string{"a-1", "a-2"}, got)
		silent(t, c, 5*time.Second)
		require.NoError(t, w.DeleteTopic("a-1"))
		eventually(t, "the deleted topic to go", func() bool { return len(c.Positions()) == 1 })
		require.NoError(t, w.CreateTopic("a-1", 1, nil))
		w.produce("a-1", 0, "again")
		require.Equal(t, "again", string(read(t, c, 1)[0].Value))
	})
}

func TestTopicThatDoesNotExistYetIsWaitedForInSilence(t *testing.T) {
	inWorld(t, 1, 0, func(t *testing.T, w *world) {
		var hook errorHook
		c := w.consumer(kgo.ConsumeTopics(topic), rcconsumer.WithHooks(&hook))
		silent(t, c, 20*time.Second)
		require.True(t, hook.saw(kerr.UnknownTopicOrPartition))
		w.see(func() { require.LessOrEqual(t, w.metadata, 20) })
		require.Nil(t, w.TopicInfo(topic), "it must not be created by asking")
		require.NoError(t, w.CreateTopic(topic, 1, nil))
		w.produce(topic, 0, "a")
		require.Equal(t, []int64{0}, readOffsets(t, c, 1))
	})
}
