package bench

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/batchtest"
)

// TestRatiosHaveNotCollapsed notices when the large factors are lost. Its
// bounds are far below what is measured, since it runs on any machine, beside
// anything.
func TestRatiosHaveNotCollapsed(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector slows down what is measured, not evenly")
	}
	for _, tt := range []struct {
		cell
		least float64
	}{
		{cell{batchtest.None, 100, 0}, 0.6},
		{cell{batchtest.None, 100, 90}, 3},
		{cell{batchtest.LZ4, 100, 90}, 3},
		{cell{batchtest.Zstd, 100, 0}, 0.6},
		{cell{batchtest.Zstd, 100, 50}, 1.3},
		{cell{batchtest.Zstd, 100, 90}, 3},
		{cell{batchtest.Zstd, 100, 100}, 10},
	} {
		t.Run(tt.String(), func(t *testing.T) {
			require.Greater(t, ratio(tt.response()), tt.least, "kgo's time in times of ours")
		})
	}
}

// A list of a million entries costs its reading, not a search per batch.
func TestLongListsAreRead(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector slows down what is measured, not evenly")
	}
	for _, kind := range []string{ahead, foreign} {
		t.Run(kind, func(t *testing.T) {
			require.Greater(t, ratio(listCell{1_000_000, kind}.response()), 3.0, "kgo's time in times of ours")
		})
	}
}

// ratio compares the least times of some runs, taken in turn.
func ratio(rp *kmsg.FetchResponseTopicPartition) float64 {
	both := impls()
	least := make([]time.Duration, len(both))
	for range 15 {
		for i, im := range both {
			began := time.Now()
			fp, next := im.pass(rp)
			sink += sum(fp.Records) + next
			if took := time.Since(began); least[i] == 0 || took < least[i] {
				least[i] = took
			}
		}
	}
	return float64(least[0]) / float64(least[1])
}
