package abortset_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/abortset"
)

// Lists that are wrong, and where the markers in view put them right.
func TestMarkerInViewSpeaks(t *testing.T) {
	tests := []struct {
		name      string
		batches   string
		list      string
		set       string // delivered by the list alone
		delivered string
		anomalies string
	}{
		{
			// AutoMQ/automq#754, KAFKA-17801: entries left out
			name: "missing entry", batches: "T1@2 A1@3 N@4",
			set: "2 4", delivered: "4", anomalies: "missing 1@2",
		},
		{
			name: "one anomaly for a transaction of many batches", batches: "T1@0 T1@1-5 N@6 T1@7 A1@8 T1@9 A1@10",
			set: "0 1 6 7 9", delivered: "6", anomalies: "missing 1@0, missing 1@9",
		},
		{
			name: "entry shifted up leaves the first batch out", batches: "T1@0 T1@1 A1@2", list: "1:1",
			set: "0", delivered: "", anomalies: "missing 1@0",
		},
		{
			name: "entry shifted down covers a committed transaction", batches: "T1@0 C1@1 T1@2 A1@3", list: "1:0",
			set: "", delivered: "0", anomalies: "contradicted 1@0 first=0",
		},
		{
			name: "stale entry", batches: "T1@10 T1@11 C1@12 T1@13 C1@14", list: "1:4",
			set: "", delivered: "10 11 13", anomalies: "contradicted 1@10 first=4, contradicted 1@13 first=4",
		},
		{
			name: "entry for the wrong producer", batches: "T1@0 T2@1 A1@2 C2@3", list: "2:0",
			set: "0", delivered: "1", anomalies: "missing 1@0, contradicted 2@1 first=0",
		},
		{
			name: "no list at all", batches: "T1@0 T2@1 A2@2 C1@3",
			set: "0 1", delivered: "0", anomalies: "missing 2@1",
		},
		{
			name: "invented entry inside a committed transaction", batches: "T1@0 T1@1 C1@2", list: "1:1",
			set: "0", delivered: "0 1", anomalies: "contradicted 1@1 first=1",
		},
		{
			name: "entry that survives a contradiction decides where no marker is in view", batches: "T1@0 C1@1 T1@2", list: "1:0",
			set: "", delivered: "0", anomalies: "contradicted 1@0 first=0",
		},
	}
	var s abortset.Set
	var r abortset.Response
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			batches, list := parseBatches(t, test.batches), parseList(t, test.list)
			require.Equal(t, test.set, delivered(t, batches, judgeEach(&s, batches, list)), "Set")
			verdicts, anomalies := r.Judge(batches, list)
			require.Equal(t, test.delivered, delivered(t, batches, verdicts), "Response")
			require.Equal(t, test.anomalies, describe(anomalies))
			for _, a := range anomalies {
				require.Equal(t, a.Offset, batches[a.Batch].BaseOffset)
			}
		})
	}
}

// Where something was erased between data and marker, that marker may belong to
// a later transaction, and the list decides.
func TestMarkerIsSilent(t *testing.T) {
	tests := []struct {
		name      string
		batches   string
		list      string
		delivered string
	}{
		{name: "hole before a commit marker", batches: "T1@0 C1@2", list: "1:0"},
		{name: "hole before an abort marker", batches: "T1@0 A1@2", delivered: "0"},
		{name: "hole among other batches on the way", batches: "T1@0 N@1 N@3 A1@4", delivered: "0 1 3"},
		{name: "batches overlap", batches: "T1@0-5 N@3-6 A1@7", delivered: "0 3"},
		{name: "empty control batch on the way", batches: "T1@0 E1@1 A1@2", delivered: "0"},
		{name: "empty control batch hides a commit marker", batches: "T1@0 E1@1 C1@2", list: "1:0"},
		{name: "no marker in view", batches: "T1@0 T2@1 C2@2", list: "1:0", delivered: "1"},
		{name: "marker lies before the data", batches: "A1@0 T1@1", delivered: "1"},
	}
	var r abortset.Response
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			batches := parseBatches(t, test.batches)
			verdicts, anomalies := r.Judge(batches, parseList(t, test.list))
			require.Equal(t, test.delivered, delivered(t, batches, verdicts))
			require.Empty(t, anomalies)
		})
	}
}

func TestMarkerSpeaksDespite(t *testing.T) {
	tests := []struct{ name, batches string }{
		{name: "empty control batch of another producer", batches: "T1@0 E2@1 A1@2"},
		{name: "control batch of another type", batches: "T1@0 O1@1 A1@2"},
		{name: "hole before the data", batches: "N@0 T1@5 A1@6"},
		{name: "hole after the marker", batches: "T1@5 A1@6 T1@9 C1@10"},
		{name: "empty control batch before the data", batches: "E1@0 T1@1 A1@2"},
		{name: "empty control batch after the marker", batches: "T1@0 A1@1 E1@2"},
		{name: "empty transactional batch on the way", batches: "T1@0 T2@1-7 A1@8"},
	}
	var r abortset.Response
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, anomalies := r.Judge(parseBatches(t, test.batches), nil)
			require.Len(t, anomalies, 1)
			require.Equal(t, abortset.Missing, anomalies[0].Kind)
			require.Equal(t, int64(1), anomalies[0].ProducerID)
		})
	}
}

func TestAnomaliesOfOneResponseEndWithIt(t *testing.T) {
	var r abortset.Response
	_, anomalies := r.Judge(parseBatches(t, "T1@0 A1@1"), nil)
	require.NotEmpty(t, anomalies)
	verdicts, anomalies := r.Judge(parseBatches(t, "T1@2 C1@3"), nil)
	require.Equal(t, []abortset.Verdict{abortset.Deliver, abortset.Control}, verdicts)
	require.Empty(t, anomalies)
}

// Offsets no broker sends. Nothing sensible can be said, but nothing may break.
func TestAbsurdOffsetsAreHarmless(t *testing.T) {
	odd := []int64{math.MinInt64, -1, 0, 1, math.MaxInt64 - 1, math.MaxInt64}
	var batches []abortset.Batch
	var list []abortset.AbortedTransaction
	for _, base := range odd {
		for _, last := range odd {
			for kind := abortset.Plain; kind <= abortset.OtherControl+1; kind++ {
				batches = append(batches, abortset.Batch{BaseOffset: base, LastOffset: last, ProducerID: last, Kind: kind})
			}
			list = append(list, abortset.AbortedTransaction{ProducerID: base, FirstOffset: last})
		}
	}
	var s abortset.Set
	var r abortset.Response
	var a abortset.Audit
	verdicts, _ := r.Judge(batches, list)
	require.Len(t, verdicts, len(batches))
	for i, v := range judgeEach(&s, batches, list) {
		a.Observe(batches[i], v)
	}
}

// The last offset of a batch at the end of all offsets has no successor.
func TestOffsetsDoNotWrapAround(t *testing.T) {
	batches := []abortset.Batch{
		{BaseOffset: 0, LastOffset: math.MaxInt64, ProducerID: 1, Kind: abortset.Transactional},
		{BaseOffset: math.MinInt64, LastOffset: math.MinInt64, ProducerID: 1, Kind: abortset.Abort},
	}
	var r abortset.Response
	verdicts, anomalies := r.Judge(batches, nil)
	require.Equal(t, abortset.Deliver, verdicts[0])
	require.Empty(t, anomalies)
}
