package rcconsumer

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// DefaultStableOffsetInterval is how old the ends of a partition in [Position]
// may become unless [StableOffsetInterval] says otherwise.
const DefaultStableOffsetInterval = 5 * time.Second

// noteStirs is how often is noted, at least, that the caller takes records.
const noteStirs = 10 * time.Second

const minStableOffsetInterval = 100 * time.Millisecond

// StableOffsetInterval bounds the age of LastStableOffset and HighWatermark in
// [Position]: they are asked for when Fetch answers do not bring them, as for a
// partition that is paused, rests after an error, waits for room in the buffer
// or is idle under a long kgo.FetchMaxWait. The default is
// [DefaultStableOffsetInterval]; New refuses less than 100 ms.
//
// It costs a leader two ListOffsets requests, one per isolation level, for all
// of its partitions together, at most every 4/5 of d while they are answered;
// after an error the next two may follow after 1/5 of d. Nothing is asked about
// partitions whose Fetch answers come often enough. A leader that is not known
// or does not answer leaves the age to grow: see Position.UpdatedAt.
// LogStartOffset is as of the last Fetch answer.
func StableOffsetInterval(d time.Duration) kgo.Opt {
	return newOption("StableOffsetInterval", func(o *ours) error {
		if d < minStableOffsetInterval {
			return fmt.Errorf("StableOffsetInterval(%v): must be at least %v", d, minStableOffsetInterval)
		}
		o.stableInterval = d
		return nil
	})
}

// sampler keeps the ends of partitions fresh that no Fetch keeps fresh, on a
// goroutine that lives as long as the consumer and one more for each leader
// that is being asked: a silent broker must hold up nobody else.
type sampler struct {
	c    *Consumer
	wake chan struct{} // capacity 1

	mu      sync.Mutex
	leaders map[int32]*sampled
}

// sampled paces the questions to one leader.
type sampled struct {
	busy      bool // a question is on its way
	failures  int  // rounds in a row in which something failed
	notBefore time.Time
}

// sample is one partition of a question.
type sample struct {
	p       *partition
	lineage uint64 // of the partition when it was asked for
	epoch   int32
}

func newSampler(c *Consumer) *sampler {
	return &sampler{c: c, wake: make(chan struct{}, 1), leaders: make(map[int32]*sampled)}
}

// every is the time between two questions to a leader. The rest of the interval
// is for the answer to arrive, and for a second attempt.
func (s *sampler) every() time.Duration { return s.c.cfg.stableInterval * 4 / 5 }

// join is the age from which a partition joins a question that another one of
// its leader needs: a younger one can wait for the question after that.
func (s *sampler) join() time.Duration { return s.c.cfg.stableInterval - s.every() }

func (s *sampler) run(ctx context.Context) {
	for ctx.Err() == nil {
		s.c.noteStir()
		due, next := s.due(time.Now())
		for leader, samples := range due {
			s.c.spawn(func(ctx context.Context) { s.ask(ctx, leader, samples) })
		}
		sleep(ctx, min(next, noteStirs), s.wake)
	}
}

// led is what a leader could be asked.
type led struct {
	oldest  time.Time // when the partition was seen that was not heard of for longest
	joining []sample  // partitions that are old enough to be part of a question
}

// byLeader sorts the partitions by their leaders.
func (s *sampler) byLeader(now time.Time) map[int32]*led {
	all := make(map[int32]*led)
	for _, p := range s.c.allPartitions() {
		p.mu.Lock()
		leader, seen := p.leader, later(p.pos.UpdatedAt, p.began)
		m := sample{p: p, lineage: p.lineage, epoch: p.leaderEpoch}
		p.mu.Unlock()
		if leader == noLeader {
			continue
		}
		l := all[leader]
		if l == nil {
			l = &led{oldest: seen}
			all[leader] = l
		}
		if seen.Before(l.oldest) {
			l.oldest = seen
		}
		if now.Sub(seen) >= s.join() {
			l.joining = append(l.joining, m)
		}
	}
	return all
}

// due returns what is to be asked now, by leader, and when there may be more.
func (s *sampler) due(now time.Time) (due map[int32][]sample, next time.Duration) {
	next = s.every() // a partition that is not here yet is not due before
	due = make(map[int32][]sample)
	all := s.byLeader(now)
	s.mu.Lock()
	defer s.mu.Unlock()
	for leader, l := range all {
		state := s.leaders[leader]
		if state == nil {
			state = new(sampled)
			s.leaders[leader] = state
		}
		at := later(l.oldest.Add(s.every()), state.notBefore)
		at = later(at, now.Add(s.c.listing.left(leader, now)))
		switch {
		case state.busy: // wakes the loop when it is done
		case at.After(now):
			next = min(next, at.Sub(now))
		default:
			state.busy = true
			due[leader] = l.joining
		}
	}
	return due, next
}

// ask asks one leader for both ends and notes what it says.
func (s *sampler) ask(ctx context.Context, leader int32, samples []sample) {
	began := time.Now()
	stable, high, err := s.bothEnds(ctx, leader, samples)
	if err == nil {
		for _, m := range samples {
			err = cmp.Or(s.c.sampled(m, began, stable[m.p.key()], high[m.p.key()]), err)
		}
	}
	if ctx.Err() == nil && err != nil {
		s.c.report.log(kgo.LogLevelDebug, "the ends of partitions could not be asked for", "broker", leader, "err", err)
		if isTransient(err) {
			s.c.meta.refresh() // the leader may have moved, and nobody fetches what is paused
		}
	}
	s.done(leader, began, err)
}

// bothEnds asks one leader. The last stable offset comes first, so that it is
// never above the high watermark of the same round.
func (s *sampler) bothEnds(ctx context.Context, leader int32, samples []sample) (stable, high ends, err error) {
	questions := make([]question, 0, len(samples))
	for _, m := range samples {
		questions = append(questions, question{key: m.p.key(), epoch: m.epoch})
	}
	if stable, err = s.c.listEnds(ctx, leader, isolationCommitted, questions); err == nil {
		high, err = s.c.listEnds(ctx, leader, isolationUncommitted, questions)
	}
	return stable, high, err
}

// done lets the leader be asked again.
func (s *sampler) done(leader int32, began time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.leaders[leader]
	l.busy = false
	l.failures++
	pause := backoff(l.failures, s.join(), s.every())
	if err == nil {
		l.failures, pause = 0, s.every()
	}
	l.notBefore = began.Add(pause)
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// sampled notes what a leader said, unless what is known of the log changed
// meanwhile.
func (c *Consumer) sampled(m sample, asked time.Time, stable, high listed) error {
	for _, l := range []listed{stable, high} {
		if l.err != nil {
			return l.err
		}
	}
	p := m.p
	var n notices
	p.mu.Lock()
	if p.lineage == m.lineage {
		before, heard := p.pos.CaughtUp(), p.pos.UpdatedAt
		n.stable = p.endsLocked(m.epoch, -1, stable.offset, high.offset)
		p.pos.UpdatedAt = later(heard, asked) // the answers are as old as the questions may be
		n.moved = !before && p.pos.CaughtUp()
	}
	p.mu.Unlock()
	c.tell(p, &n)
	return nil
}
