package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/conformance/internal/model"
)

// bare is a trial without a cluster, for what it notes about partitions.
func bare() *trial {
	return &trial{
		run: &run{}, scenario: scenario(nil), places: map[model.Partition]*place{},
	}
}

var p0 = model.Partition{Topic: "t", Index: 0}

// writer is a producer in the midst of a transaction.
func (t *trial) writer(name string, id int64) *producer {
	w := t.idle(name, time.Minute)
	w.begin(id, 0)
	w.starts()
	return w
}

func pinned(t *trial) (firsts []int64) {
	now := time.Now()
	for _, open := range t.pinnedDuring(p0, now, now) {
		firsts = append(firsts, open.First)
	}
	return firsts
}

func TestOpenTransactionsPin(t *testing.T) {
	tr := bare()
	a, b := tr.writer("a", 7), tr.writer("b", 8)
	a.pin(p0, 3, time.Now())
	b.pin(p0, 5, time.Now())
	a.pin(p0, 6, time.Now())
	require.Equal(t, []int64{3, 5}, pinned(tr), "each by its first batch")
	require.EqualValues(t, 3, tr.stable(p0))

	before, quiet := tr.quietNow(p0)
	require.True(t, quiet)
	tr.endingAll("a")
	require.Equal(t, []int64{5}, pinned(tr))
	require.EqualValues(t, 3, tr.stable(p0), "until its marker is there")
	after, quiet := tr.quietNow(p0)
	require.False(t, quiet, "a marker is on its way")
	require.NotEqual(t, before, after)
}

// What was open at some time of an exchange, but not all the time, says nothing.
func TestOpenAllTheTime(t *testing.T) {
	at := time.Now()
	later := func(n int) time.Time { return at.Add(time.Duration(n) * time.Second) }
	p := pin{acked: later(1), ended: later(5), expires: later(60)}
	for _, c := range []struct {
		from, to int
		want     bool
	}{{2, 4, true}, {0, 4, false}, {1, 4, false}, {2, 5, false}, {2, 6, false}} {
		require.Equal(t, c.want, p.openDuring(later(c.from), later(c.to)), "%+v", c)
	}
	p.ended = time.Time{}
	require.True(t, p.openDuring(later(2), later(59)))
	require.False(t, p.openDuring(later(2), later(60)), "the broker may have ended it")
	p.empty = true
	require.False(t, p.openDuring(later(2), later(4)))
}

// The broker's clock for a transaction starts with the first request of it.
func TestExpiryCountsFromTheStart(t *testing.T) {
	tr := bare()
	w := tr.writer("a", 7)
	w.began = time.Now().Add(-58 * time.Second)
	w.pin(p0, 3, time.Now())
	require.Empty(t, pinned(tr), "the minute is as good as over")
	_, quiet := tr.quietNow(p0)
	require.False(t, quiet)
}

func TestOldBatchesPinNothing(t *testing.T) {
	tr := bare()
	w := tr.writer("a", 7)
	w.pin(p0, 3, time.Now())
	w.pin(p0, 4, time.Now())
	tr.endingAll("a")
	w.begin(7, 1)
	w.starts()
	w.pin(p0, 3, time.Now())
	w.pin(p0, 4, time.Now())
	require.Empty(t, pinned(tr), "a repeated batch is where it was")
	w.pin(p0, -1, time.Now())
	require.Empty(t, pinned(tr), "the broker did not say where it is")
	w.pin(p0, 9, time.Now())
	require.Equal(t, []int64{9}, pinned(tr))
}

// A write that was under way when the end was sent may be part of what ended.
func TestWritesThatCrossTheEnd(t *testing.T) {
	tr := bare()
	w := tr.writer("a", 7)
	sent := time.Now()
	time.Sleep(time.Millisecond)
	tr.endingAll("a")
	w.pin(p0, 3, sent)
	require.Empty(t, pinned(tr))
	_, quiet := tr.quietNow(p0)
	require.False(t, quiet)

	w = tr.writer("b", 8)
	w.joins(p0)
	sent = time.Now()
	time.Sleep(time.Millisecond)
	tr.endingAll("b")
	w.pin(p0, 5, sent)
	require.Empty(t, pinned(tr))
}

// A partition may get a marker although nothing was written to it.
func TestEmptyRegistrations(t *testing.T) {
	tr := bare()
	w := tr.writer("a", 7)
	leave := w.joins(p0)
	require.Empty(t, pinned(tr))
	require.EqualValues(t, -1, tr.stable(p0))
	_, quiet := tr.quietNow(p0)
	require.True(t, quiet)
	tr.endingAll("a")
	_, quiet = tr.quietNow(p0)
	require.False(t, quiet, "the marker takes an offset")
	leave()
	_, quiet = tr.quietNow(p0)
	require.False(t, quiet, "too late to take it back")

	other := model.Partition{Topic: "t", Index: 1}
	w = tr.writer("b", 8)
	w.joins(other)()
	tr.endingAll("b")
	_, quiet = tr.quietNow(other)
	require.True(t, quiet, "the broker refused the registration")
}

func TestDataTakesTheRegistrationOver(t *testing.T) {
	tr := bare()
	w := tr.writer("a", 7)
	w.joins(p0)
	w.pin(p0, 3, time.Now())
	w.joins(p0)
	require.Len(t, tr.places[p0].pins, 1)
	require.Equal(t, []int64{3}, pinned(tr))
}

func TestUnknownWritesAreNeverQuiet(t *testing.T) {
	tr := bare()
	tr.writing(p0)
	_, quiet := tr.quietNow(p0)
	require.False(t, quiet)
	tr.written(p0, nil)
	_, quiet = tr.quietNow(p0)
	require.True(t, quiet)
	tr.unknown(p0)
	_, quiet = tr.quietNow(p0)
	require.False(t, quiet)
}

// Goroutines on one connection keep their answers in any order.
func TestAnswersAreJudgedInTheirOrder(t *testing.T) {
	tr := bare()
	now := time.Now()
	for _, n := range []int64{2, 1, 3} {
		tr.keep(&model.View{Partition: p0, Version: 12, HighW: n, Received: now.Add(time.Duration(n))})
	}
	tr.judgeViews(nil)
	require.Empty(t, tr.result.Findings)
	require.Equal(t, 2, tr.result.Judged["U10"])

	tr = bare()
	for _, n := range []int64{2, 1, 3} {
		tr.keep(&model.View{Partition: p0, Version: 12, HighW: n, Received: now.Add(time.Duration(-n))})
	}
	tr.judgeViews(nil)
	require.Len(t, tr.result.Findings, 2)
}

// Answers that reach beyond the log are not held against it.
func TestAnswersBeyondTheLog(t *testing.T) {
	tr := bare()
	raw, err := model.Write{ProducerID: 7, BaseSequence: 0, Transactional: true, Values: [][]byte{{1}}}.Encode()
	require.NoError(t, err)
	batches, _, problem := model.Parse(raw)
	require.Nil(t, problem)
	l := model.NewLog(p0, 0, 1, batches) // its marker at 1 is not below the high watermark yet
	v := &model.View{Partition: p0, Isolation: model.ReadCommitted, LastStableOffset: 2, HighW: 2, Batches: batches}
	require.Empty(t, tr.rules(v, l))
	v.LastStableOffset, v.HighW = 1, 1
	require.NotEmpty(t, tr.rules(v, l))
}
