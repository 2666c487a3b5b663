package conformance

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/conformance/internal/model"
)

// wide is a view of a batch of so many bytes at an offset.
func wide(t *testing.T, offset int64, size int) *model.View {
	t.Helper()
	raw, err := model.Write{ProducerID: 7, BaseSequence: 0, Transactional: true, Values: [][]byte{bytes.Repeat([]byte{'.'}, size)}}.Encode()
	require.NoError(t, err)
	batches, _, problem := model.Parse(raw)
	require.Nil(t, problem)
	batches[0].Base, batches[0].Last = offset, offset
	return &model.View{
		Partition: p0, Isolation: model.ReadCommitted, Version: 12, FetchOffset: offset, Body: raw, Batches: batches, Received: time.Now(),
		LastStableOffset: offset + 1, HighW: offset + 1, List: []model.Entry{},
	}
}

// bytesKept are those of all answers that a trial holds on to.
func (t *trial) bytesKept() (n int) {
	for _, v := range t.views {
		n += len(v.Body)
		for i := range v.Batches {
			n += len(v.Batches[i].Raw)
		}
	}
	return n
}

// A trial that waits for a cleaner reads the log again and again, and keeps none
// of it; one whose answers are held against the log keeps them.
func TestAnswersThatNoLogIsHeldAgainstAreNotKept(t *testing.T) {
	cleaned, held := bare(), bare()
	cleaned.cleaned = true
	for offset := range int64(100) {
		cleaned.keep(wide(t, offset, 1<<16))
		held.keep(wide(t, offset, 1<<16))
	}
	require.Zero(t, cleaned.bytesKept())
	require.Greater(t, held.bytesKept(), 100<<16)
	require.Len(t, cleaned.views, 100)
	require.EqualValues(t, 100, cleaned.views[99].End())
	require.Equal(t, 100, cleaned.result.Judged["U7"])
	require.Empty(t, cleaned.result.Findings)
}

// What is not kept is judged all the same, and what was wrong is kept.
func TestAnswersThatAreNotKeptAreJudged(t *testing.T) {
	tr := bare()
	tr.cleaned = true
	tr.keep(wide(t, 5, 10))
	bad := wide(t, 6, 10)
	bad.Batches[0].CRCValid = false
	tr.keep(bad)
	failed := wide(t, 7, 10)
	failed.ErrorCode, failed.Batches[0].CRCValid = 1, false
	tr.keep(failed)
	tr.judgeViews(nil)
	tr.illustrate(nil)
	require.Equal(t, 2, tr.result.Judged["U7"])
	var found []string
	for _, f := range tr.result.Findings {
		found = append(found, f.Invariant)
	}
	require.Equal(t, []string{"U7"}, found, "%s", findingsOf(tr.result))
	require.NotNil(t, tr.result.Findings[0].Answers[0].Body)

	tr = bare()
	tr.cleaned = true
	tr.keep(wide(t, 5, 10))
	tr.keep(wide(t, 3, 10))
	tr.judgeViews(nil)
	require.Equal(t, "U10", tr.result.Findings[0].Invariant)
	require.Contains(t, tr.result.Findings[0].Exchanges[0], "HW 6; nothing else was kept")
}
