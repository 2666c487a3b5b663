package rcconsumer

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

func offset(o int64) kgo.EpochOffset { return kgo.EpochOffset{Epoch: -1, Offset: o} }

// began is the progress of a partition that is read from an offset.
func began(at int64) *progress {
	g := newProgress(noOffset)
	g.begin(offset(at))
	return &g
}

func TestACommitPassesWhatFollowsTheLastRecordAndNothingMore(t *testing.T) {
	g := began(0)
	g.handOut(0, 2, 4, -1)
	g.handOut(5, 6, 4, 4) // 3 and 4 are invisible
	next := kgo.EpochOffset{Epoch: 5, Offset: 9}
	for _, test := range []struct {
		name string
		at   int64
		want kgo.EpochOffset
	}{
		{"a record follows", 1, offset(1)},
		{"markers follow, then a record", 3, kgo.EpochOffset{Epoch: 4, Offset: 5}},
		{"between them", 4, kgo.EpochOffset{Epoch: 4, Offset: 5}},
		{"the last but one", 6, offset(6)},
		{"everything handed out", 7, next},
		{"ahead of the position", 12, offset(12)},
	} {
		require.Equal(t, test.want, g.past(offset(test.at), next), test.name)
	}
}

func TestMarks(t *testing.T) {
	g := began(10)
	g.setMark(offset(12), 10)
	require.False(t, g.marked, "a record that was not handed out since reading began here")
	require.False(t, g.begun(10))
	g.handOut(10, 19, 1, -1)
	require.True(t, g.begun(20), "also over what nobody sees")
	g.setMark(offset(15), 20)
	g.setMark(offset(13), 20)
	require.EqualValues(t, 15, g.mark.Offset, "marks do not go back")
	g.setMark(offset(21), 20)
	require.EqualValues(t, 15, g.mark.Offset, "nor pass what was handed out")
	g.move(offset(5), true)
	g.setMark(offset(20), 5)
	require.EqualValues(t, 5, g.mark.Offset, "a seek ends what was marked before, and what comes late of it")
	require.True(t, g.due(g.mark), "the place of a seek itself is committed")
}

func TestCommitsGoBackOnlyAfterAMove(t *testing.T) {
	g := began(0)
	require.False(t, g.due(offset(0)), "where reading began is no news")
	g.handOut(0, 9, 1, -1)
	require.True(t, g.due(offset(10)))
	g.commit(offset(10), 0)
	require.False(t, g.due(offset(10)))
	require.False(t, g.due(offset(9)))
	g.move(offset(4), true)
	require.True(t, g.due(offset(4)))
	g.commit(offset(10), 0)
	require.True(t, g.due(offset(4)), "a commit from before the move is not the one that goes back")
	g.commit(offset(4), 1)
	require.False(t, g.due(offset(3)))
}

func TestCoveredMeansNothingHandedOutIsLeft(t *testing.T) {
	g := began(5)
	require.False(t, g.covered(), "a group that never committed is not made to")
	g.commit(offset(5), 0)
	require.True(t, g.covered())
	g.handOut(5, 7, 1, -1)
	require.False(t, g.covered())
	g.commit(offset(7), 0)
	require.False(t, g.covered())
	g.commit(offset(8), 0)
	require.True(t, g.covered())
	g.move(offset(6), true)
	require.True(t, g.covered(), "nothing was handed out since the seek")
	g.handOut(6, 6, 1, -1)
	require.False(t, g.covered(), "what was committed before a seek")
	g.handOut(7, 7, 1, -1)
	g.confirm(offset(8))
	require.True(t, g.covered(), "committed again, though there was nothing to send")
}

// model is the slow twin of progress: it knows every offset handed out.
type model struct{ handed []int64 }

func (m *model) past(at, next int64) int64 {
	if len(m.handed) == 0 || at > m.handed[len(m.handed)-1] {
		return max(at, next)
	}
	i, _ := slices.BinarySearch(m.handed, at)
	return m.handed[i]
}

func TestProgressMatchesItsSlowTwin(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	for round := range 2000 {
		start := r.Int64N(5)
		g, m := began(start), &model{}
		next := start
		for range r.IntN(40) {
			switch first := next + r.Int64N(3); r.IntN(3) {
			case 0, 1: // a batch, most often with something invisible in front
				last := first + r.Int64N(4)
				g.handOut(first, last, 1, 1)
				for o := first; o <= last; o++ {
					m.handed = append(m.handed, o)
				}
				next = last + 1
			default: // something invisible
				next = first
			}
		}
		from := start
		if len(m.handed) > 0 && r.IntN(2) == 0 {
			from = m.handed[r.IntN(len(m.handed))] + 1
			g.setMark(offset(from), next)
		}
		for at := from; at < next+3; at++ {
			require.Equal(t, m.past(at, next), g.past(offset(at), offset(next)).Offset, "seed %d round %d offset %d, handed out %v", seed, round, at, m.handed)
		}
	}
}

func TestProgressStaysSmallWhenNobodyCommits(t *testing.T) {
	g := began(0)
	for o := int64(0); o < 100_000; o += 2 { // a marker behind every record
		g.handOut(o, o, 1, 1)
	}
	require.LessOrEqual(t, len(g.runs), maxRuns)
	require.EqualValues(t, 99_998, g.past(offset(99_997), offset(100_000)).Offset, "the newest are known exactly")
	require.LessOrEqual(t, g.past(offset(1), offset(100_000)).Offset, int64(2), "of old ones a commit passes too little rather than too much")
}

func TestAJumpForwardLeavesWhatIsBeingWorkedOn(t *testing.T) {
	g := began(0)
	g.take(offset(0))
	g.handOut(0, 9, 1, -1)
	g.jump(10, offset(20))
	require.True(t, g.holding)
	g.commit(offset(5), 0) // gathered before the jump
	require.False(t, g.due(g.held), "nothing goes back")
	g.polled()
	require.True(t, g.due(offset(20)))

	g.take(offset(20))
	g.handOut(20, 29, 1, -1)
	g.jump(30, offset(25))
	require.False(t, g.holding, "what is gone cannot be worked on")
	g.commit(offset(30), 1) // gathered before the jump
	require.True(t, g.due(offset(25)))
}
