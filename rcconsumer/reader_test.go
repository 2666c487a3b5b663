package rcconsumer_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/rcconsumer"
)

// readTo reads up to an end that was found out before, one record a poll, as
// bounded jobs do, and returns the offsets.
func readTo(t *testing.T, c *rcconsumer.Consumer, end int64) (got []int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for position(c).Next < end {
		fs := c.PollRecords(ctx, 1)
		require.NoError(t, fs.Err(), "at %d of %d", position(c).Next, end)
		got = append(got, offsets(fs)...)
	}
	return got
}

// Sources: FLINK-34470 and apache/seatunnel#11471 (the end behind a marker, or
// inside an aborted run), SPARK-24720, apache/hudi#8258, apache/druid#5404 (a
// range whose last offset is a marker), KAFKA-12980 (a topic that ends with an
// aborted transaction).
func TestBoundedReadEndsWhereNoRecordIs(t *testing.T) {
	tests := []struct {
		name string
		log  batchtest.Log
		list []kmsg.FetchResponseTopicPartitionAbortedTransaction
		end  int64
		want []int64
		next int64
	}{
		{"behind a commit marker", batchtest.Log{batchtest.Data(0, 99).Txn(1), batchtest.Commit(100, 1)}, nil, 101, span(0, 99), 101},
		{"a short range", batchtest.Log{batchtest.Data(0, 4).Txn(1), batchtest.Commit(5, 1)}, nil, 6, span(0, 4), 6},
		{"inside an aborted run", batchtest.Log{
			batchtest.Data(0, 4), batchtest.Data(5, 9).Txn(1), batchtest.Data(10, 14).Txn(1), batchtest.Abort(15, 1), batchtest.Data(16, 16),
		}, batchtest.Aborted(1, 5), 12, span(0, 4), 16},
		{"behind an aborted transaction", batchtest.Log{
			batchtest.Data(0, 4), batchtest.Data(5, 9).Txn(1), batchtest.Abort(10, 1),
		}, batchtest.Aborted(1, 5), 11, span(0, 4), 11},
		{"nothing but markers", batchtest.Log{batchtest.Commit(0, 1), batchtest.Abort(1, 2)}, nil, 2, nil, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				w.forge(0, test.log...).aborted = test.list
				c := w.consumer(startAt(0), rcconsumer.ReturnOnProgress())
				began := time.Now()
				require.Equal(t, test.want, readTo(t, c, test.end))
				require.Less(t, time.Since(began), time.Second)
				require.Equal(t, test.next, position(c).Next)
			})
		})
	}
}

// Sources: apache/pinot#12318 and #18337: a caller that goes back to its last
// record + 1 after each empty poll never gets through. The position is what it
// can go on from instead, also with no record.
func TestCallerThatSeeksToThePositionGetsThroughALongAbortedStretch(t *testing.T) {
	const transactions = 5000
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		log := make(batchtest.Log, 0, 2*transactions+1)
		for o := int64(0); o < 2*transactions; o += 2 {
			log = append(log, batchtest.Data(o, o).Txn(1), batchtest.Abort(o+1, 1))
		}
		f := w.forge(0, append(log, batchtest.Data(2*transactions, 2*transactions))...)
		w.change(func() {
			f.batches = 500
			f.aborted = nil // the markers in view say the same
		})
		c := w.consumer(startAt(0), rcconsumer.ReturnOnProgress(), kgo.FetchMaxPartitionBytes(50_000))
		var got []int64
		for calls := 0; len(got) == 0; calls++ {
			before := position(c).Next
			fs := poll(c, patience)
			require.NoError(t, fs.Err())
			got = offsets(fs)
			require.GreaterOrEqual(t, position(c).Next, before)
			require.Less(t, calls, 200, "the position shows progress, call by call")
			seek(c, position(c).Next)
		}
		require.Equal(t, []int64{2 * transactions}, got)
	})
}

// Source: apache/pinot#19161: a first record behind the offset asked for is a
// loss only if that offset lies below the log start.
func TestMarkerAtTheStartIsNoLoss(t *testing.T) {
	for name, start := range map[string]int64{"a marker": 0, "deleted": 7} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				f := w.forge(0, batchtest.Abort(5, 1), batchtest.Data(6, 6), batchtest.Data(7, 9))
				w.change(func() { f.start = start })
				var hook resetHook
				c := w.consumer(startAt(5), rcconsumer.WithHooks(&hook))
				if start == 0 {
					require.Equal(t, span(6, 9), readOffsets(t, c, 4))
					require.Empty(t, hook.all())
					return
				}
				require.Equal(t, span(7, 9), readOffsets(t, c, 3))
				require.Equal(t, [][2]int64{{5, 7}}, hook.all())
			})
		})
	}
}

// Sources: quixio/quix-streams#1017, redpanda#8698: the marker at the end was
// counted in the end and is compacted away.
func TestReaderIsDoneWhereTheLastMarkerWasCompactedAway(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0, batchtest.Data(0, 90))
		w.change(func() { f.lso, f.hw = 92, 92 })
		c := w.consumer(startAt(0), rcconsumer.ReturnOnProgress())
		began, n := time.Now(), 0
		for !position(c).CaughtUp() {
			fs := poll(c, patience)
			require.NoError(t, fs.Err())
			n += len(offsets(fs))
		}
		require.Equal(t, 91, n)
		require.Less(t, time.Since(began), 3*time.Second)
		l := lagOf(c)
		require.Equal(t, []int64{91, 92, 0}, []int64{l.Next, l.LastStableOffset, l.ReadableLag()})
		require.Zero(t, l.OldestUnread)
	})
}

// Source: confluentinc/librdkafka#3171: after retention a reader that only knows
// its last record cannot tell a loss from a marker. The position can.
func TestPositionBehindAMarkerOutlivesRetention(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0, batchtest.Data(0, 100).Txn(1), batchtest.Commit(101, 1))
		c := w.consumer(startAt(0))
		readOffsets(t, c, 101)
		next := position(c).Next
		require.Equal(t, int64(102), next)
		c.Close()
		w.change(func() { f.log, f.start = batchtest.Log{batchtest.Data(102, 104)}, 102; f.lso, f.hw = 105, 105 })
		var hook resetHook
		require.Equal(t, span(102, 104), readOffsets(t, w.consumer(startAt(next), rcconsumer.WithHooks(&hook)), 3))
		require.Empty(t, hook.all())
		require.Equal(t, span(102, 104), readOffsets(t, w.consumer(startAt(101), rcconsumer.WithHooks(&hook)), 3))
		require.Equal(t, [][2]int64{{101, 102}}, hook.all(), "from the last record + 1 it looks like a loss")
	})
}

// Source: confluentinc/librdkafka commit c157bd388: control messages kept a
// client from closing on one of its poll APIs.
func TestEveryWayToReadClosesAndHidesMarkers(t *testing.T) {
	ways := map[string]func(*testing.T, *rcconsumer.Consumer) []int64{
		"PollFetches": func(_ *testing.T, c *rcconsumer.Consumer) []int64 { return offsets(poll(c, patience)) },
		"PollRecords": func(t *testing.T, c *rcconsumer.Consumer) []int64 { return offsets(c.PollRecords(t.Context(), 10)) },
		"Records":     func(t *testing.T, c *rcconsumer.Consumer) []int64 { return loop(t, c, 1) },
		"nothing":     func(*testing.T, *rcconsumer.Consumer) []int64 { return []int64{0} },
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				w.forge(0, batchtest.Data(0, 0).Txn(1), batchtest.Commit(1, 1))
				c := w.consumer(startAt(0))
				eventually(t, "the fetch", func() bool { return position(c).LastStableOffset == 2 })
				require.Equal(t, []int64{0}, way(t, c))
				if name != "nothing" {
					require.Equal(t, int64(2), position(c).Next)
					silent(t, c, time.Second)
				}
				began := time.Now()
				c.Close()
				require.Less(t, time.Since(began), 100*time.Millisecond)
			})
		})
	}
}

// Source: KAFKA-16780: a broker that has to look through many segments for
// aborted transactions answers late; that is no error and no reason to ask again.
func TestSlowAnswerIsWaitedFor(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 4))
		w.change(func() { w.slow = 9 * time.Second })
		var hook errorHook
		c := w.consumer(startAt(0), rcconsumer.WithHooks(&hook))
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
		require.LessOrEqual(t, w.count(), 2)
		hook.mu.Lock()
		defer hook.mu.Unlock()
		require.Empty(t, hook.all)
	})
}
