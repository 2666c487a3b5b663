package conformance_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/conformance"
	"example.com/readcommitted/internal/kafkatest"
)

// What takes a minute is run behind a proxy, by TestNothingFailsBehindAProxyWithoutDamage.
func TestNoScenarioFailsOnGoodClusters(t *testing.T) {
	kafkatest.Each(t, kafkatest.Config{}, func(t *testing.T, c *kafkatest.Cluster) {
		report, err := conformance.Run(t.Context(), conformance.Config{
			Options: []kgo.Opt{kgo.SeedBrokers(c.Addrs()...)}, RunID: "test0001", Profile: conformance.Smoke,
		})
		require.NoError(t, err)
		require.Empty(t, report.Left)
		t.Log(report.Judged)
		for _, r := range report.Results {
			if r.Outcome == conformance.Pass || r.Outcome == conformance.Skip {
				continue
			}
			text, err := json.MarshalIndent(r, "", " ")
			require.NoError(t, err)
			t.Logf("%s", text)
			// The fake cluster has deviations of its own.
			if c.Fake() == nil && r.Outcome != conformance.Warn {
				t.Errorf("%s: %s %s", r.ID, r.Outcome, r.Reason)
			}
		}
	})
}
