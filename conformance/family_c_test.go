package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/internal/kafkatest"
)

// judgeReader runs scenarios of family C with one reader.
func judgeReader(t *testing.T, c *kafkatest.Cluster, f flaw, scenarios ...string) []Result {
	t.Helper()
	report, err := Run(t.Context(), Config{
		Options: []kgo.Opt{kgo.SeedBrokers(c.Addrs()...)}, RunID: newRunID(t), Select: scenarios,
		Clients: []Client{&fakeReader{seeds: c.Addrs(), flaw: f}}, Slow: patienceWith(f),
	})
	require.NoError(t, err)
	require.Empty(t, report.Left)
	return report.Results
}

// patienceWith is short for a reader that keeps others waiting.
func patienceWith(f flaw) float64 {
	switch f {
	case stops, misleads, crashes:
		return 0.1
	default:
		return 3 // a busy machine starts brokers slowly
	}
}

// On real brokers, TestNothingFailsBehindAProxyWithoutDamage has one.
func TestARightReaderPasses(t *testing.T) {
	t.Parallel()
	results := judgeReader(t, kafkatest.Fake(t, kafkatest.Config{}), "", "C")
	for _, r := range results {
		t.Log(r.ID, r.Outcome, r.Duration.Round(time.Millisecond), r.Reason, r.Facts)
	}
	for _, r := range results {
		require.Equal(t, Pass, r.Outcome, "%s: %s\n%s", r.ID, r.Reason, findingsOf(r))
	}
}

// What is wrong with a reader is said of the reader: nothing is found against
// the cluster.
func TestAWrongReaderIsAtFaultAndNotTheCluster(t *testing.T) {
	t.Parallel()
	c := kafkatest.Fake(t, kafkatest.Config{})
	for _, test := range []struct {
		flaw      flaw
		scenarios []string
		outcome   Outcome
	}{
		{leaks, []string{"C-01", "C-03", "C-05", "C-06"}, Fail},
		{loses, []string{"C-01", "C-02", "C-03", "C-06"}, Fail},
		{repeats, []string{"C-01", "C-02", "C-03", "C-05", "C-06"}, Fail},
		{circles, []string{"C-01", "C-02", "C-05"}, Fail},
		{alters, []string{"C-01", "C-02", "C-03"}, Fail},
		{crashes, []string{"C-05"}, Fail},
		{panics, []string{"C-02", "C-05"}, Fail},
		{stops, []string{"C-05", "C-06"}, Fail},
		{misleads, []string{"C-04"}, Warn},
		{accuses, []string{"C-06", "C-08"}, Fail},
	} {
		t.Run(string(test.flaw), func(t *testing.T) {
			t.Parallel()
			for _, r := range judgeReader(t, c, test.flaw, test.scenarios...) {
				require.Equal(t, test.outcome, r.Outcome, "%s: %s\n%s", r.ID, r.Reason, findingsOf(r))
				require.True(t, r.Of("client fake", test.outcome), "%s\n%s", r.ID, findingsOf(r))
				for _, f := range r.Findings {
					require.Equal(t, OfClient("fake"), f.Subject, "%s\n%s", r.ID, findingsOf(r))
				}
			}
		})
	}
}

// Any family may have readers read what it wrote. What they do wrong does not
// count against that scenario's own requirement.
func TestReadersOfOtherFamiliesLogs(t *testing.T) {
	c := kafkatest.Fake(t, kafkatest.Config{})
	for _, f := range []flaw{"", leaks} {
		r, err := newRun(t.Context(), Config{
			Options: []kgo.Opt{kgo.SeedBrokers(c.Addrs()...)}, RunID: newRunID(t),
			Clients: []Client{&fakeReader{seeds: c.Addrs(), flaw: f}},
		})
		require.NoError(t, err)
		defer r.client.Close()
		result := r.trial(t.Context(), &Scenario{
			ID: "M-99", Class: Info, Requirement: "something else",
			run: func(t *trial) {
				l := t.interleaved()
				t.compareReaders(l.p, model.ReadCommitted)
				t.compareReaders(l.p, model.ReadUncommitted)
			},
		}, TV1, 1)
		if f == "" {
			require.Equal(t, Pass, result.Outcome, "%s\n%s", result.Reason, findingsOf(result))
			continue
		}
		require.Equal(t, Fail, result.Outcome)
		require.Len(t, result.Findings, 1)
		require.Equal(t, OfClient("fake"), result.Findings[0].Subject)
		require.Equal(t, readerRequirement, result.Findings[0].Requirement)
		require.Equal(t, int64(2), result.Findings[0].Offset)
		require.False(t, result.Of(OfCluster, Fail))
	}
}

func TestAReaderThatCannotBeOpenedIsNotJudged(t *testing.T) {
	for _, r := range judgeReader(t, kafkatest.Fake(t, kafkatest.Config{}), absent, "C-01", "C-03", "C-06") {
		require.Equal(t, Inconclusive, r.Outcome, r.ID)
		require.Contains(t, r.Reason, "client fake cannot be opened: no such client", r.ID)
		require.Empty(t, r.Findings, r.ID)
	}
}

func TestReadersAreSkippedWithoutClients(t *testing.T) {
	c := kafkatest.Fake(t, kafkatest.Config{})
	report, err := Run(t.Context(), Config{Options: []kgo.Opt{kgo.SeedBrokers(c.Addrs()...)}, RunID: newRunID(t), Select: []string{"C"}})
	require.NoError(t, err)
	for _, r := range report.Results {
		require.Equal(t, Skip, r.Outcome, r.ID)
		require.Equal(t, ReasonNoClient, r.Reason, r.ID)
	}
}
