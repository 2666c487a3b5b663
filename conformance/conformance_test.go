package conformance_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/conformance"
	"example.com/readcommitted/internal/kafkatest"
)

func TestNoScenarioFailsOnGoodClusters(t *testing.T) {
	kafkatest.Each(t, kafkatest.Config{}, func(t *testing.T, c *kafkatest.Cluster) {
		report, err := conformance.Run(t.Context(), conformance.Config{
			Options: []kgo.Opt{kgo.SeedBrokers(c.Addrs()...)}, RunID: "test0001",
		})
		require.NoError(t, err)
		enc := json.NewEncoder(os.Stdout)
		enc.SetIndent("", " ")
		enc.Encode(report.Results)
		enc.Encode(report.Judged)
		enc.Encode(report.Left)
	})
}
