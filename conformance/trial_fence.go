package conformance

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/conformance/internal/wire"
)

// generation is what one producer wrote under: the same transactional ID, taken
// over, has another.
type generation struct {
	id    int64
	epoch int16
}

func (g generation) String() string { return fmt.Sprintf("pid %d/%d", g.id, g.epoch) }

func (w *producer) generation() generation { return generation{w.id, w.epoch} }

// heir takes over the producer's transactional ID, which fences it and aborts
// what it left open.
func (w *producer) heir() *producer { return w.t.producerFor(w.name, defaultTimeout) }

// dataOf are the indexes of what a generation wrote.
func dataOf(l *model.Log, g generation) []int {
	var out []int
	for i := range l.Batches {
		if b := &l.Batches[i]; !b.Control() && b.ProducerID == g.id && b.Epoch == g.epoch {
			out = append(out, i)
		}
	}
	return out
}

// awaitSuccession waits until the markers that have to be in the log are, after
// an heir has ended its transaction, and reads it.
func (t *trial) awaitSuccession(p model.Partition, old, heir generation) *model.Log {
	if old.id == heir.id {
		t.awaitMarker(p, heir.id, 2)
	} else {
		t.awaitMarker(p, heir.id, 1) // the old one's may be missing: that is what is judged
	}
	return t.oracle(p)
}

// wantAbortedBefore asserts that what a generation left open was aborted before
// its heir's first record.
func (t *trial) wantAbortedBefore(l *model.Log, old, heir generation) bool {
	left, written := dataOf(l, old), dataOf(l, heir)
	if len(left) == 0 || len(written) == 0 {
		t.undecided("the log of %s does not have what %s and %s wrote: %s", l.Partition, old, heir, l)
	}
	run, first := l.Run(left[0]), l.Batches[written[0]].Base
	ok := run != nil && run.Fate == model.Aborted && run.Marker < first
	return t.expect(ok, l.Partition, l.Batches[left[0]].Base,
		fmt.Sprintf("an abort marker for %s before %d, the first record of %s", old, first, heir), l.String())
}

// wantRefused asserts that the cluster does not take what a producer must not
// do. An error that is not one of set is odd, and no more.
func (t *trial) wantRefused(p model.Partition, what string, r reply, set []*kerr.Error) bool {
	r = t.again(what, r)
	switch {
	case r.err != nil && !errors.Is(r.err, wire.ErrCut), r.err == nil && passes(r.code), refusal(r.code) != "":
		r.unusable(t, what)
	case r.ok():
		at := int64(-1)
		if _, wrote := r.exchange.Request.(*kmsg.ProduceRequest); wrote {
			at = r.base
		}
		return t.expectSafe(t.scenario.Class, false, p, at, what+": refused", "accepted")
	case !r.in(set):
		t.expectAs(Should, false, p, -1, what+": one of "+namesOf(set), r.String())
	}
	return true
}

// wantTaken asserts that the cluster takes a request that others must not have
// fenced. Errors of another kind decide nothing.
func (t *trial) wantTaken(p model.Partition, what string, r reply, fences []*kerr.Error) bool {
	if r.in(fences) {
		return t.expect(false, p, -1, what+": accepted", r.String())
	}
	if !r.ok() {
		r.unusable(t, what)
	}
	return true
}

// wantEndAt asserts that nothing was written to a partition.
func (t *trial) wantEndAt(p model.Partition, want int64, after string) bool {
	high := t.highWatermark(p)
	return t.expect(high == want || t.onlyRepeats(p, want, high), p, want, fmt.Sprintf("HW %d after %s", want, after), fmt.Sprintf("HW %d", high))
}

// wantFate asserts what became of every batch of a generation, which has written
// some. Logs that do not show what was aborted leave that open.
func (t *trial) wantFate(l *model.Log, g generation, want model.Fate) {
	data := dataOf(l, g)
	switch {
	case len(data) > 0:
	case want == model.Committed:
		t.expectAs(t.safety(), false, l.Partition, -1, "what "+g.String()+" committed", "nothing of it in "+l.String())
	default:
		t.undecided("the log of %s does not have what %s wrote: %s", l.Partition, g, l)
	}
	for _, i := range data {
		if !t.expectAs(t.safety(), l.Fate(i) == want, l.Partition, l.Batches[i].Base, fmt.Sprintf("%s is %s", g, want), l.String()) {
			return
		}
	}
}

func namesOf(set []*kerr.Error) string {
	out := ""
	for i, e := range set {
		if i > 0 {
			out += ", "
		}
		out += e.Message
	}
	return out
}
