package rcconsumer_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/rcconsumer"
)

type epochEnds = map[int32]*kmsg.OffsetForLeaderEpochResponseTopicPartition

// truncated is what a client makes of a log that was cut.
type truncated struct {
	lost   *kgo.ErrDataLoss
	failed error // another error
	asked  int64 // first offset that was fetched under the new leader epoch
	got    []int64
}

// cut reads offsets 0 to 99, written in leader epoch 7, and has the log end at
// 60 then. Epoch 8 writes 60 to 109, so that 100 is in the log once more.
// Metadata has no leader and no epoch in between, several times.
func cut(t *testing.T, plain bool, end *kmsg.OffsetForLeaderEpochResponseTopicPartition, opts ...kgo.Opt) (r truncated, moves [][2]int64, asks []epochAsk) {
	t.Helper()
	makeWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0)
		w.becomes(f, 7, written(7, 0, 99))
		lead := w.leads([2]int32{0, 7})
		w.ends(epochEnds{7: end})
		var hook resetHook
		c := w.either(plain, append(append(opts, quick...), startAt(0), kgo.FetchMaxWait(500*time.Millisecond)), &hook)
		for next := int64(0); next < 100; {
			fs := c.PollFetches(t.Context())
			require.NoError(t, fs.Err())
			fs.EachRecord(func(r *kgo.Record) { next = r.Offset + 1 })
		}
		before := 0
		w.see(func() { before = w.metadata })
		lead([2]int32{-1, -1})
		eventually(t, "six answers without a leader", func() (done bool) {
			w.see(func() { done = w.metadata >= before+7 })
			return done
		})
		w.becomes(f, 8, written(7, 0, 59), written(8, 60, 109))
		lead([2]int32{0, 8})
		r.read(t, c, 20*time.Second)
		r.asked = -1
		for _, a := range w.asks(f) {
			if a.epoch == 8 && r.asked < 0 {
				r.asked = a.offset
			}
		}
		moves, asks = hook.all(), w.epochAsks()
	})
	return r, moves, asks
}

// either is our consumer, or kgo's own client.
func (w *world) either(plain bool, opts []kgo.Opt, hook *resetHook) poller {
	if plain {
		return w.client(append(opts, kgo.FetchIsolationLevel(kgo.ReadCommitted()))...)
	}
	return w.consumer(append(opts, rcconsumer.WithHooks(hook))...)
}

// read polls for d and keeps what comes.
func (r *truncated) read(t *testing.T, c poller, d time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	for ctx.Err() == nil {
		fs := c.PollFetches(ctx)
		r.got = append(r.got, offsets(fs)...)
		for _, e := range fs.Errors() {
			if !errors.As(e.Err, &r.lost) && !errors.Is(e.Err, context.DeadlineExceeded) {
				r.failed = e.Err
			}
		}
	}
}

func resets() map[string][]kgo.Opt {
	return map[string][]kgo.Opt{
		"default":      nil,
		"start":        {kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())},
		"end":          {kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd())},
		"exact":        {kgo.ConsumeResetOffset(kgo.NewOffset().At(15))},
		"short rewind": {kgo.ConsumeResetOffset(kgo.RewindOffset(20 * time.Millisecond))},
		"none":         {kgo.ConsumeResetOffset(kgo.NoResetOffset())},
	}
}

// Sources: twmb/franz-go#1331, the truncation missed after metadata without
// epochs; Kafka's FetcherTest testTruncationDetected.
func TestTruncationBehindTheReaderIsALossWhateverThePolicy(t *testing.T) {
	for name, opts := range resets() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ours, moves, asks := cut(t, false, endOf(7, 60), opts...)
			require.Equal(t, &kgo.ErrDataLoss{
				Topic: topic, ConsumedTo: 100, ConsumedToEpoch: 7, ResetTo: 60, ResetToEpoch: 7,
			}, ours.lost)
			require.NoError(t, ours.failed)
			require.Equal(t, span(60, 109), ours.got)
			require.Equal(t, int64(60), ours.asked, "nothing is fetched before the leader has spoken")
			require.Equal(t, [][2]int64{{100, 60}}, moves)
			require.Len(t, asks, 1)
			require.Equal(t, epochAsk{current: 8, epoch: 7, replica: -1, version: 4}, asks[0])

			theirs, _, _ := cut(t, true, endOf(7, 60), opts...)
			require.Equal(t, theirs.lost, ours.lost)
			require.Equal(t, [2]any{theirs.asked, theirs.got}, [2]any{ours.asked, ours.got})
		})
	}
}

// Kafka's OffsetFetcherTest, testOffsetValidation: a leader that knows an end at
// or behind the position has it all.
func TestPositionThatTheLeaderHasIsReadOn(t *testing.T) {
	for name, end := range map[string]*kmsg.OffsetForLeaderEpochResponseTopicPartition{
		"at the end": endOf(7, 100), "in front of the end": endOf(7, 105), "an earlier epoch": endOf(5, 103),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, plain := range []bool{false, true} {
				r, moves, asks := cut(t, plain, end)
				require.Equal(t, truncated{asked: 100, got: span(100, 109)}, r)
				require.Empty(t, moves)
				require.Len(t, asks, 1)
			}
		})
	}
}

// An epoch that the leader knows nothing of is handled by the reset policy.
func TestEpochThatTheLeaderDoesNotKnowIsTreatedAsOutOfRange(t *testing.T) {
	for name, opts := range resets() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ours, moves, _ := cut(t, false, endOf(-1, -1), opts...)
			if name == "none" { // kgo reads on, from a log that is not the one it has read
				require.Nil(t, ours.lost)
				var e *rcconsumer.LogTruncationError
				require.ErrorAs(t, ours.failed, &e)
				require.Equal(t, rcconsumer.LogTruncationError{Topic: topic, Offset: 100, Epoch: 7}, *e)
				require.Empty(t, ours.got)
				require.Empty(t, moves)
				return
			}
			theirs, _, _ := cut(t, true, endOf(-1, -1), opts...)
			require.NotNil(t, theirs.lost)
			require.Equal(t, theirs.lost, ours.lost)
			require.Equal(t, [2]any{theirs.asked, theirs.got}, [2]any{ours.asked, ours.got})
			require.Equal(t, [][2]int64{{100, ours.lost.ResetTo}}, moves)
		})
	}
}

// startWithEpoch starts at 100 after epoch 4; the leader is of epoch 5.
func startWithEpoch(t *testing.T, plain bool, end *kmsg.OffsetForLeaderEpochResponseTopicPartition, opts ...kgo.Opt) (r truncated, moves [][2]int64, asks []epochAsk) {
	t.Helper()
	makeWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0)
		w.becomes(f, 5, written(4, 0, 79), written(5, 80, 119))
		w.leads([2]int32{0, 5})
		w.ends(epochEnds{4: end})
		var hook resetHook
		c := w.either(plain, append(opts, startFrom(kgo.NewOffset().At(100).WithEpoch(4)), kgo.FetchMaxWait(500*time.Millisecond)), &hook)
		r.read(t, c, 20*time.Second)
		r.asked = w.asks(f)[0].offset
		moves, asks = hook.all(), w.epochAsks()
	})
	return r, moves, asks
}

// Sources: librdkafka#5158, KAFKA-20507, KAFKA-19902, mirus#61: a start that is
// no longer in the log reset everything.
func TestStartWithAnEpochIsValidated(t *testing.T) {
	for name, opts := range resets() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ours, moves, asks := startWithEpoch(t, false, endOf(4, 80), opts...)
			require.Equal(t, &kgo.ErrDataLoss{Topic: topic, ConsumedTo: 100, ConsumedToEpoch: 4, ResetTo: 80, ResetToEpoch: 4}, ours.lost)
			require.Equal(t, span(80, 119), ours.got)
			require.Equal(t, [][2]int64{{100, 80}}, moves)
			require.Equal(t, []epochAsk{{current: 5, epoch: 4, replica: -1, version: 4}}, asks)
			theirs, _, _ := startWithEpoch(t, true, endOf(4, 80), opts...)
			require.Equal(t, theirs, ours)
		})
	}
}

func TestStartWithAnEpochThatTheLeaderDoesNotKnowIsKept(t *testing.T) {
	for name, opts := range resets() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ours, moves, asks := startWithEpoch(t, false, endOf(-1, -1), opts...)
			require.Equal(t, truncated{asked: 100, got: span(100, 119)}, ours)
			require.Empty(t, moves)
			require.Len(t, asks, 1)
			theirs, _, _ := startWithEpoch(t, true, endOf(-1, -1), opts...)
			require.Equal(t, theirs, ours)
		})
	}
}

func TestSetOffsetsWithAnEpochIsValidated(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0)
		w.becomes(f, 5, written(4, 0, 79), written(5, 80, 119))
		w.leads([2]int32{0, 5})
		w.ends(epochEnds{4: endOf(4, 80)})
		c := w.consumer(startAt(0))
		require.Equal(t, span(0, 119), readOffsets(t, c, 120))
		seek(c, 90) // without an epoch there is nothing to ask
		require.Equal(t, span(90, 119), readOffsets(t, c, 30))
		require.Empty(t, w.epochAsks())
		before := len(w.asks(f))
		c.SetOffsets(map[string]map[int32]kgo.EpochOffset{topic: {0: {Epoch: 4, Offset: 90}}})
		var lost *kgo.ErrDataLoss
		require.ErrorAs(t, failed(t, c).Err, &lost)
		require.Equal(t, kgo.ErrDataLoss{Topic: topic, ConsumedTo: 90, ConsumedToEpoch: 4, ResetTo: 80, ResetToEpoch: 4}, *lost)
		require.Equal(t, [2]int64{80, 4}, [2]int64{position(c).Next, int64(position(c).NextEpoch)})
		require.Equal(t, span(80, 119), readOffsets(t, c, 40))
		for _, a := range w.asks(f)[before:] {
			require.NotEqual(t, int64(90), a.offset, "nothing is fetched before the leader has spoken")
		}
		require.Len(t, w.epochAsks(), 1)
		c.SetOffsets(map[string]map[int32]kgo.EpochOffset{topic: {0: {Epoch: 4, Offset: 80}}})
		require.Equal(t, span(80, 119), readOffsets(t, c, 40))
		require.Len(t, w.epochAsks(), 2)
	})
}

// What the leader itself has named needs no second word.
func TestListedStartIsNotValidatedBeforeTheLeaderChanges(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0)
		w.becomes(f, 4, written(4, 0, 9))
		lead := w.leads([2]int32{0, 4})
		w.editList = func(_ *kmsg.ListOffsetsRequest, resp *kmsg.ListOffsetsResponse) {
			resp.Topics[0].Partitions[0].LeaderEpoch = 4
		}
		w.ends(epochEnds{4: endOf(4, 6)})
		c := w.consumer(append(quick, startFrom(kgo.NewOffset().AtEnd()))...)
		untilNext(t, c, 10)
		require.Equal(t, int32(4), position(c).NextEpoch)
		silent(t, c, 5*time.Second)
		require.Empty(t, w.epochAsks())
		w.becomes(f, 5, written(4, 0, 5), written(5, 6, 14)) // 10 is in the log, but another one
		lead([2]int32{0, 5})
		var lost *kgo.ErrDataLoss
		require.ErrorAs(t, failed(t, c).Err, &lost)
		require.Equal(t, span(6, 14), readOffsets(t, c, 9))
	})
}

// Only what was handed out can be lost: what is buffered is fetched anew.
func TestBufferedRecordsBeyondTheEndAreFetchedAnewWithoutAnError(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0)
		w.becomes(f, 7, written(7, 0, 99))
		lead := w.leads([2]int32{0, 7})
		w.ends(epochEnds{7: endOf(7, 60)})
		var hook resetHook
		c := w.consumer(append(quick, startAt(0), rcconsumer.WithHooks(&hook))...)
		require.Equal(t, span(0, 9), offsets(c.PollRecords(t.Context(), 10)))
		w.becomes(f, 8, written(7, 0, 59), written(8, 60, 109))
		lead([2]int32{0, 8})
		eventually(t, "both questions", func() bool { return len(w.epochAsks()) == 2 })
		eventually(t, "the new end", func() bool { return position(c).HighWatermark == 110 })
		for i, r := range read(t, c, 100) {
			require.Equal(t, int64(10+i), r.Offset)
			require.Equal(t, r.Offset >= 60, r.LeaderEpoch == 8, "offset %d", r.Offset)
		}
		require.Empty(t, hook.all())
		silent(t, c, 5*time.Second)
		require.Len(t, w.epochAsks(), 2)
	})
}

// The epoch of what was handed out may be another than that of what is buffered.
func TestWhatWasHandedOutIsValidatedByItsOwnEpoch(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0)
		w.becomes(f, 7, written(3, 0, 49), written(7, 50, 99))
		lead := w.leads([2]int32{0, 7})
		w.ends(epochEnds{7: endOf(5, 40), 3: endOf(3, 20)})
		c := w.consumer(append(quick, startAt(0))...)
		require.Equal(t, span(0, 29), offsets(c.PollRecords(t.Context(), 30)))
		w.becomes(f, 8, written(3, 0, 19), written(5, 20, 39), written(8, 40, 59))
		lead([2]int32{0, 8})
		eventually(t, "both questions", func() bool { return len(w.epochAsks()) == 2 })
		var lost *kgo.ErrDataLoss
		require.ErrorAs(t, failed(t, c).Err, &lost)
		require.Equal(t, kgo.ErrDataLoss{Topic: topic, ConsumedTo: 30, ConsumedToEpoch: 3, ResetTo: 20, ResetToEpoch: 3}, *lost)
		require.Equal(t, span(20, 59), readOffsets(t, c, 40))
		require.Equal(t, int32(8), position(c).NextEpoch)
	})
}

// Of an epoch that the leader does not know nothing is handed out any more.
func TestBufferedRecordsOfAnUnknownEpochAreFetchedAnew(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0)
		w.becomes(f, 7, written(3, 0, 49), written(7, 50, 99))
		lead := w.leads([2]int32{0, 7})
		w.ends(epochEnds{3: endOf(3, 50)})
		c := w.consumer(append(quick, startAt(0))...)
		require.Equal(t, span(0, 29), offsets(c.PollRecords(t.Context(), 30)))
		w.becomes(f, 8, written(3, 0, 49), written(8, 50, 69))
		lead([2]int32{0, 8})
		eventually(t, "both questions", func() bool { return len(w.epochAsks()) == 2 })
		eventually(t, "the new end", func() bool { return position(c).HighWatermark == 70 })
		for i, r := range read(t, c, 40) {
			require.Equal(t, int64(30+i), r.Offset)
			require.Equal(t, r.Offset >= 50, r.LeaderEpoch == 8)
		}
	})
}

func TestBufferedRecordsAreHandedOutUntilTheLeaderHasSpoken(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0)
		w.becomes(f, 7, written(7, 0, 99))
		lead := w.leads([2]int32{0, 7})
		w.ends(epochEnds{7: endOf(7, 60)})
		letGo := w.holdEpochs(0)
		var hook resetHook
		c := w.consumer(append(quick, startAt(0), rcconsumer.WithHooks(&hook))...)
		require.Equal(t, span(0, 9), offsets(c.PollRecords(t.Context(), 10)))
		w.becomes(f, 8, written(7, 0, 59), written(8, 60, 109))
		lead([2]int32{0, 8})
		eventually(t, "the question", func() bool { return len(w.epochAsks()) == 1 })
		fetches := len(w.asks(f))
		require.Equal(t, span(10, 79), offsets(c.PollRecords(t.Context(), 70)), "they were fetched from the leader of their time")
		letGo()
		eventually(t, "the loss", func() bool { return len(hook.all()) == 1 })
		var lost *kgo.ErrDataLoss
		require.ErrorAs(t, failed(t, c).Err, &lost)
		require.Equal(t, [2]int64{80, 60}, [2]int64{lost.ConsumedTo, lost.ResetTo})
		require.Equal(t, span(60, 109), readOffsets(t, c, 50))
		require.Equal(t, int64(60), w.asks(f)[fetches].offset, "nothing was fetched meanwhile")
	})
}

func TestReportedEndsGoBackAfterATruncation(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0)
		w.becomes(f, 4, written(4, 0, 99))
		w.leads([2]int32{0, 5})
		w.ends(epochEnds{4: endOf(4, 60)})
		c := w.consumer(append(quick, startAt(0))...)
		require.Equal(t, span(0, 99), readOffsets(t, c, 100))
		w.becomes(f, 5, written(4, 0, 59))
		c.SetOffsets(map[string]map[int32]kgo.EpochOffset{topic: {0: {Epoch: 4, Offset: 100}}})
		failed(t, c)
		eventually(t, "the new ends", func() bool {
			p := position(c)
			return p.HighWatermark == 60 && p.LastStableOffset == 60 && p.CaughtUp()
		})
	})
}

// A follower's log may be another than its leader's for a moment.
func TestDivergingEpochOfAFollowerIsALossOnlyIfTheLeaderSaysSo(t *testing.T) {
	for name, end := range map[string]int64{"says no": 10, "says so": 3} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 3, 1, func(t *testing.T, w *world) {
				f := preferring(w, follower, written(0, 0, 4), func(a ask) *kmsg.FetchResponseTopicPartition {
					if a.offset < 5 {
						return nil
					}
					sp := nothing(5, 5)
					sp.DivergingEpoch.Epoch, sp.DivergingEpoch.EndOffset = 0, 2
					return sp
				})
				w.ends(epochEnds{0: endOf(0, end)})
				c := w.consumer(startAt(0), kgo.Rack(rack))
				require.Equal(t, span(0, 4), readOffsets(t, c, 5))
				if end == 3 {
					var lost *kgo.ErrDataLoss
					require.ErrorAs(t, failed(t, c).Err, &lost)
					require.EqualValues(t, 3, lost.ResetTo)
					return
				}
				w.grow(f, written(0, 5, 9)...)
				require.Equal(t, span(5, 9), readOffsets(t, c, 5))
				require.Len(t, w.epochAsks(), 1)
			})
		})
	}
}

// Only replicas ask for a diverging epoch; a broker that sends one all the same
// has another log.
func TestDivergingEpochInAFetchAnswerIsATruncation(t *testing.T) {
	diverging := func(epoch int32, end int64) *kmsg.FetchResponseTopicPartition {
		sp := batchtest.Log{batchtest.Data(100, 104)}.Partition(nil)
		sp.DivergingEpoch.Epoch, sp.DivergingEpoch.EndOffset = epoch, end
		return sp
	}
	run := func(name string, test func(*testing.T, *world, *rcconsumer.Consumer, *forged)) {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				f := w.forge(0)
				w.becomes(f, 0, written(0, 0, 99))
				test(t, w, w.consumer(startAt(0)), f)
			})
		})
	}
	// from makes the log's end say that it diverges, from now on. The log changes
	// with it: a fetch between the two would be beyond its end.
	from := func(w *world, f *forged, sp *kmsg.FetchResponseTopicPartition, first, last int64) {
		w.change(func() {
			f.log = written(0, first, last)
			f.lso, f.hw = f.log.End(), f.log.End()
			f.script = func(a ask) *kmsg.FetchResponseTopicPartition {
				if a.offset == 100 {
					return sp
				}
				return nil
			}
		})
	}
	run("handed out", func(t *testing.T, w *world, c *rcconsumer.Consumer, f *forged) {
		require.Equal(t, span(0, 99), readOffsets(t, c, 100))
		from(w, f, diverging(0, 60), 0, 59)
		var lost *kgo.ErrDataLoss
		require.ErrorAs(t, failed(t, c).Err, &lost)
		require.Equal(t, kgo.ErrDataLoss{Topic: topic, ConsumedTo: 100, ResetTo: 60}, *lost)
		silent(t, c, 5*time.Second)
		require.Equal(t, int64(60), position(c).Next)
	})
	run("only buffered", func(t *testing.T, w *world, c *rcconsumer.Consumer, f *forged) {
		eventually(t, "all of the log", func() bool { return len(w.asks(f)) == 2 })
		require.Equal(t, span(0, 9), offsets(c.PollRecords(t.Context(), 10)))
		from(w, f, diverging(0, 60), 0, 69)
		eventually(t, "a question about what was handed out", func() bool { return len(w.epochAsks()) == 1 })
		require.Equal(t, span(10, 69), readOffsets(t, c, 60))
	})
	run("nonsense", func(t *testing.T, w *world, c *rcconsumer.Consumer, f *forged) {
		from(w, f, diverging(0, 150), 0, 99)
		require.Equal(t, span(0, 99), readOffsets(t, c, 100))
		silent(t, c, 10*time.Second)
		require.LessOrEqual(t, w.during(10*time.Second), 6)
		require.Equal(t, int64(100), position(c).Next)
	})
	run("half", func(t *testing.T, w *world, c *rcconsumer.Consumer, f *forged) {
		from(w, f, diverging(3, -1), 0, 99)
		require.Equal(t, span(0, 99), readOffsets(t, c, 100))
		silent(t, c, 10*time.Second)
		require.LessOrEqual(t, w.during(10*time.Second), 6)
	})
}

func TestBufferedRecordsThatAreDroppedLeaveTheirRoom(t *testing.T) {
	big := func(epoch int32, first, last int64) (log batchtest.Log) {
		for o := first; o <= last; o++ {
			log = append(log, batchtest.Data(o, o).Size(2000).LeaderEpoch(epoch))
		}
		return log
	}
	for name, opt := range map[string]kgo.Opt{"of the consumer": rcconsumer.BufferBytes(15000), "of the partition": kgo.FetchMaxPartitionBytes(12000)} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				f := w.forge(0)
				f.batches = 1
				w.becomes(f, 7, big(7, 0, 19))
				lead := w.leads([2]int32{0, 7})
				w.ends(epochEnds{7: endOf(7, 1)})
				c := w.consumer(append(quick, startAt(0), opt)...)
				require.Equal(t, span(0, 0), offsets(c.PollRecords(t.Context(), 1)))
				furthest := func(epoch int32) (offset int64) {
					for _, a := range w.asks(f) {
						if a.epoch == epoch {
							offset = max(offset, a.offset)
						}
					}
					return offset
				}
				eventually(t, "a full buffer", func() bool { return w.during(time.Second) == 0 })
				full := furthest(7)
				require.Less(t, full, int64(19))
				require.Greater(t, full, int64(4))
				w.becomes(f, 8, big(7, 0, 0), big(8, 1, 19))
				lead([2]int32{0, 8})
				c.PollRecords(shortly(t), 1) // makes room for one more fetch, which finds the new leader
				eventually(t, "a full buffer again", func() bool { return furthest(8) >= full })
			})
		})
	}
}

func TestBatchThatIsBeingDecodedWhenTheLeaderSpeaksIsNotHandedOut(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0)
		w.becomes(f, 7, written(7, 0, 9), batchtest.Log{batchtest.Data(10, 19).LeaderEpoch(7).Codec(batchtest.Gzip)})
		lead := w.leads([2]int32{0, 7})
		w.ends(epochEnds{7: endOf(7, 10)})
		c := w.consumer(append(quick, startAt(0), kgo.WithDecompressor(slowCodec{}))...)
		require.Equal(t, span(0, 9), offsets(c.PollRecords(t.Context(), 10)))
		eventually(t, "a full buffer", func() bool { return position(c).HighWatermark == 20 })
		letGo := w.holdEpochs(0)
		w.becomes(f, 8, written(7, 0, 9), written(8, 10, 14))
		lead([2]int32{0, 8})
		eventually(t, "the question", func() bool { return len(w.epochAsks()) == 1 })
		time.AfterFunc(time.Second, letGo) // half way through the decoding
		for _, r := range read(t, c, 5) {
			require.Equal(t, int32(8), r.LeaderEpoch, "offset %d", r.Offset)
		}
	})
}
