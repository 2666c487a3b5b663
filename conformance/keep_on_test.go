package conformance

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// Producers and readers that get no answer go on: whether that takes too long is
// judged elsewhere. What nobody can go on with ends the script.
func TestTrafficKeepsOn(t *testing.T) {
	for _, k := range []struct {
		name  string
		step  func(tr *trial)
		tries int
		end   *stopped
	}{
		{"without an answer", func(tr *trial) { tr.undecided("no answer in time") }, 3, nil},
		{"without a right", func(tr *trial) { tr.skip(ReasonNotAuthorized, "x") }, 1, &stopped{outcome: Skip, reason: ReasonNotAuthorized, detail: "x"}},
		{"with a fault of the checker's own", func(*trial) { panic("oh") }, 1, &stopped{outcome: Inconclusive, reason: "the checker failed: oh", crashed: true}},
	} {
		t.Run(k.name, func(t *testing.T) {
			tr := playing(t)
			var stop atomic.Bool
			tries := 0
			end := tr.guarded(func() {
				(&traffic{t: tr}).keepOn(&stop, func() {
					tries++
					stop.Store(tries == 3)
					k.step(tr)
				})
			})
			require.Equal(t, k.end, end)
			require.Equal(t, k.tries, tries)
		})
	}
}
