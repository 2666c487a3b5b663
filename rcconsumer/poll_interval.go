package rcconsumer

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// MaxPollInterval takes the partitions of a group member away if it has not
// polled for d, so that other members read them: kgo goes on to beat for an
// application that hangs. It is off by default. New refuses it without a group,
// and d below a second.
//
// The time runs from the return of a poll to the next one, at first from the
// first assignment. A poll that waits is never too late. When the time is over
// [OnPartitionsLost] is called instead of [OnPartitionsRevoked], what is
// buffered is dropped, records that were handed out cannot be committed any
// more, and kgo.BlockRebalanceOnPoll holds nothing up. The next poll returns a
// [*PollIntervalError] for topic "" and partition -1 and joins in again: reading
// goes on at the group's commits, with what the group assigns by then.
//
// With kgo.ConsumeRegex the member leaves the group for good instead, because
// kgo would find the topics again at once; all polls return the error then.
//
// It is max.poll.interval.ms of Kafka's Java client.
func MaxPollInterval(d time.Duration) kgo.Opt {
	return newOption("MaxPollInterval", func(o *ours) error {
		if d < time.Second {
			return fmt.Errorf("MaxPollInterval(%v): must be at least a second", d)
		}
		o.maxPollInterval = d
		return nil
	})
}

// PollIntervalError is handed out by a poll that came later than
// [MaxPollInterval] allows, for topic "" and partition -1.
type PollIntervalError struct {
	Interval time.Duration // allowed
	Since    time.Time     // when the poll before it returned, or of the first assignment
	Left     bool          // the member has left the group: make another Consumer
}

func (e *PollIntervalError) Error() string {
	outcome := "the group's partitions went to other members"
	if e.Left {
		outcome = "the member has left its group and does not come back"
	}
	return fmt.Sprintf("no poll for more than %v since %s: %s", e.Interval, e.Since.Format(time.RFC3339), outcome)
}

// stuckGuard watches that the caller polls. Its methods do nothing while limit
// is 0.
type stuckGuard struct {
	g     *group
	limit time.Duration

	mu    sync.Mutex
	polls int             // in progress
	last  time.Time       // when the last poll returned; zero before the first assignment
	taken []*partition    // from the caller
	given map[string]bool // topics given up until the caller polls; nil if none are
	late  *PollIntervalError
	back  bool // the caller has polled since

	overdue atomic.Pointer[PollIntervalError] // until the caller is back
}

// begins notes that a poll begins.
func (s *stuckGuard) begins() {
	if s.limit == 0 {
		return
	}
	s.mu.Lock()
	s.polls++
	s.back = s.given != nil && !s.leaves()
	s.mu.Unlock()
	s.comeBack()
}

// ends notes that a poll returns.
func (s *stuckGuard) ends() {
	if s.limit == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.polls--
	s.last = time.Now()
}

// tooLate is what a poll that came too late has to tell before all else.
func (s *stuckGuard) tooLate() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.late == nil {
		return nil
	}
	late := s.late
	if !late.Left {
		s.late = nil
	}
	return late
}

// starts notes an assignment: from the first one on the caller has to poll.
func (s *stuckGuard) starts() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last.IsZero() {
		s.last = time.Now()
	}
}

// gaveUp reports whether the topic was given up and may be read by another
// member.
func (s *stuckGuard) gaveUp(topic string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.given[topic]
}

// stuck reports whether partitions are taken from a caller that does not poll.
func (s *stuckGuard) stuck() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.given != nil
}

// run looks at the clock.
func (s *stuckGuard) run(ctx context.Context) {
	for ctx.Err() == nil {
		sleep(ctx, s.look(time.Now()), nil)
	}
}

// look acts if the caller is stuck, and returns when to look again.
func (s *stuckGuard) look(now time.Time) time.Duration {
	s.mu.Lock()
	since, due := s.last, s.last.Add(s.limit)
	watching := !since.IsZero() && s.polls == 0 && s.given == nil
	s.mu.Unlock()
	switch {
	case !watching:
		return s.limit / 2
	case due.After(now):
		return due.Sub(now)
	}
	if ps := s.g.c.allPartitions(); len(ps) > 0 { // nobody misses a member that has nothing
		s.takeBack(since, ps)
	}
	return min(s.limit, time.Second)
}

// takeBack gives the group's partitions up. kgo then calls what ends the
// reading, as in any other rebalance; nothing is handed out or committed from
// now on.
func (s *stuckGuard) takeBack(since time.Time, ps []*partition) {
	c := s.g.c
	topics := slices.Concat(c.cl.GetConsumeTopics(), c.readTopics())
	s.mu.Lock()
	if s.polls > 0 || !s.last.Equal(since) { // in the last moment
		s.mu.Unlock()
		return
	}
	s.given = make(map[string]bool)
	for _, t := range topics {
		s.given[t] = true
	}
	s.taken, s.back = ps, false
	s.late = &PollIntervalError{Interval: s.limit, Since: since, Left: s.leaves()}
	s.overdue.Store(s.late)
	s.mu.Unlock()
	if s.leaves() {
		s.g.leaving(c.ctx)
	}
	c.report.log(kgo.LogLevelError, "nobody polls; the group's partitions go to other members",
		"group", c.cfg.group, "last_poll", since, "allowed", s.limit)
	for _, p := range ps {
		p.leave(true)
	}
	c.last.Go(func() {
		if !s.leaves() {
			c.cl.PurgeTopicsFromConsuming(topics...)
		}
		s.g.gate.allow() // not before: a rebalance that waits would assign partitions once more
		if s.leaves() {
			_ = c.cl.LeaveGroupContext(c.cl.Context()) // kgo logs why
			s.g.gone()
		}
	})
}

// comeBack takes the subscription up again, once the caller has polled and kgo
// has taken note of the loss: before that, it would see nothing new.
func (s *stuckGuard) comeBack() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.back || slices.ContainsFunc(s.taken, (*partition).isRead) {
		return
	}
	for t := range s.given {
		if s.g.wanted(t) {
			s.g.c.cl.AddConsumeTopics(t)
		}
	}
	s.given, s.taken, s.back = nil, nil, false
	s.overdue.Store(nil)
}

// leaves reports whether a member that gives its partitions up leaves the group:
// of a pattern kgo takes no topic back for long.
func (s *stuckGuard) leaves() bool { return s.g.c.cfg.regex }

func (p *partition) isRead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.gone
}
