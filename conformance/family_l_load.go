package conformance

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"example.com/readcommitted/conformance/internal/model"
)

// What L-11 puts on a partition. The bounds on its producers and on the bytes
// of a sample bound the memory that it takes.
const (
	loadTime         = 10 * time.Second
	loadAtMost       = 60 * time.Second // where it takes long to see enough
	loadSamples      = 20               // with a transaction open, that are enough
	loadProducers    = 8
	loadTransactions = 300 // of one producer
	sampleEvery      = 10 * time.Millisecond
	sampleBytes      = 16 << 10
)

// load is the partition of L-11, its producers and its sampler.
type load struct {
	t     *trial
	p     model.Partition
	begun time.Time
	over  atomic.Bool // a breach was seen, or something does not work

	committed, aborted atomic.Int64 // transactions

	held  atomic.Int64 // samples with a transaction open all the while
	moves atomic.Int64 // of the last stable offset

	// The sampler's alone.
	history  model.History
	position int64
	lso      int64
}

func stableUnderLoad(t *trial) {
	l := &load{t: t, p: t.partition()}
	functions := []func(){l.sample}
	for range loadProducers {
		w, random := t.producer(), rand.New(rand.NewPCG(t.rand.Uint64(), t.rand.Uint64()))
		functions = append(functions, func() { l.produce(w, random) })
	}
	l.begun = time.Now()
	t.together(functions...)
	// A breach ends it early, and needs no more samples to be one.
	t.witness(l.over.Load() || l.sawEnough(), "of %s %d samples were taken with a transaction open", l.p, l.held.Load())
	t.fact("%d commits and %d aborts, %d samples with a transaction open, %d moves of the last stable offset",
		l.committed.Load(), l.aborted.Load(), l.held.Load(), l.moves.Load())
	t.expectAs(Live, t.settle(l.p), l.p, t.lso(l.p), "the last stable offset at the high watermark once everything is ended", "below it after 10 s")
}

func (l *load) sawEnough() bool { return l.held.Load() >= loadSamples }

func (l *load) goesOn() bool {
	ran := time.Since(l.begun)
	return !l.over.Load() && (ran < loadTime || ran < loadAtMost && !l.sawEnough())
}

// stopIfBroken ends the load with the goroutine that cannot go on.
func (l *load) stopIfBroken() {
	if cause := recover(); cause != nil {
		l.over.Store(true)
		panic(cause)
	}
}

func (l *load) produce(w *producer, random *rand.Rand) {
	defer l.stopIfBroken()
	for n := 0; n < loadTransactions && l.goesOn(); n++ {
		for range 1 + random.IntN(3) {
			w.write(l.p, 1+random.IntN(3))
			l.rest(random)
		}
		commit := random.IntN(4) > 0
		w.end(commit)
		if commit {
			l.committed.Add(1)
		} else {
			l.aborted.Add(1)
		}
		l.rest(random)
	}
}

func (l *load) rest(random *rand.Rand) {
	l.t.pause(time.Duration(random.IntN(20))*time.Millisecond, "the next step of a producer")
}

// sample looks at the partition at read_committed, and every fifth time in the
// other ways too.
func (l *load) sample() {
	defer l.stopIfBroken()
	for n := 0; l.goesOn(); n++ {
		l.look(model.ReadCommitted, l.position)
		if n%5 == 4 {
			l.look(model.ReadUncommitted, l.position)
			l.list()
		}
		l.t.pause(sampleEvery, "the next sample")
	}
}

func (l *load) look(isolation int8, offset int64) {
	a := l.t.fetch(l.p, offset, fetchSpec{isolation: isolation, lane: "sampler", partitionMaxBytes: sampleBytes})
	if !l.t.wantNoError(a) {
		l.over.Store(true)
		return
	}
	before := l.history.Before(a.View)
	breaches, _ := l.history.Next(a.View)
	if len(breaches) > 0 && !l.t.oneLeader(before, a.View) {
		breaches = nil // which is told when all answers are judged
	}
	breaches = append(breaches, model.U2b(a.View)...)
	for _, b := range breaches {
		l.t.expect(false, l.p, b.Offset, b.Expected, b.Observed)
		l.over.Store(true)
	}
	if isolation == model.ReadUncommitted {
		return
	}
	l.position = a.End()
	if len(a.Open) > 0 {
		l.held.Add(1)
	}
	if a.LastStableOffset > l.lso {
		l.lso = a.LastStableOffset
		l.moves.Add(1)
	}
}

// list holds the latest offset at read_committed against the transactions that
// were open all the while.
func (l *load) list() {
	before := time.Now()
	listed := l.t.list(l.p, model.ReadCommitted, latest)
	for _, open := range l.t.pinnedDuring(l.p, before, time.Now()) {
		if !l.t.expect(listed <= open.First, l.p, listed,
			fmt.Sprintf("a latest offset at read_committed <= %d (pid %d has been open there since before the request)", open.First, open.ProducerID),
			fmt.Sprint(listed)) {
			l.over.Store(true)
		}
	}
}
