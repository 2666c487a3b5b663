package rcconsumer_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/rcconsumer"
)

// untilNext waits until the position is at an offset.
func untilNext(t *testing.T, c *rcconsumer.Consumer, next int64) {
	t.Helper()
	eventually(t, "the position", func() bool { return position(c).Next == next })
}

// Sources: tulios/kafkajs#403 (marker alone), confluentinc/librdkafka#2993
// (aborted with a cut tail), Kafka's FetcherTest testUpdatePositionOnEmptyBatch
// and testUpdatePositionWithLastRecordMissingFromBatch, KAFKA-5443,
// IBM/sarama commit 807de26b (markers alone).
func TestPositionPassesWhatIsInvisible(t *testing.T) {
	tests := []struct {
		name  string
		start int64
		log   batchtest.Log
		list  []kmsg.FetchResponseTopicPartitionAbortedTransaction
		want  []int64
		next  int64
	}{
		{"a marker alone", 5, batchtest.Log{batchtest.Data(0, 4).Txn(1), batchtest.Commit(5, 1)}, nil, nil, 6},
		{"markers alone", 3, batchtest.Log{batchtest.Commit(3, 1), batchtest.Abort(4, 2), batchtest.Commit(5, 3)}, nil, nil, 6},
		{"aborted data", 0, batchtest.Log{batchtest.Data(0, 9).Txn(1), batchtest.Abort(10, 1)}, batchtest.Aborted(1, 0), nil, 11},
		{"an empty batch", 0, batchtest.Log{batchtest.Empty(37, 54)}, nil, nil, 55},
		{"the last records of a batch compacted away", 0, batchtest.Log{batchtest.Data(0, 3).Keep(0, 1)}, nil, []int64{0, 1}, 4},
		{"only compacted records left to read", 144, batchtest.Log{batchtest.Data(143, 145).Keep(143)}, nil, nil, 146},
		{"data behind holes", 0, batchtest.Log{batchtest.Data(10, 11), batchtest.Data(90, 91)}, nil, []int64{10, 11, 90, 91}, 92},
		{"empty batches of a transaction", 0, batchtest.Log{
			batchtest.Empty(0, 9).Txn(1), batchtest.EmptyControl(10, 1), batchtest.Data(11, 11).Txn(1), batchtest.Commit(12, 1),
		}, nil, []int64{11}, 13},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				w.forge(0, test.log...).aborted = test.list
				c := w.consumer(startAt(test.start))
				if len(test.want) > 0 {
					require.Equal(t, test.want, readOffsets(t, c, len(test.want)))
				}
				eventually(t, "the position", func() bool { // whether a kept batch is empty shows when it is decoded
					require.Empty(t, c.PollFetches(noWait))
					return position(c).Next == test.next
				})
				require.True(t, position(c).CaughtUp())
				require.LessOrEqual(t, w.count(), 2)
				silent(t, c, 2*time.Second)
			})
		})
	}
}

// Source: tulios/kafkajs#1257, an aborted transaction over several answers.
func TestEveryStepThroughAbortedDataIsVisible(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0, batchtest.Data(0, 1).Txn(1), batchtest.Data(2, 3).Txn(1), batchtest.Abort(4, 1))
		f.batches, f.aborted = 1, batchtest.Aborted(1, 0)
		c := w.consumer(startAt(0), rcconsumer.ReturnOnProgress())
		eventually(t, "all of it", func() bool {
			require.Empty(t, poll(c, patience))
			return position(c).Next == 5
		})
		var asked []int64
		for _, a := range w.asks(f) {
			asked = append(asked, a.offset)
		}
		require.Equal(t, []int64{0, 2, 4}, asked[:3])
	})
}

// Sources: confluentinc/librdkafka#2993 and #2460.
func TestAnswerFullOfAbortedBatchesWithACutTailIsNoError(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0, batchtest.Data(0, 4).Txn(1), batchtest.Data(5, 9).Txn(1), batchtest.Abort(10, 1), batchtest.Data(11, 11))
		f.aborted = batchtest.Aborted(1, 0)
		f.script = func(a ask) *kmsg.FetchResponseTopicPartition {
			if a.offset != 0 {
				return nil
			}
			sp := batchtest.Log{batchtest.Data(0, 4).Txn(1), batchtest.Data(5, 9).Txn(1).Cut(7)}.Partition(f.aborted)
			sp.LastStableOffset, sp.HighWatermark = 12, 12
			return sp
		}
		c := w.consumer(startAt(0))
		require.Equal(t, []int64{11}, readOffsets(t, c, 1))
		require.Equal(t, int64(5), w.asks(f)[1].offset)
		require.Equal(t, time.Duration(0), w.fetches[1].at-w.fetches[0].at, "no pause between the two")
	})
}

// Source: kafka4beam/brod#326.
func TestAnswerWithoutBytesNeverMovesThePosition(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0, batchtest.Data(0, 49), batchtest.Data(50, 79).Txn(4), batchtest.Commit(80, 4))
		f.lso, f.hw = 50, 80
		c := w.consumer(startAt(0))
		require.Equal(t, span(0, 49), readOffsets(t, c, 50))
		silent(t, c, 30*time.Second)
		p := position(c)
		require.Equal(t, []int64{50, 50, 80, 30}, []int64{p.Next, p.LastStableOffset, p.HighWatermark, p.HeldBack()})
		require.True(t, p.CaughtUp())
		w.change(func() { f.lso, f.hw = 81, 81 })
		require.Equal(t, span(50, 79), readOffsets(t, c, 30))
		untilNext(t, c, 81)
	})
}

// Source: kafka4beam/brod#263 and LocalLog.read: everything between the fetch
// offset and the end was compacted away.
func TestCompactedTailCountsAsReadButIsNotPassed(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0, batchtest.Data(0, 9))
		f.lso, f.hw = 20, 20
		c := w.consumer(startAt(0))
		require.Equal(t, span(0, 9), readOffsets(t, c, 10))
		eventually(t, "the end", func() bool { return position(c).CaughtUp() })
		p := position(c)
		require.Equal(t, []int64{10, 20, 0}, []int64{p.Next, p.LastStableOffset, p.ReadableLag()})
		alone := 0
		for _, a := range w.asks(f) {
			if a.wait == 0 {
				alone++
			}
		}
		require.Equal(t, 2, alone)
		require.LessOrEqual(t, w.during(10*time.Second), 25)
		w.change(func() { f.log, f.lso, f.hw = append(f.log, batchtest.Data(20, 24)), 25, 25 })
		require.False(t, func() bool { time.Sleep(time.Second); return position(c).Next != 20 }())
		require.Equal(t, span(20, 24), readOffsets(t, c, 5))
		untilNext(t, c, 25)
	})
}

// The other reason for an empty answer: other partitions used up its size.
func TestPartitionCrowdedOutIsNotTakenForCompacted(t *testing.T) {
	inWorld(t, 1, 2, func(t *testing.T, w *world) {
		f := w.script(0, func(a ask) *kmsg.FetchResponseTopicPartition {
			if a.offset == 0 && !a.alone {
				return nothing(10, 10)
			}
			return nil
		})
		w.change(func() { f.log, f.lso, f.hw = batchtest.Log{batchtest.Data(0, 9)}, 10, 10 })
		w.forge(1)
		c := w.consumer(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {
			0: kgo.NewOffset().At(0), 1: kgo.NewOffset().At(0),
		}}))
		for position(c).Next < 10 {
			require.False(t, position(c).CaughtUp())
			require.NoError(t, poll(c, patience).Err())
		}
	})
}

// Sources: twmb/franz-go commit 6b11a2bb (batches that end below the fetch
// offset), IBM/sarama commits 8d1bd4c0 and 682468dc (nothing but a padding
// batch), Kafka's FetcherTest testFetchRequestInternalError.
func TestBytesThatBringNothingAreAnErrorNotALoop(t *testing.T) {
	tests := []struct {
		name string
		log  batchtest.Log
	}{
		{"batches below the fetch offset", batchtest.Log{batchtest.Data(50, 60)}},
		{"a batch cut short", batchtest.Log{batchtest.Data(100, 109).Cut(1)}},
		{"less than a batch header", batchtest.Log{batchtest.Raw("less")}},
		{"a padding batch", batchtest.Log{batchtest.Data(100, 109).ClaimLength(1 << 30)}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				f := w.forge(0, batchtest.Data(100, 199))
				f.script = func(ask) *kmsg.FetchResponseTopicPartition {
					sp := test.log.Partition(nil)
					sp.LastStableOffset, sp.HighWatermark = 200, 200
					return sp
				}
				c := w.consumer(startAt(100))
				e := failed(t, c)
				var none *rcconsumer.NoProgressError
				require.ErrorAs(t, e.Err, &none)
				require.Equal(t, rcconsumer.NoProgressError{Topic: topic, Offset: 100, Bytes: len(test.log.Bytes())}, *none)
				require.LessOrEqual(t, w.count(), 5)
				require.LessOrEqual(t, w.during(time.Minute), 20)
				require.Equal(t, int64(100), position(c).Next)
				w.change(func() { f.script = nil })
				require.Equal(t, span(100, 199), readPast(t, c, 100))
			})
		})
	}
}

func TestPollReturnsOnProgressOnlyIfAsked(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0, batchtest.Data(0, 4))
		grow := func(entries ...batchtest.Entry) {
			w.change(func() { f.log = append(f.log, entries...); f.lso = f.log.End(); f.hw = f.lso })
		}
		c := w.consumer(startAt(0), rcconsumer.ReturnOnProgress())
		plain := w.consumer(startAt(0))
		for _, c := range []*rcconsumer.Consumer{c, plain} {
			require.Equal(t, span(0, 4), readOffsets(t, c, 5))
			silent(t, c, 5*time.Second) // records are no progress besides
		}
		grow(batchtest.Data(5, 5).Txn(1), batchtest.Abort(6, 1))
		fs := poll(c, patience)
		require.Empty(t, fs)
		require.Equal(t, int64(7), position(c).Next)
		silent(t, c, 5*time.Second)
		silent(t, plain, 5*time.Second)
		require.Equal(t, int64(7), position(plain).Next)
		grow(batchtest.Data(7, 7))
		require.Equal(t, []int64{7}, readOffsets(t, c, 1))
		require.Equal(t, []int64{7}, readOffsets(t, plain, 1))
		grow(batchtest.Data(8, 9).Keep()) // shows in its header
		require.Empty(t, poll(c, patience))
		require.Equal(t, int64(10), position(c).Next)
		seek(c, 12)
		grow(batchtest.Data(10, 14).Keep(10)) // shows when it is decoded
		require.Empty(t, poll(c, patience))
		require.Equal(t, int64(15), position(c).Next)
	})
}

// Sources: KAFKA-6607, spring-kafka#1587, zio/zio-kafka#1778,
// confluentinc/librdkafka#3400.
func TestPositionNeverCoversWhatWasNotHandedOut(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 2).Txn(1), batchtest.Commit(3, 1), batchtest.Abort(4, 2), batchtest.Data(5, 5),
			batchtest.Data(6, 6).Txn(3), batchtest.Commit(7, 3))
		c := w.consumer(startAt(0))
		eventually(t, "the fetch", func() bool { return position(c).LastStableOffset == 8 })
		require.Equal(t, int64(0), position(c).Next)
		for _, step := range []struct{ offset, next int64 }{{0, 1}, {1, 2}, {2, 5}, {5, 6}, {6, 8}} {
			fs := c.PollRecords(t.Context(), 1)
			require.Equal(t, []int64{step.offset}, offsets(fs))
			require.Equal(t, step.next, position(c).Next)
		}
	})
}

func TestPositionTellsEndsAndEpochs(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0, batchtest.Data(3, 4).LeaderEpoch(2), batchtest.Data(5, 6).Txn(1).LeaderEpoch(3), batchtest.Abort(7, 1).LeaderEpoch(4))
		f.start, f.hw, f.aborted = 3, 12, batchtest.Aborted(1, 5)
		c := w.consumer(startAt(3))
		_, ok := c.Position(topic, 1)
		require.False(t, ok, "a partition that is not read")
		readOffsets(t, c, 2)
		p := position(c)
		require.Equal(t, []int64{8, 4, 3, 8, 12, -1},
			[]int64{p.Next, int64(p.NextEpoch), p.LogStartOffset, p.LastStableOffset, p.HighWatermark, p.Committed})
		since := p.StableSince
		time.Sleep(time.Minute)
		p = position(c)
		require.Equal(t, since, p.StableSince)
		require.Less(t, time.Since(p.UpdatedAt), time.Second)
		w.change(func() { f.lso = 12 })
		eventually(t, "the new end", func() bool { return position(c).LastStableOffset == 12 })
		require.True(t, position(c).StableSince.After(since))
		require.Equal(t, c.Positions()[topic][0].Next, position(c).Next)
	})
}

// Sources: redpanda#7544, redpanda#11130, KAFKA-2334 (KIP-207).
func TestReportedEndsNeverGoBackWithinAnEpoch(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		ends := [][2]int64{{100, 110}, {0, 0}, {90, 120}, {120, 90}}
		want := [][2]int64{{100, 110}, {100, 110}, {100, 120}, {120, 120}}
		at := 0
		w.script(0, func(ask) *kmsg.FetchResponseTopicPartition { return nothing(ends[at][0], ends[at][1]) })
		c := w.consumer(startAt(0))
		for i := range ends {
			w.change(func() { at = i })
			time.Sleep(2 * time.Second)
			p := position(c)
			require.Equal(t, want[i], [2]int64{p.LastStableOffset, p.HighWatermark}, "step %d", i)
			require.Equal(t, int64(0), p.Next)
		}
	})
}

func TestStatsCountWhatWasMetAndHandedOut(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		kept := []batchtest.Batch{batchtest.Data(0, 2), batchtest.Data(8, 9).Codec(batchtest.Zstd)}
		aborted := []batchtest.Batch{batchtest.Data(3, 3).Txn(1), batchtest.Data(4, 6).Txn(1)}
		log := batchtest.Log{kept[0], aborted[0], aborted[1], batchtest.Abort(7, 1), kept[1], batchtest.Data(10, 19).Cut(1)}
		f := w.forge(0, log[:5]...)
		f.aborted = batchtest.Aborted(1, 3)
		f.script = func(a ask) *kmsg.FetchResponseTopicPartition {
			if a.nth > 0 {
				return nil
			}
			return log.Partition(f.aborted)
		}
		c := w.consumer(startAt(1))
		eventually(t, "the fetch", func() bool { return c.Stats()[topic][0].FetchedBytes > 0 })
		size := func(bs ...batchtest.Batch) (n int64) {
			for _, b := range bs {
				n += int64(len(b.Bytes()))
			}
			return n
		}
		want := rcconsumer.PartitionStats{
			AbortedBatches: 2, AbortedRecords: 4, AbortedBytes: size(aborted...), ControlBatches: 1,
			FetchedBytes: int64(len(log.Bytes())),
		}
		require.Equal(t, want, c.Stats()[topic][0])
		fs := c.PollRecords(t.Context(), 1)
		require.Equal(t, []int64{1}, offsets(fs))
		want.DeliveredBatches, want.DeliveredRecords, want.DeliveredBytes = 1, 1, size(kept[0])
		require.Equal(t, want, c.Stats()[topic][0])
		require.Equal(t, []int64{2, 8, 9}, readOffsets(t, c, 3))
		want.DeliveredBatches, want.DeliveredRecords, want.DeliveredBytes = 2, 4, size(kept...)
		require.Equal(t, want, c.Stats()[topic][0])
	})
}

// Sources: zendesk/ruby-kafka#635, thomhurst/Dekaf#2074.
func TestRecordsBelowTheStartAreDropped(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 9).Txn(1), batchtest.Commit(10, 1))
		c := w.consumer(startAt(3))
		require.Equal(t, span(3, 9), readOffsets(t, c, 7))
		seek(c, 8)
		require.Equal(t, span(8, 9), readOffsets(t, c, 2))
		untilNext(t, c, 11)
	})
}
