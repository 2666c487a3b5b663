package rcconsumer

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// membership is what a group's member has come to.
type membership struct {
	joined  moment // the first time
	leaves  moment // LeaveGroup was called, or the member gave up
	hurries moment // LeaveGroupContext was called with a context that had ended
	left    moment // it is done
	asking  moment // since when the group has not said where to begin; unset if it has
	asked   moment // when it was asked last
}

func (g *group) spot() spot {
	name := g.c.cfg.group
	if len(name) > maxGroupName {
		name = name[:maxGroupName] + "..."
	}
	return spot{own: "group " + name}
}

// maxGroupName is how much of a group's name is told: the names of topics end
// there by themselves.
const maxGroupName = 249

// errNoGroupOffset stops a partition for which the group named no offset.
var errNoGroupOffset = errors.New("the group gave no offset to begin at")

// life tells that the member has left, and reports whether it can come back to
// work.
func (g *group) life(f findings) (live bool) {
	began := g.c.watch.began
	late, why := g.guard.overdue.Load(), ""
	switch {
	case late == nil:
	case late.Left:
		why = "no poll for " + late.Interval.String()
	default:
		f.add(CausePollInterval, g.spot(), late.Since, "no poll for "+late.Interval.String())
	}
	if leaves := g.leaves.get(began); !leaves.IsZero() {
		f.add(CauseLeftGroup, g.spot(), leaves, why)
	}
	return !g.left.isSet()
}

// findings tells what is amiss with the membership and with commits.
func (g *group) findings(now time.Time, f findings) {
	f.streak(CauseCommit, g.spot(), g.commits.ails.look())
	if f.has(CauseLeftGroup, CausePollInterval) {
		return
	}
	w := g.c.watch
	if s := w.group.look(); s.on() && !w.session.get(w.began).After(s.last) {
		f.streak(CauseGroup, g.spot(), s)
		return
	}
	heard := later(w.beat.get(w.began), g.joined.get(w.began))
	if !g.joined.isSet() || w.waiting.isSet() || now.Sub(heard) < g.silence() {
		return
	}
	f.add(CauseGroup, g.spot(), heard, "no answer to a heartbeat")
}

// silence is how long a coordinator may answer no heartbeat. A server that
// chooses the interval of heartbeats itself (KIP-848) keeps below the first.
func (g *group) silence() time.Duration {
	return max(g.c.cfg.sessionTimeout/2, 3*g.c.cfg.heartbeatInterval)
}

// inSession notes that the group works: it has named all that it is asked for.
func (g *group) inSession() { g.c.watch.session.set(g.c.watch.began, time.Now()) }

// joins notes that the member has joined.
func (g *group) joins() {
	if !g.joined.isSet() {
		g.joined.set(g.c.watch.began, time.Now())
	}
}

// leaving and gone note that the member leaves for good, and that it has left.
func (g *group) leaving(ctx context.Context) {
	now := time.Now()
	if !g.leaves.isSet() {
		g.leaves.set(g.c.watch.began, now)
	}
	if ctx != nil && ctx.Err() != nil && !g.hurries.isSet() {
		g.hurries.set(g.c.watch.began, now)
	}
}

func (g *group) gone() { g.left.set(g.c.watch.began, time.Now()) }

// heard notes how a commit went. What a commit of the caller's own brought to an
// end says nothing.
func (s *commits) heard(req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
	if err == nil {
		err = firstCommitError(resp)
	}
	switch {
	case err == nil && len(req.Topics) > 0:
		s.ails.ended()
	case err != nil && !isCancelled(err):
		s.ails.failed(err, time.Now())
	}
}

// settled ends the streak of failed commits when nothing is left to commit, as
// after the partitions have gone to others.
func (s *commits) settled() {
	if streak := s.ails.look(); streak.on() && len(s.uncommitted()) == 0 {
		s.ails.ended()
	}
}

// pollPatience is how long records may wait for a poll before that is told.
const pollPatience = time.Minute

// callerFindings tells that nobody takes what waits.
func (c *Consumer) callerFindings(now time.Time, waiting []finding, full bool, f findings) {
	c.noteStir()
	if c.polls.Load() > 0 {
		return
	}
	last, detail := c.pollEnded.get(c.watch.began), ""
	if full || c.budget.full() {
		detail = "the buffer is full"
	}
	for _, w := range waiting {
		if since := later(w.since, last); now.Sub(since) >= pollPatience {
			f.add(CauseNotPolled, w.at, since, detail)
		}
	}
}

// asks notes that the group is about to say where to begin. An attempt that
// follows a failed one goes on with it.
func (g *group) asks() {
	began, now := g.c.watch.began, time.Now()
	if latest := g.asked.get(began); !g.asking.isSet() || now.Sub(latest) > sessionProof {
		g.asking.set(began, now)
	}
	g.asked.set(began, now)
	g.c.watch.naming.Store(true)
}

// named notes that the group has said where to begin.
func (g *group) named() {
	g.asking.unset()
	g.c.watch.naming.Store(false)
}

// unanswered is since when the group has not said where to begin, if that is
// long ago.
func (g *group) unanswered(now time.Time) (since time.Time, long bool) {
	since = g.asking.get(g.c.watch.began)
	return since, !since.IsZero() && now.Sub(since) > offsetsPatience
}

var _ interface {
	kgo.HookBrokerConnect
	kgo.HookBrokerRead
	kgo.HookBrokerWrite
	kgo.HookGroupManageError
} = (*watch)(nil)
