package rcconsumer

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kgo"
)

// truncatedLocked goes on from an answer that the log up to the fetch offset
// ends at end, in the given epoch: what was read beyond it is gone. Whatever the
// reset policy, as in kgo, reading goes on at the end and the application is
// told, if it was handed anything beyond it.
//
// If only buffered records are gone the application has lost nothing. They are
// fetched anew from where it stands, and its own epoch, which may be older, is
// asked about first.
func (p *partition) truncatedLocked(epoch int32, end int64, n *notices) {
	from, fromEpoch := p.dropUnreadLocked()
	p.fetchFromLocked(from, fromEpoch)
	p.forgetEndsLocked(p.pos.LogStartOffset, -1)
	n.awaits = true
	if from <= end {
		p.doubtLocked()
		return
	}
	lost := &kgo.ErrDataLoss{
		Topic: p.topic, Partition: p.id, ConsumedTo: from, ConsumedToEpoch: fromEpoch, ResetTo: end, ResetToEpoch: epoch,
	}
	p.jumpLocked(listed{offset: end, epoch: epoch}, lost, n)
	n.reset = &reset{from: from, to: end}
}

// divergedLocked goes on from an answer that the leader knows nothing of the
// epoch of the fetch offset: the log was truncated, but where is not known. What
// was read is treated as out of range, which kgo does too. Where nothing was
// read nothing is lost.
func (p *partition) divergedLocked() {
	if from, epoch := p.unreadLocked(); from < p.fetchOffset {
		p.dropUnreadLocked() // the leader may know the epoch in front of it
		p.fetchFromLocked(from, epoch)
		return
	}
	if p.readUpToLocked().IsZero() {
		p.fetchEpoch, p.doubted = -1, false
		return
	}
	epoch := p.fetchEpoch
	p.outOfRangeLocked()
	p.want.diverged, p.want.epoch = true, epoch
}

// errDiverging is retried.
var errDiverging = errors.New("the broker answered with a diverging epoch that says nothing of the leader's log")

// divergingLocked handles a diverging epoch in an answer to a Fetch. Only
// replicas ask for one, but a broker that sends it says that its log is another.
// It reports whether there was one; nothing else of the answer is believed then.
func (p *partition) divergingLocked(a *answer, n *notices) bool {
	d := a.part.DivergingEpoch
	switch {
	case d.Epoch < 0 && d.EndOffset < 0:
		return false
	case a.broker == p.follow.replica:
		p.leaveLocked(errDiverging, n) // the leader decides, it is asked before anything more is fetched
		p.doubtLocked()
	case d.Epoch >= 0 && d.EndOffset >= 0 && d.EndOffset < p.fetchOffset:
		p.truncatedLocked(d.Epoch, d.EndOffset, n)
	default:
		p.retryLocked(p.wrap(errDiverging), n)
	}
	return true
}

// lastJump is the index of the last jump that is queued, -1 if there is none.
func (p *partition) lastJump() int {
	last := -1
	for i, q := range p.queue {
		if q.jump {
			last = i
		}
	}
	return last
}

// unreadLocked is where what was fetched and not handed out begins, and the
// epoch in front of it: the position, or the target of a jump on its way.
func (p *partition) unreadLocked() (offset int64, epoch int32) {
	if last := p.lastJump(); last >= 0 {
		return p.queue[last].jumpTo, p.queue[last].jumpEpoch
	}
	return p.pos.Next, p.pos.NextEpoch
}

// dropUnreadLocked forgets what was fetched and not handed out, and returns
// where it began. A jump and what lies in front of it stay: that was found out
// about an earlier log, and nobody would hear of it again.
func (p *partition) dropUnreadLocked() (offset int64, epoch int32) {
	offset, epoch = p.unreadLocked()
	keep := p.lastJump() + 1
	for _, q := range p.queue[keep:] {
		p.queued -= q.bytes
		p.discardLocked(q)
	}
	clear(p.queue[keep:])
	p.queue = p.queue[:keep]
	p.gen++
	p.audit.Clear()
	p.probe, p.quiet, p.pos.readTo = probing{}, 0, 0
	return offset, epoch
}
