package rcconsumer

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// trouble paces a partition that fails.
type trouble struct {
	streak  int   // retried errors in a row
	unknown int   // UNKNOWN_TOPIC_ID in a row
	at      int64 // where reading does not go on, and
	repeats int   // how often it did not
	told    once  // what was logged
}

// parkHereLocked asks again at an offset where reading does not go on, ever more
// seldom: another replica or a repaired disk may have a damaged batch whole, and
// nobody may skip it.
func (p *partition) parkHereLocked() {
	if p.trouble.at != p.fetchOffset {
		p.trouble.at, p.trouble.repeats = p.fetchOffset, 0
	}
	p.trouble.repeats++
	p.parkLocked(backoff(p.trouble.repeats, 250*time.Millisecond, 5*time.Second))
}

// failLocked hands out an error that is not going to be retried in silence;
// the partition is asked for again all the same, ever more seldom.
func (p *partition) failLocked(err error, n *notices) {
	p.ails.fetch.failed(err, time.Now())
	p.parkHereLocked()
	p.handOutLocked(err, n)
}

// handOutLocked queues an error for the next poll.
func (p *partition) handOutLocked(err error, n *notices) {
	n.moved = p.appendLocked(&piece{
		end: -1, endEpoch: -1, err: err, // an error moves no position; where to start may not even be known
		highWatermark: p.pos.HighWatermark, lastStableOffset: p.pos.LastStableOffset, logStartOffset: p.pos.LogStartOffset,
	}) || n.moved
}

// noProgressPatience is how many answers in a row may bring nothing usable
// before a poll is told.
const noProgressPatience = 3

// noProgressLocked handles bytes without a complete batch at or above the
// fetch offset.
func (p *partition) noProgressLocked(size int, n *notices) {
	err := p.noProgress(size)
	p.ails.fetch.failed(err, time.Now())
	p.parkHereLocked()
	if p.trouble.repeats >= noProgressPatience {
		p.handOutLocked(err, n)
	} else if p.trouble.told.fresh(err, time.Now()) {
		n.err = err
	}
}

func (p *partition) noProgress(size int) *NoProgressError {
	return &NoProgressError{Topic: p.topic, Partition: p.id, Offset: p.fetchOffset, Bytes: size}
}

// unknownTopicPatience is how many UNKNOWN_TOPIC_ID in a row are retried before
// they are handed out: a new topic answers so for a moment, a deleted one for
// ever. kgo's number.
const unknownTopicPatience = 5

// errorLocked handles a partition's error code. None of them moves the position
// by itself.
func (p *partition) errorLocked(a *answer, err error, n *notices) outcome {
	if a.broker == p.follow.replica {
		return p.followerErrorLocked(a, err, n)
	}
	o := outcome{served: true, refresh: true}
	switch {
	case errors.Is(err, kerr.OffsetOutOfRange):
		p.outOfRangeLocked()
		n.awaits = true
		return outcome{served: true}
	case p.followHintLocked(a):
		n.newLeader = true
		return outcome{served: true}
	case errors.Is(err, kerr.UnknownLeaderEpoch):
		o.refresh = false // the broker is behind, not we
	case errors.Is(err, kerr.UnknownTopicID):
		if p.trouble.unknown++; p.trouble.unknown > unknownTopicPatience {
			p.failLocked(p.wrap(err), n)
			return o
		}
	case !kerr.IsRetriable(err), errors.Is(err, kerr.CorruptMessage):
		// A broker that cannot read its own log says CORRUPT_MESSAGE. To
		// retry that in silence would be a stall without a reason.
		p.failLocked(p.wrap(err), n)
		return o
	}
	p.retryLocked(err, n)
	if p.c.cfg.keepRetryable && !errors.Is(err, kerr.FencedLeaderEpoch) {
		p.handOutLocked(err, n)
	}
	return o
}

// retryLocked asks again after a pause. The first pause is short: most often a
// leader has moved, and a new leader ends it anyway.
func (p *partition) retryLocked(err error, n *notices) {
	p.trouble.streak++
	p.ails.fetch.failed(err, time.Now())
	p.parkLocked(backoff(p.trouble.streak, 50*time.Millisecond, 2*time.Second))
	if p.trouble.told.fresh(err, time.Now()) {
		n.err = err
	}
}

// followHintLocked adopts the leader that the answer names (KIP-951), if it is
// newer than the one known.
func (p *partition) followHintLocked(a *answer) bool {
	hint := a.part.CurrentLeader
	if a.version < 12 || hint.LeaderID < 0 || hint.LeaderEpoch <= p.leaderEpoch || hint.LeaderID == p.leader {
		return false
	}
	return p.setLeaderLocked(hint.LeaderID, hint.LeaderEpoch)
}

func (p *partition) wrap(err error) error {
	return fmt.Errorf("topic %s partition %d: fetch at offset %d: %w", p.topic, p.id, p.fetchOffset, err)
}

func (p *partition) batchError(err error) error {
	return batchError(p.topic, p.id, p.leaderEpoch, err)
}
