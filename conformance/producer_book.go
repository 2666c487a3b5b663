package conformance

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"example.com/readcommitted/conformance/internal/model"
)

// book is what the producers of a scenario know of one partition: what they
// wrote and how they ended it. It holds whatever the cluster says at either
// isolation level. Several authors may write side by side.
type book struct {
	t *trial
	p model.Partition

	mu    sync.Mutex
	runs  []*told
	plain []int64 // offsets without a transaction
}

// told is one transaction as its producer told the cluster.
type told struct {
	producerID int64
	offsets    []int64
	fate       model.Fate // Open until its producer ends it
	ended      time.Time  // just before the end was first sent
}

// author is a producer that keeps a book.
type author struct {
	*producer
	book *book
	open *told         // nil: no transaction
	ends map[int64]int // transactions ended, by producer ID
}

// book begins a book about a new partition.
func (t *trial) book() *book { return &book{t: t, p: t.partition()} }

// author is a new transactional producer.
func (b *book) author() *author {
	return &author{producer: b.t.producer(), book: b, ends: map[int64]int{}}
}

func (b *book) authors(n int) []*author {
	out := make([]*author, n)
	for i := range out {
		out[i] = b.author()
	}
	return out
}

// loose writes n records outside any transaction.
func (b *book) loose(n int) {
	w := b.t.idle("", defaultTimeout)
	base := w.write(b.p, n)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.plain = append(b.plain, spanOf(base, base+int64(n))...)
}

// write adds a batch of n records to the transaction and returns its base
// offset.
func (a *author) write(n int) int64 {
	base := a.producer.write(a.book.p, n)
	a.book.mu.Lock()
	defer a.book.mu.Unlock()
	if a.open == nil {
		a.open = &told{producerID: a.id, fate: model.Open}
		a.book.runs = append(a.book.runs, a.open)
	}
	a.open.offsets = append(a.open.offsets, spanOf(base, base+int64(n))...)
	return base
}

// commit ends the transaction and waits for the marker.
func (a *author) commit() { a.finish(true) }

// abort is commit's opposite.
func (a *author) abort() { a.finish(false) }

func (a *author) finish(commit bool) {
	a.close(commit)
	a.producer.finish(commit)
}

// leave ends the transaction without waiting for the marker; see [author.await].
func (a *author) leave(commit bool) {
	a.close(commit)
	a.end(commit)
}

// run is a whole transaction of batches with so many records each.
func (a *author) run(commit bool, batches ...int) {
	for _, n := range batches {
		a.write(n)
	}
	a.finish(commit)
}

func (a *author) close(commit bool) {
	a.ends[a.id]++
	a.book.mu.Lock()
	defer a.book.mu.Unlock()
	a.open.fate, a.open.ended = model.Aborted, time.Now()
	if commit {
		a.open.fate = model.Committed
	}
	a.open = nil
}

// await waits for the markers of all transactions that authors ended, and until
// nothing is held back.
func (b *book) await(authors ...*author) {
	for _, w := range authors {
		w.await()
	}
	b.t.rest(b.p)
}

// await waits for the markers of all transactions that the author ended.
func (a *author) await() {
	for id, n := range a.ends {
		a.book.t.awaitMarker(a.book.p, id, n)
	}
}

// visible are the offsets in [from, to) that are plain or committed.
func (b *book) visible(from, to int64) []int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	inside := func(all []int64) (out []int64) {
		for _, o := range all {
			if from <= o && o < to {
				out = append(out, o)
			}
		}
		return out
	}
	out := inside(b.plain)
	for _, r := range b.runs {
		if r.fate == model.Committed {
			out = append(out, inside(r.offsets)...)
		}
	}
	slices.Sort(out)
	return out
}

// count is how many transactions came to a fate.
func (b *book) count(fate model.Fate) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, r := range b.runs {
		if r.fate == fate {
			n++
		}
	}
	return n
}

// differs says where a log does not hold what the book says was written and
// ended, "" if it does. That something ended the other way is none of it, see
// [book.otherwise].
func (b *book) differs(l *model.Log) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(l.Runs) != len(b.runs) {
		return fmt.Sprintf("%d transactions, not %d", len(l.Runs), len(b.runs))
	}
	logged := runsByEntry(l)
	for _, r := range b.runs {
		first, last := r.offsets[0], r.offsets[len(r.offsets)-1]
		in := logged[model.Entry{ProducerID: r.producerID, FirstOffset: first}]
		switch {
		case in == nil:
			return fmt.Sprintf("no transaction of pid %d that begins at %d", r.producerID, first)
		case in.Last != last || (in.Fate == model.Open) != (r.fate == model.Open):
			return fmt.Sprintf("pid %d %d..%d %s, not %d..%d %s", r.producerID, in.First, in.Last, in.Fate, first, last, r.fate)
		}
	}
	return ""
}

func runsByEntry(l *model.Log) map[model.Entry]*model.Run {
	out := map[model.Entry]*model.Run{}
	for i := range l.Runs {
		out[model.Entry{ProducerID: l.Runs[i].ProducerID, FirstOffset: l.Runs[i].First}] = &l.Runs[i]
	}
	return out
}

// otherwise are the transactions that ended the other way than the cluster
// acknowledged.
func (b *book) otherwise(l *model.Log) (out []*model.Run) {
	b.mu.Lock()
	defer b.mu.Unlock()
	logged := runsByEntry(l)
	for _, r := range b.runs {
		in := logged[model.Entry{ProducerID: r.producerID, FirstOffset: r.offsets[0]}]
		if in != nil && in.Fate != model.Open && r.fate != model.Open && in.Fate != r.fate {
			out = append(out, in)
		}
	}
	return out
}
