package rcconsumer

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

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

// fetch sends one request and gives out its answer.
func (b *broker) fetch(ctx context.Context, pl *plan, reserved int64) {
	wait := pl.longPoll(b.c.cfg.maxWait)
	if !b.c.begin(ctx) {
		b.c.budget.unreserve(reserved)
		return
	}
	sent := time.Now()
	overdue := b.c.meta.watch(wait + time.Second) // the leader may have moved or died
	req := pl.request(&b.c.cfg, int32(reserved), b.c.limits.partition.Load(), wait)
	within := b.prepare(pl, req)
	resp, release, err := b.c.fetch(ctx, b.id, req)
	overdue()
	b.c.end()
	l := newLease(b.c.budget, reserved)
	l.release = release
	defer l.drop()
	if err != nil {
		l.resize(0)
		b.session.broken(err)
		b.failed(ctx, err)
		return
	}
	b.failures = 0
	l.resize(int64(bytesIn(resp)))
	defer b.throttled(time.Now(), time.Duration(resp.ThrottleMillis)*time.Millisecond)
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		if !b.session.broken(err) {
			b.failed(ctx, err)
		}
		return
	}
	got := b.deliver(pl, resp, l)
	if within {
		b.remember(pl, resp)
	}
	b.pace(got, pl.leftOut, wait, time.Since(sent))
}

// prepare makes the request part of the broker's fetch session, if it is to be.
func (b *broker) prepare(pl *plan, req kmsg.Request) (within bool) {
	full, withIDs := req.(*kmsg.FetchRequest)
	if !withIDs || pl.alone || b.c.cfg.noSessions || !b.session.wants(len(pl.wanted), time.Now()) {
		return false // without a session, which leaves the one there is as it is
	}
	b.session.prepare(full)
	return true
}

// remember goes on with the session, and looks at what the answer left out.
func (b *broker) remember(pl *plan, resp *kmsg.FetchResponse) {
	full := b.session.full
	b.session.answered(resp, time.Now())
	if !full {
		b.unchanged(pl, bytesIn(resp))
		return
	}
	for i := range pl.wanted {
		if !pl.wanted[i].settled { // the first answer has everything, or is none
			b.session.broken(nil)
			return
		}
	}
}

// failed backs off after a request that got no usable answer.
func (b *broker) failed(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	b.failures++
	now := time.Now()
	b.notBefore = later(b.notBefore, now.Add(max(minBackoff, b.c.cfg.backoff(b.failures))))
	b.desert(err)
	b.c.meta.refresh()
	err = fmt.Errorf("fetch from broker %d: %w", b.id, err)
	if b.told.fresh(err, now) {
		b.c.report.fetchError("", -1, err)
	}
	if isTooLarge(err) {
		b.c.inject("", -1, err) // would fail again in the same way, for ever
	}
}

func bytesIn(resp *kmsg.FetchResponse) int {
	n := 0
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			n += len(resp.Topics[i].Partitions[j].RecordBatches)
		}
	}
	return n
}

// deliver gives every partition its part of the answer, and reports whether
// any got something.
func (b *broker) deliver(pl *plan, resp *kmsg.FetchResponse, l *lease) (got bool) {
	index := pl.index(resp.Version)
	served := make(map[*partition]bool)
	total, refresh := bytesIn(resp), false
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for j := range t.Partitions {
			k := key{partition: t.Partitions[j].Partition}
			if resp.Version >= 13 {
				k.topicID = t.TopicID
			} else {
				k.topic = t.Topic
			}
			w := index[k]
			if w == nil || w.settled {
				continue // not asked for, or answered twice: it changes nothing
			}
			w.settled = true
			a := answer{
				wanted: w, part: &t.Partitions[j], broker: b.id, version: resp.Version, lease: l, scanner: &b.scanner,
				alone: pl.alone, first: w == &pl.wanted[0], total: total,
			}
			o := b.c.accept(&a)
			got = got || o.got
			refresh = refresh || o.refresh
			if o.served {
				served[w.p] = true
			}
		}
	}
	b.rotate(served)
	if pl.alone {
		pl.wanted[0].unprobed()
	}
	if refresh {
		b.c.meta.refresh()
	}
	return got
}
