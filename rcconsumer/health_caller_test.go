package rcconsumer_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/rcconsumer"
)

// A loop over Records that takes its time is alive, whenever somebody looks.
func TestSlowLoopIsNoCallerWhoDoesNotPoll(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 99))
		c := w.consumer(startAt(0))
		n := 0
		for _, err := range c.Records(t.Context()) {
			require.NoError(t, err)
			time.Sleep(20 * time.Second)
			if n++; n%30 == 0 { // the first look after ten minutes
				require.Empty(t, c.Health().Reasons)
			}
			if n == 95 { // five more since the last look
				break
			}
		}
		left := time.Now()
		time.Sleep(10 * time.Minute)
		h := c.Health()
		r, ok := reason(h, rcconsumer.CauseNotPolled)
		require.True(t, ok, "%q", h.Reasons)
		require.WithinDuration(t, left, r.Since, 31*time.Second, "noted every ten seconds, of a record that took twenty")
	})
}

// The age is that of what waits, if that is younger than the last poll.
func TestRecordsThatHaveJustComeDoNotWait(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0)
		c := w.consumer(startAt(0))
		time.Sleep(time.Hour)
		w.change(func() { f.log, f.lso, f.hw = append(f.log, batchtest.Data(0, 4)), 5, 5 })
		time.Sleep(50 * time.Second)
		require.Empty(t, c.Health().Reasons)
		time.Sleep(20 * time.Second)
		r, ok := reason(c.Health(), rcconsumer.CauseNotPolled)
		require.True(t, ok)
		require.InDelta(t, 70*time.Second, r.Age, float64(time.Second))
		readOffsets(t, c, 5)
		require.Empty(t, c.Health().Reasons)
	})
}

// Transactions that overlap hold something back all the time, but nothing for long.
func TestStableOffsetThatMovesBlocksNobody(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0, batchtest.Data(0, 4))
		p := w.patient(kgo.ConsumeTopics(topic))
		p.well(t)
		for range 30 {
			w.change(func() {
				f.lso = f.hw
				f.log, f.hw = append(f.log, batchtest.Data(f.hw, f.hw+2)), f.hw+3
			})
			time.Sleep(20 * time.Second)
			require.Empty(t, p.Health().Reasons)
		}
	})
}

func manualCommits(w *world) *patient {
	return w.patient(inGroup(kgo.DisableAutoCommit(), kgo.AutoCommitInterval(time.Hour))...)
}

func commitNow(p *patient) { _ = p.CommitUncommittedOffsets(context.Background()) }

// A commit that succeeds is the end of it, whoever made it.
func TestCommitThatSucceedsEndsItsStreak(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		p := manualCommits(w)
		w.produce(topic, 0, "x")
		eventually(t, "a record", func() bool { return position(p.Consumer).Next == 1 })
		refused := w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: kerr.OffsetMetadataTooLarge, Count: -1})
		commitNow(p)
		_, first := p.ails(t, rcconsumer.CauseCommit)
		time.Sleep(10 * time.Minute)
		commitNow(p)
		_, r := p.ails(t, rcconsumer.CauseCommit)
		require.Equal(t, first.Since, r.Since)
		refused.Remove()
		commitNow(p)
		require.Empty(t, p.Health().Reasons)
	})
}

// What cannot be committed any more is nobody's trouble.
func TestCommitsThatFailedEndWithTheAssignment(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		p := w.patient(inGroup(kgo.AutoCommitInterval(time.Second), kgo.Balancers(kgo.RangeBalancer()))...)
		w.produce(topic, 0, "x")
		refused := w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: kerr.OffsetMetadataTooLarge, Count: -1})
		p.ails(t, rcconsumer.CauseCommit)
		p.PurgeTopicsFromConsuming(topic)
		eventually(t, "the end of the assignment", func() bool { return len(reads(p.Consumer)) == 0 })
		p.well(t)
		refused.Remove()
	})
}

// A client that has nothing to do forgets a failure that nobody tried again.
func TestOldFailureOfAnIdleClientIsForgotten(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		l := &cable{w: w}
		c := w.consumer(kgo.Dialer(l.dial))
		require.NoError(t, c.Ping(t.Context()))
		time.Sleep(time.Minute)
		l.cut(refusal())
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		require.Error(t, c.Ping(ctx))
		h := c.Health()
		require.False(t, h.Ready)
		require.Equal(t, rcconsumer.CauseUnreachable, h.Details[0].Cause)
		time.Sleep(time.Minute + time.Second)
		require.Equal(t, rcconsumer.Health{Ready: true, Live: true}, c.Health())
	})
}
