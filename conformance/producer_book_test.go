package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/conformance/internal/model"
)

func TestVerdictOnADeliveredRecord(t *testing.T) {
	ended := time.Now()
	before, after := ended.Add(-time.Millisecond), ended.Add(time.Millisecond)
	committed := &told{fate: model.Committed, ended: ended}
	aborted := &told{fate: model.Aborted, ended: ended}
	tests := []struct {
		name string
		run  *told
		at   time.Time
		want string
	}{
		{"committed", committed, after, ""},
		{"at the moment of the commit", committed, ended, ""},
		{"early", committed, before, "1ms before its commit was sent"},
		{"aborted", aborted, after, "of an aborted transaction"},
		{"aborted later", aborted, before, "of a transaction that was aborted 1ms later"},
		{"open", &told{fate: model.Open}, after, "of a transaction that nobody ended"},
		{"unknown", nil, after, "which nobody wrote"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { require.Equal(t, tt.want, verdict(tt.run, tt.at)) })
	}
}

func TestBookDiffersFromALogThatSaysOtherwise(t *testing.T) {
	b := &book{runs: []*told{
		{producerID: 7, offsets: []int64{0, 1, 3}, fate: model.Aborted},
		{producerID: 8, offsets: []int64{2}, fate: model.Committed},
	}}
	runs := func() []model.Run {
		return []model.Run{
			{ProducerID: 7, First: 0, Last: 3, Fate: model.Aborted},
			{ProducerID: 8, First: 2, Last: 2, Fate: model.Committed},
		}
	}
	tests := []struct {
		name   string
		change func(*model.Log)
		want   string
	}{
		{"the same", func(*model.Log) {}, ""},
		{"one missing", func(l *model.Log) { l.Runs = l.Runs[:1] }, "1 transactions, not 2"},
		{"another begin", func(l *model.Log) { l.Runs[1].First = 1 }, "no transaction of pid 8 that begins at 2"},
		{"another end", func(l *model.Log) { l.Runs[0].Last = 1 }, "pid 7 0..1 aborted, not 0..3 aborted"},
		{"another fate", func(l *model.Log) { l.Runs[1].Fate = model.Open }, "pid 8 2..2 open, not 2..2 committed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := &model.Log{Runs: runs()}
			tt.change(l)
			require.Equal(t, tt.want, b.differs(l))
		})
	}
}

func TestBookKnowsWhatIsVisible(t *testing.T) {
	b := &book{plain: []int64{4}, runs: []*told{
		{offsets: []int64{0, 1}, fate: model.Aborted},
		{offsets: []int64{5, 2}, fate: model.Committed},
		{offsets: []int64{6}, fate: model.Open},
	}}
	require.Equal(t, []int64{2, 4, 5}, b.visible(0, 10))
	require.Equal(t, []int64{4}, b.visible(3, 5))
	require.Equal(t, 1, b.count(model.Aborted))
}

func TestFaultsOfAList(t *testing.T) {
	a, b, c := model.Entry{ProducerID: 1}, model.Entry{ProducerID: 2, FirstOffset: 5}, model.Entry{ProducerID: 1, FirstOffset: 9}
	list := func(entries ...model.Entry) []model.Entry { return entries }
	require.Equal(t, listFaults{}, faultsOf(list(b, a), list(a, b, c), list(a)))
	require.Equal(t, listFaults{wrong: list(c)}, faultsOf(list(a, c), list(a, b), list(a)))
	require.Equal(t, listFaults{twice: list(a, a)}, faultsOf(list(a, a, b, a), list(a, b), list(a, b)))
	require.Equal(t, listFaults{missing: list(a, b)}, faultsOf(nil, list(a, b), list(a, b)))
}

// Answers of one connection that were kept in another order than they came
// are no step back.
func TestViewsAreJudgedInTheOrderInWhichTheyCame(t *testing.T) {
	now := time.Now()
	first := &model.View{Conn: 1, HighW: 5, LastStableOffset: 5, Received: now}
	second := &model.View{Conn: 1, HighW: 9, LastStableOffset: 9, Received: now.Add(1)}
	views := []*model.View{second, first}
	var history model.History
	for _, v := range inOrder(views) {
		breaches, _ := history.Next(v)
		require.Empty(t, breaches)
	}
	require.Equal(t, second, views[0], "the order in which they were kept is not touched")
}
