package abortset_test

import (
	"flag"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/abortset"
)

var exhaustive = flag.Int("exhaustive", 0, "longest small log to enumerate; 0: 6, or 4 under the race detector")

func longestLog() int {
	switch {
	case *exhaustive > 0:
		return *exhaustive
	case raceDetector:
		return 4
	}
	return 6
}

// windows counts what the enumeration visits, by length of the log, so that it
// cannot shrink unnoticed.
var windows = map[int]int{1: 5, 2: 136, 3: 2085, 4: 25760, 5: 283717, 6: 2903880, 7: 28208693, 8: 263326912}

// Every log of two producers, every window of it, with the narrowest and the
// widest list a correct broker sends: Set and Response give what the markers
// of the whole log say, and nothing is called an anomaly.
func TestEveryWindowOfEverySmallLog(t *testing.T) {
	for length := 1; length <= longestLog(); length++ {
		t.Run(fmt.Sprintf("length=%d", length), func(t *testing.T) {
			var c comparison
			eachWorld(length, 1, func(w *world) {
				w.eachWindow(func(from, to int) {
					c.compare(t, w, from, to, to)
					if to < length {
						c.compare(t, w, from, to, length)
					}
				})
			})
			require.Equal(t, windows[length], c.windows)
		})
	}
}

// comparison is what one enumeration reuses and counts.
type comparison struct {
	set      abortset.Set
	response abortset.Response
	list     []abortset.AbortedTransaction
	windows  int
}

// compare judges a window with the list up to bound.
func (c *comparison) compare(t *testing.T, w *world, from, to, bound int) {
	c.windows++
	c.list = w.list(c.list[:0], from, bound)
	batches, want := w.batches[from:to], w.fate[from:to]
	verdicts, anomalies := c.response.Judge(batches, c.list)
	if len(anomalies) > 0 || !slices.Equal(want, verdicts) {
		require.Fail(t, "Response", "%v from %d to %d, list %v: %v, want %v, anomalies %v", w.log, from, to, c.list, verdicts, want, anomalies)
	}
	c.set.Reset(c.list)
	for i, b := range batches {
		if v := c.set.Judge(b); v != want[i] {
			require.Fail(t, "Set", "%v from %d to %d, list %v, batch %d: %v, want %v", w.log, from, to, c.list, i, v, want[i])
		}
	}
}
