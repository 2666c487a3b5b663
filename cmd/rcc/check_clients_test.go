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

// Both clients get what the log has in every scenario about readers: on real
// brokers in TestRealCheckOfLocalBrokers.
func TestCheckedClientsAgreeWithTheLog(t *testing.T) {
	c := kafkatest.Fake(t, kafkatest.Config{})
	opts := []kgo.Opt{kgo.SeedBrokers(c.Addrs()...)}
	report, err := conformance.Run(t.Context(), conformance.Config{
		Options: opts, RunID: conformance.NewRunID(), Select: []string{"C"}, Clients: checkClients(opts),
		Slow: 3, // a busy machine takes its time
	})
	require.NoError(t, err)
	require.Empty(t, report.Left)
	for _, r := range report.Results {
		t.Log(r.ID, r.Outcome, r.Duration.Round(time.Millisecond), r.Reason, strings.Join(r.Facts, "\n  "))
	}
	for _, r := range report.Results {
		require.Equal(t, conformance.Pass, r.Outcome, "%s: %s %+v", r.ID, r.Reason, r.Findings)
	}
}
