package rcconsumer_test

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rcconsumer"
)

// assigned begins a session for each partition, at the committed offset.
func (m *groupMember) assigned(_ context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	m.g.mu.Lock()
	defer m.g.mu.Unlock()
	for p, o := range offsets[m.g.x.topic] {
		s := &session{member: m.name, start: max(o.EpochOffset().Offset, 0)} // without a commit: the start
		m.current[p] = s
		m.g.read[p] = append(m.g.read[p], s)
	}
	return offsets, nil
}

func (m *groupMember) revoked(ctx context.Context, c *rcconsumer.Consumer, gone map[string][]int32) {
	switch m.style {
	case commitAfterPolls:
		m.commit(ctx, c)
	case commitMarked:
		if err := c.CommitMarkedOffsets(ctx); err != nil {
			m.g.x.t.Logf("%s: commit marks: %v", m.name, err)
		}
	default: // the consumer commits on its own
	}
	m.lost(ctx, c, gone)
}

func (m *groupMember) lost(_ context.Context, _ *rcconsumer.Consumer, gone map[string][]int32) {
	m.g.mu.Lock()
	defer m.g.mu.Unlock()
	for _, p := range gone[m.g.x.topic] {
		delete(m.current, p)
	}
}

func (m *groupMember) commit(ctx context.Context, c *rcconsumer.Consumer) {
	if err := c.CommitUncommittedOffsets(ctx); err != nil && ctx.Err() == nil {
		m.g.x.t.Logf("%s: commit: %v", m.name, err)
	}
}

// run polls, and lets the group rebalance when it has booked what a poll gave.
func (m *groupMember) run(ctx context.Context) {
	for polls := 1; ctx.Err() == nil; polls++ {
		soon, cancel := context.WithTimeout(ctx, time.Second)
		fetches := m.c.PollRecords(soon, 500)
		cancel()
		m.take(ctx, fetches)
		idle := fetches.NumRecords() == 0
		switch {
		case m.style == commitMarked:
			m.c.MarkCommitRecords(fetches.Records()...)
		case m.style == commitAfterPolls && (polls%5 == 0 || idle):
			m.commit(ctx, m.c)
		}
		m.c.AllowRebalance()
	}
}

func (m *groupMember) take(ctx context.Context, fetches kgo.Fetches) {
	fetches.EachError(func(_ string, partition int32, err error) {
		var session *kgo.ErrGroupSession
		switch {
		case ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded) && partition < 0: // the poll's own end
		case errors.As(err, &session): // the coordinator is away
			m.g.x.t.Logf("%s: %v", m.name, err)
		default:
			m.g.x.problem("%s: partition %d: %v", m.name, partition, err)
		}
	})
	m.g.mu.Lock()
	defer m.g.mu.Unlock()
	fetches.EachRecord(func(r *kgo.Record) {
		s := m.current[r.Partition]
		if s == nil {
			m.g.x.problem("%s: partition %d offset %d: delivered without an assignment", m.name, r.Partition, r.Offset)
			return
		}
		m.g.x.append(s, r)
	})
}

func (m *groupMember) leave() {
	m.cancel()
	m.wg.Wait()
	m.c.CloseAllowingRebalance()
}
