//go:build unix

package rcconsumer_test

import (
	"context"
	"flag"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/kafkatest"
)

var idleFor = flag.Duration("idle-for", 5*time.Second, "how long an idle group is watched on a real cluster; from a minute on its CPU time is judged too")

// writes counts the requests a client sends, by kind.
type writes struct {
	all, fetches, lists atomic.Int64
}

func (w *writes) OnBrokerWrite(_ kgo.BrokerMetadata, k int16, _ int, _, _ time.Duration, _ error) {
	w.all.Add(1)
	switch kmsg.Key(k) {
	case kmsg.Fetch:
		w.fetches.Add(1)
	case kmsg.ListOffsets:
		w.lists.Add(1)
	default:
	}
}

func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A group with nothing to read costs next to nothing, also where an open
// transaction withholds data.
func TestRealIdleGroupCostsNextToNothing(t *testing.T) {
	noLeaks(t)
	const partitions = 200
	l := newLedger(t, kafkatest.Real(t, kafkatest.Config{}), kafkatest.TopicConfig{Partitions: partitions})
	open := l.writer(t, "open", kafkatest.ProducerConfig{TransactionalID: kafkatest.Name(t), Timeout: 14 * time.Minute})
	open.begin(abort)
	plain := l.plainWriter(t, "plain")
	for p := int32(0); p < partitions; p += 10 {
		open.batch(t, p, 1)
		plain.batch(t, p, 5) // withheld
	}
	var w writes
	c := newConsumer(t, l.c, kgo.ConsumerGroup(kafkatest.Name(t)), kgo.ConsumeTopics(l.topic), kgo.WithHooks(&w))
	newHarvest(c).until(t, "all positions", func() bool {
		known := 0
		for _, pos := range c.Positions()[l.topic] {
			if pos.CaughtUp() {
				known++
			}
		}
		return known == partitions
	})
	polled := make(chan struct{})
	ctx, cancel := context.WithTimeout(t.Context(), *idleFor)
	defer cancel()
	before, cpu, all, fetches, lists, began := heap(), cpuTime(t), w.all.Load(), w.fetches.Load(), w.lists.Load(), time.Now()
	go func() {
		defer close(polled)
		for ctx.Err() == nil {
			c.PollFetches(ctx)
		}
	}()
	oldest := time.Duration(0)
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
		for _, pos := range c.Positions()[l.topic] {
			oldest = max(oldest, time.Since(pos.UpdatedAt))
		}
	}
	<-polled
	took := time.Since(began)
	perSecond := func(n int64) float64 { return float64(n) / took.Seconds() }
	share := (cpuTime(t) - cpu).Seconds() / took.Seconds()
	t.Logf("%v: CPU %.2f %% of a core; requests per second %.1f, of these Fetch %.1f and ListOffsets %.1f; heap %+d KiB; oldest end %v",
		took.Round(time.Second), 100*share, perSecond(w.all.Load()-all), perSecond(w.fetches.Load()-fetches), perSecond(w.lists.Load()-lists),
		(heap()-before)/1024, oldest.Round(time.Millisecond))
	require.Less(t, perSecond(w.all.Load()-all), 5.0, "requests per second")
	require.Less(t, oldest, 5*time.Second+time.Second, "ends are at most 5 s old, as seen once a second")
	require.Less(t, heap()-before, int64(2<<20), "memory stays flat")
	if *idleFor >= time.Minute {
		require.Less(t, share, 0.01, "share of a core")
	}
	pos, _ := c.Position(l.topic, 0)
	require.EqualValues(t, 6, pos.HeldBack())
}
