package history

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func hex(n uint64) string { return fmt.Sprintf("%016x", n) }

// turn is one transaction of a producer in an honest cluster of one partition.
func (s *story) turn(n int64, producer int, commit bool, readers ...*Reader) {
	ending := Abort
	if commit {
		ending = Commit
	}
	clear(s.txns)
	clear(s.value)
	s.begin("a", producer, ending, 2)
	s.logged("a", 0, 3*n)
	if commit {
		s.commit("a", t0)
		s.marked("a", 0, 3*n+2, Committed)
		for _, r := range readers {
			r.Read(0, t0, s.records("a", 0, 3*n))
		}
		return
	}
	s.txns["a"].Dead()
	s.marked("a", 0, 3*n+2, Aborted)
}

// However long a history is, what is kept of it does not grow.
func TestMemoryIsBounded(t *testing.T) {
	s := newStory()
	random := rand.New(rand.NewPCG(1, 1))
	n := int64(0)
	run := func(turns int) {
		for range turns {
			s.turn(n, random.IntN(4), random.IntN(2) == 0, s.r, s.s)
			n++
		}
	}
	run(10_000)
	before := heap()
	run(100_000)
	require.Less(t, heap(), before+1<<20)
	s.end()
	found, _ := s.c.Anomalies()
	require.Empty(t, found)
	unjudged, _ := s.c.Unjudged()
	require.Zero(t, unjudged)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A producer that only aborts gives readers nothing that they could be seen to
// pass: its transactions become one range, and still none of them may show.
func TestAbortsBecomeOneRange(t *testing.T) {
	s := newStory()
	for n := range int64(5000) {
		s.turn(n, 1, false)
	}
	l := s.c.lanes[laneKey{1, 0}]
	require.Less(t, len(l.parts), 2*compactFrom)
	v := Value{Run: 7, Producer: 1, Txn: 1, Ending: Commit, Count: 1, Partitions: 1, Number: 17}
	s.r.Read(0, t0, []Record{{20_000, v.Encode(0)}})
	found, _ := s.c.Anomalies()
	require.Equal(t, []Kind{AbortedRead}, Signature(found))
}

// A reader that is left behind too far is not judged for what was forgotten,
// and that is said.
func TestWhatIsForgottenIsCounted(t *testing.T) {
	s := newStory()
	for n := range int64(3 * partsKept) {
		s.turn(n, 1, true, s.s)
	}
	require.LessOrEqual(t, len(s.c.lanes[laneKey{1, 0}].parts), 2*partsKept)
	s.turn(3*partsKept, 1, true, s.r, s.s)
	unjudged, _ := s.c.Unjudged()
	require.Positive(t, unjudged)
	found, all := s.c.Anomalies()
	require.Equal(t, []Kind{Lost}, Signature(found), "what is remembered still counts")
	require.GreaterOrEqual(t, all, partsKept/2)
	s = newStory()
	for n := range int64(3 * partsKept) {
		s.turn(n, 1, true, s.s)
	}
	v := Value{Run: 7, Producer: 1, Txn: 1, Ending: Commit, Count: 2, Partitions: 1, Number: 1}
	s.r.Read(0, t0, []Record{{0, v.Encode(0)}})
	unjudged, _ = s.c.Unjudged()
	require.Positive(t, unjudged)
	found, _ = s.c.Anomalies()
	require.Empty(t, found)
}
