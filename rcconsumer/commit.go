package rcconsumer

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// commitMode is what is committed without being asked for.
type commitMode uint8

const (
	commitPlain         commitMode = iota // what earlier polls returned
	commitGreedy                          // what has been returned
	commitMarks                           // what has been marked
	commitManual                          // nothing but what lies unseen behind a commit
	commitTransactional                   // nothing at all: a commit beside one in a transaction would undo it
	commitMarksManual                     // nothing at all; what has been marked on request
)

func commitModeOf(cl *kgo.Client) commitMode {
	marks := value[bool](cl, kgo.AutoCommitMarks)
	switch {
	case marks && value[string](cl, kgo.TransactionalID) != "":
		return commitMarksManual
	case value[string](cl, kgo.TransactionalID) != "": // offsets belong into transactions, as in kgo
		return commitTransactional
	case value[bool](cl, kgo.DisableAutoCommit):
		return commitManual
	case value[bool](cl, kgo.GreedyAutoCommit):
		return commitGreedy
	case marks:
		return commitMarks
	default:
		return commitPlain
	}
}

// commits decides what is committed and sends it through kgo.
type commits struct {
	c *Consumer

	mu     sync.Mutex
	asking int // commits of the caller's in flight: nothing is committed beside them

	ails sharedStreak
}

// claim is an offset on its way to the group.
type claim struct {
	p     *partition // nil: the caller named a partition that is not read
	at    kgo.EpochOffset
	moves int  // of the partition's progress when the offset was read
	exact bool // the caller named the offset: it may go back
}

// claims are the offsets of one commit.
type claims map[key]claim

// gather asks every partition what to commit. pick is called under the
// partition's lock.
func (s *commits) gather(pick func(*partition) (kgo.EpochOffset, bool)) claims {
	all := make(claims)
	for _, p := range s.c.allPartitions() {
		p.mu.Lock()
		if at, ok := pick(p); ok {
			all[p.key()] = claim{p: p, at: at, moves: p.progress.moves}
		}
		p.mu.Unlock()
	}
	return all
}

// automatic are the offsets that auto-commit would commit now.
func (s *commits) automatic() claims { return s.gather((*partition).automaticLocked) }

// uncommitted are the offsets that everything handed out allows.
func (s *commits) uncommitted() claims {
	return s.gather(func(p *partition) (kgo.EpochOffset, bool) {
		at := p.nextLocked()
		return at, p.dueLocked(at)
	})
}

// allUncommitted is uncommitted for a commit of them.
func (s *commits) allUncommitted() claims {
	return s.gather(func(p *partition) (kgo.EpochOffset, bool) {
		at := p.nextLocked()
		p.progress.confirm(at)
		return at, p.dueLocked(at)
	})
}

// marked are the offsets that the marks allow.
func (s *commits) marked() claims { return s.gather((*partition).markedLocked) }

// explicit are the caller's own offsets.
func (s *commits) explicit(offsets map[string]map[int32]kgo.EpochOffset) claims {
	all := make(claims)
	for topic, ps := range offsets {
		for id, at := range ps {
			cl := claim{p: s.c.partition(topic, id), at: at, exact: true}
			if cl.p != nil {
				cl.p.mu.Lock()
				cl.moves = cl.p.progress.moves
				cl.p.mu.Unlock()
			}
			all[key{topic: topic, partition: id}] = cl
		}
	}
	return all
}

// nextLocked is what a commit of everything handed out commits.
func (p *partition) nextLocked() kgo.EpochOffset {
	if p.c.cfg.commitRecordsOnly {
		return p.progress.handed
	}
	return kgo.EpochOffset{Epoch: p.pos.NextEpoch, Offset: p.pos.Next}
}

// dueLocked reports whether to commit an offset. Where reading goes on by itself
// after a loss is no record's place.
func (p *partition) dueLocked(at kgo.EpochOffset) bool {
	g := &p.progress
	if p.c.cfg.commitRecordsOnly && at.Offset == g.start && !g.moved && !g.marked {
		return false
	}
	return g.due(at)
}

func (p *partition) automaticLocked() (at kgo.EpochOffset, ok bool) {
	switch p.c.cfg.commitMode {
	case commitTransactional, commitMarksManual:
		return noOffset, false
	case commitManual:
		return p.throughLocked()
	case commitMarks:
		if at, ok = p.markedLocked(); !ok {
			return p.throughLocked()
		}
		return at, ok
	case commitPlain:
		if p.progress.holding {
			return p.progress.held, p.dueLocked(p.progress.held)
		}
	default:
	}
	at = p.nextLocked()
	return at, p.dueLocked(at)
}

func (p *partition) markedLocked() (at kgo.EpochOffset, ok bool) {
	if !p.progress.marked {
		return noOffset, false
	}
	at = p.pastLocked(p.progress.mark)
	return at, p.dueLocked(at)
}

// pastLocked is what a commit of at may pass besides.
func (p *partition) pastLocked(at kgo.EpochOffset) kgo.EpochOffset {
	if p.c.cfg.commitRecordsOnly {
		return at
	}
	return p.progress.past(at, p.nextLocked())
}

// throughLocked is where a commit that covers everything handed out may go on to:
// past what lies behind it unseen.
func (p *partition) throughLocked() (at kgo.EpochOffset, ok bool) {
	at = p.nextLocked()
	return at, !p.c.cfg.commitRecordsOnly && p.progress.covered() && at.Offset > p.progress.committed.Offset
}

// byItself reports whether anything handed out is committed without being asked
// for.
func (m commitMode) byItself() bool { return m < commitManual }

// marks reports whether records are marked for commits.
func (m commitMode) marks() bool { return m == commitMarks || m == commitMarksManual }

// run commits at the auto-commit interval.
func (s *commits) run(ctx context.Context) {
	t := time.NewTicker(s.c.cfg.commitInterval)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
		s.settled()
		if s.idle() {
			s.auto(ctx)
		}
	}
}

func (s *commits) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asking == 0
}

// ask keeps auto-commit away until the returned function is called.
func (s *commits) ask() (answered func()) {
	s.mu.Lock()
	s.asking++
	s.mu.Unlock()
	return func() {
		s.mu.Lock()
		s.asking--
		s.mu.Unlock()
	}
}

// callback is what follows a commit that the consumer makes on its own.
func (s *commits) callback() commitFunc {
	if fn := s.c.cfg.committed; fn != nil {
		return fn
	}
	return func(_ *Consumer, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
		if err == nil {
			err = firstCommitError(resp)
		}
		if err != nil && s.c.ctx.Err() == nil {
			s.c.report.log(kgo.LogLevelWarn, "auto-commit failed", "group", s.c.cfg.group, "err", err)
		}
	}
}
