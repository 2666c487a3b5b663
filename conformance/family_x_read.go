package conformance

import (
	"math/rand/v2"
	"time"

	"example.com/readcommitted/conformance/internal/history"
	"example.com/readcommitted/conformance/internal/model"
)

// Names and limits of the readers of a history.
const (
	fetchReader  = "fetch" // it follows the lists of raw answers
	historyWait  = 50 * time.Millisecond
	historyBytes = 64 << 10
	oddBytes     = 3000 // no limit of the odd ones is above
	clientPull   = 200 * time.Millisecond
)

// ownReaders read every partition at both isolation levels.
func (x *randomRun) ownReaders() (all []func()) {
	for i := range x.ps {
		random := rand.New(rand.NewPCG(x.t.rand.Uint64(), uint64(i)))
		all = append(all, func() { x.readLog(i) }, func() { x.follow(i, random) })
	}
	return all
}

// readLog reads a partition at read_uncommitted.
func (x *randomRun) readLog(i int) {
	p := x.ps[i]
	spec := fetchSpec{isolation: model.ReadUncommitted, lane: laneOf("log", i), maxWait: historyWait, partitionMaxBytes: historyBytes}
	for next := int64(0); !x.reached(i, next); {
		a := x.fetch(p, next, spec)
		for k := range a.Batches {
			x.logged(i, &a.Batches[k])
		}
		x.notice(i)
		next = a.End()
	}
	x.log.Finish(i, x.truths[i].log.End)
}

func (x *randomRun) logged(i int, b *model.Batch) {
	switch {
	case b.Kind == model.CommitMarker:
		x.log.Marked(i, b.ProducerID, b.Base, history.Committed)
	case b.Kind == model.AbortMarker:
		x.log.Marked(i, b.ProducerID, b.Base, history.Aborted)
	case b.Control():
	default:
		records, err := b.Records()
		if err != nil {
			x.t.undecided("reading the log of %s: batch at %d: %v", x.ps[i], b.Base, err)
		}
		all := make([]history.Record, len(records))
		for k, r := range records {
			all[k] = history.Record{Offset: r.Offset, Value: r.Value}
		}
		x.log.Logged(i, b.ProducerID, all)
	}
}

// reached reports whether a reader has all of a partition behind it.
func (x *randomRun) reached(i int, next int64) bool {
	return x.settled.Load() && next >= x.truths[i].log.End
}

// fetch is a Fetch that has to be answered.
func (x *randomRun) fetch(p model.Partition, offset int64, spec fetchSpec) answer {
	a := x.t.fetch(p, offset, spec)
	switch {
	case a.ErrorCode != 0:
		x.t.undecided("reading %s at %d: %s", p, offset, codeName(a.ErrorCode))
	case a.Problem != nil:
		x.t.unreadable(p, a)
	}
	return a
}

func laneOf(what string, i int) string { return what + " " + string(rune('a'+i)) }

// follow reads a partition at read_committed in answers of odd sizes, and
// follows their lists as the Java client does.
func (x *randomRun) follow(i int, random *rand.Rand) {
	p := x.ps[i]
	spec := fetchSpec{isolation: model.ReadCommitted, lane: laneOf("reader", i), maxWait: historyWait}
	var bounds model.History
	deadline := time.Now()
	for next := int64(0); !x.reached(i, next); {
		spec.partitionMaxBytes = 1 + random.Int32N(oddBytes)
		settled := x.settled.Load()
		a := x.fetch(p, next, spec)
		x.wantBounds(i, a, &bounds)
		x.take(i, a)
		x.notice(i)
		if a.End() > next || !settled {
			next, deadline = a.End(), time.Now().Add(x.t.bound(stuck))
		} else if time.Now().After(deadline) {
			x.check.Tell(history.Anomaly{
				Kind: history.Stuck, Reader: fetchReader, Partition: i, Offset: next,
				Expected: "records or markers: nothing is open", Observed: "none for " + stuck.String(),
			})
			return
		}
	}
	x.fetching.Finish(i, x.truths[i].log.End)
}

func (x *randomRun) take(i int, a answer) {
	records, err := believed(a.View)
	if err != nil {
		x.t.undecided("reading %s at %d: %v", a.Partition, a.FetchOffset, err)
	}
	if len(records) > 0 && !x.settled.Load() {
		x.answers.Add(1)
	}
	x.fetching.Read(i, a.Received, historyRecords(records))
	x.fetching.Passed(i, a.End())
}

// wantBounds holds the last stable offset of an answer against the transactions
// that were open all the while, and against the answer before.
func (x *randomRun) wantBounds(i int, a answer, bounds *model.History) {
	breaches, _ := bounds.Next(a.View)
	breaches = append(breaches, model.U2b(a.View)...)
	for _, b := range breaches {
		x.check.Tell(history.Anomaly{
			Kind: history.Bounds, Reader: fetchReader, Partition: i, Offset: b.Offset, Expected: b.Expected, Observed: b.Observed,
		})
	}
}

func historyRecords(records []Delivered) []history.Record {
	out := make([]history.Record, len(records))
	for k, d := range records {
		out[k] = history.Record{Offset: d.Offset, Value: d.Value}
	}
	return out
}

// randomReading is a reader under judgement that reads one partition.
type randomReading struct {
	*reading
	x    *randomRun
	i    int
	seen *history.Reader
	fed  int // records that were judged
}

// openClients begins to read every partition with every client.
func (x *randomRun) openClients(clients []Client) {
	network := x.readerNetwork()
	for _, c := range clients {
		seen := x.check.Reader(clientReader(c))
		for i, p := range x.ps {
			a := Assignment{Topic: p.Topic, Partition: p.Index, Committed: true}
			if network != nil {
				a.Dial = network.Dial
			}
			if r := x.t.open(c, a); r != nil {
				x.clients = append(x.clients, &randomReading{reading: r, x: x, i: i, seen: seen})
			} else {
				seen.Leave() // the scenario is not decided then
			}
		}
	}
}

// clientPrefix begins the names of readers under judgement.
const clientPrefix = "client "

func clientReader(c Client) string { return clientPrefix + c.Name() }

func (x *randomRun) clientReaders() (all []func()) {
	for _, r := range x.clients {
		all = append(all, r.follow)
	}
	return all
}

func (x *randomRun) closeClients() {
	for _, r := range x.clients {
		r.close()
	}
}

// follow reads until the last record that there is to get.
func (r *randomReading) follow() {
	for !r.x.settled.Load() && r.trouble == "" {
		r.pull(clientPull)
		r.feed()
	}
	w := r.x.truths
	r.until(stuck, func() bool {
		r.feed()
		return r.passed() > w[r.i].last()
	})
	r.feed()
	if r.trouble != "" {
		r.seen.Leave()
		return
	}
	r.seen.Finish(r.i, w[r.i].log.End)
}

// feed judges what was handed out since the last time.
func (r *randomReading) feed() {
	fresh := r.got[r.fed:]
	r.fed = len(r.got)
	r.seen.Read(r.i, time.Now(), historyRecords(fresh))
}
