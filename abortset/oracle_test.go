package abortset_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/abortset"
)

// The twins state the rules as definitions, one batch against all others. They
// are as slow as they look.

// obviousList is the list's word alone: a transactional batch is aborted if an
// entry of its producer begins at or below the batch's last offset, and no
// abort marker of the producer stands between, that is at or after the entry
// and before the batch. It returns the lowest such entry's first offset.
func obviousList(batches []abortset.Batch, list []abortset.AbortedTransaction, i int) (first int64, aborted bool) {
	b := batches[i]
	if b.Kind != abortset.Transactional || b.ProducerID < 0 {
		return -1, false
	}
	for _, t := range list {
		if t.ProducerID != b.ProducerID || t.FirstOffset > b.LastOffset {
			continue
		}
		ended := slices.ContainsFunc(batches[:i], func(m abortset.Batch) bool {
			return m.Kind == abortset.Abort && m.ProducerID == b.ProducerID && t.FirstOffset <= m.LastOffset
		})
		if !ended && (!aborted || t.FirstOffset < first) {
			first, aborted = t.FirstOffset, true
		}
	}
	if !aborted {
		first = -1
	}
	return first, aborted
}

// obviousMarker is the index of the marker that speaks for batch i, or -1.
func obviousMarker(batches []abortset.Batch, i int) int {
	b := batches[i]
	if b.Kind != abortset.Transactional || b.ProducerID < 0 {
		return -1
	}
	for j := i + 1; j < len(batches); j++ {
		m := batches[j]
		if m.BaseOffset != batches[j-1].LastOffset+1 {
			return -1
		}
		if m.ProducerID != b.ProducerID {
			continue
		}
		switch m.Kind {
		case abortset.Commit, abortset.Abort:
			return j
		case abortset.EmptyControl:
			return -1
		default: // not a marker
		}
	}
	return -1
}

func obviousSet(batches []abortset.Batch, list []abortset.AbortedTransaction) []abortset.Verdict {
	verdicts := make([]abortset.Verdict, len(batches))
	for i, b := range batches {
		_, aborted := obviousList(batches, list, i)
		verdicts[i] = obviousVerdict(b, aborted)
	}
	return verdicts
}

func obviousResponse(batches []abortset.Batch, list []abortset.AbortedTransaction) ([]abortset.Verdict, []abortset.Anomaly) {
	verdicts := make([]abortset.Verdict, len(batches))
	anomalies := obviousDuplicates(batches, list)
	reported := map[int]bool{} // by marker: one marker, one transaction
	for i, b := range batches {
		first, aborted := obviousList(batches, list, i)
		if m := obviousMarker(batches, i); m >= 0 {
			byMarker := batches[m].Kind == abortset.Abort
			if byMarker != aborted && !reported[m] {
				reported[m] = true
				kind := abortset.Missing
				if aborted {
					kind = abortset.Contradicted
				}
				anomalies = append(anomalies, abortset.Anomaly{Kind: kind, ProducerID: b.ProducerID, Offset: b.BaseOffset, FirstOffset: first, Batch: i})
			}
			aborted = byMarker
		}
		verdicts[i] = obviousVerdict(b, aborted)
	}
	return verdicts, anomalies
}

func obviousVerdict(b abortset.Batch, aborted bool) abortset.Verdict {
	switch {
	case b.Kind != abortset.Plain && b.Kind != abortset.Transactional:
		return abortset.Control
	case aborted:
		return abortset.Drop
	}
	return abortset.Deliver
}

// obviousDuplicates reports entries listed again, if they begin in or before
// the view and their producer has a batch of a transaction in it. Without an
// abort marker or an entry there is nothing to find.
func obviousDuplicates(batches []abortset.Batch, list []abortset.AbortedTransaction) []abortset.Anomaly {
	var anomalies []abortset.Anomaly
	for i, t := range list {
		again := slices.Contains(list[:i], t)
		inView := slices.ContainsFunc(batches, func(b abortset.Batch) bool {
			return b.ProducerID == t.ProducerID && b.ProducerID >= 0 && b.Kind != abortset.Plain && b.Kind != abortset.OtherControl
		})
		reached := slices.ContainsFunc(batches, func(b abortset.Batch) bool { return t.FirstOffset <= b.LastOffset })
		a := abortset.Anomaly{Kind: abortset.Duplicate, ProducerID: t.ProducerID, Offset: t.FirstOffset, FirstOffset: t.FirstOffset, Batch: -1}
		if again && inView && reached && !slices.Contains(anomalies, a) {
			anomalies = append(anomalies, a)
		}
	}
	return anomalies
}

// script reads fuzz bytes as batches in offset order and a list: the number of
// batches, two bytes for each, then two bytes for each entry.
func script(data []byte) ([]abortset.Batch, []abortset.AbortedTransaction) {
	if len(data) == 0 {
		return nil, nil
	}
	n := min(int(data[0]), len(data[1:])/2)
	data = data[1:]
	var batches []abortset.Batch
	next := int64(0)
	for ; n > 0; n-- {
		kind, shape := data[0], data[1]
		data = data[2:]
		base := next + int64(shape&3)*int64(shape>>2&1)*int64(shape>>5&1) // most without a hole
		b := abortset.Batch{
			BaseOffset: base,
			LastOffset: base + int64(shape>>3&3),
			ProducerID: int64(kind>>3&3) - 1,
			Kind:       abortset.Kind(kind&7) % (abortset.OtherControl + 1),
		}
		next = b.LastOffset + 1
		batches = append(batches, b)
	}
	var list []abortset.AbortedTransaction
	for ; len(data) >= 2; data = data[2:] {
		list = append(list, abortset.AbortedTransaction{ProducerID: int64(data[0]&3) - 1, FirstOffset: int64(data[1]&63) - 4})
	}
	return batches, list
}

func addSeeds(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{2, 17, 8, 19, 0, 2, 4})                       // aborted
	f.Add([]byte{3, 17, 0, 18, 0, 17, 5, 2, 4, 2, 4})          // committed, hole, duplicate entry
	f.Add([]byte{4, 17, 0, 25, 16, 20, 0, 19, 0, 3, 5, 2, 12}) // empty control batch, two producers
	f.Add(slices.Repeat([]byte{25}, 90))
}

func FuzzSetMatchesOracle(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		batches, list := script(data)
		var s abortset.Set
		want := obviousSet(batches, list)
		require.Equal(t, want, judgeEach(&s, batches, list))
		require.Equal(t, want, judgeEach(&s, batches, list), "second use")
		slices.Reverse(list)
		require.Equal(t, want, judgeEach(&s, batches, list), "list reversed")
	})
}

func FuzzResponseMatchesOracle(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		batches, list := script(data)
		wantVerdicts, wantAnomalies := obviousResponse(batches, list)
		var r abortset.Response
		for range 2 { // a used Response is as good as a new one
			verdicts, anomalies := r.Judge(batches, list)
			require.Len(t, verdicts, len(batches))
			require.ElementsMatch(t, wantAnomalies, anomalies)
			if len(batches) > 0 {
				require.Equal(t, wantVerdicts, verdicts)
			}
			slices.Reverse(list)
			slices.Reverse(batches)
			r.Judge(batches, list) // out of order: any verdict will do
			slices.Reverse(batches)
		}
	})
}
