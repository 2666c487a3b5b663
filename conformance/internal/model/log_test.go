package model_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/conformance/internal/model"
)

func TestWhatBecameOfEachTransaction(t *testing.T) {
	for _, c := range []struct {
		name, log, want string
		lso             int64
		visible         []int64
	}{
		{
			"committed and aborted", twoProducers,
			"0..1 committed pid 7/0 | 2 aborted pid 8/0 | 3 plain | 4 abort marker pid 8/0 | 5 commit marker pid 7/0", 6,
			[]int64{0, 1, 3},
		},
		{"open", "batch 0\nbatch 1 producer=7 txn\nbatch 2", "0 plain | 1 open pid 7/0 | 2 plain", 1, []int64{0, 2}},
		{
			"the oldest of the open ones", "batch 0 producer=7 txn\nbatch 1 producer=8 txn\nbatch 2 producer=9 txn\ncommit 3 producer=7",
			"0 committed pid 7/0 | 1 open pid 8/0 | 2 open pid 9/0 | 3 commit marker pid 7/0", 1,
			[]int64{0},
		},
		{
			"idempotent, and not of a transaction", "batch 0 producer=7\nabort 1 producer=7",
			"0 plain | 1 abort marker pid 7/0", 2,
			[]int64{0},
		},
		{
			"a marker of nothing", "abort 0 producer=7\nbatch 1 producer=7 txn\ncommit 2 producer=7",
			"0 abort marker pid 7/0 | 1 committed pid 7/0 | 2 commit marker pid 7/0", 3,
			[]int64{1},
		},
		{
			"the first marker decides", "batch 0 producer=7 txn\ncommit 1 producer=7\nabort 2 producer=7",
			"0 committed pid 7/0 | 1 commit marker pid 7/0 | 2 abort marker pid 7/0", 3,
			[]int64{0},
		},
		{
			"other control types end nothing", "batch 0 producer=7 txn\ncontrol 1 producer=7 type=5\nempty 2 producer=7 txn control",
			"0 open pid 7/0 | 1 control pid 7/0 | 2 empty control pid 7/0", 0, nil,
		},
		{"records gone", "batch 0-4 records=1,3\nbatch 5", "0..4 plain | 5 plain", 6, []int64{1, 3, 5}},
		{
			"epochs of TV2", "batch 0 producer=7 txn epoch=3\nabort 1 producer=7 epoch=4\nbatch 2 producer=7 txn epoch=4\ncommit 3 producer=7 epoch=5",
			"0 aborted pid 7/3 | 1 abort marker pid 7/4 | 2 committed pid 7/4 | 3 commit marker pid 7/5", 4,
			[]int64{2},
		},
		{"open below the log start", "log-start 3\nbatch 2-4 producer=7 txn", "2..4 open pid 7/0", 3, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := logOf(t, c.log)
			require.Equal(t, c.want, l.String())
			require.Equal(t, c.lso, l.LSO())
			visible, err := l.Visible(l.Start, l.End)
			require.NoError(t, err)
			require.Equal(t, c.visible, visible)
		})
	}
}

func TestMarkersEndOnlyOlderEpochs(t *testing.T) {
	for _, c := range []struct{ name, log, want string }{
		{"the same epoch", "batch 0 producer=7 txn epoch=3\ncommit 1 producer=7 epoch=3", ""},
		{"the next epoch", "batch 0 producer=7 txn epoch=3\ncommit 1 producer=7 epoch=4", ""},
		{"a much later epoch", "batch 0 producer=7 txn epoch=3\nabort 1 producer=7 epoch=9", ""},
		{"no data", "batch 0 producer=7 txn epoch=3\ncommit 1 producer=7 epoch=3\nabort 2 producer=7 epoch=1", ""},
		{"still open", "batch 0 producer=7 txn epoch=3", ""},
		{"an epoch before", "batch 0 producer=7 txn epoch=3\ncommit 1 producer=7 epoch=2", "U9"},
		{"an epoch before the newest data", "batch 0 producer=7 txn epoch=3\nbatch 1 producer=7 txn epoch=4\nabort 2 producer=7 epoch=3", "U9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, strings.Join(names(model.U9(logOf(t, c.log))), ", "))
		})
	}
}

func TestEntriesThatAnAnswerNeeds(t *testing.T) {
	l := logOf(t, again)
	first, second := model.Entry{ProducerID: 7, FirstOffset: 3}, model.Entry{ProducerID: 7, FirstOffset: 9}
	require.Equal(t, []model.Entry{first, second}, l.Needed(0, 13))
	require.Equal(t, []model.Entry{first}, l.Needed(0, 4))
	require.Equal(t, []model.Entry{first}, l.Needed(5, 9))
	require.Equal(t, []model.Entry(nil), l.Needed(6, 9), "only the marker is left")
	require.Equal(t, []model.Entry{second}, l.Needed(7, 13))
	require.Equal(t, []model.Entry(nil), l.Needed(0, 3))
}

// What was read before records were deleted still counts for answers from then.
func TestOlderReadingsLieBelow(t *testing.T) {
	older := logOf(t, "batch 0-1 producer=7 txn\nbatch 2\nabort 3 producer=7")
	newer := logOf(t, "log-start 2\nbatch 2\nabort 3 producer=7\nbatch 4")
	l := newer.Over(older)
	require.Equal(t, "0..1 aborted pid 7/0 | 2 plain | 3 abort marker pid 7/0 | 4 plain", l.String())
	require.True(t, l.Whole)
	require.EqualValues(t, 0, l.Start)
	require.EqualValues(t, 5, l.End)

	t.Run("the log start lies within a batch", func(t *testing.T) {
		newer := logOf(t, "log-start 1\nbatch 0-1 producer=7 txn\nbatch 2\nabort 3 producer=7\nbatch 4")
		require.Equal(t, l.String(), newer.Over(older).String())
	})
	t.Run("everything is gone", func(t *testing.T) {
		newer := logOf(t, "log-start 4\nhw 4")
		require.Equal(t, older.String(), newer.Over(older).String())
	})
	t.Run("something between was never read", func(t *testing.T) {
		newer := logOf(t, "log-start 6\nbatch 6")
		require.Equal(t, "6 plain", newer.Over(older).String())
	})
	t.Run("nothing was read before", func(t *testing.T) { require.Same(t, newer, newer.Over(nil)) })
	t.Run("nothing was deleted", func(t *testing.T) { require.Same(t, older, older.Over(older)) })
}

// The Java client drops by producer ID from an entry's first offset to the next
// abort marker in view.
func TestWhatClientsDeliver(t *testing.T) {
	for _, c := range []struct {
		name, answer string
		want         []int64
	}{
		{"by the list", "aborted producer=8 first=2" + twoProducers, []int64{0, 1, 3}},
		{"without a list", twoProducers, []int64{0, 1, 2, 3}},
		{"from within a batch", "fetch 1\naborted producer=8 first=2" + twoProducers, []int64{1, 3}},
		{"a commit marker ends no entry", "aborted producer=7 first=0\nbatch 0 producer=7 txn\ncommit 1 producer=7\nbatch 2 producer=7 txn", nil},
		{"an abort marker ends it", "aborted producer=7 first=0\nbatch 0 producer=7 txn\nabort 1 producer=7\nbatch 2 producer=7 txn", []int64{2}},
		{"so does one without data", "aborted producer=7 first=0\nabort 1 producer=7\nbatch 2 producer=7 txn", []int64{2}},
		{"an emptied marker does not", "aborted producer=7 first=0\nempty 1 producer=7 txn control\nbatch 2 producer=7 txn", nil},
		{"plain batches of the producer stay", "aborted producer=7 first=0\nbatch 0 producer=7\nbatch 1", []int64{0, 1}},
		{"an entry within a batch drops all of it", "aborted producer=7 first=1\nbatch 0-2 producer=7 txn", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := answered(t, c.answer)
			got, err := model.Deliver(v.List, v.Batches, v.FetchOffset)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestSpansOfOffsets(t *testing.T) {
	require.Equal(t, "none", model.Spans(nil))
	require.Equal(t, "0..2 5 7..9", model.Spans([]int64{0, 1, 2, 5, 7, 8, 9}))
	var many []int64
	for i := range int64(40) {
		many = append(many, 2*i)
	}
	require.Equal(t, "0 2 4 6 8 10 12 14 16 18 20 22 and 28 more", model.Spans(many))
}

func TestDifferenceOfOffsets(t *testing.T) {
	a, b := model.Difference([]int64{0, 1, 4, 5}, []int64{1, 2, 5, 9})
	require.Equal(t, []int64{0, 4}, a)
	require.Equal(t, []int64{2, 9}, b)
	a, b = model.Difference(nil, []int64{3})
	require.Nil(t, a)
	require.Equal(t, []int64{3}, b)
}
