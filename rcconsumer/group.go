package rcconsumer

import (
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// group makes the consumer a member of a consumer group. kgo runs the
// membership and nothing else: it joins, beats, fetches committed offsets and
// sends commits. Its callbacks say here which partitions are read, and from
// where; kgo is told that there is nothing to consume, so it never fetches.
type group struct {
	c       *Consumer
	gate    gate
	taking  taking
	guard   stuckGuard
	commits commits
	renewals
	membership
	ready chan struct{} // closed when callbacks may use the consumer
}

// newGroup returns nil if the options name no group.
func newGroup(c *Consumer) *group {
	if c.cfg.group == "" {
		return nil
	}
	g := &group{c: c, ready: make(chan struct{})}
	g.gate.c, g.commits.c = c, c
	g.guard.g, g.guard.limit = g, c.cfg.maxPollInterval
	return g
}

// isReady reports whether callbacks may use the consumer.
func (g *group) isReady() bool {
	select {
	case <-g.ready:
		return true
	default:
		return false
	}
}

// options go behind the user's, so that they win.
func (g *group) options() []kgo.Opt {
	cfg := &g.c.cfg
	atStart := kgo.NewOffset().AtStart() // stands for "no commit": another start could look like one
	opts := []kgo.Opt{
		kgo.ConsumeStartOffset(atStart), kgo.ConsumeResetOffset(atStart),
		kgo.OnPartitionsAssigned(g.assigned),
		kgo.AdjustFetchOffsetsFn(g.offsetsFetched),
		kgo.OnPartitionsRevoked(g.revoked),
		kgo.OnPartitionsLost(g.lost),
	}
	if cfg.commitMode == commitPlain {
		// With the other modes kgo refuses it; its own auto-commit then finds
		// nothing to commit, since kgo consumes nothing.
		opts = append(opts, kgo.DisableAutoCommit())
	}
	if fn := cfg.blocked; fn != nil {
		opts = append(opts, kgo.OnPartitionsCallbackBlocked(func(ctx context.Context, _ *kgo.Client) { fn(ctx, g.c) }))
	}
	if fn := cfg.fetched; fn != nil {
		opts = append(opts, kgo.OnOffsetsFetched(func(ctx context.Context, _ *kgo.Client, resp *kmsg.OffsetFetchResponse) error {
			<-g.ready
			g.named()
			return fn(ctx, g.c, resp)
		}))
	}
	return opts
}

// revoked ends the reading of partitions that the group takes back.
func (g *group) revoked(ctx context.Context, cl *kgo.Client, gone map[string][]int32) {
	<-g.ready
	if len(gone) > 0 && g.guard.stuck() {
		g.lost(ctx, cl, gone)
		return
	}
	g.end(g.partitionsOf(gone), false, func() {
		if fn := g.c.cfg.revoked; fn != nil {
			fn(ctx, g.c, gone)
		} else if g.c.cfg.commitMode.byItself() {
			// The session's context has ended by now.
			g.commits.last(g.c.cl.Context())
		}
	})
}

// lost ends the reading of all partitions: they are others' already. kgo may not
// name some that the group was taking back just then.
func (g *group) lost(ctx context.Context, _ *kgo.Client, gone map[string][]int32) {
	<-g.ready
	g.end(g.c.allPartitions(), true, func() {
		if fn := g.c.cfg.lost; fn != nil {
			fn(ctx, g.c, gone)
		}
	})
}

func (g *group) partitionsOf(ids map[string][]int32) (ps []*partition) {
	for topic, ids := range ids {
		for _, id := range ids {
			if p := g.c.partition(topic, id); p != nil {
				ps = append(ps, p)
			}
		}
	}
	return ps
}

// end drops what is buffered, lets polls return what they have taken, calls last
// with positions as they are then, and forgets the partitions.
func (g *group) end(gone []*partition, lost bool, last func()) {
	for _, p := range gone {
		p.leave(lost)
	}
	g.taking.wait()
	last()
	for _, p := range g.c.allPartitions() {
		if p.purged() && !slices.Contains(gone, p) {
			gone = append(gone, p)
		}
	}
	for _, p := range gone {
		g.c.release(p)
	}
	g.guard.comeBack()
}

// leave ends that anything of the partition is handed out. Its offsets can be
// committed until it is released, unless it is lost.
func (p *partition) leave(lost bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropLocked()
	p.restLocked()
	p.leaving = true
	p.lost = lost
}

// purged reports whether the caller purged the partition's topic, and no
// rebalance has followed yet.
func (p *partition) purged() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.leaving && !p.lost
}

// close leaves the group, with the consumer still running: the last revoke may
// commit.
func (g *group) close() { _ = g.leave() } // kgo logs why; Close has no error to return

// bound bounds how long Close waits for AllowRebalance, until the returned
// function is called: after a client's context has ended it is the client's own
// Close that waits.
func (g *group) bound() (closed func()) {
	if !g.c.cfg.blockOnPoll {
		return func() {}
	}
	limit := g.c.cfg.rebalanceTimeout
	late := time.AfterFunc(limit, func() {
		g.c.report.log(kgo.LogLevelWarn, "closing waited for AllowRebalance for as long as a group waits for its members, and goes on without", "waited", limit)
		g.c.AllowRebalance()
	})
	return func() { late.Stop() }
}

// GroupMetadata returns the member ID and generation (KIP-848: member epoch), as
// kgo.Client.GroupMetadata does: "" and -1 without a group.
func (c *Consumer) GroupMetadata() (memberID string, generation int32) { return c.cl.GroupMetadata() }

// ForceRebalance makes the member join its group again, as
// kgo.Client.ForceRebalance does.
func (c *Consumer) ForceRebalance() { c.cl.ForceRebalance() }

// LeaveGroup leaves the group and waits for it, errors are dropped; see
// [Consumer.LeaveGroupContext].
func (c *Consumer) LeaveGroup() { _ = c.LeaveGroupContext(c.cl.Context()) }

// LeaveGroupContext leaves the group: the last revoke is called, with its
// commits, and nothing more is handed out. Polls go on waiting. It does nothing
// without a group. A nil context does not wait. Do not call it with another
// context from a callback of the group, which it would wait for. With a context
// that has ended the coordinator is not waited for, and Close is quick.
func (c *Consumer) LeaveGroupContext(ctx context.Context) error {
	if c.group != nil {
		c.group.leaving(ctx)
	}
	err := c.cl.LeaveGroupContext(ctx)
	if c.group != nil {
		c.group.afterLeaving()
	}
	return err
}

// leaveHeadStart is how long nobody waits for the end of a membership after
// LeaveGroupContext was called with a context that had ended, not to wait for
// the coordinator: of several calls kgo heeds the context of the one that comes
// first, each on a goroutine of its own.
const leaveHeadStart = 100 * time.Millisecond

// leave leaves the group, if that has not been done, and waits until it is.
func (g *group) leave() error {
	ctx := g.c.cl.Context()
	if called := g.hurries.get(g.c.watch.began); !called.IsZero() {
		sleep(ctx, leaveHeadStart-time.Since(called), nil)
	}
	return g.c.cl.LeaveGroupContext(ctx)
}

// afterLeaving ends the reading of what kgo has named to no callback: a
// partition that the group was taking back when this member left. It does not
// wait for that.
func (g *group) afterLeaving() {
	g.c.mu.Lock()
	defer g.c.mu.Unlock()
	if g.c.closed { // Close does the same
		return
	}
	g.c.last.Go(func() {
		_ = g.leave()
		g.gone()
		for _, p := range g.c.allPartitions() {
			g.c.release(p)
		}
	})
}

// AllowRebalance lets a rebalance that waited for the records of earlier polls
// go on, under kgo.BlockRebalanceOnPoll; it does nothing otherwise. It speaks
// for all polls that have returned, of all goroutines.
func (c *Consumer) AllowRebalance() {
	if c.group != nil {
		c.group.gate.allow()
	}
}
