package history

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"
)

// Ending is what becomes of a transaction by its plan.
type Ending uint8

// The endings.
const (
	Plain   Ending = iota // no transaction: the record counts once it is written
	Commit                // committed
	Abort                 // aborted
	Abandon               // left open; the next producer of its ID ends it
	Zombie                // as Abandon, and its producer writes on when the next one has begun
	Crash                 // as Abandon, from within a write whose answer nobody waits for
	Leave                 // the commit is sent, and nobody waits for its answer: either is right, all of it or none
	endings
)

func (e Ending) String() string {
	return [...]string{"write", "commit", "abort", "abandon", "zombie", "crash", "leave"}[e]
}

// mayShow reports whether a reader may ever get such records.
func (e Ending) mayShow() bool { return e == Plain || e == Commit || e == Leave }

// Fault is what a request of a transaction meets on its way.
type Fault uint8

// The faults.
const (
	NoFault Fault = iota
	Delay         // the request comes later
	Stall         // the answer comes later
	Drop          // the answer is lost
	Cut           // the request is lost half-way
	Late          // its sender has gone by the time that it arrives
	faults
)

func (f Fault) String() string {
	return [...]string{"", "delayed", "stalled", "dropped", "cut", "late"}[f]
}

// Step is a kind of request of a transaction.
type Step uint8

// The steps.
const (
	OnAdd   Step = iota // the first AddPartitionsToTxn, of producers that send it
	OnWrite             // the last Produce
	OnEnd               // EndTxn
	OnBegin             // the InitProducerId after it, of producers that are replaced
	steps
)

func (s Step) String() string { return [...]string{"add", "write", "end", "begin"}[s] }

// Plan is what happens, without when: the same seed and shape make the same
// plan.
type Plan struct {
	Partitions int
	Actors     []Actor
}

// Actor is one producer, with what it does one after the other.
type Actor struct {
	Old  bool // speaks the older of the protocols that the cluster has
	Txns []Txn
}

// Txn is one transaction, or one batch without.
type Txn struct {
	Writes []Write
	Ending Ending
	Fault  Fault
	On     Step          // of Fault
	Wait   time.Duration // of Fault, if it has one
}

// Write is one batch, and the pause after it.
type Write struct {
	Partition, Records int
	Pause              time.Duration
}

// Shape is how large a plan is, and what happens in it.
type Shape struct {
	Partitions   int
	Producers    int // with transactions
	Plain        int // producers without
	Transactions int // of each producer
	Pause        time.Duration
	Crashes      bool // producers go away, come back and are replaced
	Faults       bool // requests of producers with transactions fail on their way
}

// NewPlan makes a plan.
func NewPlan(seed uint64, s Shape) Plan {
	r := rand.New(rand.NewPCG(seed, 0x72616e646f6d))
	p := Plan{Partitions: s.Partitions}
	for i := range s.Producers + s.Plain {
		a := Actor{Old: i%2 == 1}
		for range s.Transactions {
			if i < s.Producers {
				a.Txns = append(a.Txns, s.transaction(r))
			} else {
				a.Txns = append(a.Txns, Txn{Ending: Plain, Writes: []Write{s.write(r)}})
			}
		}
		p.Actors = append(p.Actors, a)
	}
	return p
}

func (s Shape) transaction(r *rand.Rand) Txn {
	t := Txn{Ending: s.ending(r)}
	for range 1 + r.IntN(4) {
		t.Writes = append(t.Writes, s.write(r))
	}
	if s.Faults && r.IntN(3) == 0 {
		t.Fault, t.On = 1+Fault(r.IntN(int(faults-1))), Step(r.IntN(int(steps)))
		t.Wait = time.Duration(20+r.IntN(280)) * time.Millisecond
		if t.On == OnBegin && t.Fault == Late {
			t.Fault = Drop // it would end a transaction of its own producer, rightly
		}
	}
	return t
}

func (s Shape) write(r *rand.Rand) Write {
	w := Write{Partition: r.IntN(s.Partitions), Records: 1 + r.IntN(4)}
	if s.Pause > 0 {
		w.Pause = time.Duration(r.Int64N(int64(s.Pause)))
		if r.IntN(50) == 0 {
			w.Pause *= 20 // a producer that sleeps within a transaction
		}
	}
	return w
}

func (s Shape) ending(r *rand.Rand) Ending {
	n := r.IntN(100)
	switch {
	case s.Crashes && n < 24:
		return Abandon + Ending(n/6)
	case n < 55:
		return Abort
	}
	return Commit
}

// Transactions counts those of all actors, batches without included.
func (p Plan) Transactions() int {
	n := 0
	for _, a := range p.Actors {
		n += len(a.Txns)
	}
	return n
}

// String is the plan in one line for each actor.
func (p Plan) String() string {
	var b strings.Builder
	for i, a := range p.Actors {
		if len(a.Txns) == 0 {
			continue
		}
		fmt.Fprintf(&b, "producer %d", i)
		if a.Old {
			b.WriteString(" (older protocol)")
		}
		b.WriteString(":")
		for k, t := range a.Txns {
			if k > 0 {
				b.WriteString(" |")
			}
			b.WriteString(t.String())
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (t Txn) String() string {
	var b strings.Builder
	for _, w := range t.Writes {
		fmt.Fprintf(&b, " %dx%d", w.Partition, w.Records)
		if w.Pause > 0 {
			fmt.Fprintf(&b, "+%v", w.Pause.Round(time.Microsecond))
		}
	}
	b.WriteString(" " + t.Ending.String())
	if t.Fault != NoFault {
		fmt.Fprintf(&b, " (%s %s, %v)", t.On, t.Fault, t.Wait)
	}
	return b.String()
}

// Hash tells plans apart.
func (p Plan) Hash() uint64 {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%d\n%s", p.Partitions, p)
	return h.Sum64()
}
