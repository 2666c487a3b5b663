package conformance

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// outputOf is a partition that workers copy to, and what its readers got.
type outputOf struct {
	p             model.Partition
	during, after []Delivered
}

// copier is a worker that copies one input.
type copier struct {
	*copying
	index int
	in    *book
	end   int64 // of its input: one past the last committed record
	w     *producer
	rand  *rand.Rand

	position int64 // where the next transaction begins
	done     int64 // where the group has to be, by the transactions that were committed
	astray   int   // times that the group was somewhere else
}

// straying is how often a worker follows an offset that is wrong, for what
// comes of it to be seen in the output.
const straying = 3

func (c *copying) copier(index int, in *book) *copier {
	return &copier{
		copying: c, index: index, in: in, w: c.t.producer(), done: noOffset,
		rand: rand.New(rand.NewPCG(c.t.rand.Uint64(), uint64(index))),
	}
}

// course is what becomes of one transaction of a worker.
type course int8

const (
	thenCommit course = iota
	thenAbort         // and the worker goes on at the group's offset
	crashEarly        // with records written, before the offset
	crashLate         // with the offset pending
	crashAfter        // right after its commit was acknowledged
)

// courses are as likely as they are often here.
var courses = []course{
	thenCommit, thenCommit, thenCommit, thenCommit, thenCommit, thenCommit,
	thenAbort, thenAbort, crashEarly, crashLate, crashAfter,
}

// copyAll copies the input to its end, as far as time allows.
func (k *copier) copyAll() {
	for k.position < k.end && k.astray < straying && time.Now().Before(k.until) {
		k.copySome(courses[k.rand.IntN(len(courses))])
	}
}

// copySome is one transaction.
func (k *copier) copySome(how course) {
	next := k.write(k.read())
	if how != crashEarly {
		k.w.commitOffset(k.g, k.in.p, next)
	}
	switch how {
	case thenCommit:
		k.w.end(true)
		k.commits.Add(1)
		k.position, k.done = next, next
		return
	case thenAbort:
		k.w.end(false)
		k.aborts.Add(1)
	case crashAfter:
		k.w.end(true)
		k.commits.Add(1)
		k.done = next
		k.w = k.w.heir()
	case crashEarly, crashLate:
		k.crashes.Add(1)
		k.w = k.w.heir()
	}
	if !k.wantPosition("after a transaction that " + how.String()) {
		k.astray++
	}
}

func (c course) String() string {
	switch c {
	case thenCommit, crashAfter:
		return "was committed"
	case thenAbort:
		return "was aborted"
	case crashEarly, crashLate:
	}
	return "a crash left open, and a new instance took over"
}

// wantPosition asks for the group's offset, goes there, and asserts that it is
// where the worker's committed transactions have left it.
func (k *copier) wantPosition(when string) bool {
	got := k.g.settledOffset(k.in.p)
	if got.code != 0 && !got.is(noOffset) {
		k.t.refused("OffsetFetch of "+k.g.name, kmsg.NewPtrOffsetFetchRequest(), got.code)
	}
	k.position = max(got.offset, 0)
	return k.t.expect(got.is(k.done), k.in.p, -1,
		fmt.Sprintf("%s, OffsetFetch: %s, as committed", when, groupOffset{offset: k.done}), got.String())
}

// read returns the next few records of the input.
func (k *copier) read() []Delivered {
	spec := fetchSpec{isolation: model.ReadCommitted, lane: fmt.Sprintf("copier %d", k.index), partitionMaxBytes: copyBytes}
	for deadline := time.Now().Add(k.t.bound(settled)); ; {
		a := k.t.fetch(k.in.p, k.position, spec)
		k.t.wantReadable(a)
		records, err := believed(a.View)
		switch {
		case err != nil:
			k.t.undecided("reading %s at %d: %v", k.in.p, k.position, err)
		case len(records) > 0:
			return records[:min(len(records), 1+k.rand.IntN(k.most))]
		case a.End() > k.position:
			k.position = a.End() // aborted records and markers
		case time.Now().After(deadline):
			k.t.undecided("reading %s: nothing at offset %d, below the last committed record", k.in.p, k.position)
		}
	}
}

// write writes a copy of each record, half of them to each output, and returns
// where the input goes on.
func (k *copier) write(records []Delivered) (next int64) {
	values := make([][][]byte, len(k.out))
	for _, d := range records {
		to := int(d.Offset) % len(k.out)
		values[to] = append(values[to], []byte(k.copyOf(d.Offset)))
		next = d.Offset + 1
	}
	for i, o := range k.out {
		if len(values[i]) > 0 {
			k.w.writeValues(o.p, values[i])
		}
	}
	return next
}

// copyOf is the copy of a record of the input.
func (k *copier) copyOf(offset int64) string { return fmt.Sprintf("%s@%d", k.in.p, offset) }

// wantedCopies are those of all records that the workers have behind them.
func wantedCopies(workers []*copier) []string {
	var want []string
	for _, k := range workers {
		for _, offset := range k.in.visible(0, k.done) {
			want = append(want, k.copyOf(offset))
		}
	}
	return want
}

// follow reads a partition at read_committed from its beginning, until
// everything is written and everything that was is behind it.
func (t *trial) follow(p model.Partition, written func() bool) (got []Delivered) {
	spec := fetchSpec{isolation: model.ReadCommitted, lane: "follower of " + p.String(), maxWait: 100 * time.Millisecond}
	idle := time.Now()
	for from := int64(0); ; {
		all := written() // before the look, so that it sees all
		a := t.fetch(p, from, spec)
		t.wantReadable(a)
		records, err := believed(a.View)
		if err != nil {
			t.undecided("reading %s at %d: %v", p, from, err)
		}
		got = append(got, records...)
		switch {
		case a.End() > from:
			from, idle = a.End(), time.Now()
		case all && from >= t.highWatermark(p):
			return got
		case !all:
			idle = time.Now()
		case time.Since(idle) > t.bound(settled):
			t.undecided("reading %s: nothing at offset %d, below the high watermark", p, from)
		}
	}
}
