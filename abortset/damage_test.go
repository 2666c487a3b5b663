package abortset_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/abortset"
)

// eachDamage calls visit with every list that one mistake makes of a correct
// one: an entry left out, sent twice, shifted by an offset, given to the other
// producer, and any one entry too many, stale ones included.
func eachDamage(list []abortset.AbortedTransaction, end int64, visit func([]abortset.AbortedTransaction)) {
	var scratch []abortset.AbortedTransaction
	for i, t := range list {
		scratch = append(append(scratch[:0], list[:i]...), list[i+1:]...)
		visit(scratch)
		scratch = append(append(scratch[:0], list...), t)
		visit(scratch)
		for _, wrong := range []abortset.AbortedTransaction{
			{ProducerID: t.ProducerID, FirstOffset: t.FirstOffset - 1},
			{ProducerID: t.ProducerID, FirstOffset: t.FirstOffset + 1},
			{ProducerID: 3 - t.ProducerID, FirstOffset: t.FirstOffset},
		} {
			scratch = append(scratch[:0], list...)
			scratch[i] = wrong
			visit(scratch)
		}
	}
	for p := int64(1); p <= 3; p++ {
		for first := int64(0); first < end; first++ {
			scratch = append(append(scratch[:0], list...), abortset.AbortedTransaction{ProducerID: p, FirstOffset: first})
			visit(scratch)
		}
	}
}

// With any one mistake in the list, data whose marker is in view is neither
// lost nor leaked, other data is judged by the list, and an anomaly is reported
// exactly if the list alone would have been wrong about the former.
func TestMarkersInViewRepairEveryDamagedList(t *testing.T) {
	tests := []struct {
		length          int
		width           int64 // offsets in a batch
		lists, repaired int
	}{
		{length: 1, width: 1, lists: 15, repaired: 0},
		{length: 1, width: 2, lists: 30, repaired: 0},
		{length: 2, width: 1, lists: 612, repaired: 8},
		{length: 2, width: 2, lists: 1194, repaired: 8},
		{length: 3, width: 1, lists: 12636, repaired: 238},
		{length: 3, width: 2, lists: 24462, repaired: 262},
		{length: 4, width: 1, lists: 196964, repaired: 4552},
		{length: 4, width: 2, lists: 379868, repaired: 5358},
		{length: 5, width: 1, lists: 2622645, repaired: 70468},
		{length: 5, width: 2, lists: 5047710, repaired: 87220},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("length=%d/width=%d", test.length, test.width), func(t *testing.T) {
			if test.length > longestLog() {
				t.Skip("takes long; -exhaustive", test.length, "runs it")
			}
			var d damaged
			eachWorld(test.length, test.width, func(w *world) {
				w.eachWindow(func(from, to int) {
					d.list = w.list(d.list[:0], from, to)
					eachDamage(d.list, int64(test.length)*test.width, func(list []abortset.AbortedTransaction) {
						d.check(t, w, from, to, list)
					})
				})
			})
			require.Equal(t, test.lists, d.lists, "lists")
			require.Equal(t, test.repaired, d.repaired, "lists that alone would have lost or leaked data")
		})
	}
}

// damaged is what one enumeration of damaged lists reuses and counts.
type damaged struct {
	list            []abortset.AbortedTransaction
	response        abortset.Response
	set             abortset.Set
	lists, repaired int
}

func (d *damaged) check(t *testing.T, w *world, from, to int, list []abortset.AbortedTransaction) {
	d.lists++
	batches := w.batches[from:to]
	verdicts, anomalies := d.response.Judge(batches, list)
	d.set.Reset(list)
	wrong := false // about data whose marker is in view
	for i, b := range batches {
		want := d.set.Judge(b)
		if b.Kind == abortset.Transactional && w.markerBefore(from+i, to) {
			wrong = wrong || want != w.fate[from+i]
			want = w.fate[from+i]
		}
		if verdicts[i] != want {
			require.Fail(t, "verdict", "%v from %d to %d, list %v, batch %d: %v, want %v", w.log, from, to, list, i, verdicts[i], want)
		}
	}
	reported := slices.ContainsFunc(anomalies, func(a abortset.Anomaly) bool { return a.Kind != abortset.Duplicate })
	if reported != wrong {
		require.Fail(t, "anomalies", "%v from %d to %d, list %v: %v", w.log, from, to, list, anomalies)
	}
	if wrong {
		d.repaired++
	}
}

// markerBefore reports whether the next marker of batch i's producer stands
// before position to.
func (w *world) markerBefore(i, to int) bool {
	return slices.ContainsFunc(w.log[i:to], func(e event) bool { return e.isMarker() && e.producer() == w.log[i].producer() })
}

// Random scripts of batches with holes, empty control batches, wide batches and
// arbitrary lists, against the twins.
func TestRandomScriptsMatchOracle(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var s abortset.Set
	var r abortset.Response
	seen := map[abortset.AnomalyKind]int{}
	for range 20_000 {
		data := make([]byte, 1+random.IntN(60))
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		data[0] %= 30
		batches, list := script(data)
		wantVerdicts, wantAnomalies := obviousResponse(batches, list)
		verdicts, anomalies := r.Judge(batches, list)
		require.Equal(t, wantVerdicts, append([]abortset.Verdict{}, verdicts...), "%v %v", batches, list)
		require.ElementsMatch(t, wantAnomalies, anomalies, "%v %v", batches, list)
		require.Equal(t, obviousSet(batches, list), judgeEach(&s, batches, list), "%v %v", batches, list)
		for _, a := range anomalies {
			seen[a.Kind]++
		}
	}
	for _, kind := range []abortset.AnomalyKind{abortset.Missing, abortset.Contradicted, abortset.Duplicate} {
		require.Greater(t, seen[kind], 300, "%v: the scripts are too tame to show anything", kind)
	}
}
