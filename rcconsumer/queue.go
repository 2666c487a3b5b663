package rcconsumer

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// dropLocked forgets everything queued, errors and jumps included, and makes
// answers on their way worthless. What was handed out stays handed out: Next
// does not move.
func (p *partition) dropLocked() {
	p.gen++
	p.audit.Clear()
	for _, q := range p.queue {
		p.discardLocked(q)
	}
	p.queue, p.queued = nil, 0
}

// discardLocked gives back what a piece holds.
func (p *partition) discardLocked(q *piece) {
	dropped := q.discard(p.c.budget)
	if len(dropped) > 0 && p.c.report.listen {
		p.c.aside.Go(func() { p.c.report.unbuffered(dropped, false) }) // as in kgo, on a goroutine of its own
	}
}

// rewindLocked gives back the memory of what is queued; it is fetched again
// later. Errors come again with it and are dropped too, but for a jump: the log
// it was found in may look whole by then, and nobody would hear of the loss.
func (p *partition) rewindLocked() {
	jump := -1
	holds := false
	for i, q := range p.queue {
		holds = holds || q.holds()
		if q.jump {
			jump = i
		}
	}
	switch {
	case jump >= 0:
		p.keepJumpLocked(jump)
	case holds:
		p.dropLocked()
		p.phase = fetching
		p.fetchFromLocked(p.pos.Next, p.pos.NextEpoch)
	case p.phase == fetching:
		p.gen++ // an answer on its way would be buffered
		p.audit.Clear()
	default:
		return
	}
	p.probe = probing{}
}

// keepJumpLocked drops all data, and keeps the jump at index i with its error
// and those in front of it.
func (p *partition) keepJumpLocked(i int) {
	kept := make([]*piece, 0, i+1)
	for k, q := range p.queue {
		event := k <= i && (q.err != nil || q.jump)
		p.discardLocked(q)
		if event {
			q.end, q.bytes = -1, 0
			kept = append(kept, q)
		}
	}
	p.gen++
	p.audit.Clear()
	p.queue, p.queued = kept, 0
	p.phase = fetching
	p.fetchFromLocked(p.unreadLocked())
}

// roomLocked reports whether more may be fetched for the partition: one answer
// is handed out while the next one arrives.
func (p *partition) roomLocked() bool {
	return len(p.queue) < 2 || p.queued < int(p.c.limits.partition.Load())
}

// appendLocked queues what an answer brought and moves Next as far as nothing
// is left to hand out in front of it. It reports whether Next moved.
func (p *partition) appendLocked(q *piece) (moved bool) {
	if len(q.kept) == 0 {
		q.letGo()
	}
	if n := len(p.queue); n > 0 && q.onlyError() && p.queue[n-1].onlyError() {
		before := p.queue[n-1]
		if before.end > q.end {
			q.end, q.endEpoch = before.end, before.endEpoch
		}
		p.queue[n-1] = q // the same trouble again, and nobody asked: the newest is enough
		p.queued += q.bytes - before.bytes
		return false
	}
	if len(p.queue) == 0 {
		p.waits = time.Now()
	}
	p.queue = append(p.queue, q)
	p.queued += q.bytes
	return p.settleLocked()
}

// settleLocked extends Next over everything invisible in front of the next
// thing to hand out, and forgets pieces that are done.
func (p *partition) settleLocked() (moved bool) {
	before := p.pos.Next
	for len(p.queue) > 0 {
		q := p.queue[0]
		if q.decoded.open() {
			break
		}
		if len(q.kept) > 0 {
			k := q.kept[0]
			epoch := k.EpochBefore
			if epoch < 0 { // a hole: the batch before came with another answer
				epoch = p.pos.NextEpoch
			}
			p.reachLocked(k.First(), epoch)
			break
		}
		p.reachLocked(q.end, q.endEpoch)
		q.letGo()
		if q.err != nil {
			break
		}
		if q.jump {
			p.progress.jump(p.pos.Next, kgo.EpochOffset{Epoch: q.jumpEpoch, Offset: q.jumpTo})
			p.pos.Next, p.pos.NextEpoch, p.pos.readTo = q.jumpTo, q.jumpEpoch, 0
		}
		p.queue = p.queue[1:]
		p.queued -= q.bytes
	}
	return p.pos.Next != before
}

// reachLocked moves Next forward, to the end of a batch of the given leader epoch.
func (p *partition) reachLocked(offset int64, epoch int32) {
	if offset <= p.pos.Next {
		return
	}
	p.pos.Next, p.pos.NextEpoch = offset, epoch
}

// deliverableLocked reports whether a poll has something to take.
func (p *partition) deliverableLocked() bool {
	return len(p.queue) > 0 && !p.queue[0].empty()
}

// handedOutLocked books records of one batch as handed out.
func (p *partition) handedOutLocked(d *decoded, records []*kgo.Record) {
	last := records[len(records)-1]
	p.stats.addDelivered(d.batch, len(records), d.fresh)
	d.fresh = false
	p.lastTime = last.Timestamp
	if !d.batch.Control { // a marker is nothing to work on
		p.progress.handOut(records[0].Offset, last.Offset, last.LeaderEpoch, d.batch.EpochBefore)
	}
	p.reachLocked(last.Offset+1, last.LeaderEpoch)
	if !d.open() {
		p.reachLocked(d.batch.Batch.LastOffset()+1, last.LeaderEpoch)
	}
}
