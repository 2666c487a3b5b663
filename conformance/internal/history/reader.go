package history

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Reader is what a reader has seen: one at read_committed, or the one that
// reads the log.
type Reader struct {
	c       *Checker
	name    string
	log     bool
	gone    bool
	next    []int64 // by partition, the offset that comes next
	last    map[laneKey]uint64
	open    []map[int64][]*part // of the log: by partition and producer ID, what has no marker
	digests []Digests           // by partition
	got     int
}

// Reader adds a reader at read_committed that begins at the begin of every
// partition.
func (c *Checker) Reader(name string) *Reader { return c.add(&Reader{name: name}) }

// Log adds the reader of the log. There must be one, and only one.
func (c *Checker) Log() *Reader { return c.add(&Reader{log: true}) }

func (c *Checker) add(r *Reader) *Reader {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.c, r.next, r.last = c, make([]int64, c.partitions), map[laneKey]uint64{}
	for range c.partitions {
		r.digests = append(r.digests, Digests{})
		r.open = append(r.open, map[int64][]*part{})
	}
	c.readers = append(c.readers, r)
	return r
}

// Leave takes the reader out: it is waited for no more.
func (r *Reader) Leave() {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	r.gone = true
}

// Got is how many records the reader got.
func (r *Reader) Got() int {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	return r.got
}

// Digests are those of what the reader got of a partition. It must be at rest.
func (r *Reader) Digests(partition int) Digests { return r.digests[partition] }

// Read takes records that a reader at read_committed got, in their order. at is
// when it had them, or later.
func (r *Reader) Read(partition int, at time.Time, records []Record) {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	for _, record := range records {
		if p, v := r.place(partition, record); p != nil {
			r.deliver(p, v, record.Offset, at)
		}
	}
}

// Passed notes that the reader has everything below an offset behind it.
func (r *Reader) Passed(partition int, next int64) {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	r.next[partition] = max(r.next[partition], next)
}

// place finds what a record belongs to, and judges all that needs no more than
// its place. p is nil where nothing more is to be said.
func (r *Reader) place(partition int, record Record) (p *part, v Value) {
	c := r.c
	if record.Offset < r.next[partition] {
		c.tell(Anomaly{Backwards, r.name, partition, record.Offset, fmt.Sprintf("an offset from %d on", r.next[partition]), fmt.Sprintf("offset %d", record.Offset)})
		return nil, v
	}
	r.next[partition] = record.Offset + 1
	r.digests[partition].Add(record.Offset, record.Value)
	r.got++
	v, err := Parse(record.Value)
	key := laneKey{v.Producer, partition}
	l := c.lanes[key]
	switch {
	case err != nil:
		c.tell(Anomaly{Garbage, r.name, partition, record.Offset, "a value that a producer of this history wrote", err.Error()})
		return nil, v
	case v.Run != c.run, l == nil, v.Partitions>>partition&1 == 0, v.Number >= l.next:
		c.tell(Anomaly{Garbage, r.name, partition, record.Offset, "a record of this history and partition", v.String() + ", of another one"})
		return nil, v
	case v.Number <= r.last[key]:
		c.tell(Anomaly{
			Duplicate, r.name, partition, record.Offset,
			fmt.Sprintf("a record of producer %d above number %d", v.Producer, r.last[key]), fmt.Sprintf("%s, number %d", v, v.Number),
		})
		return nil, v
	}
	r.pass(l, r.last[key], v.Number, record.Offset)
	r.last[key] = v.Number
	if p = l.find(v.Number); p == nil {
		c.unjudged++
		return nil, v
	}
	c.hold(p, v, r.name, record.Offset)
	return p, v
}

// hold holds the offset of a record against what is known of its batch.
func (c *Checker) hold(p *part, v Value, reader string, offset int64) {
	for i := range p.batches {
		b := &p.batches[i]
		if v.Number < b.first || v.Number >= b.first+uint64(b.n) {
			continue
		}
		base := offset - int64(v.Number-b.first)
		switch {
		case b.acked >= 0 && b.acked != base:
			c.accuse(p, Moved, reader, offset, fmt.Sprintf("%s at %d, where it was acknowledged", v, offset-base+b.acked), fmt.Sprintf("it is at %d", offset))
		case b.seen >= 0 && b.seen != base:
			c.accuse(p, Moved, reader, offset, fmt.Sprintf("%s at %d, where it was read before", v, offset-base+b.seen), fmt.Sprintf("it is at %d", offset))
		case b.seen < 0:
			b.seen = base
		}
	}
}

// deliver judges a record that a reader at read_committed got.
func (r *Reader) deliver(p *part, v Value, offset int64, at time.Time) {
	c, t := r.c, p.txn
	early := func(what string) {
		c.accuse(p, EarlyRead, r.name, offset, "nothing of a transaction before its commit is sent", what+": "+v.String())
	}
	if !slices.ContainsFunc(p.deliveries, func(s sight) bool { return s.reader == r.name }) {
		p.deliveries = append(p.deliveries, sight{r.name, offset})
	}
	switch {
	case !v.Ending.mayShow(), t.told == dead, p.logged == Aborted:
		c.accuse(p, AbortedRead, r.name, offset, "no record of a transaction that is not committed", v.String())
	case t.told == open:
		early("it is open")
	case at.Before(t.invoked):
		early(fmt.Sprintf("%v before that", t.invoked.Sub(at)))
	}
	// Another reader may have passed by while nothing was known of it.
	c.weigh(p)
}

// pass judges the numbers between two of a lane that a reader did not get,
// although it got the second one, at an offset.
func (r *Reader) pass(l *lane, last, number uint64, offset int64) {
	for i := l.at(last + 1); i < len(l.parts) && l.parts[i].first < number; i++ {
		p := l.parts[i]
		from, to := max(p.first, last+1), min(p.last, number-1)
		switch {
		case from > to:
		case r.log:
			r.miss(p, from, to)
		case p.txn.told == dead || p.logged == Aborted: // what it got of it is wrong already
		case from > p.first || to < p.last:
			r.c.accuse(p, Torn, r.name, offset, fmt.Sprintf("all of its %d records in the partition, or none", p.last-p.first+1),
				fmt.Sprintf("without numbers %d to %d", from, to))
		default:
			p.skips = append(p.skips, sight{r.name, offset})
			r.c.weigh(p)
		}
	}
	if l.forgotten > last {
		r.c.unjudged += int(min(l.forgotten, number-1) - last)
	}
}

// miss notes numbers that the log does not have.
func (r *Reader) miss(p *part, from, to uint64) {
	for i := range p.batches {
		if b := &p.batches[i]; b.first <= to && b.first+uint64(b.n) > from {
			b.missed = true
			if b.acked >= 0 {
				r.c.missing(p, b)
			}
		}
	}
}

// missing judges an acknowledged batch that the log does not have. Clusters may
// hide at read_uncommitted what is aborted, and a commit without an answer may
// have come to that; a cluster that showed some of it hides nothing.
func (c *Checker) missing(p *part, b *batch) {
	perhaps := p.txn.told == committing && p.txn.ending != Plain && p.inLog == 0 && !c.showsAborted
	if p.txn.told == dead || p.logged == Aborted || !p.txn.ending.mayShow() || perhaps {
		c.hidden += b.n
		return
	}
	c.accuse(p, Lost, "", b.acked, fmt.Sprintf("the records that were acknowledged at %d", b.acked), "the log was read past them and does not have them")
}

// Finish judges what the reader never got although it has read all of a
// partition, up to an offset.
func (r *Reader) Finish(partition int, end int64) {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	for key, l := range r.c.lanes {
		if key.partition != partition {
			continue
		}
		r.pass(l, r.last[key], math.MaxUint64, end)
		if r.log {
			for _, p := range l.parts {
				if p.txn.told == committed && p.logged == Undecided {
					r.c.accuse(p, BrokenCommit, "", -1, "a COMMIT marker: the commit was acknowledged", "none up to the end of the log")
				}
			}
		}
	}
}
