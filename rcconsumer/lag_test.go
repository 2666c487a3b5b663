package rcconsumer_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/rcconsumer"
)

// aged stamps the records of a batch: the one at its first offset is so old,
// each following one a second younger.
func aged(b batchtest.Batch, age time.Duration) batchtest.Batch {
	first := time.Now().Add(-age).UnixMilli()
	i := int64(0)
	return b.Each(func(r batchtest.Record) batchtest.Record {
		r.Timestamp = first + i*1000
		i++
		return r
	})
}

// lagOf is the lag of partition 0 of [topic].
func lagOf(c *rcconsumer.Consumer) rcconsumer.PartitionLag { return c.Lag()[0] }

func TestLagListsAllPartitionsInOrder(t *testing.T) {
	inWorld(t, 2, 12, func(t *testing.T, w *world) {
		require.NoError(t, w.CreateTopic("s", 2, nil))
		for p := range int32(12) {
			f := w.forge(p, batchtest.Data(0, 9))
			w.change(func() { f.lso, f.hw = 10, 12+int64(p) })
		}
		require.Empty(t, w.consumer().Lag(), "nothing is read")
		c := w.consumer(kgo.ConsumeTopics(topic, "s"))
		eventually(t, "the ends", func() bool {
			for _, l := range c.Lag() {
				if l.LastStableOffset < 0 && l.Topic == topic {
					return false
				}
			}
			return len(c.Lag()) == 14
		})
		lags := c.Lag()
		require.Equal(t, "s", lags[0].Topic)
		require.Equal(t, "s", lags[1].Topic)
		for i, l := range lags[2:] {
			require.Equal(t, topic, l.Topic)
			require.EqualValues(t, i, l.Partition)
			p, _ := c.Position(topic, l.Partition)
			require.Equal(t, p, l.Position)
			require.Equal(t, int64(10), l.ReadableLag(), "what this reader is behind")
			require.EqualValues(t, 2+i, l.HeldBack(), "what others hold back")
		}
	})
}

// Source: KAFKA-7535: lag is to the last stable offset, and what is undecided is
// told apart.
func TestOldestUnreadIsTheAgeOfTheNextRecord(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0, aged(batchtest.Data(0, 3), time.Hour), aged(batchtest.Data(4, 4).Txn(1), 50*time.Minute), batchtest.Abort(5, 1),
			aged(batchtest.Data(6, 7), 40*time.Minute))
		w.change(func() { f.aborted, f.hw = batchtest.Aborted(1, 4), 12 })
		c := w.consumer(startAt(0))
		eventually(t, "the fetch", func() bool { return position(c).LastStableOffset == 8 })
		age := func() float64 { return lagOf(c).OldestUnread.Minutes() }
		require.InDelta(t, 60, age(), 0.1, "by the batch's header")
		require.Len(t, offsets(c.PollRecords(t.Context(), 3)), 3)
		require.InDelta(t, 60, age(), 0.1, "by the record: three seconds younger")
		require.Less(t, age(), 60-3.0/60+0.001)
		time.Sleep(10 * time.Minute)
		require.InDelta(t, 70, age(), 0.1, "it grows")
		require.Equal(t, int64(5), lagOf(c).ReadableLag())
		require.Len(t, offsets(c.PollRecords(t.Context(), 1)), 1)
		require.InDelta(t, 50, age(), 0.1, "aborted records are nobody's lag")
		require.Len(t, offsets(poll(c, patience)), 2)
		require.Zero(t, lagOf(c).OldestUnread, "nothing readable is left")
		require.Equal(t, int64(4), lagOf(c).HeldBack())
	})
}

func TestOldestUnreadSaysWhereItIsNotKnown(t *testing.T) {
	const unknown, tiny = time.Duration(-1), time.Duration(1)
	future := batchtest.Data(0, 3) // the bubble's clock is behind
	tests := []struct {
		name string
		log  batchtest.Log
		then func(*rcconsumer.Consumer)
		want time.Duration
	}{
		{"a producer whose clock is ahead", batchtest.Log{future}, nil, tiny},
		{"no timestamp", batchtest.Log{future.Each(func(r batchtest.Record) batchtest.Record { r.Timestamp = -1; return r })}, nil, unknown},
		{"a message without timestamp", batchtest.Log{batchtest.MessageV0(0, 3).Codec(batchtest.Gzip)}, nil, unknown},
		{"a message", batchtest.Log{batchtest.MessageV1(0, 3).Codec(batchtest.Gzip)}, nil, tiny},
		{"paused and dropped", batchtest.Log{future}, func(c *rcconsumer.Consumer) { c.PauseFetchTopics(topic) }, unknown},
		{"stamped by the broker", batchtest.Log{future.LogAppendTime(1)}, nil, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				f := w.forge(0, test.log...)
				w.change(func() { f.lso, f.hw = 4, 4 })
				c := w.consumer(startAt(0))
				eventually(t, "the partition", func() bool { return len(c.Lag()) == 1 })
				eventually(t, "the fetch", func() bool { return position(c).LastStableOffset == 4 })
				if test.then != nil {
					test.then(c)
				}
				if test.want == 0 {
					require.InDelta(t, float64(time.Now().UnixMilli()-1), float64(lagOf(c).OldestUnread.Milliseconds()), 1)
					return
				}
				require.Equal(t, test.want, lagOf(c).OldestUnread)
			})
		})
	}
	t.Run("not fetched yet", func(t *testing.T) {
		inWorld(t, 1, 1, func(t *testing.T, w *world) {
			w.script(0, always(failure(kerr.KafkaStorageError)))
			c := w.consumer(startAt(0))
			eventually(t, "the partition", func() bool { return len(c.Lag()) == 1 })
			require.Equal(t, unknown, lagOf(c).OldestUnread)
		})
	})
	t.Run("read to a compacted end", func(t *testing.T) {
		inWorld(t, 1, 1, func(t *testing.T, w *world) {
			w.script(0, func(ask) *kmsg.FetchResponseTopicPartition { return nothing(4, 4) })
			c := w.consumer(startAt(0))
			eventually(t, "the end", func() bool { return len(c.Lag()) == 1 && lagOf(c).CaughtUp() })
			require.Zero(t, lagOf(c).OldestUnread)
		})
	})
}
