package rcconsumer_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/batchdecode"
	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/rcconsumer"
)

// A broker that names another replica to read from sends no bytes and no list
// (KIP-392). Nobody asked for one here, and nothing follows about the log.
func TestAnswerThatNamesAnotherReplicaIsNotTheEndOfTheLog(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0, batchtest.Data(0, 9))
		f.script = func(ask) *kmsg.FetchResponseTopicPartition {
			sp := nothing(10, 10)
			sp.AbortedTransactions, sp.PreferredReadReplica = nil, 2
			return sp
		}
		c := w.consumer(startAt(0))
		time.Sleep(10 * time.Second)
		require.LessOrEqual(t, w.during(10*time.Second), 25)
		p := position(c)
		require.False(t, p.CaughtUp())
		require.Equal(t, []int64{0, 10}, []int64{p.Next, p.ReadableLag()})
		w.change(func() { f.script = nil })
		require.Equal(t, span(0, 9), readOffsets(t, c, 10))
	})
}

// Sources: Kafka's FetcherTest testReadCommittedLagMetric, KAFKA-7535.
func TestReadableLagEndsAtTheLastStableOffset(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0)
		f.hw = 9
		for _, uncommitted := range []bool{false, true} {
			opts := []kgo.Opt{startAt(0)}
			if uncommitted {
				opts = append(opts, rcconsumer.ReadUncommitted())
			}
			c := w.consumer(opts...)
			w.change(func() { f.log, f.lso, f.hw = batchtest.Log{batchtest.Data(0, 3)}, 4, 9 })
			require.Equal(t, span(0, 3), readOffsets(t, c, 4))
			w.change(func() { f.lso = 7 })
			eventually(t, "the new end", func() bool { return position(c).LastStableOffset == 7 })
			p := position(c)
			want := []int64{3, 2}
			if uncommitted {
				want = []int64{5, 2}
			}
			require.Equal(t, want, []int64{p.ReadableLag(), p.HeldBack()})
		}
	})
}

// KIP-219 has no upper bound, and kgo honours any throttle: a broker that says a
// month is left alone for a month, and holds up nobody else.
func TestThrottleOfAMonthHoldsUpOnlyItsBroker(t *testing.T) {
	inWorld(t, 2, 2, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 9)).batches = 1
		f := w.forge(1, batchtest.Data(0, 9))
		w.edit = func(_ *kmsg.FetchRequest, resp *kmsg.FetchResponse) {
			resp.ThrottleMillis = math.MinInt32
			for _, topic := range resp.Topics {
				for _, p := range topic.Partitions {
					if p.Partition == 0 {
						resp.ThrottleMillis = math.MaxInt32
					}
				}
			}
		}
		c, err := rcconsumer.New(append(w.opts(), kgo.ConsumeTopics(topic))...)
		require.NoError(t, err)
		read(t, c, 20)
		before := w.count()
		w.change(func() { f.log, f.lso, f.hw = append(f.log, batchtest.Data(10, 19)), 20, 20 })
		require.Equal(t, span(10, 19), readOffsets(t, c, 10))
		time.Sleep(time.Hour)
		w.see(func() {
			for _, fetched := range w.fetches[before:] {
				require.EqualValues(t, 1, fetched.node)
			}
		})
		began := time.Now()
		c.Close()
		require.Less(t, time.Since(began), time.Minute)
	})
}

// Source: IBM/sarama commit c50148e0, a fetch size that doubled until it was
// negative.
func TestBatchThatIsNeverWholeDoesNotGrowTheRequest(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0, batchtest.Data(0, 9))
		f.script = func(ask) *kmsg.FetchResponseTopicPartition {
			return batchtest.Log{batchtest.Data(0, 9).ClaimLength(3 << 29)}.Partition(nil)
		}
		c := w.consumer(startAt(0), kgo.FetchMaxPartitionBytes(1000), kgo.FetchMaxBytes(5000))
		for range 16 {
			var none *rcconsumer.NoProgressError
			require.ErrorAs(t, failed(t, c).Err, &none)
		}
		w.see(func() {
			for _, fetched := range w.fetches {
				require.EqualValues(t, 5000, fetched.req.MaxBytes)
				require.EqualValues(t, 1000, fetched.req.Topics[0].Partitions[0].PartitionMaxBytes)
			}
		})
	})
}

// Ends that contradict each other, and offsets near the last there is.
func TestAbsurdEndsOfALogNeitherPanicNorSkip(t *testing.T) {
	tests := []struct {
		name           string
		start, lso, hw int64
	}{
		{"negative", -5, -5, -5},
		{"all the same and far", math.MaxInt64, math.MaxInt64, math.MaxInt64},
		{"stable offset above the high watermark", 0, 1 << 40, 10},
		{"high watermark below zero", 0, 10, math.MinInt64},
		{"log starts behind what is sent", 1 << 40, 10, 10},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				f := w.forge(0, batchtest.Data(0, 4), batchtest.Data(5, 9))
				f.script = func(a ask) *kmsg.FetchResponseTopicPartition {
					var log batchtest.Log
					if a.nth%3 != 2 && a.offset < 10 {
						log = batchtest.Log{f.log[a.offset/5]}
					}
					sp := log.Partition(nil)
					sp.LogStartOffset, sp.LastStableOffset, sp.HighWatermark = test.start, test.lso, test.hw
					return sp
				}
				c := w.consumer(startAt(0))
				require.Equal(t, span(0, 9), readOffsets(t, c, 10))
				require.EqualValues(t, 10, position(c).Next)
				require.LessOrEqual(t, w.during(10*time.Second), 30)
				require.GreaterOrEqual(t, position(c).ReadableLag(), int64(0))
				require.GreaterOrEqual(t, position(c).HeldBack(), int64(0))
			})
		})
	}
}

// The offset behind the last batch must be one as well.
func TestLogIsReadUpToTheLastOffsetThereIs(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		const last = math.MaxInt64 - 1
		f := w.forge(0, batchtest.Data(last-3, last-1).Txn(1), batchtest.Commit(last, 1))
		f.start, f.lso, f.hw = last-3, math.MaxInt64, math.MaxInt64
		c := w.consumer(startAt(last - 3))
		require.Equal(t, span(last-3, last-1), readOffsets(t, c, 3))
		untilNext(t, c, math.MaxInt64)
		require.LessOrEqual(t, w.during(10*time.Second), 30)
		seek(c, math.MaxInt64)
		silent(t, c, 10*time.Second)
	})
}

// Source: Kafka's FetcherTest testParseCorruptedRecord, with messages 1 and 3 of
// five damaged: a seek leads on, nothing else does.
func TestSeekLeadsPastDamagedMessages(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, batchtest.MessageV1(0, 0), batchtest.MessageV1(1, 1).Flip(-1), batchtest.MessageV1(2, 2),
			batchtest.Raw(batchtest.MessageV1(3, 3).Flip(-1).Bytes()), batchtest.MessageV1(4, 4))
		c := w.consumer(startAt(0))
		require.Equal(t, []int64{0}, readOffsets(t, c, 1))
		for range 3 {
			require.ErrorIs(t, failed(t, c).Err, batchdecode.ErrCorrupt)
			require.EqualValues(t, 1, position(c).Next)
		}
		seek(c, 2)
		require.Equal(t, []int64{2}, readOffsets(t, c, 1))
		require.ErrorIs(t, failed(t, c).Err, batchdecode.ErrCorrupt)
		require.EqualValues(t, 3, position(c).Next)
	})
}

func TestRelativeOffsetDoesNotWrapAround(t *testing.T) {
	tests := []struct {
		name   string
		offset kgo.Offset
		end    int64 // as the broker lists it
		want   int64
	}{
		{"exact", kgo.NewOffset().At(math.MaxInt64 - 1).Relative(math.MaxInt64), 40, 40},
		{"behind an end that is the last offset", kgo.NewOffset().AtEnd().Relative(5), math.MaxInt64, math.MaxInt64},
		{"before the start", kgo.NewOffset().AtStart().Relative(math.MinInt64), 40, 10},
		{"before the end", kgo.NewOffset().AtEnd().Relative(math.MinInt64), 40, 10},
		{"an end before the start", kgo.NewOffset().AtEnd(), 3, 10},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				forgeRange(w)
				w.editList = func(req *kmsg.ListOffsetsRequest, resp *kmsg.ListOffsetsResponse) {
					if req.Topics[0].Partitions[0].Timestamp == -1 {
						resp.Topics[0].Partitions[0].Offset = test.end
					}
				}
				c := w.consumer(startFrom(test.offset))
				eventually(t, "a start", func() bool { return position(c).Next == test.want })
			})
		})
	}
}
