package rcconsumer

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// minRackVersion is the first Fetch version that carries a rack and names a
// preferred read replica (KIP-392).
const minRackVersion = 11

// following is which follower a partition is read from (KIP-392), and for how
// long none is to be followed.
type following struct {
	replica int32     // noLeader: the leader is asked
	until   time.Time // then the leader is asked again, with the rack
	fed     time.Time // when the follower last brought bytes, or was begun with

	failures  int       // of followers, in a row
	failedAt  time.Time // the last of them
	notBefore time.Time // until then the leader is asked without the rack
}

const (
	// idleRecheck is how long a follower may bring nothing before the leader is
	// asked whether it is still a good one: a follower that is cut off from its
	// leader looks like an idle partition.
	idleRecheck = time.Minute
	// firstShun and longestShun are how long the leader is asked without the rack
	// after a follower has failed: with it, it would answer with the follower's
	// name and no bytes.
	firstShun   = time.Second
	longestShun = time.Minute
	// failureMemory is how long a follower's failure counts.
	failureMemory = 5 * time.Minute
	// followerPatience is how many UNKNOWN_LEADER_EPOCH in a row a follower may
	// answer: it hears of a new epoch a little later than we do.
	followerPatience = 4
)

// sourceLocked is the broker to ask for the partition; noLeader if there is none.
func (p *partition) sourceLocked() int32 {
	if p.follow.replica != noLeader {
		return p.follow.replica
	}
	return p.leader
}

func (p *partition) followsLocked() bool { return p.follow.replica != noLeader }

// preferLocked takes up the replica that a leader's answer names. It reports
// whether the partition is read from that one now; whoever calls places it.
func (p *partition) preferLocked(a *answer, n *notices) (follows bool) {
	id, now := a.part.PreferredReadReplica, time.Now()
	switch {
	case id < 0 || a.version < minRackVersion || p.followsLocked() || p.shunsLocked(now):
		return false
	case id == p.leader || !p.c.knows(id):
		p.shunLocked(now)
		n.err = fmt.Errorf("topic %s partition %d: the leader prefers replica %d, which is no follower known", p.topic, p.id, id)
		p.c.meta.refresh()
		return false
	}
	p.moveSourceLocked(id)
	p.follow.until, p.follow.fed = now.Add(p.c.cfg.recheck), now
	n.newLeader = true
	return true
}

// moveSourceLocked changes who is asked.
func (p *partition) moveSourceLocked(replica int32) {
	p.follow.replica = replica
	p.gen++ // what the other one still answers is late
	p.parked, p.probe, p.quiet = time.Time{}, probing{}, 0
	p.audit.Clear()
}

// recheckLocked goes back to the leader when it is time to ask it for the best
// replica again. It reports whether that is so; whoever calls places the
// partition.
func (p *partition) recheckLocked(now time.Time) bool {
	if !p.followsLocked() || now.Before(p.follow.until) && now.Sub(p.follow.fed) < idleRecheck {
		return false
	}
	p.moveSourceLocked(noLeader)
	return true
}

// leaveLocked goes back to the leader after the follower has failed.
func (p *partition) leaveLocked(err error, n *notices) {
	n.err = fmt.Errorf("topic %s partition %d: follower %d, fetch at offset %d: %w", p.topic, p.id, p.follow.replica, p.fetchOffset, err)
	n.newLeader = true
	p.moveSourceLocked(noLeader)
	p.trouble.streak = 0
	p.shunLocked(time.Now())
}

// shunLocked has the leader asked without the rack for a while. A rack is a
// matter of whole requests, so other partitions of that leader wait too before
// they hear of a replica; but not for ever, since meanwhile none of them can be
// sent to a follower and fail there.
func (p *partition) shunLocked(now time.Time) {
	f := &p.follow
	if now.Sub(f.failedAt) > failureMemory {
		f.failures = 0
	}
	f.failures++
	f.failedAt = now
	f.notBefore = now.Add(backoff(f.failures, firstShun, longestShun))
}

func (p *partition) shunsLocked(now time.Time) bool { return p.follow.notBefore.After(now) }

// followerErrorLocked handles an error code of a follower. None is believed: the
// leader decides whether an offset is out of range, or a topic gone.
func (p *partition) followerErrorLocked(a *answer, err error, n *notices) outcome {
	switch {
	case p.followHintLocked(a):
		n.newLeader = true
		return outcome{served: true}
	case errors.Is(err, kerr.UnknownLeaderEpoch) && p.trouble.streak < followerPatience:
		p.retryLocked(err, n) // it will hear of the epoch
		return outcome{served: true}
	}
	p.leaveLocked(err, n)
	if p.c.cfg.keepRetryable && kerr.IsRetriable(err) && !errors.Is(err, kerr.FencedLeaderEpoch) {
		p.handOutLocked(err, n)
	}
	return outcome{served: true, refresh: true}
}

// desert sends the partitions that are read from this broker as a follower back
// to their leaders: the broker answers nothing usable.
func (b *broker) desert(err error) {
	for _, p := range b.turn() {
		var n notices
		p.mu.Lock()
		if p.follow.replica == b.id {
			p.leaveLocked(err, &n)
		}
		p.mu.Unlock()
		if n.newLeader {
			n.err = nil // told for the broker as a whole
			b.c.tell(p, &n)
		}
	}
}

var errLeft = errors.New("the broker is not in the cluster's metadata")

// leaveUnknown goes back to the leader if the follower has left the cluster.
func (c *Consumer) leaveUnknown(p *partition, known map[int32]bool) {
	var n notices
	p.mu.Lock()
	if p.followsLocked() && !known[p.follow.replica] {
		p.leaveLocked(errLeft, &n)
	}
	p.mu.Unlock()
	if n.newLeader {
		c.tell(p, &n)
	}
}
