package abortset_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/abortset"
)

// TestAudit reads logs as TestSetAndResponseFollowTheRule does, with "!" behind
// data that was dropped and "clear" for a call of Clear.
func TestAudit(t *testing.T) {
	tests := []struct{ name, log, want string }{
		{name: "committed data was handed out", log: "T1@0 C1@1"},
		{name: "aborted data was dropped", log: "T1@0! A1@1"},
		{name: "aborted data was handed out", log: "T1@0 A1@1", want: "leaked 1@0"},
		{name: "committed data was dropped", log: "T1@0! C1@1", want: "contradicted 1@0"},
		{name: "one leak for a transaction, at its first batch", log: "T1@3 T1@4-7 N@8 T1@9 A1@10", want: "leaked 1@3"},
		{name: "one leak for each transaction", log: "T1@0 A1@1 T1@2 A1@3", want: "leaked 1@0, leaked 1@2"},
		{name: "part handed out, the rest dropped, then aborted", log: "T1@0 T1@1! A1@2", want: "leaked 1@0"},
		{name: "part dropped, the rest handed out, then committed", log: "T1@0! T1@1 C1@2", want: "contradicted 1@0"},
		{name: "marker without data", log: "A1@0 C1@1"},
		{name: "second abort marker", log: "T1@0! A1@1 A1@2"},
		{name: "commit marker ends what was handed out", log: "T1@0 C1@1 A1@2"},
		{name: "marker of another producer", log: "T1@0 A2@1 C1@2"},
		{name: "idempotent data is in no transaction", log: "N1@0 A1@1"},
		{name: "no producer ID, no transaction", log: "T-1@0 A-1@1"},
		{name: "control batch of another type says nothing", log: "T1@0 O1@1 A1@2", want: "leaked 1@0"},
		{name: "empty control batch may have been a marker", log: "T1@0 E1@1 A1@2"},
		{name: "empty control batch of another producer", log: "T1@0 E2@1 A1@2", want: "leaked 1@0"},
		{name: "hole may have been a marker", log: "T1@0 A1@2"},
		{name: "hole among other batches", log: "T1@0 N@1 N@3 A1@4"},
		{name: "hole before the data", log: "N@0 T1@5 A1@6", want: "leaked 1@5"},
		{name: "offsets go back", log: "T1@5 N@3-5 A1@6"},
		{name: "cleared after a seek", log: "T1@0 clear A1@1"},
		{name: "used again after Clear", log: "clear T1@0 A1@1", want: "leaked 1@0"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var a abortset.Audit
			var found []abortset.Anomaly
			for word := range strings.FieldsSeq(test.log) {
				if word == "clear" {
					a.Clear()
					continue
				}
				word, dropped := strings.CutSuffix(word, "!")
				v := abortset.Deliver
				if dropped {
					v = abortset.Drop
				}
				if anomaly, wrong := a.Observe(parseBatches(t, word)[0], v); wrong {
					require.Equal(t, -1, anomaly.Batch)
					found = append(found, anomaly)
				}
			}
			require.Equal(t, test.want, describe(found))
		})
	}
}

// Every log of up to 5 batches, read in two responses cut at every position.
// With correct lists nothing is found. Without a list, each aborted transaction
// with data before the cut and its marker after it is leaked, no other.
func TestAuditOfEverySmallLogInTwoResponses(t *testing.T) {
	var r abortset.Response
	var list []abortset.AbortedTransaction
	leaks := 0
	for length := 1; length <= min(longestLog(), 5); length++ {
		eachWorld(length, 1, func(w *world) {
			for cut := range w.stable {
				var a abortset.Audit
				list = w.list(list[:0], 0, length)
				found := audit(&a, &r, nil, w.batches[:cut], list)
				list = w.list(list[:0], cut, length)
				found = audit(&a, &r, found, w.batches[cut:w.stable], list)
				if len(found) > 0 {
					require.Fail(t, "correct lists", "%v cut at %d: %v", w.log, cut, found)
				}

				a.Clear()
				found = audit(&a, &r, nil, w.batches[:cut], nil)
				found = audit(&a, &r, found, w.batches[cut:w.stable], nil)
				var want []abortset.Anomaly
				for _, x := range w.aborted {
					if x.first < cut && x.marker >= cut && x.marker < w.stable {
						want = append(want, abortset.Anomaly{
							Kind: abortset.Leaked, ProducerID: x.producer, Offset: int64(x.first), FirstOffset: -1, Batch: -1,
						})
					}
				}
				if len(found)+len(want) > 0 {
					require.Equal(t, want, found, "%v cut at %d, no lists", w.log, cut)
				}
				leaks += len(want)
			}
		})
	}
	require.Positive(t, leaks)
}

// Compaction between the batches proves nothing against the broker.
func TestAuditOfCompactedLogsFindsNothing(t *testing.T) {
	var r abortset.Response
	for length := 1; length <= 4; length++ {
		var c compactor
		c.visit = func(w *world) {
			for cut := range length {
				var a abortset.Audit
				c.fetch(w, 0, cut)
				c.listFrom(w, 0, exact)
				found := audit(&a, &r, nil, c.batches, c.list)
				c.fetch(w, cut, length)
				c.listFrom(w, cut, exact)
				found = audit(&a, &r, found, c.batches, c.list)
				if len(found) > 0 {
					require.Fail(t, "anomaly", "%v left %v cut at %d: %v", w.log, c.left, cut, found)
				}
			}
		}
		eachWorld(length, 1, func(w *world) {
			if w.stable == length {
				c.left = make([]int, length)
				c.compact(w, 0, 0)
			}
		})
	}
}

// audit shows a response to a, judged by r, and appends what it finds.
func audit(a *abortset.Audit, r *abortset.Response, found []abortset.Anomaly, batches []abortset.Batch, list []abortset.AbortedTransaction) []abortset.Anomaly {
	verdicts, _ := r.Judge(batches, list)
	for i, b := range batches {
		if anomaly, wrong := a.Observe(b, verdicts[i]); wrong {
			found = append(found, anomaly)
		}
	}
	return found
}

// A broker that opens transactions without end must not fill the memory.
func TestAuditForgetsWhatItCannotHold(t *testing.T) {
	const producers = 20_000
	var a abortset.Audit
	observe := func(offset int, id int, kind abortset.Kind) bool {
		_, wrong := a.Observe(abortset.Batch{BaseOffset: int64(offset), LastOffset: int64(offset), ProducerID: int64(id), Kind: kind}, abortset.Deliver)
		return wrong
	}
	for i := range producers {
		require.False(t, observe(i, i, abortset.Transactional))
	}
	require.False(t, observe(producers, 0, abortset.Abort), "the first producer is forgotten")
	require.True(t, observe(producers+1, producers-1, abortset.Abort), "the last one is not")
}

func TestNamesOfKindsAndVerdicts(t *testing.T) {
	var names []string
	for k := abortset.AnomalyKind(0); k <= abortset.Leaked+1; k++ {
		names = append(names, k.String())
	}
	for v := abortset.Deliver; v <= abortset.Control+1; v++ {
		names = append(names, v.String())
	}
	for k := abortset.Plain; k <= abortset.OtherControl+1; k++ {
		names = append(names, k.String())
	}
	require.Equal(t, "unknown, missing, contradicted, duplicate, leaked, unknown, "+
		"deliver, drop, control, unknown, "+
		"plain, transactional, commit, abort, empty control, other control, unknown", strings.Join(names, ", "))
}
