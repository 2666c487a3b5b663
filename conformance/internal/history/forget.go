package history

import "math"

// Sizes of what a lane keeps.
const (
	compactFrom = 32   // parts, before anything is thrown away
	partsKept   = 4096 // parts, whatever is still needed of them
)

// compact throws away what nobody needs any more, when a lane has become twice
// as long as it was after the last time.
func (c *Checker) compact(key laneKey, l *lane) {
	if len(l.parts) < l.compactAt {
		return
	}
	slowest, logged := c.behind(key)
	kept := l.parts[:0]
	for _, p := range l.parts {
		switch {
		case len(kept) == 0 && p.last <= slowest && (p.logged != Undecided || p.txn.told == dead):
			l.forgotten = p.last // everybody has it, or has passed by, and was judged
		case len(kept) > 0 && p.nothing(logged) && kept[len(kept)-1].nothing(logged):
			kept[len(kept)-1].extend(p)
		default:
			kept = append(kept, p)
		}
	}
	if over := len(kept) - partsKept; over > 0 {
		l.forgotten = kept[over-1].last
		kept = append(kept[:0], kept[over:]...)
	}
	clear(l.parts[len(kept):])
	l.parts = kept
	l.compactAt = max(compactFrom, 2*len(kept))
}

// behind are the numbers up to which all readers, and the one of the log, have
// seen a lane.
func (c *Checker) behind(key laneKey) (slowest, logged uint64) {
	slowest = math.MaxUint64
	for _, r := range c.readers {
		if r.gone {
			continue
		}
		slowest = min(slowest, r.last[key])
		if r.log {
			logged = r.last[key]
		}
	}
	return slowest, logged
}

// nothing reports whether all that is left to know of the part is that it must
// not show.
func (p *part) nothing(logged uint64) bool {
	return p.last <= logged && (p.logged == Aborted || p.txn.told == dead && p.inLog == 0)
}

// extend adds a part to one before it that came to nothing too.
func (p *part) extend(q *part) {
	p.last, p.batches = q.last, nil
	if q.logged == Aborted {
		p.logged = Aborted
	}
	p.txn = &Transaction{c: p.txn.c, producer: p.txn.producer, number: p.txn.number, ending: Abort, told: dead}
	p.skips, p.deliveries, p.accused = nil, nil, nil
}
