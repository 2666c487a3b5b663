package conformance

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"example.com/readcommitted/conformance/internal/model"
)

// traffic is producers and readers at work while brokers come and go.
type traffic struct {
	t       *trial
	ps      []model.Partition
	writers []*trafficWriter
	readers []*trafficReader
}

// trafficWriters is how many producers there are.
const trafficWriters = 3

func (t *trial) newTraffic(ps []model.Partition) *traffic {
	l := &traffic{t: t, ps: ps}
	for i := range trafficWriters {
		l.writers = append(l.writers, &trafficWriter{traffic: l, name: t.newID(), first: i})
	}
	for _, p := range ps {
		l.readers = append(l.readers, &trafficReader{traffic: l, p: p})
	}
	return l
}

// trafficWriter writes transactions over two partitions, one after the other.
type trafficWriter struct {
	traffic *traffic
	name    string
	first   int

	mu    sync.Mutex
	deeds []*deed
	begun []time.Time // of each
}

// work writes until it is told to stop. Each transaction has an epoch of its
// own: what was sent for an older one and comes late is refused.
func (w *trafficWriter) work(stop *atomic.Bool) {
	n := 0
	w.traffic.keepOn(stop, func() { w.transact(n); n++ })
}

// transact is one transaction.
func (w *trafficWriter) transact(n int) {
	t, begun := w.traffic.t, time.Now()
	p := t.producerFor(w.name, longestTimeout)
	d := t.deed(p)
	defer func() { // what stops in between is known as far as it got
		w.mu.Lock()
		defer w.mu.Unlock()
		w.deeds, w.begun = append(w.deeds, d), append(w.begun, begun)
	}()
	for k := range 2 {
		to := w.traffic.ps[(w.first+n+k)%len(w.traffic.ps)]
		if r := d.tryJoinAndWrite(to); !r.ok() {
			d.cutShort("Produce to "+to.String(), r)
			break
		}
	}
	if len(d.order) == 2 {
		d.end(n%3 > 0)
	}
}

// keepOn does something again and again until it is told to stop. That a step
// gets no answer decides nothing: whether all goes on in time is asked in the
// end, see awaitProgress.
func (l *traffic) keepOn(stop *atomic.Bool, step func()) {
	t := l.t
	for !stop.Load() {
		end := t.guarded(step)
		if end == nil {
			continue
		}
		if end.outcome != Inconclusive || end.crashed || t.ctx.Err() != nil {
			panic(*end)
		}
		t.factOnce("producers or readers went on after a step without an answer")
		t.pause(retryPause, "another attempt")
	}
}

// tryJoinAndWrite is write, for answers that a script wants to see.
func (d *deed) tryJoinAndWrite(p model.Partition) reply {
	if d.level < TV2 {
		if r := d.tryAdd(p); !r.ok() {
			return r
		}
	}
	return d.tryWrite(p)
}

// ended is how many transactions were over so far.
func (l *traffic) ended() (n int) {
	for _, w := range l.writers {
		w.mu.Lock()
		n += len(w.deeds)
		w.mu.Unlock()
	}
	return n
}

// committedSince is a batch of a transaction that a writer began after a moment
// and whose commit was acknowledged.
func (w *trafficWriter) committedSince(at time.Time) (d *deed, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.deeds {
		if w.begun[i].After(at) && w.deeds[i].fate == model.Committed {
			return w.deeds[i], true
		}
	}
	return nil, false
}

// awaitProgress asserts that every writer commits something new within a bound,
// and every reader gets past it.
func (l *traffic) awaitProgress(since time.Time, within time.Duration) {
	t := l.t
	why := ""
	went := t.until(within-time.Since(since), "producers and readers that go on", func() bool {
		why = l.stuck(since)
		return why == ""
	})
	t.expectAs(Live, went, l.ps[0], -1, fmt.Sprintf("every producer commits, and every reader gets it, within %v", within), why)
	t.fact("everything went on %v after the leader did", time.Since(since).Round(100*time.Millisecond))
}

// stuck says who does not go on, "" for nobody.
func (l *traffic) stuck(since time.Time) string {
	for _, w := range l.writers {
		d, ok := w.committedSince(since)
		if !ok {
			return "no new commit of " + w.name
		}
		for _, r := range l.readers {
			for _, base := range d.bases[r.p] {
				if at := r.position.Load(); at <= base {
					return fmt.Sprintf("the reader of %s is at %d, below the record at %d that was committed", r.p, at, base)
				}
			}
		}
	}
	return ""
}

// trafficReader follows a partition as a client at read_committed does.
type trafficReader struct {
	traffic  *traffic
	p        model.Partition
	position atomic.Int64
	seen     []glimpse
}

func (r *trafficReader) follow(stop *atomic.Bool) {
	t := r.traffic.t
	spec := fetchSpec{isolation: model.ReadCommitted, lane: "follower " + r.p.String(), maxWait: longWait}
	r.traffic.keepOn(stop, func() {
		from := r.position.Load()
		a := t.fetch(r.p, from, spec)
		t.wantReadable(a)
		got, err := model.Deliver(a.List, a.Batches, from)
		if err != nil {
			t.undecided("reading %s at %d: %v", r.p, from, err)
		}
		if a.End() > from {
			r.seen = append(r.seen, glimpse{from: from, end: a.End(), got: got, at: a.Received})
			r.position.Store(a.End())
		}
	})
}

// wantSafe asserts, after everything, that each transaction is whole, and that
// readers got what is committed and nothing else.
func (l *traffic) wantSafe() {
	t := l.t
	logs := map[model.Partition]*model.Log{}
	for _, w := range l.writers {
		t.idle(w.name, longestTimeout).init() // ends what is open
	}
	for _, p := range l.ps {
		t.rest(p)
		logs[p] = t.oracle(p)
		end := glimpse{end: logs[p].End, got: t.delivered(p, 0)}
		l.wantSeen(logs[p], end)
	}
	for _, w := range l.writers {
		for _, d := range w.deeds {
			t.wantWholeDeed(d, logs)
		}
	}
	for _, r := range l.readers {
		for _, g := range r.seen {
			l.wantSeen(logs[r.p], g)
		}
	}
}

// wantSeen asserts what a reader got.
func (l *traffic) wantSeen(log *model.Log, g glimpse) {
	want, err := log.Visible(g.from, g.end)
	if err != nil {
		l.t.undecided("reading the log of %s: %v", log.Partition, err)
	}
	l.t.wantOffsetsAs(Must, log.Partition, fmt.Sprintf("delivered from %d on up to %d, as the log says", g.from, g.end), g.got, want)
}
