package rcconsumer_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/rcconsumer"
)

// Source: KAFKA-20716: after an unclean election the marker of a transaction is
// gone and nobody writes it again. The reader stops in front of it for good, and
// says so.
func TestStableOffsetThatStandsStillIsToldWithItsAge(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0, batchtest.Data(0, 0), batchtest.Data(1, 1).Txn(1), batchtest.Data(2, 2))
		w.change(func() { f.lso = 1 })
		c := w.consumer(startAt(0), rcconsumer.ReturnOnProgress())
		require.Equal(t, []int64{0}, readOffsets(t, c, 1))
		eventually(t, "the end", func() bool { return position(c).CaughtUp() })
		for poll(c, time.Second) == nil { // progress that was made before
			continue
		}
		silent(t, c, time.Hour)
		l := lagOf(c)
		require.Equal(t, []int64{1, 1, 3}, []int64{l.Next, l.LastStableOffset, l.HighWatermark})
		require.Zero(t, l.ReadableLag())
		require.Zero(t, l.OldestUnread, "nothing readable is old")
		require.Equal(t, int64(2), l.HeldBack())
		require.InDelta(t, time.Hour.Seconds(), time.Since(l.StableSince).Seconds(), 5)
		require.Less(t, time.Since(l.UpdatedAt), 5*time.Second)

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorContains(t, c.WaitStable(ctx, targets(3)), "topic t partition 0: last stable offset 1, target 3")
	})
}

// Sources: KAFKA-14884, KAFKA-18957: a late write opens a transaction that
// nobody ends, until an admin does.
func TestHangingTransactionHoldsBackUntilItIsAborted(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0, batchtest.Data(0, 0).Txn(1), batchtest.Abort(1, 1), batchtest.Data(2, 2).Txn(1), batchtest.Data(3, 99), batchtest.Abort(100, 1))
		w.change(func() { f.lso, f.hw, f.aborted = 2, 100, batchtest.Aborted(1, 0) })
		c := w.consumer(startAt(0))
		untilNext(t, c, 2)
		silent(t, c, 10*time.Minute)
		require.Equal(t, int64(98), position(c).HeldBack())
		since := position(c).StableSince
		require.Greater(t, time.Since(since), 9*time.Minute)
		done := waiting(c, t.Context(), targets(101))
		w.change(func() { f.lso, f.hw, f.aborted = 101, 101, batchtest.Aborted(1, 2) })
		require.Equal(t, span(3, 99), readOffsets(t, c, 97))
		require.NoError(t, waitEnded(t, done, time.Second))
		untilNext(t, c, 101)
		require.Zero(t, position(c).HeldBack())
		require.True(t, position(c).StableSince.After(since))
	})
}
