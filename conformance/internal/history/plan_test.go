package history

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var shape = Shape{Partitions: 3, Producers: 4, Plain: 1, Transactions: 50, Pause: time.Millisecond, Crashes: true}

// A seed is all that is needed to have a plan again, on any machine.
func TestPlansComeFromTheirSeeds(t *testing.T) {
	p := NewPlan(1, shape)
	require.Equal(t, p, NewPlan(1, shape))
	require.Equal(t, p.Hash(), NewPlan(1, shape).Hash())
	require.NotEqual(t, p.Hash(), NewPlan(2, shape).Hash())
	require.EqualValues(t, "7680a13f47e0a908", hex(NewPlan(1, Shape{Partitions: 2, Producers: 1, Transactions: 2}).Hash()),
		"a plan that changes makes seeds in old reports mean something else")
	require.Equal(t, 250, p.Transactions())
}

func TestPlansHaveAllThatTheirShapeAsksFor(t *testing.T) {
	count := func(s Shape) map[Ending]int {
		n := map[Ending]int{}
		for _, a := range NewPlan(3, s).Actors {
			for _, txn := range a.Txns {
				n[txn.Ending]++
				require.NotEmpty(t, txn.Writes)
				for _, w := range txn.Writes {
					require.Less(t, w.Partition, s.Partitions)
					require.Positive(t, w.Records)
				}
			}
		}
		return n
	}
	all := count(shape)
	for e := range endings {
		require.Positive(t, all[e], e)
	}
	wild := shape
	wild.Faults = true
	seen := map[string]bool{}
	for _, a := range NewPlan(3, wild).Actors {
		for _, txn := range a.Txns {
			seen[txn.Fault.String()], seen[txn.On.String()] = true, true
			require.False(t, txn.Fault == Late && txn.On == OnBegin)
		}
	}
	require.Len(t, seen, int(faults)+int(steps))
	calm := shape
	calm.Crashes = false
	require.Len(t, count(calm), 3)
}

// blames is a test that fails if the plan has some transactions, by the text of
// each.
func blames(culprits ...string) func(Plan) bool {
	return func(p Plan) bool {
		for _, c := range culprits {
			if !slices.ContainsFunc(p.Actors, func(a Actor) bool {
				return slices.ContainsFunc(a.Txns, func(t Txn) bool { return t.Ending.String() == c })
			}) {
				return false
			}
		}
		return true
	}
}

func TestPlansShrink(t *testing.T) {
	p := NewPlan(5, shape)
	for _, culprits := range [][]string{{"zombie"}, {"zombie", "leave"}, {"write"}} {
		small := Shrink(p, blames(culprits...))
		require.True(t, blames(culprits...)(small))
		require.Equal(t, len(culprits), small.Transactions(), small.String())
		require.Equal(t, len(culprits), small.writes(), small.String())
		require.False(t, small.paused())
		require.Len(t, small.Actors, len(p.Actors), "actors keep their numbers")
	}
	wild := shape
	wild.Faults = true
	for _, a := range Shrink(NewPlan(5, wild), blames("zombie")).Actors {
		require.False(t, slices.ContainsFunc(a.Txns, func(t Txn) bool { return t.Fault != NoFault }))
	}
	require.Equal(t, p, Shrink(p, func(Plan) bool { return false }), "nothing smaller fails")
	tries := 0
	Shrink(p, func(Plan) bool { tries++; return tries < 3 })
	require.Less(t, tries, 3*p.writes(), "it ends")
}

func TestOften(t *testing.T) {
	for _, k := range []struct {
		r, n, failing int
		want          bool
		runs          int
	}{
		{1, 3, 1, true, 1}, {2, 3, 2, true, 2}, {2, 3, 1, false, 3}, {1, 3, 0, false, 3}, {3, 3, 0, false, 1},
	} {
		runs := 0
		got := Often(k.r, k.n, func(Plan) bool { runs++; return runs <= k.failing })(Plan{})
		require.Equal(t, k.want, got, k)
		require.Equal(t, k.runs, runs, k)
	}
}
