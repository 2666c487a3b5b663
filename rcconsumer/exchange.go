package rcconsumer

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fetch sends one request and gives out its answer.
func (b *broker) fetch(ctx context.Context, pl *plan, reserved int64) {
	wait := pl.longPoll(b.c.cfg.maxWait)
	if !b.c.begin(ctx) {
		b.c.budget.unreserve(reserved)
		return
	}
	sent := time.Now()
	b.sends(wait + lateAnswer)
	overdue := b.c.meta.watch(wait + lateFetch) // the leader may have moved or died
	req := pl.request(&b.c.cfg, int32(reserved), b.c.limits.partition.Load(), wait)
	within := b.prepare(pl, req)
	resp, release, err := b.c.fetch(ctx, b.id, req)
	overdue()
	b.answered()
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
	b.ails.ended()
	got := b.deliver(pl, resp, l)
	if within {
		b.remember(pl, resp)
	}
	b.pace(got, pl.leftOut, wait, time.Since(sent))
}

const (
	// lateFetch is how long after its wait a Fetch may be unanswered before
	// metadata is asked whether the broker is still there.
	lateFetch = time.Second
	// lateAnswer is how long after its wait Health calls it late: a large answer
	// takes a while over a slow link.
	lateAnswer = 5 * time.Second
)

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
	b.ails.failed(err, now)
	if isTransport(err) {
		b.c.watch.failed(err)
	}
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
