package rcconsumer

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// bell wakes everybody who waits for it.
type bell struct {
	mu sync.Mutex
	ch chan struct{} // closed when the bell rings; nil while nobody waits
}

func (b *bell) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}

// WaitStable waits until the last stable offset of each partition has reached
// its target, target <= LSO: everything below the target is then decided and
// visible to every read_committed reader of the cluster. It works for any
// partition of the cluster, read by this consumer or not. A target <= 0 is
// reached from the start. Without targets it returns nil at once.
//
// Partitions that this consumer fetches are watched through its Fetch answers;
// the others are asked for, with pauses that grow from 50 ms to 1 s. Whether
// the consumer reads at read_uncommitted makes no difference. It does not read:
// positions do not move by it, and it may be called beside polls. A topic that
// is not there is created by the question only under kgo.AllowAutoTopicCreation.
//
// Errors:
//   - the end of ctx: wraps ctx.Err() and names the partitions whose LSO is
//     still below the target, with both;
//   - a closed consumer: kgo.ErrClientClosed;
//   - a topic or partition that stays unknown for 3 s, or that may not be
//     described (kerr.TopicAuthorizationFailed): wraps the broker's error and
//     names topic and partition;
//   - a broker that cannot be asked at read_committed: [*VersionError].
//
// What may go away by itself (a moving leader, a silent broker) is retried until
// ctx ends and named then.
func (c *Consumer) WaitStable(ctx context.Context, targets map[string]map[int32]int64) error {
	w := newStableWait(c, targets)
	for try := 1; ; {
		stable := c.stable.wait()
		asked := w.settle()
		switch {
		case len(w.left) == 0:
			return nil
		case c.ctx.Err() != nil:
			return kgo.ErrClientClosed
		case w.fatal != nil:
			return w.fatal
		case ctx.Err() != nil:
			return w.unreached(ctx.Err())
		}
		now := time.Now()
		if asked && !w.next.After(now) {
			if !c.spawnOpen(w.ask) {
				return kgo.ErrClientClosed
			}
			w.next = now.Add(backoff(try, 50*time.Millisecond, time.Second))
			try++
		}
		w.pause(ctx, stable)
	}
}

// unknownPatience is how long a topic or partition may be unknown: a new one is
// so for a moment, one that is not there for ever.
const unknownPatience = 3 * time.Second

// freshFor is how long what a Fetch answer said of a partition is waited on
// without asking.
const freshFor = time.Second

// stableWait is one call of WaitStable.
type stableWait struct {
	c       *Consumer
	changed chan struct{} // capacity 1

	// Of the caller's goroutine alone:
	left  map[key]*stableTarget
	next  time.Time // nothing is asked before
	fatal error

	mu    sync.Mutex
	heard map[key]listed    // what brokers said of partitions asked for
	final map[key]bool      // heard an error that does not go away by itself
	since map[key]time.Time // when they were first unknown
	asks  []key             // to be asked
	busy  map[int32]bool    // leaders that have not answered; noLeader: Metadata
}

// stableTarget is one partition waited for.
type stableTarget struct {
	target, lso int64 // lso -1: not known
	err         error // why it is not known
}

func newStableWait(c *Consumer, targets map[string]map[int32]int64) *stableWait {
	w := &stableWait{
		c: c, left: make(map[key]*stableTarget), changed: make(chan struct{}, 1),
		heard: make(map[key]listed), final: make(map[key]bool), since: make(map[key]time.Time), busy: make(map[int32]bool),
	}
	for topic, ps := range targets {
		for id, target := range ps {
			if target > 0 {
				w.left[key{topic: topic, partition: id}] = &stableTarget{target: target, lso: -1}
			}
		}
	}
	return w
}

// pause waits until there may be something new.
func (w *stableWait) pause(ctx context.Context, stable <-chan struct{}) {
	d := time.Until(w.next)
	if d <= 0 {
		d = freshFor / 2 // nothing to ask now
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-stable:
	case <-w.changed:
	case <-t.C:
	case <-ctx.Done():
	case <-w.c.ctx.Done():
	}
}

// settle takes out what has reached its target, and reports whether anything is
// to be asked for.
func (w *stableWait) settle() (asks bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asks = w.asks[:0]
	now := time.Now()
	for k, t := range w.left {
		fresh := false
		if p := w.c.partition(k.topic, k.partition); p != nil {
			pos := p.position()
			t.lso = max(t.lso, pos.LastStableOffset)
			fresh = pos.LastStableOffset >= 0 && now.Sub(pos.UpdatedAt) < freshFor
		}
		if l, ok := w.heard[k]; ok {
			t.lso, t.err = max(t.lso, l.offset), l.err
		}
		switch {
		case t.lso >= t.target:
			delete(w.left, k)
		case w.final[k]:
			w.fatal = fmt.Errorf("wait for the last stable offset of topic %s partition %d: %w", k.topic, k.partition, t.err)
		case !fresh:
			w.asks = append(w.asks, k)
		}
	}
	return len(w.asks) > 0
}

// maxNamed bounds how many partitions an error names.
const maxNamed = 20

// unreached is the error of a wait that ended too early.
func (w *stableWait) unreached(cause error) error {
	keys := slices.SortedFunc(maps.Keys(w.left), func(a, b key) int {
		return cmp.Or(strings.Compare(a.topic, b.topic), cmp.Compare(a.partition, b.partition))
	})
	named := make([]string, 0, min(len(keys), maxNamed)+1)
	for _, k := range keys[:min(len(keys), maxNamed)] {
		t := w.left[k]
		s := fmt.Sprintf("topic %s partition %d: last stable offset %d, target %d", k.topic, k.partition, t.lso, t.target)
		if t.err != nil {
			s += fmt.Sprintf(" (%v)", t.err)
		}
		named = append(named, s)
	}
	if len(keys) > maxNamed {
		named = append(named, fmt.Sprintf("and %d more", len(keys)-maxNamed))
	}
	return fmt.Errorf("wait for last stable offsets: %s: %w", strings.Join(named, ", "), cause)
}
