package rcconsumer_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// stall is how long a reader took to reach what was readable.
type stall struct {
	took      time.Duration
	partition int32
	target    int64
	during    string
}

func (s stall) String() string {
	if s.took == 0 {
		return "none"
	}
	return fmt.Sprintf("%.1f s (partition %d, offset %d, seen %s)", s.took.Seconds(), s.partition, s.target, s.during)
}

// wait is what a reader has not reached yet in one partition.
type wait struct {
	target int64 // a last stable offset, exclusive; 0 if there is none
	seen   time.Time
	during string
	calm   time.Time // since when the target is known and nothing is wrong with the cluster
	told   bool
}

// watcher measures how long readers take from the moment at which a last stable
// offset can be seen until they have read up to it.
type watcher struct {
	x       *chaos
	readers []chaosReader

	mu      sync.Mutex
	waits   map[chaosReader]map[int32]*wait
	longest map[chaosReader]stall // of all
	calm    map[chaosReader]stall // from the end of the last fault on
}

// stallLimit is how long a reader may take to reach a last stable offset when
// nothing is wrong with the cluster.
const stallLimit = 30 * time.Second

func newWatcher(x *chaos, readers []chaosReader) *watcher {
	w := &watcher{
		x: x, readers: readers, waits: map[chaosReader]map[int32]*wait{},
		longest: map[chaosReader]stall{}, calm: map[chaosReader]stall{},
	}
	for _, r := range readers {
		w.waits[r] = map[int32]*wait{}
	}
	return w
}

// run looks until the context ends.
func (w *watcher) run(ctx context.Context) {
	for ctx.Err() == nil {
		ends := w.x.ends()
		for _, r := range w.readers {
			for p := range int32(chaosPartitions) {
				w.look(r, p, r.next(p), ends[p])
			}
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

func (w *watcher) look(r chaosReader, partition int32, next, stable int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := w.waits[r][partition]
	if at == nil {
		at = &wait{}
		w.waits[r][partition] = at
	}
	now := time.Now()
	if at.target > 0 {
		w.waiting(r, partition, next, now, at)
	}
	if at.target == 0 && stable > next {
		*at = wait{target: stable, seen: now, during: w.x.during()}
	}
}

// waiting books how long a target has been waited for so far.
func (w *watcher) waiting(r chaosReader, partition int32, next int64, now time.Time, at *wait) {
	if w.x.disturbed() {
		at.calm = time.Time{}
	} else if at.calm.IsZero() {
		at.calm = now
	}
	longer(w.longest, r, stall{now.Sub(at.seen), partition, at.target, at.during})
	if !at.calm.IsZero() {
		calm := now.Sub(at.calm)
		longer(w.calm, r, stall{calm, partition, at.target, at.during})
		if calm > stallLimit && !at.told {
			at.told = true
			w.x.problem("%s: partition %d stands at %d and has not reached %d, readable since %v (%s)",
				r.name(), partition, next, at.target, now.Sub(at.seen), at.during)
		}
	}
	if next >= at.target {
		*at = wait{}
	}
}

func longer(of map[chaosReader]stall, r chaosReader, s stall) {
	if s.took > of[r].took {
		of[r] = s
	}
}

// placed is a reader that stands where it is told to.
type placed struct {
	chaosReader
	at int64
}

func (p *placed) name() string     { return "placed" }
func (p *placed) next(int32) int64 { return p.at }

func TestChaosWatcherTellsOfAStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		x := &chaos{t: t, fail: func(format string, args ...any) { told = append(told, fmt.Sprintf(format, args...)) }}
		r := &placed{at: 5}
		w := newWatcher(x, []chaosReader{r})
		look := func() { w.look(r, 3, r.at, 10) }
		look()
		time.Sleep(20 * time.Second)
		r.at = 10
		look()
		require.Empty(t, told)
		require.Equal(t, stall{20 * time.Second, 3, 10, "before the first fault"}, w.longest[r])

		r.at = 9
		x.faults = []faultNote{{fault: fault{kind: killLeader}, ongoing: true}}
		look()
		time.Sleep(time.Minute)
		look()
		require.Empty(t, told, "while brokers are away anything may take its time")
		x.faults[0].ongoing = false
		for range 32 {
			look()
			time.Sleep(time.Second)
		}
		require.Len(t, told, 1)
		require.Contains(t, told[0], "placed: partition 3 stands at 9 and has not reached 10")
		require.Contains(t, told[0], killLeader)
		require.Equal(t, 31*time.Second, w.calm[r].took)
	})
}
