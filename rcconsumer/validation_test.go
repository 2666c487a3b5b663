package rcconsumer_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/rcconsumer"
)

// atEpoch starts at an offset of partition 0, after a leader epoch.
func atEpoch(offset int64, epoch int32) kgo.Opt {
	return startFrom(kgo.NewOffset().At(offset).WithEpoch(epoch))
}

// refuseEnds answers n times with an error, then that nothing was truncated.
func (w *world) refuseEnds(code *kerr.Error, n int) {
	w.change(func() {
		w.epochs.end = func(a epochAsk) *kmsg.OffsetForLeaderEpochResponseTopicPartition {
			if a.nth < n {
				return endFailure(code)
			}
			return nil
		}
	})
}

// Source: Kafka's OffsetsForLeaderEpochUtils, handleResponse.
func TestErrorsOfAValidationAreRetriedInSilence(t *testing.T) {
	for _, code := range []*kerr.Error{
		kerr.NotLeaderForPartition, kerr.FencedLeaderEpoch, kerr.UnknownLeaderEpoch, kerr.OffsetNotAvailable,
		kerr.ReplicaNotAvailable, kerr.KafkaStorageError, kerr.LeaderNotAvailable, kerr.UnknownTopicOrPartition,
	} {
		t.Run(code.Message, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				f := w.forge(0, batchtest.Data(0, 4))
				w.refuseEnds(code, 4)
				var hook errorHook
				c := w.consumer(atEpoch(0, 0), rcconsumer.WithHooks(&hook))
				eventually(t, "the first refusal", func() bool { return hook.saw(code) })
				before := 0
				w.see(func() { before = w.metadata })
				require.Empty(t, w.asks(f))
				require.Equal(t, span(0, 4), readOffsets(t, c, 5))
				require.Len(t, w.epochAsks(), 5)
				w.see(func() { require.Greater(t, w.metadata, before) })
			})
		})
	}
}

func TestErrorOfAValidationThatStaysIsHandedOut(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0, batchtest.Data(0, 4))
		w.refuseEnds(kerr.TopicAuthorizationFailed, 3)
		c := w.consumer(atEpoch(0, 0))
		var last time.Time
		for i := range 3 {
			e := failed(t, c)
			require.ErrorIs(t, e.Err, kerr.TopicAuthorizationFailed)
			require.Contains(t, e.Err.Error(), "epoch 0")
			if i > 0 {
				require.GreaterOrEqual(t, time.Since(last), 100*time.Millisecond)
			}
			last = time.Now()
		}
		require.Empty(t, w.asks(f))
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
	})
}

func TestValidationThatAlwaysFailsIsAskedForSeldom(t *testing.T) {
	for _, code := range []*kerr.Error{kerr.UnknownLeaderEpoch, kerr.TopicAuthorizationFailed} {
		t.Run(code.Message, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				f := w.forge(0, batchtest.Data(0, 4))
				w.refuseEnds(code, 1<<30)
				w.consumer(atEpoch(0, 0))
				time.Sleep(20 * time.Second)
				require.NotEmpty(t, w.epochAsks())
				require.LessOrEqual(t, len(w.epochAsks()), 14)
				require.Empty(t, w.asks(f))
			})
		})
	}
}

func TestPartitionLeftOutOfAValidationIsAskedForAgain(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 4))
		w.change(func() { w.epochs.leaveOut = 2 })
		var hook errorHook
		c := w.consumer(atEpoch(0, 0), rcconsumer.WithHooks(&hook))
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
		hook.mu.Lock()
		defer hook.mu.Unlock()
		require.ErrorContains(t, errors.Join(hook.all...), "left the partition out")
		require.Len(t, w.epochAsks(), 3)
	})
}

// Below version 3 a consumer needs a right on the whole cluster. The Java client
// does not validate then.
func TestBrokerThatIsTooOldIsNotAskedAboutEpochs(t *testing.T) {
	versions := func(epochs int16) kgo.Opt {
		v := kversion.Stable()
		v.SetMaxKeyVersion(int16(kmsg.OffsetForLeaderEpoch), epochs)
		return kgo.MaxVersions(v)
	}
	for name, opt := range map[string]kgo.Opt{"version 2": versions(2), "not at all": versions(-1)} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				w.forge(0, batchtest.Data(0, 4))
				var hook errorHook
				c := w.consumer(atEpoch(0, 0), opt, rcconsumer.WithHooks(&hook))
				require.Equal(t, span(0, 4), readOffsets(t, c, 5))
				require.Empty(t, w.epochAsks())
				require.Empty(t, hook.all)
			})
		})
	}
	t.Run("the broker's version 2", func(t *testing.T) {
		inWorld(t, 1, 1, func(t *testing.T, w *world) {
			w.forge(0, batchtest.Data(0, 4))
			w.capVersion(t, int16(kmsg.OffsetForLeaderEpoch), 2)
			w.refuseEnds(kerr.ClusterAuthorizationFailed, 1<<30)
			c := w.consumer(atEpoch(0, 0))
			require.Equal(t, span(0, 4), readOffsets(t, c, 5))
			require.Len(t, w.epochAsks(), 1)
			require.Equal(t, int16(2), w.epochAsks()[0].version)
		})
	})
}

// capVersion has brokers claim an older version of a request.
func (w *world) capVersion(t *testing.T, key, most int16) {
	t.Helper()
	cl := w.client()
	kresp, err := cl.Request(t.Context(), kmsg.NewPtrApiVersionsRequest())
	require.NoError(t, err)
	cl.Close()
	keys := kresp.(*kmsg.ApiVersionsResponse).ApiKeys
	for i := range keys {
		if keys[i].ApiKey == key {
			keys[i].MinVersion, keys[i].MaxVersion = 0, most
		}
	}
	w.ControlKey(int16(kmsg.ApiVersions), func(req kmsg.Request) (kmsg.Response, error, bool) {
		w.KeepControl()
		resp := req.ResponseKind().(*kmsg.ApiVersionsResponse)
		resp.ApiKeys = keys
		return resp, nil, true
	})
}

func TestClusterWithoutLeaderEpochsIsNotAskedAboutThem(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 4))
		w.leads([2]int32{0, -1})
		c := w.consumer(append(quick, atEpoch(0, 4))...)
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
		silent(t, c, 10*time.Second)
		require.Empty(t, w.epochAsks())
	})
}

func TestBatchesWithoutALeaderEpochAreNotValidated(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0)
		w.becomes(f, 0, written(3, 0, 4), written(-1, 5, 9))
		lead := w.leads([2]int32{0, 7})
		w.ends(epochEnds{3: endOf(3, 5)})
		c := w.consumer(append(quick, startAt(0))...)
		require.Equal(t, span(0, 9), readOffsets(t, c, 10))
		require.Equal(t, int32(-1), position(c).NextEpoch)
		w.becomes(f, 8, written(3, 0, 4), written(-1, 5, 14))
		lead([2]int32{0, 8})
		require.Equal(t, span(10, 14), readOffsets(t, c, 5))
		require.Empty(t, w.epochAsks())
	})
}

func TestLeaderWithoutAnEpochUndoesNoneThatIsKnown(t *testing.T) {
	inWorld(t, 2, 1, func(t *testing.T, w *world) {
		f := w.forge(0, batchtest.Data(0, 4))
		lead := w.leads([2]int32{0, 7})
		c := w.consumer(append(quick, startAt(0))...)
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
		lead([2]int32{0, -1})
		silent(t, c, 10*time.Second)
		lead([2]int32{1, -1})
		eventually(t, "a fetch from the new leader", func() bool { asks := w.asks(f); return asks[len(asks)-1].node == 1 })
		for _, a := range w.asks(f) {
			require.Equal(t, int32(7), a.epoch)
		}
		require.Empty(t, w.epochAsks())
	})
}

// KAFKA-7703 in kind: what comes late is about a position that nobody has.
func TestSeekWinsOverAValidationOnItsWay(t *testing.T) {
	for name, epoch := range map[string]int32{"without an epoch": -1, "with an epoch": 3} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				f := w.forge(0)
				w.becomes(f, 5, written(3, 0, 39), written(5, 40, 49))
				w.leads([2]int32{0, 5})
				w.ends(epochEnds{4: endOf(4, 10), 3: endOf(3, 40)})
				letGo := w.holdEpochs(0)
				var hook resetHook
				c := w.consumer(atEpoch(30, 4), rcconsumer.WithHooks(&hook))
				eventually(t, "the question", func() bool { return len(w.epochAsks()) == 1 })
				c.SetOffsets(map[string]map[int32]kgo.EpochOffset{topic: {0: {Epoch: epoch, Offset: 35}}})
				if epoch < 0 {
					require.Equal(t, span(35, 49), readOffsets(t, c, 15))
				} else {
					silent(t, c, 2*time.Second)
					require.Empty(t, w.asks(f))
					require.Len(t, w.epochAsks(), 1, "one question at a time")
				}
				letGo()
				if epoch >= 0 {
					require.Equal(t, span(35, 49), readOffsets(t, c, 15))
					require.Len(t, w.epochAsks(), 2)
				}
				silent(t, c, 10*time.Second)
				require.Empty(t, hook.all())
				require.Equal(t, int64(50), position(c).Next)
			})
		})
	}
}

func TestNewLeaderIsAskedWhileTheOldOneIsSilent(t *testing.T) {
	inWorld(t, 2, 1, func(t *testing.T, w *world) {
		f := w.forge(0)
		w.becomes(f, 0, written(4, 0, 99))
		lead := w.leads([2]int32{0, 4})
		w.change(func() {
			w.epochs.end = func(a epochAsk) *kmsg.OffsetForLeaderEpochResponseTopicPartition {
				return endOf(4, 60+20*int64(a.node))
			}
		})
		c := w.consumer(startAt(0))
		require.Equal(t, span(0, 99), readOffsets(t, c, 100))
		letGo := w.holdEpochs(0)
		w.becomes(f, 5, written(4, 0, 59))
		lead([2]int32{0, 5})
		eventually(t, "the question to the old leader", func() bool { return len(w.epochAsks()) == 1 })
		asked := time.Now()
		w.becomes(f, 6, written(4, 0, 79), written(6, 80, 89))
		lead([2]int32{1, 6})
		var lost *kgo.ErrDataLoss
		require.ErrorAs(t, failed(t, c).Err, &lost)
		require.Less(t, time.Since(asked), 4*time.Second)
		require.Equal(t, int64(80), lost.ResetTo)
		require.Equal(t, int32(1), w.epochAsks()[1].node)
		letGo()
		require.Equal(t, span(80, 89), readOffsets(t, c, 10))
		silent(t, c, 10*time.Second)
	})
}

func TestLateAnswerOfAnOldLeaderBringsNoSecondQuestionToTheNewOne(t *testing.T) {
	inWorld(t, 2, 1, func(t *testing.T, w *world) {
		f := w.forge(0)
		w.becomes(f, 0, written(4, 0, 99))
		lead := w.leads([2]int32{0, 4})
		c := w.consumer(startAt(0))
		require.Equal(t, span(0, 99), readOffsets(t, c, 100))
		answerOld, answerNew := w.holdEpochs(0), w.holdEpochs(1)
		w.becomes(f, 6, written(4, 0, 99), written(6, 100, 109))
		lead([2]int32{0, 5})
		eventually(t, "the question to the old leader", func() bool { return len(w.epochAsks()) == 1 })
		lead([2]int32{1, 6})
		eventually(t, "the question to the new leader", func() bool { return len(w.epochAsks()) == 2 })
		answerOld()
		silent(t, c, 2*time.Second)
		require.Len(t, w.epochAsks(), 2)
		answerNew()
		require.Equal(t, span(100, 109), readOffsets(t, c, 10))
		require.Len(t, w.epochAsks(), 2)
	})
}

func TestPausedPartitionIsValidatedBeforeItIsReadOn(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0)
		w.becomes(f, 0, written(4, 0, 99))
		lead := w.leads([2]int32{0, 4})
		w.ends(epochEnds{4: endOf(4, 60)})
		c := w.consumer(append(quick, startAt(0))...)
		require.Equal(t, span(0, 79), offsets(c.PollRecords(t.Context(), 80)))
		letGo := w.holdEpochs(0)
		w.becomes(f, 5, written(4, 0, 59), written(5, 60, 119))
		lead([2]int32{0, 5})
		eventually(t, "the question", func() bool { return len(w.epochAsks()) == 1 })
		c.PauseFetchTopics(topic) // what is buffered beyond 80 goes, and the question was for that
		letGo()
		eventually(t, "the second question", func() bool { return len(w.epochAsks()) == 2 })
		silent(t, c, 5*time.Second)
		c.ResumeFetchTopics(topic)
		var lost *kgo.ErrDataLoss
		require.ErrorAs(t, failed(t, c).Err, &lost)
		require.Equal(t, [2]int64{80, 60}, [2]int64{lost.ConsumedTo, lost.ResetTo})
		require.Equal(t, span(60, 119), readOffsets(t, c, 60))
	})
}

// The fetch offset goes back to where the application is, and what is asked
// about must go with it: the leader may have another end for that epoch.
func TestFetchOffsetThatGoesBackIsValidatedByTheEpochThere(t *testing.T) {
	run := func(name string, log batchtest.Log, goBack func(*testing.T, *rcconsumer.Consumer)) {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				f := w.forge(0)
				w.becomes(f, 0, log)
				lead := w.leads([2]int32{0, 7})
				c := w.consumer(append(quick, startAt(0))...)
				eventually(t, "all of the log", func() bool { return position(c).HighWatermark == 30 })
				require.Equal(t, span(0, 9), offsets(c.PollRecords(t.Context(), 10)))
				w.becomes(f, 8, written(3, 0, 19), written(8, 20, 39))
				goBack(t, c)
				lead([2]int32{0, 8})
				require.Equal(t, span(10, 39), readPast(t, c, 30))
				asks := w.epochAsks()
				require.Len(t, asks, 1)
				require.Equal(t, int32(3), asks[0].epoch)
			})
		})
	}
	run("by a pause", slices.Concat(written(3, 0, 19), written(7, 20, 29)), func(_ *testing.T, c *rcconsumer.Consumer) {
		c.PauseFetchTopics(topic)
		c.ResumeFetchTopics(topic)
	})
	bad := batchtest.Log{badRecords().LeaderEpoch(3)}
	run("by a damaged batch", slices.Concat(written(3, 0, 9), bad, written(7, 20, 29)), func(t *testing.T, c *rcconsumer.Consumer) {
		var damaged *rcconsumer.BatchError
		require.ErrorAs(t, failed(t, c).Err, &damaged)
	})
}

func TestPauseBehindALossGoesBackToTheEpochOfItsEnd(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0)
		w.becomes(f, 0, written(4, 0, 99))
		lead := w.leads([2]int32{0, 4})
		w.ends(epochEnds{4: endOf(4, 60), 5: endOf(5, 70)})
		var hook resetHook
		c := w.consumer(append(quick, startAt(0), rcconsumer.WithHooks(&hook))...)
		require.Equal(t, span(0, 99), readOffsets(t, c, 100))
		w.becomes(f, 5, written(4, 0, 59), written(5, 60, 79))
		lead([2]int32{0, 5})
		eventually(t, "the loss, and records behind it", func() bool {
			return len(hook.all()) == 1 && position(c).HighWatermark == 80
		})
		w.becomes(f, 6, written(4, 0, 59), written(5, 60, 69), written(6, 70, 89))
		c.PauseFetchTopics(topic)
		lead([2]int32{0, 6})
		eventually(t, "the question", func() bool { return len(w.epochAsks()) == 2 })
		require.Equal(t, int32(4), w.epochAsks()[1].epoch)
		c.ResumeFetchTopics(topic)
		var lost *kgo.ErrDataLoss
		require.ErrorAs(t, failed(t, c).Err, &lost)
		require.Equal(t, span(60, 89), readOffsets(t, c, 30))
	})
}

func TestEpochOfThePositionStaysOverAHole(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0)
		w.becomes(f, 0, written(3, 0, 4))
		w.leads([2]int32{0, 3})
		c := w.consumer(startAt(0))
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
		w.becomes(f, 0, written(3, 0, 4), written(3, 10, 14))
		eventually(t, "the hole to be passed", func() bool { return position(c).Next == 10 })
		require.Equal(t, int32(3), position(c).NextEpoch)
	})
}

// A loss that waits for a poll is kept when the log is cut once more.
func TestSecondTruncationKeepsTheLossThatNobodyHeardOf(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0)
		w.becomes(f, 0, written(4, 0, 99))
		lead := w.leads([2]int32{0, 4})
		w.ends(epochEnds{4: endOf(4, 60), 5: endOf(5, 70)})
		var hook resetHook
		c := w.consumer(append(quick, startAt(0), rcconsumer.WithHooks(&hook))...)
		require.Equal(t, span(0, 99), readOffsets(t, c, 100))
		w.becomes(f, 5, written(4, 0, 59), written(5, 60, 79))
		lead([2]int32{0, 5})
		eventually(t, "the first loss, and records behind it", func() bool {
			return len(hook.all()) == 1 && position(c).HighWatermark == 80
		})
		w.becomes(f, 6, written(4, 0, 59), written(5, 60, 69), written(6, 70, 89))
		lead([2]int32{0, 6})
		eventually(t, "the new end", func() bool { return position(c).HighWatermark == 90 })
		var lost *kgo.ErrDataLoss
		require.ErrorAs(t, failed(t, c).Err, &lost)
		require.Equal(t, [2]int64{100, 60}, [2]int64{lost.ConsumedTo, lost.ResetTo})
		for i, r := range read(t, c, 30) {
			require.Equal(t, int64(60+i), r.Offset)
			require.Equal(t, r.Offset >= 70, r.LeaderEpoch == 6)
		}
		require.Len(t, hook.all(), 1, "of the second truncation nothing had been handed out")
	})
}

func TestLeaderThatIsSilentAboutEpochsHoldsUpNoOther(t *testing.T) {
	inWorld(t, 2, 4, func(t *testing.T, w *world) {
		var hook errorHook
		from := make(map[int32]kgo.Offset)
		for p := range int32(4) {
			w.forge(p, batchtest.Data(0, 4))
			from[p] = kgo.NewOffset().At(0).WithEpoch(0)
		}
		letGo := w.holdEpochs(1)
		began := time.Now()
		c := w.consumer(rcconsumer.WithHooks(&hook), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}))
		for _, r := range read(t, c, 10) {
			require.Zero(t, r.Partition%2)
		}
		require.Less(t, time.Since(began), time.Second)
		before := 0
		w.see(func() { before = w.metadata })
		silent(t, c, 40*time.Second)
		w.see(func() {
			require.Greater(t, w.metadata, before+10, "it may have moved")
			require.LessOrEqual(t, w.epochs.reqs, 6, "one request for each leader, all its partitions in it")
			require.GreaterOrEqual(t, w.epochs.reqs, 3)
		})
		hook.mu.Lock()
		told := errors.Join(hook.all...)
		hook.mu.Unlock()
		require.ErrorContains(t, told, "offset for leader epoch 0")
		letGo()
		for _, r := range read(t, c, 10) {
			require.NotZero(t, r.Partition%2)
		}
	})
}

// A hint brings a newer epoch as well (KIP-951).
func TestLeaderHintIsFollowedOnlyAfterValidation(t *testing.T) {
	inWorld(t, 2, 1, func(t *testing.T, w *world) {
		f := w.forge(0)
		w.becomes(f, 0, written(4, 0, 99))
		lead := w.leads([2]int32{0, 4})
		w.ends(epochEnds{4: endOf(4, 60)})
		c := w.consumer(startAt(0)) // metadata is asked for seldom
		require.Equal(t, span(0, 99), readOffsets(t, c, 100))
		lead([2]int32{1, 5})
		w.becomes(f, 5, written(4, 0, 59), written(5, 60, 109))
		w.change(func() {
			f.script = func(a ask) *kmsg.FetchResponseTopicPartition {
				if a.node == 1 {
					return nil
				}
				sp := failure(kerr.NotLeaderForPartition)
				sp.CurrentLeader.LeaderID, sp.CurrentLeader.LeaderEpoch = 1, 5
				return sp
			}
		})
		var lost *kgo.ErrDataLoss
		require.ErrorAs(t, failed(t, c).Err, &lost)
		require.Equal(t, span(60, 109), readOffsets(t, c, 50))
		for _, a := range w.asks(f) {
			require.False(t, a.node == 1 && a.offset == 100)
		}
		require.Len(t, w.epochAsks(), 1)
		require.True(t, strings.HasPrefix(lost.Error(), "topic t partition 0"))
	})
}
