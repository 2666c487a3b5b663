package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/conformance"
	"example.com/readcommitted/internal/kafkatest"
)

// Both clients get what the log has in every scenario about readers.
func TestCheckedClientsAgreeWithTheLog(t *testing.T) {
	kafkatest.Each(t, kafkatest.Config{}, func(t *testing.T, c *kafkatest.Cluster) {
		name := kafkatest.Name(t)
		opts := []kgo.Opt{kgo.SeedBrokers(c.Addrs()...)}
		report, err := conformance.Run(t.Context(), conformance.Config{
			Options: opts, RunID: "clients" + strings.ToLower(name[len(name)-8:]), Select: []string{"C"}, Clients: checkClients(opts),
			Slow: 3, // a busy machine starts brokers slowly
		})
		require.NoError(t, err)
		require.Empty(t, report.Left)
		for _, r := range report.Results {
			t.Log(r.ID, r.Outcome, r.Duration.Round(time.Millisecond), r.Reason, strings.Join(r.Facts, "\n  "))
		}
		for _, r := range report.Results {
			require.Equal(t, conformance.Pass, r.Outcome, "%s: %s %+v", r.ID, r.Reason, r.Findings)
		}
	})
}
