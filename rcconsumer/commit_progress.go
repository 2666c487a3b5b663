package rcconsumer

import "github.com/twmb/franz-go/pkg/kgo"

// noOffset is an offset that is not known.
var noOffset = kgo.EpochOffset{Epoch: -1, Offset: -1}

// progress is what a group member has handed out of one partition, and what of
// it may be committed. It knows nothing of the group; the partition's lock
// guards it.
type progress struct {
	start     int64           // where reading began, or was moved to
	handed    kgo.EpochOffset // one past the last record handed out; start if there is none
	committed kgo.EpochOffset // what the group holds; noOffset if it holds nothing

	// held is where the position stood in front of what the latest poll took.
	held    kgo.EpochOffset
	holding bool

	mark   kgo.EpochOffset
	marked bool
	runs   []run // handed out and not below the mark, in offset order

	moves   int  // how often reading was moved
	moved   bool // by SetOffsets, so that the place itself is worth a commit
	rewound bool // moved since the last commit: the next one may go back

	confirmed bool // since the move the caller committed what the group holds already
}

// run is a range of offsets handed out without anything invisible between two
// batches.
type run struct {
	first, last int64 // inclusive
	epochBefore int32 // leader epoch of the batch in front of it
}

// maxRuns bounds what is remembered of records that nobody marks or commits.
const maxRuns = 1024

// newProgress begins at an offset, -1 if it is not known yet.
func newProgress(committed kgo.EpochOffset) progress {
	return progress{start: -1, handed: noOffset, committed: committed}
}

// begin notes where reading starts, which is no move.
func (g *progress) begin(at kgo.EpochOffset) {
	g.start, g.handed = at.Offset, at
	g.holding = false
	g.runs = nil
}

// move notes that reading goes on elsewhere. Marks made before mean nothing any
// more.
func (g *progress) move(at kgo.EpochOffset, byUser bool) {
	g.begin(at)
	g.mark, g.marked = at, byUser
	g.moves++
	g.moved = byUser
	g.rewound, g.confirmed = true, false
}

// jump notes that reading goes on at to instead of at from by itself, after a
// loss. Forward, what the latest poll took is still being worked on, and no
// commit has to go back.
func (g *progress) jump(from int64, to kgo.EpochOffset) {
	held, holding, rewound := g.held, g.holding, g.rewound
	g.move(to, false)
	if to.Offset >= from {
		g.held, g.holding, g.rewound = held, holding, rewound
	}
}

// take notes that a poll takes records while the position is at next.
func (g *progress) take(next kgo.EpochOffset) {
	if !g.holding {
		g.held, g.holding = next, true
	}
}

// polled notes that another poll has begun: what the one before took counts as
// worked on.
func (g *progress) polled() { g.holding = false }

// handOut notes records of one batch as handed out.
func (g *progress) handOut(first, last int64, epoch, epochBefore int32) {
	g.handed = kgo.EpochOffset{Epoch: epoch, Offset: last + 1}
	if n := len(g.runs); n > 0 && g.runs[n-1].last+1 == first {
		g.runs[n-1].last = last
		return
	}
	if len(g.runs) >= maxRuns {
		// A mark between the two then stays in front of what lies between
		// them, until a later mark passes both.
		g.runs[1].first, g.runs[1].epochBefore = g.runs[0].first, g.runs[0].epochBefore
		g.runs = append(g.runs[:0], g.runs[1:]...)
	}
	g.runs = append(g.runs, run{first: first, last: last, epochBefore: epochBefore})
}

// setMark moves the mark forward, but not past limit: a mark beyond what was
// handed out since reading began here, or was moved here, is of an earlier
// assignment or from before a seek.
func (g *progress) setMark(at kgo.EpochOffset, limit int64) {
	if at.Offset > limit || g.marked && at.Offset < g.mark.Offset || at.Offset < g.start {
		return
	}
	g.mark, g.marked = at, true
	g.forget(at.Offset)
}

// begun reports whether there is anything that the caller could mark by its
// offset: the group holds a commit, the position has moved on to next, or the
// caller chose the place.
func (g *progress) begun(next int64) bool {
	return g.committed.Offset >= 0 || next > g.start || g.moved
}

// forget drops the runs that lie below offset.
func (g *progress) forget(offset int64) {
	i := 0
	for i < len(g.runs) && g.runs[i].last < offset {
		i++
	}
	g.runs = g.runs[i:]
}

// past is the lowest offset from at on that is not invisible: at itself if a
// record handed out has it, else the next such record, else next, where the
// position stands.
func (g *progress) past(at, next kgo.EpochOffset) kgo.EpochOffset {
	if at.Offset >= g.handed.Offset {
		if next.Offset > at.Offset {
			return next
		}
		return at
	}
	for _, r := range g.runs {
		switch {
		case r.last < at.Offset:
		case r.first > at.Offset:
			return kgo.EpochOffset{Epoch: r.epochBefore, Offset: r.first}
		default:
			return at
		}
	}
	return at
}

// covered reports whether the group's commit covers everything handed out. A
// commit from before a move says nothing of what was handed out after it.
func (g *progress) covered() bool {
	unsaid := g.rewound && !g.confirmed && g.handed.Offset != g.start
	return g.committed.Offset >= 0 && g.committed.Offset >= g.handed.Offset && !unsaid
}

// confirm notes that the caller commits an offset; if the group holds it already
// there is nothing to send.
func (g *progress) confirm(at kgo.EpochOffset) {
	g.confirmed = g.confirmed || at.Offset == g.committed.Offset
}

// due reports whether committing to would tell the group something new. Only
// after a move may a commit go back.
func (g *progress) due(to kgo.EpochOffset) bool {
	switch {
	case to.Offset < 0:
		return false
	case to.Offset == g.committed.Offset:
		return to.Epoch != g.committed.Epoch && (to.Offset != g.start || g.moved)
	case g.committed.Offset < 0:
		return to.Offset != g.start || g.moved || g.marked
	default:
		return to.Offset > g.committed.Offset || g.rewound
	}
}

// back reports whether committing to would set the group back for no reason.
func (g *progress) back(to kgo.EpochOffset) bool {
	return to.Offset < g.committed.Offset && !g.rewound
}

// commit notes that the group holds an offset, gathered when there had been
// moves moves. Whoever committed more than was marked has marked it.
func (g *progress) commit(at kgo.EpochOffset, moves int) {
	g.committed = at
	if moves != g.moves {
		return
	}
	g.rewound, g.moved = false, false
	if g.marked && g.mark.Offset < at.Offset {
		g.mark = at
		g.forget(at.Offset)
	}
	if g.holding && g.held.Offset < at.Offset {
		g.held = at
	}
}
