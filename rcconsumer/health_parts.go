package rcconsumer

import (
	"fmt"
	"time"
)

// ails is what keeps a partition from being read, as far as it is not told by its
// phase. A success of the same kind ends each of them.
type ails struct {
	fetch, list streak
	// decode: the batch at decodeAt was fetched whole and cannot be decoded.
	decode   streak
	decodeAt int64
	// stopped is why the partition rests.
	stopped streak
}

// stopLocked rests until SetOffsets because of an error.
func (p *partition) stopLocked(err error) {
	p.restLocked()
	p.ails.stopped.failed(err, time.Now())
}

// undecodableLocked notes that the batch at an offset cannot be decoded: it is
// fetched again and again, and that this works does not help.
func (p *partition) undecodableLocked(at int64, err error) {
	if p.ails.decodeAt != at {
		p.ails.decode.ended()
	}
	p.ails.decodeAt = at
	p.ails.decode.failed(err, time.Now())
}

// findingsLocked tells what is amiss with the partition.
func (p *partition) findingsLocked(now time.Time, paused bool, f findings) {
	at := spotOf(p.key())
	if p.leaving || p.gone {
		return
	}
	if !paused && p.phase != resting { // else nobody tries
		f.streak(CauseFetch, at, p.ails.fetch)
	}
	if p.phase == awaiting || p.phase == fetching && p.doubted { // else nobody asks
		f.streak(CauseListOffsets, at, p.ails.list)
	}
	if p.pos.Next <= p.ails.decodeAt {
		f.streak(CauseUnreadable, at, p.ails.decode)
	}
	if s := p.ails.stopped; p.phase == resting && s.on() {
		f.add(CauseStopped, at, s.since, brief(s.err))
	}
	if p.phase == assigned {
		if since, long := p.c.group.unanswered(now); long {
			f.add(CauseGroupOffsets, at, since, "")
		}
		return
	}
	if paused {
		return
	}
	heard, told := later(p.pos.UpdatedAt, p.began), p.ails.fetch.on() || p.ails.list.on() // an error came, and says more
	if !told && now.Sub(heard) > lateAfter*p.c.cfg.stableInterval {
		f.add(CauseLate, at, heard, "")
	}
	if p.blockedLocked(now) {
		f.add(CauseBlocked, at, p.heldSince, fmt.Sprintf("last stable offset %d, high watermark %d", p.pos.LastStableOffset, p.pos.HighWatermark))
	}
}

const (
	// offsetsPatience is how long the group may take to say where to begin.
	offsetsPatience = 5 * time.Second
	// lateAfter is in intervals of StableOffsetInterval, within which two
	// attempts to learn the ends of a partition are made.
	lateAfter = 3
)

// blockedLocked reports whether everything readable was read, and an open
// transaction has held back the rest for long.
func (p *partition) blockedLocked(now time.Time) bool {
	return !p.pos.readUncommitted && p.phase == fetching && p.pos.HeldBack() > 0 && p.pos.CaughtUp() &&
		!p.heldSince.IsZero() && now.Sub(p.heldSince) >= p.c.cfg.blockedAfter
}

// heldLocked notes since when an open transaction has held back the same offset:
// an idle partition's last stable offset may be older than the transaction.
func (p *partition) heldLocked(moved bool, now time.Time) {
	switch {
	case p.pos.HeldBack() == 0:
		p.heldSince = time.Time{}
	case moved || p.heldSince.IsZero():
		p.heldSince = now
	}
}

// findings tells what is amiss with the broker as far as Fetch is concerned.
func (b *broker) findings(now time.Time, f findings) {
	s, cause := b.ails.look(), CauseFetch
	if s.on() && isTransport(s.err) {
		cause = CauseBroker
	}
	if now.Sub(s.last) < max(connectMemory, 2*b.c.cfg.requestTimeout) { // else nobody tries any more
		f.streak(cause, brokerSpot(b.id), s)
	}
	if sent := b.late(now); !s.on() && !sent.IsZero() { // the failure that follows says more
		f.add(CauseLate, brokerSpot(b.id), sent, "Fetch")
	}
}

// late is when a Fetch was sent whose answer is late, zero if none is.
func (b *broker) late(now time.Time) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.After(b.due) {
		return b.sent
	}
	return time.Time{}
}

// lateBrokers are the brokers that are late, and since when.
func lateBrokers(brokers []*broker, now time.Time) map[int32]time.Time {
	late := make(map[int32]time.Time)
	for _, b := range brokers {
		if sent := b.late(now); !sent.IsZero() {
			late[b.id] = sent
		}
	}
	return late
}

// earliest is the first of some times, zero if there is none.
func earliest(times map[int32]time.Time) (first time.Time) {
	for _, t := range times {
		if first.IsZero() || t.Before(first) {
			first = t
		}
	}
	return first
}

// sends notes that a Fetch is on its way whose answer is due after d.
func (b *broker) sends(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent = time.Now()
	b.due = b.sent.Add(d)
}

// answered ends that.
func (b *broker) answered() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent = time.Time{}
}

// findings tells what is amiss with metadata, and with topics as it has them.
func (m *metadata) findings(f findings) {
	if s := m.ails.look(); s.on() {
		cause, at := causeOf(s.err, CauseMetadata), spot{}
		if cause != CauseMetadata {
			at.own = "metadata"
		}
		f.streak(cause, at, s)
	}
	m.topics.each(func(k key, s streak) { f.streak(CauseMetadata, spotOf(k), s) })
}

// unnamed stops a partition for which the group named no offset: what it said of
// it was an error.
func (p *partition) unnamed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.phase == assigned && p.sought == nil {
		p.ails.stopped.failed(errNoGroupOffset, time.Now())
	}
}
