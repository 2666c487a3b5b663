package pass_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/internal/pass"
)

// As many producers in view as one likes, each with an entry that must count
// although no marker is in view.
func TestScanFindsEveryEntryOfManyProducers(t *testing.T) {
	for _, step := range []int64{1, 1000, 1<<40 + 1} {
		var l batchtest.Log
		var list []int64
		const n = 6_000
		for i := range int64(n) {
			l = append(l, batchtest.Data(i, i).Txn(i*step))
			if i%3 == 0 {
				list = append(list, i*step, i)
			}
		}
		res := scan(pass.Options{}, l, list...)
		require.EqualValues(t, n/3, res.Counts.AbortedBatches)
		for _, k := range res.Kept {
			require.NotZero(t, k.Batch.BaseOffset()%3)
		}
	}
}

// Entries of other producers, or that begin behind the view, are neither
// copied nor do they drop anything.
func TestScanOfALongListAllocatesNothing(t *testing.T) {
	records := batchtest.Log{batchtest.Data(0, 1).Txn(7), batchtest.Data(2, 3).Txn(8), batchtest.Abort(4, 7)}.Bytes()
	const n = 200_000
	for name, tt := range map[string]func(i int64) (producer, first int64){
		"behind the view":        func(i int64) (int64, int64) { return 7 + i%2, 5 + i },
		"of producers elsewhere": func(i int64) (int64, int64) { return 1_000_000 + i/1_000, i % 4 },
	} {
		t.Run(name, func(t *testing.T) {
			list := []int64{7, 0}
			for i := range int64(n) {
				producer, first := tt(i)
				list = append(list, producer, first)
			}
			aborted := batchtest.Aborted(list...)
			var s pass.Scanner
			o := pass.Options{Offset: 4} // nothing is kept, which would be allocated
			require.Zero(t, testing.AllocsPerRun(5, func() { s.Scan(o, records, aborted) }))
			res := s.Scan(pass.Options{}, records, aborted)
			require.Equal(t, []int64{2}, bases(res))
			require.Empty(t, res.Anomalies)
		})
	}
}
