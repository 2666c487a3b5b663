package abortset

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// manyBatches alternates between producers: data, data, then their markers,
// every second one an abort.
func manyBatches(n, producers int) []Batch {
	batches := make([]Batch, n)
	for i := range batches {
		b := Batch{BaseOffset: int64(i), LastOffset: int64(i), ProducerID: int64(i % producers), Kind: Transactional}
		if i/producers%3 == 2 {
			b.Kind = Commit + Kind(i%2)
		}
		batches[i] = b
	}
	return batches
}

// manyEntries has one entry for each offset from first on, the highest first.
func manyEntries(n, producers int, first int64) []AbortedTransaction {
	list := make([]AbortedTransaction, n)
	for i := range list {
		list[n-1-i] = AbortedTransaction{ProducerID: int64(i % producers), FirstOffset: first + int64(i)}
	}
	return list
}

func TestWarmUseDoesNotAllocate(t *testing.T) {
	tests := []struct {
		name    string
		batches []Batch
		list    []AbortedTransaction
	}{
		{name: "one producer, no list", batches: manyBatches(100, 1)},
		{name: "many producers, no list", batches: manyBatches(1000, 50)},
		{name: "many producers, entries in view", batches: manyBatches(1000, 50), list: manyEntries(500, 50, 0)},
		{name: "entries beyond the view", batches: manyBatches(100, 3), list: manyEntries(4000, 3, 1000)},
		{name: "more batches than entries are kept for", batches: manyBatches(10_000, 3), list: manyEntries(10, 3, 0)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var r Response
			require.Zero(t, testing.AllocsPerRun(20, func() { r.Judge(test.batches, test.list) }), "Response")

			var s Set
			require.Zero(t, testing.AllocsPerRun(20, func() {
				s.Reset(test.list)
				for _, b := range test.batches {
					s.Judge(b)
				}
			}), "Set")

			var a Audit
			require.Zero(t, testing.AllocsPerRun(20, func() {
				for _, b := range test.batches {
					a.Observe(b, Deliver)
				}
			}), "Audit")
		})
	}
}

func TestResponseGivesBackWhatALongListNeeded(t *testing.T) {
	var r Response
	r.Judge(manyBatches(10_000, 5000), manyEntries(100_000, 5000, 0))
	require.LessOrEqual(t, cap(r.entries), retained)
	require.LessOrEqual(t, cap(r.producers), retained)
	require.LessOrEqual(t, len(r.index), retained)

	r.Judge(manyBatches(10, 1), manyEntries(1, 1, 0))
	require.LessOrEqual(t, cap(r.places), retained)
	require.LessOrEqual(t, cap(r.verdicts), retained)
	require.LessOrEqual(t, cap(r.anomalies), retained)
}

func TestSetGivesBackWhatALongListNeeded(t *testing.T) {
	data := Batch{ProducerID: 1, Kind: Transactional}

	var reset Set
	reset.Reset(manyEntries(100_000, 50_000, 0))
	reset.Judge(data)
	reset.Reset(nil)
	require.LessOrEqual(t, cap(reset.pending), retained)

	var drained Set
	drained.Reset(manyEntries(100_000, 50_000, -200_000))
	require.Equal(t, Drop, drained.Judge(data))
	require.LessOrEqual(t, cap(drained.pending), retained)
	drained.Reset(nil)
	require.Nil(t, drained.active)
	require.Equal(t, Deliver, drained.Judge(data))
}

func TestAuditGivesBackWhatManyProducersNeeded(t *testing.T) {
	var a Audit
	for i := range retained + 1 {
		a.Observe(Batch{BaseOffset: int64(i), LastOffset: int64(i), ProducerID: int64(i), Kind: Transactional}, Deliver)
	}
	require.Len(t, a.watched, retained+1)
	a.Clear()
	require.Nil(t, a.watched)
}
