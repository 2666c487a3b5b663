package conformance

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/conformance/internal/mutant"
	"example.com/readcommitted/internal/kafkatest"
)

var mutantNamed = flag.String("mutants.only", "", "comma-separated `numbers` of the mutants to run")

// runThrough runs scenarios against a cluster behind a damage. The invariants
// are off: they would notice most damages in any scenario, and what is asked is
// whether the scenario itself does.
func runThrough(t *testing.T, c *kafkatest.Cluster, damage mutant.Damage, scenarios ...string) *Report {
	t.Helper()
	return runBehind(t, c, damage, Config{Select: scenarios})
}

// runBehind is runThrough with more settings than which scenarios to run.
func runBehind(t *testing.T, c *kafkatest.Cluster, damage mutant.Damage, config Config) *Report {
	t.Helper()
	proxy, err := mutant.New(t.Context(), c.Addrs(), damage)
	require.NoError(t, err)
	defer proxy.Close()
	return runVia(t, proxy.Addrs(), proxy.Addrs(), config)
}

// runReadersBehind is runBehind where only the readers under judgement meet the
// damage.
func runReadersBehind(t *testing.T, c *kafkatest.Cluster, damage mutant.Damage, config Config) *Report {
	t.Helper()
	proxy, err := mutant.New(t.Context(), c.Addrs(), damage)
	require.NoError(t, err)
	defer proxy.Close()
	return runVia(t, c.Addrs(), proxy.Addrs(), config)
}

// runMutant runs scenarios behind a mutant, for whoever is to meet it.
func runMutant(t *testing.T, c *kafkatest.Cluster, m mutant.Mutant, config Config) *Report {
	t.Helper()
	config.Slow = m.Slow
	if m.Readers {
		return runReadersBehind(t, c, m.Make(), config)
	}
	return runBehind(t, c, m.Make(), config)
}

// runVia runs scenarios with a right reader that takes another way to the
// cluster than the checker.
func runVia(t *testing.T, checker, readers []string, config Config) *Report {
	t.Helper()
	config.Options, config.RunID = []kgo.Opt{kgo.SeedBrokers(checker...)}, newRunID(t)
	config.Clients = []Client{&fakeReader{seeds: readers}}
	config.assertionsOnly, config.noShrinking, config.AllowAdmin = true, true, true
	report, err := Run(t.Context(), config)
	require.NoError(t, err)
	return report
}

func newRunID(t *testing.T) string {
	t.Helper()
	name := kafkatest.Name(t)
	return "mutants" + strings.ToLower(name[len(name)-8:])
}

// A checker that passes a broken cluster is worth nothing: each damage has to
// be noticed by the scenarios that are named for it.
func TestMutantsAreKilled(t *testing.T) {
	clusters := map[int]*kafkatest.Cluster{}
	for _, m := range mutant.All() {
		if chosen(m.Number) && clusters[m.Brokers] == nil {
			clusters[m.Brokers] = kafkatest.Real(t, brokersFor(m.Brokers))
		}
		c := clusters[m.Brokers]
		t.Run(fmt.Sprintf("%02d %s", m.Number, m.Name), func(t *testing.T) {
			if !chosen(m.Number) {
				t.Skip("not among -mutants.only")
			}
			t.Parallel()
			requireKilled(t, c, m)
		})
	}
}

// brokersFor is the cluster of mutants that need n brokers: these are in racks
// of their own, for readers that look for one near them.
func brokersFor(n int) kafkatest.Config {
	config := kafkatest.Config{Nodes: n}
	for i := range n {
		config.Racks = append(config.Racks, fmt.Sprintf("rack-%d", i+1))
	}
	return config
}

func requireKilled(t *testing.T, c *kafkatest.Cluster, m mutant.Mutant) {
	t.Helper()
	config := Config{Select: slices.Concat(m.Kills, m.Warns)}
	report := runMutant(t, c, m, config)
	if m.Second && report.Cluster.Level != TV2.String() {
		t.Skip("the cluster has no transactions v2, which alone show this damage")
	}
	require.Len(t, report.Results, len(config.Select))
	for _, r := range report.Results {
		noticed := killed(r)
		if slices.Contains(m.Warns, r.ID) {
			noticed = r.Outcome == Warn
		}
		require.True(t, noticed, "%s: %s %s\n%s", r.ID, r.Outcome, r.Reason, findingsOf(r))
	}
}

// killed reports whether a result says that the cluster is broken.
func killed(r Result) bool {
	return r.Outcome == Fail || r.Outcome == Warn && r.Class == Should
}

func chosen(number int) bool {
	if *mutantNamed == "" {
		return true
	}
	for n := range strings.SplitSeq(*mutantNamed, ",") {
		if n == fmt.Sprint(number) {
			return true
		}
	}
	return false
}

func findingsOf(r Result) string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%s %s %s\n  expected %s\n  observed %s\n  log %s\n  %s\n", f.Outcome, f.Invariant, f.place(),
			f.Expected, f.Observed, f.Log, strings.Join(f.Exchanges, "\n  "))
	}
	return b.String()
}

// Every number from 1 on is taken once: mutants are known by it.
func TestMutantsAreNumbered(t *testing.T) {
	seen := map[int]string{}
	for _, m := range mutant.All() {
		require.Empty(t, seen[m.Number], "%d is both %q and %q", m.Number, seen[m.Number], m.Name)
		seen[m.Number] = m.Name
		for _, id := range slices.Concat(m.Kills, m.Warns) {
			require.NotNil(t, Find(id), "mutant %d kills %s", m.Number, id)
		}
	}
}

// An undamaged proxy changes nothing, and a correct cluster breaks nothing: all
// of the profile standard, the invariants and a right reader included.
func TestNothingFailsBehindAProxyWithoutDamage(t *testing.T) {
	c := kafkatest.Real(t, kafkatest.Config{})
	proxy, err := mutant.New(t.Context(), c.Addrs(), mutant.Damage{})
	require.NoError(t, err)
	defer proxy.Close()
	report, err := Run(t.Context(), Config{
		Options: []kgo.Opt{kgo.SeedBrokers(proxy.Addrs()...)}, RunID: newRunID(t),
		Clients: []Client{&fakeReader{seeds: proxy.Addrs()}}, AllowAdmin: true,
	})
	require.NoError(t, err)
	t.Log(report.Judged)
	requireHarmless(t, report, Pass, Skip)
	require.Empty(t, report.Left)
}

func TestNothingFailsBehindAProxyOfSeveralBrokers(t *testing.T) {
	requireHarmless(t, runThrough(t, kafkatest.Real(t, brokersFor(3)), mutant.Damage{}, "R-01", "R-02", "R-06"), Pass)
}

func requireHarmless(t *testing.T, report *Report, legal ...Outcome) {
	t.Helper()
	for _, r := range report.Results {
		require.Contains(t, legal, r.Outcome, "%s: %s\n%s", r.ID, r.Reason, findingsOf(r))
	}
}
