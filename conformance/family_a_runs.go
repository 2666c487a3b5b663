package conformance

import "fmt"

// alternating reads one producer's transactions from every offset.
func alternating(t *trial) {
	b := t.book()
	w := b.author()
	for i, commit := range []bool{true, false, true, false, false, true} {
		sizes := []int{1 + t.rand.IntN(3)}
		if i%2 == 1 {
			sizes = append(sizes, 1+t.rand.IntN(2)) // a second batch
		}
		w.run(commit, sizes...)
	}
	t.rest(b.p)
	b.wantDelivered(0, fetchSpec{})
	l := b.logged()
	for from := range l.End {
		b.wantAnswer(t.shownOf(l, from), l)
	}
}

// Sizes of A-04.
const (
	interleavedProducers = 20
	interleavedSteps     = 160
)

// interleavedMany lets producers write and end at random; in the end each has
// a transaction open, which every other one aborts.
func interleavedMany(t *trial) {
	b := t.book()
	authors := b.authors(interleavedProducers)
	for range interleavedSteps {
		w := authors[t.rand.IntN(len(authors))]
		switch k := t.rand.IntN(10); {
		case k == 0:
			b.loose(1 + t.rand.IntN(2))
		case k < 8 || w.open == nil:
			w.write(1 + t.rand.IntN(3))
		default:
			w.leave(t.rand.IntN(2) == 0)
		}
	}
	for _, w := range authors {
		w.write(1)
	}
	for i, w := range authors {
		w.leave(i%2 == 0)
	}
	b.await(authors...)
	b.wantDelivered(0, fetchSpec{})
	l := b.logged()
	b.wantWalk(l, 0, fetchSpec{})
	b.wantWalk(l, 0, fetchSpec{partitionMaxBytes: 400})
	for range interleavedProducers {
		b.wantAnswer(t.shownOf(l, t.rand.Int64N(l.End)), l)
	}
}

// orderAndDuplicates looks at the order inside long lists of two producers.
func orderAndDuplicates(t *trial) {
	const aborts = 50 // of each producer
	b := t.book()
	authors := b.authors(2)
	for i := range 2 * aborts {
		w := authors[i%2]
		w.write(1 + i%3)
		if i%2 == 1 { // the two overlap, and end in the order of their begin or against it
			authors[i/2%2].leave(false)
			authors[1-i/2%2].leave(false)
		}
	}
	b.await(authors...)
	b.loose(1) // so that there is something to give at each offset
	t.rest(b.p)
	l := b.logged()
	for _, from := range []int64{0, l.End / 4, l.End / 2, l.End - 4} {
		a := t.shownOf(l, from)
		t.wantListAs(Must, a, l) // readers cannot bear a missing entry, or one twice
		t.wantAscending(a)
	}
}

// wantAscending asserts that the entries of each producer ascend.
func (t *trial) wantAscending(a answer) {
	last := map[int64]int64{}
	for i, e := range a.List {
		if before, ok := last[e.ProducerID]; ok && e.FirstOffset < before {
			t.expect(false, a.Partition, e.FirstOffset, fmt.Sprintf("%s: entries of pid %d ascend", a.about(), e.ProducerID),
				fmt.Sprintf("entry %d of %d is %s, after first offset %d", i+1, len(a.List), e, before))
			return
		}
		last[e.ProducerID] = e.FirstOffset
	}
}

// noStaleEntries reads from every offset behind an aborted transaction.
func noStaleEntries(t *trial) {
	b := t.book()
	w := b.author()
	w.run(false, 1)
	for range 50 {
		w.write(1)
		w.leave(true)
	}
	b.await(w)
	b.wantDelivered(0, fetchSpec{})
	l := b.logged()
	for from := l.Runs[0].Marker + 1; from < l.End; from++ {
		b.wantAnswer(t.shownOf(l, from), l)
	}
}
