package rcconsumer_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/rcconsumer"
)

// loop takes n records in a loop over Records; errors fail the test.
func loop(t *testing.T, c *rcconsumer.Consumer, n int) (got []int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if n == 0 {
		return nil
	}
	for r, err := range c.Records(ctx) {
		require.NoError(t, err, "after %v", got)
		if got = append(got, r.Offset); len(got) == n {
			break
		}
	}
	return got
}

// Sources: KAFKA-6607, confluentinc/librdkafka#3400.
func TestRecordsCountAsHandedOutOneByOne(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 2).Txn(1), batchtest.Commit(3, 1), batchtest.Abort(4, 2), batchtest.Data(5, 5),
			batchtest.Data(6, 7).Txn(3), batchtest.Commit(8, 3))
		c := w.consumer(startAt(0))
		eventually(t, "the fetch", func() bool { return position(c).LastStableOffset == 9 })
		next := map[int64]int64{0: 1, 1: 2, 2: 5, 5: 6, 6: 7, 7: 9}
		delivered := int64(0)
		for r, err := range c.Records(t.Context()) {
			require.NoError(t, err)
			delivered++
			require.Equal(t, next[r.Offset], position(c).Next, "in the body, at record %d", r.Offset)
			require.Equal(t, delivered, c.Stats()[topic][0].DeliveredRecords)
			if r.Offset == 7 {
				break
			}
		}
		require.Equal(t, int64(6), delivered)
		require.Equal(t, int64(3), c.Stats()[topic][0].DeliveredBatches)
	})
}

func TestLoopThatEndsEarlyKeepsTheRest(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 4), batchtest.Data(5, 9), batchtest.Data(10, 14))
		c := w.consumer(startAt(0))
		require.Equal(t, span(0, 1), loop(t, c, 2))
		require.Equal(t, []int64{2}, offsets(c.PollRecords(t.Context(), 1)), "a poll goes on")
		require.Equal(t, span(3, 4), loop(t, c, 2), "to the end of a batch")
		require.Equal(t, span(5, 6), loop(t, c, 2), "another loop goes on")
		func() {
			defer func() { _ = recover() }()
			for r, err := range c.Records(t.Context()) {
				require.NoError(t, err)
				require.Equal(t, int64(7), r.Offset)
				panic("the body failed")
			}
		}()
		require.Equal(t, span(8, 14), offsets(c.PollFetches(noWait)))
	})
}

func TestLoopGoesOnAfterAnError(t *testing.T) {
	inWorld(t, 1, 2, func(t *testing.T, w *world) {
		f := w.forge(0, batchtest.Data(0, 4), batchtest.Data(5, 9).Flip(-1), batchtest.Data(10, 14))
		c := w.consumer(startAt(0))
		var got []int64
		var failure *rcconsumer.BatchError
		for r, err := range c.Records(t.Context()) {
			if err != nil {
				require.Nil(t, r)
				require.ErrorAs(t, err, &failure)
				require.Equal(t, span(0, 4), got, "records in front of it come first")
				w.change(func() { f.log[1] = batchtest.Data(5, 9) })
				continue
			}
			if got = append(got, r.Offset); r.Offset == 14 {
				break
			}
		}
		require.Equal(t, span(0, 14), got)
		require.Equal(t, int64(5), failure.BaseOffset)
	})
}

func TestLoopHearsErrorsOfTopics(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.answerMetadata(func(req *kmsg.MetadataRequest, _ int) *kmsg.MetadataResponse {
			resp := w.metadataOf(req, w.id, [2]int32{0, 0})
			resp.Topics[0].ErrorCode = kerr.TopicAuthorizationFailed.Code
			return resp
		})
		heard := 0
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for r, err := range w.consumer(startAt(0)).Records(ctx) {
			require.Nil(t, r)
			if ctx.Err() == nil {
				heard++
				require.ErrorIs(t, err, kerr.TopicAuthorizationFailed)
				require.ErrorContains(t, err, "topic t")
			}
		}
		require.InDelta(t, 10, heard, 4, "told every few seconds, as by polls")
	})
}

func TestLoopEndsAsPollsDo(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 4))
		c := w.consumer(startAt(0))
		eventually(t, "the fetch", func() bool { return position(c).LastStableOffset == 5 })
		last := func(ctx context.Context) (n int, errs []error) {
			for r, err := range c.Records(ctx) {
				if err != nil {
					require.Nil(t, r)
					errs = append(errs, err)
				} else {
					n++
				}
			}
			return n, errs
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		n, errs := last(over)
		require.Zero(t, n, "an ended context takes nothing")
		require.Equal(t, []error{context.Canceled}, errs)

		short, cancel := context.WithTimeout(t.Context(), time.Second)
		n, errs = last(short)
		cancel()
		require.Equal(t, 5, n)
		require.Equal(t, []error{context.DeadlineExceeded}, errs)

		n, errs = last(noWait)
		require.Zero(t, n)
		require.Empty(t, errs)
		seek(c, 2)
		eventually(t, "the fetch", func() bool { n, errs = last(noWait); return n > 0 })
		require.Equal(t, 3, n, "without a context it takes what is there")
		require.Empty(t, errs)

		time.AfterFunc(time.Second, c.Close)
		n, errs = last(t.Context())
		require.Zero(t, n)
		require.Equal(t, []error{kgo.ErrClientClosed}, errs)
		_, errs = last(noWait)
		require.Equal(t, []error{kgo.ErrClientClosed}, errs)
	})
}

func TestContextThatEndsInTheBodyKeepsTheRest(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 4))
		c := w.consumer(startAt(0))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var got []int64
		for r, err := range c.Records(ctx) {
			if err != nil {
				require.ErrorIs(t, err, context.Canceled)
				continue
			}
			if got = append(got, r.Offset); r.Offset == 1 {
				cancel()
			}
		}
		require.Equal(t, span(0, 1), got)
		require.Equal(t, span(2, 4), offsets(poll(c, patience)))
	})
}

func TestBodyMayPauseSeekAndClose(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 9), batchtest.Data(10, 19))
		c := w.consumer(startAt(0))
		var got []int64
		ended := false
		for r, err := range c.Records(t.Context()) {
			if err != nil {
				require.ErrorIs(t, err, kgo.ErrClientClosed)
				ended = true
				continue
			}
			got = append(got, r.Offset)
			switch len(got) {
			case 2:
				seek(c, 7)
			case 3:
				c.PauseFetchTopics(topic)
				time.AfterFunc(time.Minute, func() { c.ResumeFetchTopics(topic) })
			case 4:
				require.Equal(t, []int64{9}, offsets(c.PollRecords(t.Context(), 1)), "polls beside it take the next one")
			case 6:
				c.Close()
			}
		}
		require.Equal(t, []int64{0, 1, 7, 8, 10, 11}, got)
		require.True(t, ended)
	})
}

func TestLoopYieldsControlRecordsOnlyIfAsked(t *testing.T) {
	for keep, want := range map[bool][]int64{false: {0, 4}, true: {0, 1, 3, 4}} {
		inWorldOf(t, keep, func(t *testing.T, w *world) {
			f := w.forge(0, batchtest.Data(0, 0).Txn(1), batchtest.Commit(1, 1), batchtest.Data(2, 2).Txn(1), batchtest.Abort(3, 1), batchtest.Data(4, 4))
			f.aborted = batchtest.Aborted(1, 2)
			var opts []kgo.Opt
			if keep {
				opts = append(opts, kgo.KeepControlRecords())
			}
			require.Equal(t, want, loop(t, w.consumer(append(opts, startAt(0))...), len(want)))
		})
	}
}

func inWorldOf(t *testing.T, keep bool, test func(*testing.T, *world)) {
	t.Run(map[bool]string{false: "left out", true: "kept"}[keep], func(t *testing.T) { inWorld(t, 1, 1, test) })
}

// Loops and polls at once hand out every record once, also with little memory.
func TestLoopsAndPollsShareTheRecords(t *testing.T) {
	const partitions, each = 4, 500
	inWorld(t, 2, partitions, func(t *testing.T, w *world) {
		for p := range int32(partitions) {
			var log batchtest.Log
			for o := int64(0); o < each; o += 5 {
				log = append(log, batchtest.Data(o, o+4).Size(200))
			}
			w.forge(p, log...)
		}
		hook := counter{written: make(map[int16]int)}
		c := w.consumer(kgo.ConsumeTopics(topic), rcconsumer.BufferBytes(20_000), kgo.WithHooks(&hook))
		var mu sync.Mutex
		got := make(map[int32][]int64)
		total := 0
		ctx, cancel := context.WithCancel(t.Context())
		take := func(r *kgo.Record) {
			mu.Lock()
			defer mu.Unlock()
			got[r.Partition] = append(got[r.Partition], r.Offset)
			if total++; total == partitions*each {
				cancel()
			}
		}
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				for r, err := range c.Records(ctx) {
					if err == nil {
						take(r)
					}
				}
			})
			wg.Go(func() {
				for ctx.Err() == nil {
					c.PollRecords(ctx, 3).EachRecord(take)
				}
			})
		}
		wg.Wait()
		for p := range int32(partitions) {
			slices.Sort(got[p])
			require.Equal(t, span(0, each-1), got[p])
		}
		require.Equal(t, partitions*each, hook.polled)
		require.Equal(t, hook.in, hook.out)
	})
}

func TestPartitionsTakeTurnsInALoop(t *testing.T) {
	inWorld(t, 1, 2, func(t *testing.T, w *world) {
		for p := range int32(2) {
			var log batchtest.Log
			for o := range int64(100) {
				log = append(log, batchtest.Data(o, o).Size(100_000))
			}
			w.forge(p, log...)
		}
		c := w.consumer(startsAt(2), kgo.FetchMaxPartitionBytes(20<<20))
		eventually(t, "both", func() bool {
			other, _ := c.Position(topic, 1)
			return position(c).LastStableOffset == 100 && other.LastStableOffset == 100
		})
		turns, before := 0, int32(-1)
		var got []int64
		for r, err := range c.Records(t.Context()) {
			require.NoError(t, err)
			if r.Partition != before {
				turns, before = turns+1, r.Partition
			}
			if got = append(got, r.Offset); len(got) == 200 {
				break
			}
		}
		require.GreaterOrEqual(t, turns, 16)
		require.LessOrEqual(t, turns, 24)
	})
}

// What the body has not taken is there for others while it rests.
func TestLoopThatRestsInItsBodyStrandsNothing(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 4), batchtest.Data(5, 9))
		c := w.consumer(startAt(0))
		eventually(t, "the fetch", func() bool { return position(c).LastStableOffset == 10 })
		for r, err := range c.Records(t.Context()) {
			require.NoError(t, err)
			require.Zero(t, r.Offset)
			require.Equal(t, span(1, 9), offsets(c.PollFetches(noWait)))
			break
		}
		silent(t, c, time.Second)
	})
}
