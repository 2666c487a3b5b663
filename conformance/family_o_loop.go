package conformance

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

var familyOLoop = []*Scenario{
	{
		ID: "O-08", Name: "read-process-write", Class: Must, Profile: Standard, Typical: 5 * time.Second, Limit: 4 * time.Minute,
		Requirement: "workers that copy their input in transactions, and go on at the group's offsets after aborts and crashes, copy each record exactly once",
		Consequence: "results are doubled or missing, which transactions were to prevent",
		Witness:     "enough transactions were committed, aborted, and left open by a crash",
		Log:         "three inputs: committed and aborted records | two outputs: each committed record once, for readers during and after it",
		Known:       "Tansu 0.6.0 and the mock cluster of librdkafka, where workers do input again",
		needs:       append(slices.Clone(needsOffsets), needStable), run: readProcessWrite,
	},
}

// Sizes of O-08.
const (
	copiers   = 3
	copyRuns  = 8  // transactions in each input, every fourth of them aborted
	copyMost  = 10 // records in one transaction of a worker
	copyBytes = 4 << 10
	copyLeast = 3 // commits, aborts and crashes of all workers, each
	copyTime  = 30 * time.Second

	copyRunsExtended = 112
	copyMostExtended = 40
)

// copying is what the workers of O-08 share.
type copying struct {
	t       *trial
	g       *group
	out     []outputOf
	runs    int
	most    int
	until   time.Time
	working atomic.Int32

	commits, aborts, crashes atomic.Int32
}

func readProcessWrite(t *trial) {
	c := &copying{t: t, g: t.group(), runs: copyRuns, most: copyMost}
	if t.run.config.Profile.includes(Extended) {
		c.runs, c.most = copyRunsExtended, copyMostExtended
	}
	for _, p := range t.partitions(2) {
		c.out = append(c.out, outputOf{p: p})
	}
	workers := c.workers()
	c.until = time.Now().Add(t.bound(copyTime))
	c.working.Store(copiers)
	var all []func()
	for _, w := range workers {
		all = append(all, func() {
			defer c.working.Add(-1)
			w.copyAll()
		})
	}
	for i := range c.out {
		o := &c.out[i]
		all = append(all, func() { o.during = t.follow(o.p, func() bool { return c.working.Load() == 0 }) })
	}
	t.together(all...)
	c.witness(workers)

	want := wantedCopies(workers)
	t.fact("%d records were copied in %d transactions; %d others were aborted, and %d left open by a crash",
		len(want), c.commits.Load(), c.aborts.Load(), c.crashes.Load())
	for i := range c.out {
		c.out[i].after = t.follow(c.out[i].p, func() bool { return true })
	}
	c.wantEachOnce("a reader during it", want, func(o outputOf) []Delivered { return o.during })
	c.wantEachOnce("a reader after it", want, func(o outputOf) []Delivered { return o.after })
	for _, w := range workers {
		w.wantPosition("at the end")
	}
}

// witness is that enough happened, or that a worker met the wrong offset before
// that: then its transactions had ended as the finding says.
func (c *copying) witness(workers []*copier) {
	if slices.ContainsFunc(workers, func(k *copier) bool { return k.astray > 0 }) {
		c.t.witness(true, "")
		return
	}
	for what, n := range map[string]int32{"committed": c.commits.Load(), "aborted": c.aborts.Load(), "left open by a crash": c.crashes.Load()} {
		c.t.witness(n >= copyLeast, "only %d transactions were %s in %v", n, what, c.t.bound(copyTime))
	}
}

// workers prepare one input for each of them.
func (c *copying) workers() []*copier {
	workers := make([]*copier, copiers)
	var all []func()
	for i := range workers {
		b := c.t.book()
		workers[i] = c.copier(i, b)
		a := b.author()
		all = append(all, func() {
			for n := range c.runs {
				a.write(c.most)
				a.write(c.most)
				a.leave(n%4 != 2)
			}
			b.await(a)
		})
	}
	c.t.together(all...)
	for _, w := range workers {
		w.end = slices.Max(w.in.visible(0, w.in.t.highWatermark(w.in.p))) + 1
	}
	return workers
}

// wantEachOnce asserts that one reader of the outputs got each copy once.
func (c *copying) wantEachOnce(who string, want []string, read func(outputOf) []Delivered) {
	seen := map[string]string{} // where a copy was first
	for _, o := range c.out {
		for _, d := range read(o) {
			value, place := string(d.Value), fmt.Sprintf("%s@%d", o.p, d.Offset)
			if first, twice := seen[value]; twice {
				c.t.expect(false, o.p, d.Offset, who+" gets each record's copy once", fmt.Sprintf("the copy of %s is at %s and at %s", value, first, place))
				continue
			}
			seen[value] = place
		}
	}
	for _, value := range want {
		if _, ok := seen[value]; !ok {
			c.t.expect(false, c.out[0].p, -1, who+" gets each record's copy", fmt.Sprintf("the copy of %s, which was committed, is missing", value))
		}
		delete(seen, value)
	}
	for value, place := range seen {
		c.t.expect(false, c.out[0].p, -1, who+" gets copies that were committed, and no others", fmt.Sprintf("%s has the copy of %s", place, value))
	}
}
