package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// listScript writes a log batch by batch; no bytes are behind it.
type listScript struct {
	batches []Batch
	next    int64
}

func (s *listScript) add(b Batch, n int64) {
	b.Base, b.Last, b.Count = s.next, s.next+n-1, int32(n)
	s.next += n
	s.batches = append(s.batches, b)
}

func (s *listScript) data(producerID, n int64) {
	s.add(Batch{ProducerID: producerID, Attributes: transactionalBit}, n)
}

func (s *listScript) plain(n int64) { s.add(Batch{ProducerID: -1}, n) }

func (s *listScript) end(producerID int64, kind Kind) {
	s.add(Batch{ProducerID: producerID, Kind: kind, Attributes: transactionalBit | controlBit}, 1)
}

func (s *listScript) log() *Log { return NewLog(Partition{"t", 0}, 0, s.next, s.batches) }

// randomListLog is a log of many producers' transactions, all of them ended.
func randomListLog(r *rand.Rand, steps int) *Log {
	var s listScript
	for range steps {
		switch id := r.Int64N(4); r.IntN(6) {
		case 0:
			s.plain(1)
		case 1:
			s.end(id, CommitMarker)
		case 2:
			s.end(id, AbortMarker)
		default:
			s.data(id, 1+r.Int64N(3))
		}
	}
	for id := range int64(4) {
		s.end(id, AbortMarker)
	}
	return s.log()
}

// neededSlowly asks of each transaction whether one of its batches is there.
func neededSlowly(l *Log, from, to int64) (out []Entry) {
	for _, r := range l.Runs {
		inside := slices.ContainsFunc(r.Batches, func(i int) bool { return l.Batches[i].Last >= from && l.Batches[i].Base < to })
		if r.Fate == Aborted && r.Marker >= from && inside {
			out = append(out, Entry{r.ProducerID, r.First})
		}
	}
	return out
}

// coveredSlowly walks the whole log for the abort marker before the batch.
func coveredSlowly(list []Entry, l *Log, i int) bool {
	before := int64(-1)
	for k := range i {
		if b := &l.Batches[k]; b.Kind == AbortMarker && b.ProducerID == l.Batches[i].ProducerID {
			before = b.Base
		}
	}
	return slices.ContainsFunc(list, func(e Entry) bool {
		return e.ProducerID == l.Batches[i].ProducerID && before < e.FirstOffset && e.FirstOffset <= l.Batches[i].Last
	})
}

func TestListRulesAgreeWithASlowReading(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		l := randomListLog(r, 60)
		from := r.Int64N(l.End)
		to := from + 1 + r.Int64N(l.End-from)
		require.Equal(t, neededSlowly(l, from, to), l.Needed(from, to), "[%d, %d) of %s", from, to, l)

		var shown []Batch
		for _, b := range l.Batches {
			if b.Last >= from && b.Base < to {
				shown = append(shown, b)
			}
		}
		require.ElementsMatch(t, l.Needed(from, to), l.NeededFor(&View{FetchOffset: from, Batches: shown}))

		list := slices.DeleteFunc(l.Allowed(0), func(Entry) bool { return r.IntN(3) == 0 })
		r.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
		v := &View{Isolation: ReadCommitted, List: list, Batches: l.Batches}
		var want []int64
		for i := range l.Batches {
			if l.Fate(i) == Aborted && !coveredSlowly(list, l, i) {
				want = append(want, l.Batches[i].Base)
			}
		}
		var got []int64
		for _, b := range U3(v, l) {
			got = append(got, b.Offset)
		}
		require.Equal(t, want, got, "%s by %s", l, ListString(list))
	}
}

// A range between two batches of a transaction holds none of its data.
func TestLogNeededLooksAtBatches(t *testing.T) {
	var s listScript
	s.data(7, 1) // 0
	s.plain(4)   // 1..4
	s.data(7, 1) // 5
	s.end(7, AbortMarker)
	l := s.log()
	entry := []Entry{{7, 0}}
	require.Equal(t, entry, l.Needed(0, 1))
	require.Empty(t, l.Needed(1, 5))
	require.Equal(t, entry, l.Needed(3, 6))
	require.Empty(t, l.Needed(6, 7))
	require.Empty(t, l.NeededFor(&View{Batches: l.Batches[1:2]}))
	require.Equal(t, entry, l.Allowed(6))
	require.Empty(t, l.Allowed(7))
}

func TestListStringIsBounded(t *testing.T) {
	require.Equal(t, "[{pid 1, first 2}]", ListString([]Entry{{1, 2}}))
	require.Contains(t, ListString(make([]Entry, 20)), "{pid 0, first 0} and 4 more]")
}

// abortedLog is a log of n aborted transactions of one record by one producer.
func abortedLog(n int) *Log {
	var s listScript
	for range n {
		s.data(7, 1)
		s.end(7, AbortMarker)
	}
	return s.log()
}

// Long lists are judged in time that hardly grows faster than they do, right
// and wrong ones: 8 times the list takes less than 32 times as long.
func TestListRulesStayFast(t *testing.T) {
	judge := func(n int) time.Duration {
		l := abortedLog(n)
		right := l.Allowed(0)
		wrong := slices.Clone(right)
		for i := range wrong {
			wrong[i].FirstOffset++
		}
		begin := time.Now()
		for _, list := range [][]Entry{right, wrong, nil} {
			v := &View{Isolation: ReadCommitted, List: list, Batches: l.Batches}
			for _, rule := range []func(*View, *Log) []Breach{U3, U4, alone(U5), U13} {
				rule(v, l)
			}
		}
		return time.Since(begin)
	}
	few, many := time.Hour, time.Hour
	for round := 0; round < 3 || many >= 32*few && round < 20; round++ { // others may be busy
		few, many = min(few, judge(500)), min(many, judge(4000))
	}
	require.Less(t, many, 32*few, "500 entries take %v", few)
}

func BenchmarkListRules(b *testing.B) {
	for _, n := range []int{1000, 8000} {
		l := abortedLog(n)
		v := &View{Isolation: ReadCommitted, List: l.Allowed(0), Batches: l.Batches}
		for _, rule := range Rules {
			if rule.Name == "U3" || rule.Name == "U4" || rule.Name == "U5" || rule.Name == "U13" {
				b.Run(fmt.Sprintf("rule=%s/entries=%d", rule.Name, n), func(b *testing.B) {
					for b.Loop() {
						rule.Judge(v, l)
					}
				})
			}
		}
	}
}
