package conformance

import (
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"example.com/readcommitted/conformance/internal/history"
	"example.com/readcommitted/conformance/internal/model"
)

// Sizes of the histories of family X.
const (
	historyPartitions   = 4
	historyProducers    = 6
	historyPlain        = 2
	historyTransactions = 120 // of each producer
	historyPause        = 16 * time.Millisecond
	historyTime         = 15 * time.Second // a slow cluster gets through less of its plan
	historyAtMost       = 90 * time.Second // where it takes long to see enough
	historyLag          = 2000             // offsets that readers may be behind

	leastCommitted = 60
	leastAborted   = 30
	leastReplaced  = 10
	leastFaults    = 20
	leastAnswers   = 20 // with records, while producers were at work
)

// randomRun is a plan that is carried out.
type randomRun struct {
	t     *trial
	plan  history.Plan
	names []string // transactional IDs by actor, "" for those without
	ps    []model.Partition
	check *history.Checker
	begun time.Time
	wild  bool // the network fails, or brokers do

	log, fetching *history.Reader  // the checker's own, at both levels
	clients       []*randomReading // of readers under judgement

	producing sync.WaitGroup
	settled   atomic.Bool // producers are through, and truths are known
	truths    []truth     // by partition, from settled on

	committed, aborted, replaced, answers atomic.Int64

	did     []atomic.Int64 // transactions by actor
	outages atomic.Int64   // that were over while producers were at work

	mu       sync.Mutex
	evidence map[int][]string // by partition, the exchanges before something was found
}

// judgeHistory makes a plan of a shape, carries it out and judges it.
func (t *trial) judgeHistory(s history.Shape) {
	s.Partitions, s.Producers, s.Plain = historyPartitions, historyProducers, historyPlain
	s.Transactions, s.Pause = historyTransactions, orElse(s.Pause, historyPause)
	plan := history.NewPlan(t.rand.Uint64(), s)
	t.fact("seed %d makes plan %016x: %d producers, %d transactions and batches without one in %d partitions",
		t.run.config.Seed, plan.Hash(), len(plan.Actors), plan.Transactions(), plan.Partitions)
	x := t.history(plan)
	if end := t.guarded(func() { x.carryOut(t.run.config.Clients) }); end != nil {
		x.tell(x.shown(planShown(plan)))
		t.stop(end.outcome, end.reason)
	}
	x.witness(s)
	x.reread(rereadAnswers)
	x.judge(x.shown(x.shrunk()))
}

// goesOn reports whether producers have time to go on with the plan, and reason.
func (x *randomRun) goesOn() bool {
	ran := time.Since(x.begun)
	enough := x.committed.Load() >= leastCommitted && x.aborted.Load() >= leastAborted
	atLeast := ran < x.t.bound(historyTime)
	if x.t.rough.Load() {
		atLeast = x.outages.Load() < x.outagesWanted()
	}
	return !x.broken() && (atLeast || ran < x.t.bound(historyAtMost) && !enough)
}

// done is the part of the plan that was carried out.
func (x *randomRun) done() history.Plan {
	p := x.plan
	p.Actors = slices.Clone(p.Actors)
	for i := range p.Actors {
		p.Actors[i].Txns = p.Actors[i].Txns[:x.did[i].Load()]
	}
	return p
}

// witness says what has to have happened. What is found needs no more to be so.
func (x *randomRun) witness(s history.Shape) {
	t, broken := x.t, x.broken()
	t.fact("%d transactions were committed, %d aborted, %d producers replaced; %d answers had records meanwhile",
		x.committed.Load(), x.aborted.Load(), x.replaced.Load(), x.answers.Load())
	want := func(what string, n, least int64) {
		t.witness(broken || n >= least, "%d %s, of at least %d", n, what, least)
	}
	want("transactions were committed", x.committed.Load(), leastCommitted)
	want("transactions were aborted", x.aborted.Load(), leastAborted)
	want("answers had records while producers were at work", x.answers.Load(), leastAnswers)
	if s.Crashes || s.Faults {
		want("producers were replaced", x.replaced.Load(), leastReplaced)
	}
	if s.Faults {
		t.fact("%d requests of producers met a fault of the network", t.network.Done())
		want("requests met a fault of the network", int64(t.network.Done()), leastFaults)
	}
	if t.rough.Load() {
		want("outages were over while producers were at work", x.outages.Load(), x.outagesWanted())
	}
	unjudged, hidden := x.check.Unjudged()
	t.witness(broken || unjudged == 0, "%d records could not be judged: readers were too far behind", unjudged)
	if hidden > 0 {
		t.fact("%d records of aborted transactions are not shown at read_uncommitted", hidden)
	}
}

// history is a plan that is about to be carried out, with partitions of its own.
func (t *trial) history(plan history.Plan) *randomRun {
	x := &randomRun{
		t: t, plan: plan, wild: t.network != nil || t.rough.Load(), begun: time.Now(), ps: t.partitions(int32(plan.Partitions)),
		did: make([]atomic.Int64, len(plan.Actors)), evidence: map[int][]string{},
	}
	x.check = history.NewChecker(x.number(), plan.Partitions)
	x.log, x.fetching = x.check.Log(), x.check.Reader(fetchReader)
	return x
}

// carryOut runs producers and readers until all is written and read.
func (x *randomRun) carryOut(clients []Client) {
	x.openClients(clients)
	defer x.closeClients()
	x.t.together(slices.Concat(x.producers(), x.ownReaders(), x.clientReaders(), x.outage(), []func(){x.settle})...)
}

// producers are what the actors of the plan do.
func (x *randomRun) producers() (all []func()) {
	for n, a := range x.plan.Actors {
		x.names = append(x.names, x.name(a))
		x.producing.Add(1)
		all = append(all, func() {
			defer x.producing.Done()
			x.produce(n, a)
		})
	}
	return all
}

// number tells this history's records from those of any other.
func (x *randomRun) number() uint64 {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, x.ps[0].Topic)
	return h.Sum64()
}

// settle ends what is left open once the producers are through, and works out
// what there is to be read.
func (x *randomRun) settle() {
	x.producing.Wait()
	t := x.t
	if t.network != nil {
		t.network.Wait()
	}
	for n, name := range x.names {
		if name != "" {
			x.begin(n)
		}
	}
	for i, p := range x.ps {
		if !t.settle(p) {
			x.stuck(i)
		}
		x.truths = append(x.truths, t.truth(p, model.ReadCommitted))
	}
	x.settled.Store(true)
}

// stuck ends the history: nothing is open any more, and something holds records
// back all the same.
func (x *randomRun) stuck(partition int) {
	p := x.ps[partition]
	high, lso := x.t.highWatermark(p), x.t.lso(p)
	x.t.reportAs(Live, p, lso, fmt.Sprintf("LSO %d, the high watermark, within %s: no transaction is open", high, x.t.bound(settled)), fmt.Sprintf("LSO %d", lso))
	x.t.stop(Inconclusive, "records of "+p.String()+" stay held back")
}

// broken reports whether the cluster was seen to be wrong.
func (x *randomRun) broken() bool { return x.check.Saw("", fetchReader) }

// notice keeps the exchanges about a partition when something was found.
func (x *randomRun) notice(i int) {
	if !x.broken() {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.evidence[i] == nil {
		x.t.mu.Lock()
		defer x.t.mu.Unlock()
		x.evidence[i] = x.t.trace.last(evidenceLines, x.ps[i])
	}
}
