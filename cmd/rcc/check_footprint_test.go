package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/conformance"
)

var (
	updateFootprints = flag.Bool("footprints.update", false, "write conformance/footprints.txt anew, from a fake cluster")
	reportFootprints = flag.String("footprints.report", "", "write to conformance/footprints.txt what a run made whose JSON report is in `FILE`")
)

const (
	footprintsFile = "../../conformance/footprints.txt"
	footprintsHead = "# What each scenario made when it was measured: topics, partitions, transactional IDs, groups, bytes sent, requests.\n" +
		"# Written by: go test ./cmd/rcc -run TestFootprintsAreKnown -footprints.update; what that cannot run, as it needs\n" +
		"# brokers that come back, by -footprints.report FILE with the report of a run on three real ones.\n"
)

// A plan names what a run makes, so that has to be known of every scenario that
// can run.
func TestFootprintsAreKnown(t *testing.T) {
	if *updateFootprints {
		measureFootprints(t)
		return
	}
	if *reportFootprints != "" {
		report, err := readReport(*reportFootprints)
		require.NoError(t, err)
		writeFootprints(t, report.Results)
		return
	}
	for _, s := range conformance.Scenarios() {
		_, ok := s.Footprint()
		require.Equal(t, s.Built(), ok, "%s: measure what it makes with -footprints.update", s.ID)
	}
}

// measureFootprints runs everything that runs on a cluster in this process, of
// what is broken there, too.
func measureFootprints(t *testing.T) {
	t.Helper()
	cluster := newKfake(t, kfake.NumBrokers(3), kfake.BrokerConfigs(fakeSettings))
	opts := []kgo.Opt{kgo.SeedBrokers(cluster.ListenAddrs()...)}
	report, err := conformance.Run(t.Context(), conformance.Config{
		Options: opts, RunID: conformance.NewRunID(), Clients: checkClients(opts),
		Profile: conformance.Extended, AllowAdmin: true,
	})
	require.NoError(t, err)
	writeFootprints(t, report.Results)
}

// writeFootprints keeps what is known of scenarios that did not run.
func writeFootprints(t *testing.T, results []conformance.Result) {
	t.Helper()
	measured := map[string]*conformance.Footprint{}
	for i := range results {
		if r := &results[i]; r.Outcome != conformance.Skip {
			measured[r.ID] = r.Made
		}
	}
	var b strings.Builder
	b.WriteString(footprintsHead)
	for _, s := range conformance.Scenarios() {
		f, ok := s.Footprint()
		if made := measured[s.ID]; made != nil {
			f, ok = *made, true
		}
		if ok && len(f.Requests) == 0 {
			f.Requests = []string{"-"}
		}
		if ok {
			fmt.Fprintf(&b, "%s %d %d %d %d %d %s\n", s.ID, f.Topics, f.Partitions, f.TransactionalIDs, f.Groups, f.Bytes, strings.Join(f.Requests, ","))
		}
	}
	require.NoError(t, os.WriteFile(footprintsFile, []byte(b.String()), 0o644))
}
