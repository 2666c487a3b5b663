package history

import (
	"fmt"
	"slices"
	"sort"
	"time"
)

// told is what a transaction's producer knows of it.
type told int8

const (
	open       told = iota
	committing      // the commit was sent, and its answer is not there, or says nothing
	committed       // acknowledged
	dead            // nobody sent a commit, and nobody will: it must never show
)

// Transaction is one that a producer writes, or a batch without one.
type Transaction struct {
	c           *Checker
	producer    uint16
	incarnation uint16
	number      uint32
	ending      Ending
	told        told
	invoked     time.Time // when the commit was sent first
	bitmap      uint64
	parts       []*part // by partition
}

// part is a transaction in one partition, or a range of several that came to
// nothing.
type part struct {
	txn         *Transaction
	partition   int
	first, last uint64 // numbers, both inclusive
	next        uint64 // number of the next record to be written
	batches     []batch
	inLog       int // records of it that the log showed
	logged      Fate
	skips       []sight // readers that passed all of it
	deliveries  []sight // readers that got some of it
	accused     []accusation
}

// batch is a write of some records, consecutive in number and offset.
type batch struct {
	first  uint64 // number
	n      int
	acked  int64 // base offset by its acknowledgement, -1 without
	seen   int64 // base offset by what readers saw, -1 for nothing
	missed bool  // the log was read past it, and did not have it
}

// sight is where a reader saw something, or did not.
type sight struct {
	reader string
	offset int64
}

type accusation struct {
	kind   Kind
	reader string
}

// lane is what one producer writes to one partition.
type lane struct {
	parts     []*part // ascending; ranges without gaps
	next      uint64  // number to be given out next
	forgotten uint64  // numbers up to here are not known any more
	compactAt int     // parts
}

// laneKey names a lane.
type laneKey struct {
	producer  uint16
	partition int
}

// find is the part that holds a number, nil if it is forgotten or not given out.
func (l *lane) find(number uint64) *part {
	if i := l.at(number); i < len(l.parts) && l.parts[i].first <= number {
		return l.parts[i]
	}
	return nil
}

// at is the index of the part that holds a number, or else of the one above.
func (l *lane) at(number uint64) int {
	return sort.Search(len(l.parts), func(i int) bool { return l.parts[i].last >= number })
}

// Begin notes that a producer begins a transaction of its plan, or what is one
// batch without. number counts the producer's transactions from 1 on.
func (c *Checker) Begin(producer, incarnation, number int, plan Txn) *Transaction {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &Transaction{
		c: c, producer: uint16(producer), incarnation: uint16(incarnation), number: uint32(number), ending: plan.Ending,
	}
	if plan.Ending == Plain {
		t.number = 0
	}
	counts := make([]int, c.partitions)
	for _, w := range plan.Writes {
		counts[w.Partition] += w.Records
		t.bitmap |= 1 << w.Partition
	}
	for partition, n := range counts {
		if n == 0 {
			continue
		}
		l := c.lane(laneKey{t.producer, partition})
		c.compact(laneKey{t.producer, partition}, l)
		p := &part{txn: t, partition: partition, first: l.next, last: l.next + uint64(n) - 1, next: l.next}
		l.next += uint64(n)
		l.parts = append(l.parts, p)
		t.parts = append(t.parts, p)
	}
	return t
}

func (c *Checker) lane(key laneKey) *lane {
	l := c.lanes[key]
	if l == nil {
		l = &lane{next: 1, compactAt: compactFrom}
		c.lanes[key] = l
	}
	return l
}

func (t *Transaction) part(partition int) *part {
	i := slices.IndexFunc(t.parts, func(p *part) bool { return p.partition == partition })
	return t.parts[i]
}

// Values are those of the transaction's next write of n records, which goes
// out now.
func (t *Transaction) Values(partition, n, padding int) [][]byte {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	p := t.part(partition)
	p.batches = append(p.batches, batch{first: p.next, n: n, acked: -1, seen: -1})
	out := make([][]byte, n)
	for i := range out {
		v := Value{
			Run: t.c.run, Producer: t.producer, Incarnation: t.incarnation, Txn: t.number, Ending: t.ending,
			Index: uint16(p.next - p.first), Count: uint16(p.last - p.first + 1), Partitions: t.bitmap, Number: p.next,
		}
		out[i] = v.Encode(padding)
		p.next++
	}
	return out
}

// Acknowledged notes that the newest write to a partition was taken, at a base
// offset.
func (t *Transaction) Acknowledged(partition int, base int64) {
	c := t.c
	c.mu.Lock()
	defer c.mu.Unlock()
	p := t.part(partition)
	b := &p.batches[len(p.batches)-1]
	b.acked = base
	c.ends[partition] = max(c.ends[partition], base+int64(b.n))
	if b.seen >= 0 && b.seen != base {
		c.accuse(p, Moved, "", base, fmt.Sprintf("record %d at %d, where a reader saw it", b.first, b.seen), fmt.Sprintf("it was acknowledged at %d", base))
	}
	if b.missed {
		c.missing(p, b)
	}
}

// Committing notes that a commit is about to be sent for the first time; for a
// batch without a transaction, that it is about to be written.
func (t *Transaction) Committing(at time.Time) { t.tell(committing, at) }

// Committed notes that the commit, or the write, was acknowledged.
func (t *Transaction) Committed() { t.tell(committed, time.Time{}) }

// Dead notes that no commit was sent and none will be.
func (t *Transaction) Dead() { t.tell(dead, time.Time{}) }

func (t *Transaction) tell(what told, at time.Time) {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	t.told = what
	if !at.IsZero() {
		t.invoked = at
	}
	for _, p := range t.parts {
		t.c.weigh(p)
	}
}

// weigh holds what is known of a part against itself.
func (c *Checker) weigh(p *part) {
	t := p.txn
	switch {
	case t.told == committed && p.logged == Aborted:
		c.accuse(p, BrokenCommit, "", -1, "a COMMIT marker: the commit was acknowledged", "an ABORT marker")
	case t.told == dead && p.logged == Committed:
		c.accuse(p, WrongCommit, "", -1, "no COMMIT marker: nobody committed", "a COMMIT marker")
	}
	if t.told == committed || p.logged == Committed && t.told != dead {
		for _, s := range p.skips {
			c.accuse(p, Lost, s.reader, s.offset, "its records: it is committed", fmt.Sprintf("the reader passed by at offset %d", s.offset))
		}
	}
	if t.told == dead || p.logged == Aborted {
		for _, s := range p.deliveries {
			c.accuse(p, AbortedRead, s.reader, s.offset, "none of its records: it is aborted", fmt.Sprintf("the reader got one at offset %d", s.offset))
		}
	}
	for _, other := range t.parts {
		if p.logged != Undecided && other.logged != Undecided && p.logged != other.logged {
			c.accuse(p, Torn, "", -1, fmt.Sprintf("%s, as in partition %d", other.logged, other.partition), p.logged.String())
		}
	}
}
