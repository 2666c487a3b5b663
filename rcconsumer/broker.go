package rcconsumer

import (
	"context"
	"slices"
	"sync"
	"time"

	"example.com/readcommitted/internal/pass"
)

// broker fetches from one broker, one request at a time, on a goroutine that
// lives until the broker has left the cluster or the consumer is closed.
type broker struct {
	c    *Consumer
	id   int32
	stop context.CancelFunc // ends the goroutine
	wake chan struct{}      // capacity 1

	mu    sync.Mutex
	parts []*partition // asked for here, in the order of their turns
	sent  time.Time    // when the Fetch in flight was sent; zero if none is
	due   time.Time    // when its answer is late

	ails sharedStreak // requests without a usable answer

	// Of the goroutine alone:
	scanner   pass.Scanner
	session   session
	failures  int       // requests that failed, in a row
	hasty     int       // answers in a row that brought nothing and did not wait
	notBefore time.Time // throttled, backing off or pacing: nothing is sent
	paced     time.Time // nothing is sent while a partition waits for room
	told      once
}

func newBroker(c *Consumer, id int32) *broker {
	return &broker{c: c, id: id, wake: make(chan struct{}, 1)}
}

// poke makes the loop look again at what it could fetch.
func (b *broker) poke() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

func (b *broker) add(p *partition) {
	b.mu.Lock()
	if !slices.Contains(b.parts, p) {
		b.parts = append(b.parts, p)
	}
	b.mu.Unlock()
	b.poke()
}

func (b *broker) remove(p *partition) {
	b.mu.Lock()
	b.parts = slices.DeleteFunc(b.parts, func(q *partition) bool { return q == p })
	if len(b.parts) == 0 {
		b.ails.ended() // nobody asks it any more
	}
	b.mu.Unlock()
}

func (b *broker) serves() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.parts) > 0
}

// turn returns the partitions in the order of their turns.
func (b *broker) turn() []*partition {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.parts)
}

// rotate puts partitions that had their turn at the end: a broker fills an
// answer in the order of the request.
func (b *broker) rotate(served map[*partition]bool) {
	if len(served) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	slices.SortStableFunc(b.parts, func(p, q *partition) int {
		switch {
		case served[p] == served[q]:
			return 0
		case served[q]:
			return -1
		default:
			return 1
		}
	})
}

func (b *broker) run(ctx context.Context) {
	for ctx.Err() == nil {
		now := time.Now()
		if wait := b.notBefore.Sub(now); wait > 0 {
			b.rest(ctx, wait)
			continue
		}
		pl := b.plan(now)
		if len(pl.wanted) == 0 {
			sleep(ctx, pl.wait(now), b.wake)
			continue
		}
		if wait := b.paced.Sub(now); pl.leftOut && wait > 0 {
			sleep(ctx, wait, b.wake)
			continue
		}
		reserved := b.c.budget.reserve(b.share())
		if reserved == 0 {
			sleep(ctx, time.Hour, b.wake) // whoever frees bytes pokes
			continue
		}
		b.fetch(ctx, &pl, reserved)
	}
}

// share is how many bytes one Fetch of this broker may ask for, so that the
// brokers together leave room for what is buffered.
func (b *broker) share() int64 {
	brokers := int64(b.c.busy())
	return min(int64(b.c.limits.answer.Load()), max(1, b.c.cfg.bufferBytes/(brokers+1)))
}

// wait is how long there is nothing to do, unless poked.
func (pl *plan) wait(now time.Time) time.Duration {
	if pl.next.IsZero() {
		return time.Hour
	}
	return pl.next.Sub(now)
}

// plan collects what the broker can be asked for now.
func (b *broker) plan(now time.Time) plan {
	var pl plan
	for _, p := range b.turn() {
		p.mu.Lock()
		back := p.recheckLocked(now)
		w, probing := p.wantLocked(b.id, now, &pl)
		p.mu.Unlock()
		if back {
			b.c.place(p)
		}
		switch {
		case w.p == nil:
		case probing:
			return plan{wanted: []wanted{w}, alone: true}
		default:
			pl.wanted = append(pl.wanted, w)
		}
	}
	return pl
}

// wantLocked says what to ask for the partition, if anything; pl learns of a
// partition that would like more but must wait.
func (p *partition) wantLocked(broker int32, now time.Time, pl *plan) (w wanted, probing bool) {
	switch {
	case p.sourceLocked() != broker || p.phase != fetching || p.mustValidateLocked() || p.c.pauses.paused(p.topic, p.id):
		return w, false
	case p.parked.After(now):
		if pl.next.IsZero() || p.parked.Before(pl.next) {
			pl.next = p.parked
		}
		return w, false
	case !p.roomLocked():
		pl.leftOut = true
		return w, false
	}
	return wanted{
		p: p, gen: p.gen, offset: p.fetchOffset, epoch: p.leaderEpoch, topicID: p.topicID,
		followed: p.leader != broker, rackless: p.leader == broker && p.shunsLocked(now),
	}, p.probe.due
}
