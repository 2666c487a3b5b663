package rcconsumer

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// DefaultBlockedAfter is how long an open transaction must have held a partition
// back before [Consumer.Health] says so, unless [BlockedAfter] says otherwise.
const DefaultBlockedAfter = time.Minute

// BlockedAfter is how long the last stable offset of a partition that was read
// up to it must have stood below the high watermark until [Consumer.Health] calls
// the partition blocked. The default is [DefaultBlockedAfter]; New refuses a
// negative d. A transaction that lives longer than usual in your cluster is what
// this is to tell.
func BlockedAfter(d time.Duration) kgo.Opt {
	return newOption("BlockedAfter", func(o *ours) error {
		if d < 0 {
			return fmt.Errorf("BlockedAfter(%v): must not be negative", d)
		}
		o.blockedAfter = d
		return nil
	})
}

// Health is how a consumer is doing; see [Consumer.Health].
type Health struct {
	// Ready: the consumer does its work, or would if there were any. For a
	// readiness probe.
	Ready bool
	// Live: the consumer can still come to do its work without a restart of the
	// process. For a liveness probe.
	Live bool
	// Reasons say what is not as it should be, the gravest first, one for each
	// cause: the Text of Details.
	Reasons []string
	// Details are Reasons with their parts, in the same order. Alert on Cause and
	// Age.
	Details []Reason
}

// Health returns how the consumer is doing. It asks nobody: it looks at what the
// consumer has noticed, takes microseconds per partition, and may be called at any
// time from anywhere.
//
//	                                                    Ready  Live
//	no broker has answered since New                    no     yes
//	a member has not joined its group yet               no     yes
//	reading, or nothing to read: no topic subscribed,   yes    yes
//	  no partition assigned, all paused, all caught up
//	a topic that does not exist; a missing right        yes    yes
//	one broker, leader or coordinator is away;          yes    yes
//	  a commit or anything else fails and is retried
//	blocked by an open transaction                      yes    yes
//	a partition stopped by an error until SetOffsets    yes    yes
//	no broker answers, for 5 seconds or more            no     yes
//	MaxPollInterval is over, until the next poll        no     yes
//	Close or LeaveGroup is at work                      no     yes
//	Close is done, the client's context has ended,      no     no
//	  or the member has left its group for good
//
// All but the third line comes with a reason, which has its age: from the first
// failure in a row to the first success. What is retried does not make a consumer
// unready, since other processes would fare no better, and readiness that
// comes and goes with each restart of a broker stops rollouts. Nothing that a
// restart cannot help makes it not live: neither a cluster that is down nor
// somebody else's transaction. Whether the application itself hangs the consumer
// cannot know; it tells when nobody polls ([CauseNotPolled], [MaxPollInterval]).
//
// A member whose topics do not exist does not join its group, as in kgo. It is
// ready from five seconds after the first answer of a broker on.
func (c *Consumer) Health() Health {
	now := time.Now()
	f := make(findings)
	live := c.life(f)
	if !f.has(CauseClosed) {
		c.trouble(now, f)
	}
	h := Health{
		Ready:   !f.has(CauseClosed, CauseLeftGroup, CausePollInterval, CauseUnreachable, CauseStarting),
		Live:    live,
		Details: f.reasons(now),
	}
	for _, r := range h.Details {
		h.Reasons = append(h.Reasons, r.Text)
	}
	return h
}

// life finds what keeps the whole consumer from its work for good, or by the
// caller's own doing, and reports whether it can come back to it.
func (c *Consumer) life(f findings) (live bool) {
	c.mu.Lock()
	closed := c.closedAt
	c.mu.Unlock()
	over := c.ctx.Err() != nil
	switch {
	case over && closed.IsZero():
		f.add(CauseClosed, spot{}, later(c.watch.over.get(c.watch.began), c.watch.began), "its context has ended")
	case over:
		f.add(CauseClosed, spot{}, closed, "")
	case !closed.IsZero():
		f.add(CauseClosed, spot{}, closed, "it is about to be")
	case c.group != nil:
		return c.group.life(f)
	}
	return !over
}

// trouble finds everything else.
func (c *Consumer) trouble(now time.Time, f findings) {
	c.mu.Lock()
	known, brokers := c.known, make([]*broker, 0, len(c.brokers))
	for _, b := range c.brokers {
		brokers = append(brokers, b)
	}
	c.mu.Unlock()
	c.outage(now, known, brokers, f)
	c.startFindings(now, f)
	c.watch.broken(now, f, known)
	for _, b := range brokers {
		b.findings(now, f)
	}
	c.meta.findings(f)
	if c.group != nil {
		c.group.findings(now, f)
	}
	var waiting []finding
	full := false
	for _, p := range c.allPartitions() {
		paused := c.pauses.paused(p.topic, p.id)
		p.mu.Lock()
		p.findingsLocked(now, paused, f)
		if !paused && p.deliverableLocked() {
			waiting = append(waiting, finding{at: spotOf(p.key()), since: p.waits})
			full = full || !p.roomLocked()
		}
		p.mu.Unlock()
	}
	c.callerFindings(now, waiting, full, f)
}

// outage tells that no broker can be reached. That nothing answers is not enough:
// there may be one that was not asked. Metadata asks any.
func (c *Consumer) outage(now time.Time, known map[int32]bool, brokers []*broker, f findings) {
	late := lateBrokers(brokers, now)
	if !c.meta.ails.look().on() && !c.watch.allFail(known, late) {
		return
	}
	if s := c.watch.unreachable(now, earliest(late)); s.on() {
		f.add(CauseUnreachable, spot{}, s.since, brief(s.err))
	}
}

// startFindings tells that the consumer has not come to its work yet.
func (c *Consumer) startFindings(now time.Time, f findings) {
	w := c.watch
	first := w.first.get(w.began)
	named, all := c.subscribed()
	switch {
	case first.IsZero() && (c.group != nil || all || len(named) > 0):
		f.add(CauseStarting, spot{}, w.began, "no broker has answered yet")
	case c.group == nil || c.group.joined.n.Load() != 0:
	case w.managed.Load() || now.Sub(first) < joinPatience, w.searched.Load() && c.mayJoin(named):
		text := "the member has not joined " + c.group.spot().String() + " yet"
		if since := w.waiting.get(w.began); !since.IsZero() && now.Sub(since) > joinWait {
			text += ": the coordinator waits for other members, or for the session of one that is gone to end"
		}
		f.add(CauseStarting, spot{}, w.began, text)
	}
}

// joinWait is how long a JoinGroup may be unanswered before that is told.
const joinWait = 3 * time.Second

// mayJoin reports whether there is a topic for which a member joins its group,
// as far as is known: of patterns kgo alone knows what they match.
func (c *Consumer) mayJoin(named []string) bool {
	if c.cfg.regex {
		return len(c.cl.GetConsumeTopics()) > 0
	}
	return slices.ContainsFunc(named, func(topic string) bool {
		return !c.meta.topics.failing(key{topic: topic, partition: -1})
	})
}

// joinPatience is how long kgo may take to find a topic to join the group for.
// There is none after that.
const joinPatience = 5 * time.Second
