package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// playing is a trial without a cluster that can be stopped.
func playing(t *testing.T) *trial {
	tr := bare()
	tr.ctx = t.Context()
	return tr
}

func TestTogetherWaitsForAll(t *testing.T) {
	tr := playing(t)
	var a, b bool
	require.Nil(t, tr.guarded(func() { tr.together(func() { a = true }, func() { b = true }) }))
	require.True(t, a && b)
	require.NoError(t, tr.ctx.Err())
}

func TestTogetherTheFirstCauseCounts(t *testing.T) {
	tr := playing(t)
	begin := time.Now()
	end := tr.guarded(func() {
		tr.together(
			func() { tr.pause(time.Minute, "the other") },
			func() { tr.skip(ReasonRefused, "x") },
			func() { tr.until(time.Minute, "the other", func() bool { return false }) },
		)
	})
	require.Less(t, time.Since(begin), 30*time.Second)
	require.Equal(t, &stopped{outcome: Skip, reason: ReasonRefused, detail: "x"}, end)
	require.NoError(t, tr.ctx.Err(), "the script itself may go on to its judgement")
}

func TestUntilLooksOnceMoreAfterItsPause(t *testing.T) {
	tr := playing(t)
	looks := 0
	require.True(t, tr.until(time.Nanosecond, "x", func() bool { looks++; time.Sleep(time.Millisecond); return true }))
	require.Equal(t, 1, looks)
	require.True(t, tr.until(5*time.Millisecond, "x", func() bool { looks++; return looks == 3 }), "it became true in the last pause")
	require.False(t, tr.until(time.Millisecond, "x", func() bool { return false }))
}
