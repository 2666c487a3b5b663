package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/internal/kafkatest"
)

// Random histories blame nobody on a correct cluster.
func TestRandomHistoriesOnGoodClusters(t *testing.T) {
	t.Parallel()
	kafkatest.Each(t, kafkatest.Config{}, func(t *testing.T, c *kafkatest.Cluster) {
		for _, id := range []string{"X-01", "X-02", "X-03"} {
			t.Run(id, func(t *testing.T) {
				report := judgedBy(t.Context(), t, c, func(config *Config) {
					config.Clients = []Client{&fakeReader{seeds: c.Addrs()}}
				}, Find(id))
				r := report.Results[0]
				t.Log(r.Outcome, r.Duration, r.Facts, r.Judged)
				require.Equal(t, Pass, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
			})
		}
	})
}
