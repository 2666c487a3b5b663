package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/kafkatest"
)

// Scenarios that need admin requests run only where these are allowed.
func TestMarkersAreRightOnGoodClusters(t *testing.T) {
	kafkatest.Each(t, kafkatest.Config{}, func(t *testing.T, c *kafkatest.Cluster) {
		report, err := Run(t.Context(), Config{
			Options: []kgo.Opt{kgo.SeedBrokers(c.Addrs()...)}, RunID: newRunID(t), Select: []string{"M", "D"}, AllowAdmin: true,
		})
		require.NoError(t, err)
		require.Empty(t, report.Left)
		for _, r := range report.Results {
			want := Pass
			if c.Fake() != nil && r.ID == "M-06" {
				want = Fail // kfake writes whatever marker it is told to
			}
			t.Log(r.ID, r.Outcome, r.Reason, r.Duration, r.Facts)
			require.Equal(t, want, r.Outcome, "%s: %s\n%s", r.ID, r.Reason, findingsOf(r))
		}
	})
}
