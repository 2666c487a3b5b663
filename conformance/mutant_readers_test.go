package conformance

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/conformance/internal/mutant"
	"example.com/readcommitted/internal/kafkatest"
)

// A reader whose answers are damaged is a broken reader to the checker, which
// sees right ones: each scenario notices, and says nothing against the cluster.
func TestBrokenReadersAreNoticed(t *testing.T) {
	t.Parallel()
	c := kafkatest.Fake(t, kafkatest.Config{})
	for _, m := range mutant.All() {
		if !m.Readers {
			continue
		}
		t.Run(fmt.Sprintf("%d %s", m.Number, m.Name), func(t *testing.T) {
			t.Parallel()
			for _, r := range runReadersBehind(t, c, m.Make(), Config{Select: m.Kills}).Results {
				require.True(t, killed(r), "%s: %s %s\n%s", r.ID, r.Outcome, r.Reason, findingsOf(r))
				require.True(t, r.Of(OfClient("fake"), r.Outcome), "%s\n%s", r.ID, findingsOf(r))
				for _, f := range r.Findings {
					if f.Subject == OfCluster { // kfake has no list where the limit of the whole request cuts an answer
						require.Contains(t, f.Observed, "observed no list, with the aborted batch", "%s\n%s", r.ID, findingsOf(r))
					}
				}
			}
		})
	}
}

// Where the cluster's own answers are wrong, readers that believe them are not
// at fault.
func TestReadersAreNotBlamedForTheCluster(t *testing.T) {
	t.Parallel()
	c := kafkatest.Fake(t, kafkatest.Config{})
	for _, m := range mutant.All() {
		if m.Number != 1 && m.Number != 4 {
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			for _, r := range runThrough(t, c, m.Make(), "C-01", "C-03", "C-05", "C-06", "C-08").Results {
				for _, f := range r.Findings {
					require.Equal(t, OfCluster, f.Subject, "%s\n%s", r.ID, findingsOf(r))
				}
				if m.Number == 1 {
					require.Equal(t, Fail, r.Outcome, "%s: %s\n%s", r.ID, r.Reason, findingsOf(r))
				}
			}
		})
	}
}
