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

var updateFootprints = flag.Bool("footprints.update", false, "write conformance/footprints.txt anew")

const (
	footprintsFile = "../../conformance/footprints.txt"
	footprintsHead = "# What each scenario made when it was measured: topics, partitions, transactional IDs, groups, bytes sent, requests.\n" +
		"# Written by: go test ./cmd/rcc -run TestFootprintsAreMeasured -footprints.update\n"
)

// A plan names what a run makes, so that has to be known of every scenario that
// runs on a cluster in this process. Of what is broken there, too.
func TestFootprintsAreMeasured(t *testing.T) {
	if os.Getenv("KAFKA_TEST") == "" && !*updateFootprints {
		t.Skip("every scenario is run, on a fake cluster, which takes a minute: set KAFKA_TEST=local")
	}
	cluster := newKfake(t, kfake.NumBrokers(3), kfake.BrokerConfigs(fakeSettings))
	opts := []kgo.Opt{kgo.SeedBrokers(cluster.ListenAddrs()...)}
	report, err := conformance.Run(t.Context(), conformance.Config{
		Options: opts, RunID: conformance.NewRunID(), Clients: checkClients(opts),
		Profile: conformance.Extended, AllowAdmin: true,
	})
	require.NoError(t, err)
	if *updateFootprints {
		writeFootprints(t, report)
		return
	}
	for _, r := range report.Results {
		if r.Outcome == conformance.Skip {
			continue
		}
		_, ok := conformance.Find(r.ID).Footprint()
		require.True(t, ok, "%s is not in footprints.txt: run this test with -footprints.update", r.ID)
	}
	known, mayPass, err := readKnownFailing(knownDirectory + "kfake.txt")
	require.NoError(t, err)
	verdict := report.Judge(conformance.Terms{KnownFailing: known, MayPass: mayPass})
	require.False(t, verdict.Findings(), "%+v", verdict)
	require.True(t, verdict.Judged(), "%+v", verdict)
}

// writeFootprints keeps what is known of scenarios that did not run here.
func writeFootprints(t *testing.T, report *conformance.Report) {
	t.Helper()
	measured := map[string]*conformance.Footprint{}
	for i := range report.Results {
		if r := &report.Results[i]; r.Outcome != conformance.Skip {
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
