package conformance

import (
	"flag"
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/conformance/internal/mutant"
	"example.com/readcommitted/internal/kafkatest"
)

var historySeed = flag.Uint64("histories.seed", 1, "`seed` of the random histories")

// Random histories blame nobody on a correct cluster.
func TestRandomHistoriesOnGoodClusters(t *testing.T) {
	t.Parallel()
	kafkatest.Each(t, kafkatest.Config{}, func(t *testing.T, c *kafkatest.Cluster) {
		for _, id := range []string{"X-01", "X-02", "X-03"} {
			t.Run(id, func(t *testing.T) {
				t.Parallel()
				report := judgedBy(t.Context(), t, c, func(config *Config) {
					config.Clients, config.Seed = []Client{&fakeReader{seeds: c.Addrs()}}, *historySeed
				}, Find(id))
				r := report.Results[0]
				t.Log(r.Duration, r.Facts, r.Judged)
				require.Equal(t, Pass, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
				require.Empty(t, report.Left)
			})
		}
	})
}

// Faults that come now and then are found, in one history.
func TestRareFaultsAreFound(t *testing.T) {
	t.Parallel()
	c := kafkatest.Fake(t, kafkatest.Config{})
	for _, m := range mutant.All() {
		if m.Number < 260 || m.Number > 262 {
			continue
		}
		t.Run(fmt.Sprintf("%d %s", m.Number, m.Name), func(t *testing.T) {
			t.Parallel()
			r := runBehind(t, c, m.Make(), Config{Select: m.Kills, Seed: *historySeed}).Results[0]
			require.Equal(t, Fail, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
			require.True(t, r.Of(OfCluster, Fail), findingsOf(r))
			t.Log(r.Duration)
		})
	}
}

// A fault that does not depend on chance comes down to a transaction or two,
// and the finding says with which seed to have it again.
func TestPlansThatFailAreMadeSmaller(t *testing.T) {
	t.Parallel()
	c := kafkatest.Fake(t, kafkatest.Config{})
	for _, m := range mutant.All() {
		if m.Number != 1 {
			continue
		}
		proxy, err := mutant.New(t.Context(), c.Addrs(), m.Make())
		require.NoError(t, err)
		defer proxy.Close()
		report, err := Run(t.Context(), Config{
			Options: []kgo.Opt{kgo.SeedBrokers(proxy.Addrs()...)}, RunID: newRunID(t), Select: []string{"X-01"}, Seed: 77, Slow: 5, assertionsOnly: true,
		})
		require.NoError(t, err)
		require.Empty(t, report.Left)
		r := report.Results[0]
		require.True(t, r.Of(OfCluster, Fail), "%s\n%s", r.Reason, findingsOf(r))
		require.Regexp(t, regexp.MustCompile(`aborted read: .* with seed 77, plan [0-9a-f]{16}: producer \d.* abort \([1-4] of 960 transactions, after \d+ tries to do with fewer\)`), findingsOf(r))
	}
}

// A reader that is broken is blamed, and the cluster is not.
func TestRandomHistoriesBlameBrokenReaders(t *testing.T) {
	t.Parallel()
	c := kafkatest.Fake(t, kafkatest.Config{})
	for _, f := range []flaw{leaks, loses, repeats, alters} {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			report := judgedBy(t.Context(), t, c, func(config *Config) {
				config.Clients = []Client{&fakeReader{seeds: c.Addrs(), flaw: f}}
			}, Find("X-01"))
			r := report.Results[0]
			require.Equal(t, Fail, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
			require.True(t, r.Of(OfClient("fake"), Fail), findingsOf(r))
			require.False(t, r.Of(OfCluster, Fail), findingsOf(r))
		})
	}
}

// Brokers that stand still, stop and are killed are no fault of the cluster.
func TestRandomHistoriesWhileBrokersComeAndGo(t *testing.T) {
	t.Parallel()
	c := kafkatest.Fake(t, kafkatest.Config{Nodes: 3})
	h := newFakeHook(t, c)
	report := judgedBy(t.Context(), t, c, func(config *Config) {
		h.use(config)
		config.Seed = *historySeed
	}, Find("X-04"))
	r := report.Results[0]
	t.Log(r.Duration, r.Facts)
	require.Equal(t, Pass, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
	// What it made may stay: the controller of a fake cluster does not come back.
	h.wantAllRunning(t)
}
