package conformance

import (
	"fmt"
	"math"
	"time"

	"example.com/readcommitted/conformance/internal/model"
)

// rest waits until nothing of a partition is held back. What a reader gets
// says nothing before: without it the script ends.
func (t *trial) rest(p model.Partition) {
	if !t.settle(p) {
		t.undecided("the last stable offset of %s stays below the high watermark", p)
	}
}

// logged is the partition's log, which has to be what the book says: that is
// the witness of every scenario with a book. How a transaction ended is no
// witness, but what the cluster has acknowledged.
func (b *book) logged() *model.Log {
	l := b.t.oracle(b.p)
	what := b.differs(l)
	b.t.witness(what == "", "the log of %s has %s", b.p, what)
	if what != "" {
		b.t.undecided("the log of %s is not as it was written: %s", b.p, what)
	}
	for _, run := range b.otherwise(l) {
		b.t.expectSafe(Must, false, b.p, run.First, "a transaction ends as its producer was told", fmt.Sprintf("pid %d %d..%d %s", run.ProducerID, run.First, run.Last, run.Fate))
	}
	return l
}

// wantDelivered asserts that a client which follows the lists gets what the
// book says is committed, from an offset on. Only of a partition at rest.
func (b *book) wantDelivered(from int64, spec fetchSpec) {
	spec.isolation = model.ReadCommitted
	got := b.t.deliveredBy(b.p, from, spec)
	what := fmt.Sprintf("delivered at read_committed from %d on, as written and committed", from)
	b.t.wantOffsets(b.p, what, got, b.visible(from, math.MaxInt64))
}

// wantAnswer asserts the list of an answer, and what a client that follows it
// makes of the batches beside it.
func (b *book) wantAnswer(a answer, l *model.Log) {
	b.t.wantList(a, l)
	got, err := model.Deliver(a.List, a.Batches, a.FetchOffset)
	if err != nil {
		b.t.undecided("reading %s at %d: %v", b.p, a.FetchOffset, err)
	}
	what := fmt.Sprintf("%s up to %d: delivered", a.about(), a.End())
	b.t.wantOffsets(b.p, what, got, b.visible(a.FetchOffset, a.End()))
}

// wantWalk asserts every answer on the way from an offset to the log's end, and
// returns the answers.
func (b *book) wantWalk(l *model.Log, from int64, spec fetchSpec) []answer {
	spec.isolation = model.ReadCommitted
	var out []answer
	deadline := time.Now().Add(b.t.bound(settled))
	for from < l.End {
		a := b.t.fetch(b.p, from, spec)
		b.wantAnswer(a, l)
		out = append(out, a)
		if next := a.End(); next > from {
			from = next
			deadline = time.Now().Add(b.t.bound(settled))
		} else if spec.maxWait = longWait; time.Now().After(deadline) {
			b.t.undecided("reading %s: nothing at offset %d, below %d", b.p, from, l.End)
		}
	}
	return out
}

// wantList asserts the list of an answer at read_committed: an entry for each
// aborted transaction of which it shows a batch, none for any other transaction
// than an aborted one whose marker is not below the fetch offset, and none
// twice. Entries of aborted transactions without data in view are a broker's
// own business.
func (t *trial) wantList(a answer, l *model.Log) { t.wantListAs(t.scenario.Class, a, l) }

// wantListAs is wantList with a weight of its own.
func (t *trial) wantListAs(class Class, a answer, l *model.Log) {
	t.wantReadable(a)
	f := faultsOf(a.List, l.Allowed(a.FetchOffset), l.NeededFor(a.View))
	none := func(offending []model.Entry, expected string) {
		if len(offending) == 0 {
			return
		}
		observed := "aborted " + model.ListString(a.List)
		if more := len(offending) - 1; more > 0 {
			observed = fmt.Sprintf("%s; the same of %d more", observed, more)
		}
		first := offending[0]
		t.expectAs(class, false, a.Partition, first.FirstOffset, a.about()+": "+fmt.Sprintf(expected, first), observed)
	}
	none(f.wrong, "no entry %s: no abort marker at or after the fetch offset ends a transaction that begins there")
	none(f.twice, "entry %s once")
	none(f.missing, "an entry %s: its aborted data is in view")
}

// listFaults are the entries of a list that are not as they should be.
type listFaults struct{ wrong, twice, missing []model.Entry }

func faultsOf(list, allowed, needed []model.Entry) (f listFaults) {
	known, seen := map[model.Entry]bool{}, map[model.Entry]bool{}
	for _, e := range allowed {
		known[e] = true
	}
	for _, e := range list {
		switch {
		case seen[e]:
			f.twice = append(f.twice, e)
		case !known[e]:
			f.wrong = append(f.wrong, e)
		}
		seen[e] = true
	}
	for _, e := range needed {
		if !seen[e] {
			f.missing = append(f.missing, e)
		}
	}
	return f
}

// wantReadable ends the script at an answer that says nothing of the log.
func (t *trial) wantReadable(a answer) {
	if a.ErrorCode != 0 {
		t.undecided("reading %s at %d: %s", a.Partition, a.FetchOffset, codeName(a.ErrorCode))
	}
	if a.Problem != nil {
		t.unreadable(a.Partition, a)
	}
}
