package rcconsumer_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/batchtest"
)

// A reader that falls out of the log by retention goes on at the log start. The
// records in the caller's hands are not worked on for all that: a commit beyond
// them would lose them in a crash.
func TestMoveToTheLogStartCommitsNothingThatIsBeingWorkedOn(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0, batchtest.Data(0, 9))
		c := w.consumer(inGroup(kgo.AutoCommitInterval(time.Second))...)
		for _, o := range [][]int64{span(0, 4), span(5, 9)} {
			require.Equal(t, o, offsets(c.PollRecords(t.Context(), 5)))
		}
		time.Sleep(2 * time.Second)
		w.change(func() {
			f.log = batchtest.Log{batchtest.Data(20, 24)}
			f.start, f.lso, f.hw = 20, 25, 25
		})
		eventually(t, "the log start", func() bool { return position(c).Next == 20 })
		time.Sleep(5 * time.Second)
		require.EqualValues(t, 5, w.committed(0))
		require.Equal(t, span(20, 24), offsets(poll(c, patience)))
		time.Sleep(5 * time.Second)
		require.EqualValues(t, 20, w.committed(0), "the next poll has begun")
	})
}
