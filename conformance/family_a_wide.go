package conformance

import (
	"slices"
	"time"

	"example.com/readcommitted/conformance/internal/model"
)

// Sizes of A-07.
const (
	manyWriters  = 10
	manyEach     = 200  // aborted transactions of each writer
	manySoakEach = 6000 // the same in a soak
	manyLeast    = 200  // of all, for a slow cluster
	manyBytes    = 32 << 20
)

// manyAborts reads thousands of aborted transactions in one answer. A cluster
// that is slow at ending them gets fewer.
func manyAborts(t *trial) {
	b := t.book()
	each, limit := manyEach, time.Minute
	if t.run.config.Profile == Soak {
		each, limit = manySoakEach, 10*time.Minute
	}
	deadline := time.Now().Add(t.bound(limit))
	var all []func()
	for _, w := range b.authors(manyWriters) {
		all = append(all, func() {
			for k := 0; k < each && time.Now().Before(deadline); k++ {
				w.write(1)
				w.leave(false)
			}
			w.await()
		})
	}
	t.together(all...)
	aborted := b.count(model.Aborted)
	t.witness(aborted >= manyLeast, "only %d transactions were aborted in %v", aborted, t.bound(limit))
	b.author().run(true, 1)
	t.rest(b.p)
	wide := fetchSpec{partitionMaxBytes: manyBytes}
	b.wantDelivered(0, wide)
	l := b.logged()
	answers := b.wantWalk(l, 0, wide)
	b.wantWalk(l, l.End/2, wide)
	t.fact("%d aborted transactions, %d of them in the first answer's list", aborted, len(answers[0].List))
}

// Sizes of, in bytes.
const (
	farPadding  = 8 << 10
	farBatch    = 8 // records
	farBatches  = 128
	farWindow   = 256 << 10
	farDistance = 4 << 20 // between the end of an answer and the marker
)

// markerFarAhead reads a transaction in windows that end long before its
// marker, because of the partition's limit or because of the whole answer's.
func markerFarAhead(t *trial) {
	b := t.book()
	w, other := b.author(), b.author()
	other.padding = farPadding
	for i := range farBatches {
		if i%16 == 0 {
			w.write(1 + i%3)
		}
		other.write(farBatch)
		if i%16 == 15 {
			other.finish(i%32 == 15)
		}
	}
	w.abort()
	t.rest(b.p)
	b.wantDelivered(0, fetchSpec{partitionMaxBytes: farWindow})
	l := b.logged()
	for _, limit := range []fetchSpec{{partitionMaxBytes: farWindow}, {maxBytes: farWindow}} {
		far := 0
		for _, a := range b.wantWalk(l, 0, limit) {
			if covers(l, a, &l.Runs[0]) && bytesBetween(l, a.End(), l.Runs[0].Marker) > farDistance {
				far++
			}
		}
		t.witness(far > 0, "no answer over data of the transaction ended %d bytes before its marker", farDistance)
	}
}

// covers reports whether the log has data of a transaction where an answer is.
func covers(l *model.Log, a answer, r *model.Run) bool {
	return slices.Contains(l.Needed(a.FetchOffset, a.End()), model.Entry{ProducerID: r.ProducerID, FirstOffset: r.First})
}

// bytesBetween is how many bytes the log has between two offsets.
func bytesBetween(l *model.Log, from, to int64) int {
	n := 0
	for i := l.At(from); i < l.At(to); i++ {
		n += len(l.Batches[i].Raw)
	}
	return n
}

// windowInsideOnly reads between the only batch of an aborted transaction and
// its marker.
func windowInsideOnly(t *trial) {
	b := t.book()
	w, other := b.author(), b.author()
	other.padding = farPadding
	first := w.write(1)
	for i := range farBatches / 8 {
		other.write(farBatch)
		if i%4 == 3 {
			other.commit()
			b.loose(3)
		}
	}
	w.abort()
	t.rest(b.p)
	b.wantDelivered(first, fetchSpec{partitionMaxBytes: farWindow})
	l := b.logged()
	inside, listed := 0, 0
	for _, a := range b.wantWalk(l, first+1, fetchSpec{partitionMaxBytes: farWindow}) {
		if len(a.Batches) > 0 && a.End() <= l.Runs[0].Marker {
			inside++
			listed += len(a.List)
		}
	}
	t.witness(inside > 0, "every answer from %d on reached the marker at %d", first+1, l.Runs[0].Marker)
	t.fact("of %d answers from inside an aborted transaction, without data of it, %d list it", inside, listed)
}
