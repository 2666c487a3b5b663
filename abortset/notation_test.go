package abortset_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/abortset"
)

var kindLetters = map[string]abortset.Kind{
	"N": abortset.Plain,
	"T": abortset.Transactional,
	"C": abortset.Commit,
	"A": abortset.Abort,
	"E": abortset.EmptyControl,
	"O": abortset.OtherControl,
}

// parseBatches reads "T7@0-1 A7@2 N@3": a transactional batch of producer 7 at
// offsets 0 to 1, its abort marker, a plain batch without a producer ID.
func parseBatches(t testing.TB, text string) []abortset.Batch {
	t.Helper()
	var batches []abortset.Batch
	for word := range strings.FieldsSeq(text) {
		who, where, ok := strings.Cut(word, "@")
		require.True(t, ok, word)
		kind, ok := kindLetters[who[:1]]
		require.True(t, ok, word)
		b := abortset.Batch{Kind: kind, ProducerID: -1}
		if len(who) > 1 {
			b.ProducerID = number(t, who[1:])
		}
		from, to, ok := strings.Cut(where, "-")
		if !ok {
			to = from
		}
		b.BaseOffset, b.LastOffset = number(t, from), number(t, to)
		batches = append(batches, b)
	}
	return batches
}

// parseList reads "7:0 8:2": producer ID and first offset of each entry.
func parseList(t testing.TB, text string) []abortset.AbortedTransaction {
	t.Helper()
	var list []abortset.AbortedTransaction
	for word := range strings.FieldsSeq(text) {
		id, first, ok := strings.Cut(word, ":")
		require.True(t, ok, word)
		list = append(list, abortset.AbortedTransaction{ProducerID: number(t, id), FirstOffset: number(t, first)})
	}
	return list
}

func number(t testing.TB, text string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	require.NoError(t, err)
	return n
}

// delivered lists the base offsets of delivered batches. It fails if control
// batches and no others have the verdict Control.
func delivered(t testing.TB, batches []abortset.Batch, verdicts []abortset.Verdict) string {
	t.Helper()
	require.Len(t, verdicts, len(batches))
	var offsets []string
	for i, b := range batches {
		control := b.Kind != abortset.Plain && b.Kind != abortset.Transactional
		require.Equal(t, control, verdicts[i] == abortset.Control, "batch at %d, verdict %v", b.BaseOffset, verdicts[i])
		if verdicts[i] == abortset.Deliver {
			offsets = append(offsets, strconv.FormatInt(b.BaseOffset, 10))
		}
	}
	return strings.Join(offsets, " ")
}

// describe writes anomalies as "missing 7@0": kind, producer, offset, and the
// entry's first offset where there is one, as in "contradicted 7@3 first=0".
func describe(anomalies []abortset.Anomaly) string {
	var words []string
	for _, a := range anomalies {
		word := fmt.Sprintf("%v %d@%d", a.Kind, a.ProducerID, a.Offset)
		if a.FirstOffset >= 0 {
			word += fmt.Sprintf(" first=%d", a.FirstOffset)
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

// judgeEach runs a Set over all batches.
func judgeEach(s *abortset.Set, batches []abortset.Batch, list []abortset.AbortedTransaction) []abortset.Verdict {
	s.Reset(list)
	verdicts := make([]abortset.Verdict, len(batches))
	for i, b := range batches {
		verdicts[i] = s.Judge(b)
	}
	return verdicts
}
