package rcconsumer

import "time"

// probing finds out whether anything is left below the last stable offset. An
// empty answer there can mean two things: other partitions used up the answer's
// size, or compaction removed everything up to the end. To tell them apart the
// partition is asked for alone, twice.
type probing struct {
	due     bool
	empties int   // empty answers to a request for this partition alone
	end     int64 // the smallest end of these answers, exclusive
}

const probesNeeded = 2

// emptyLocked handles an answer without bytes and without error. The position
// never moves on it: no bytes is no proof that an offset does not exist
// (kafka4beam/brod#326).
//
// It reports whether the partition had its turn: one that waits at the end did,
// one that may have been left out by others did not.
func (p *partition) emptyLocked(a *answer, n *notices) (served bool) {
	end := a.part.LastStableOffset
	if p.c.cfg.readUncommitted {
		end = a.part.HighWatermark
	}
	switch {
	case a.part.PreferredReadReplica >= 0:
		// The bytes are at a replica that is not followed, at least not now.
		p.probe = probing{}
		p.quietLocked()
	case p.fetchOffset == end || end < 0:
		p.quiet, p.probe = 0, probing{} // the normal wait for more
	case p.fetchOffset > end:
		// Up to the high watermark a broker answers at once here, whatever
		// wait was asked for.
		p.probe = probing{}
		p.quietLocked()
	case p.pos.readTo >= end:
		p.quietLocked() // nothing is left, known already
	case !a.alone && !a.first && a.total > 0:
		return false // others used up the answer; the first turn comes soon
	default:
		p.probeLocked(a.alone, end, n)
	}
	return true
}

// quietLocked parks a partition whose empty answers do not wait.
func (p *partition) quietLocked() {
	p.quiet++
	p.parkLocked(backoff(p.quiet, 20*time.Millisecond, 500*time.Millisecond))
}

func (p *partition) probeLocked(alone bool, end int64, n *notices) {
	if !alone {
		p.probe = probing{due: true}
		return
	}
	if p.probe.empties == 0 || end < p.probe.end {
		p.probe.end = end
	}
	if p.probe.empties++; p.probe.empties < probesNeeded {
		return
	}
	p.pos.readTo = p.probe.end
	p.probe = probing{}
	p.quietLocked()
	n.moved = true // for those who wait until everything is read
}

// unprobed ends the probing of a partition that was left out even when asked
// for alone: the others must have their turn.
func (w *wanted) unprobed() {
	if w.settled {
		return
	}
	w.p.mu.Lock()
	w.p.probe = probing{}
	w.p.mu.Unlock()
}
