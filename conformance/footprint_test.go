package conformance

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

var updateFootprints = flag.Bool("footprints.update", false, "write footprints.txt anew")

const footprintsHead = "# What each scenario made when it was measured: topics, partitions, transactional IDs, groups, bytes sent, requests.\n" +
	"# Written by: go test ./conformance -run TestFootprintsAreMeasured -footprints.update\n"

// A plan names what a run makes, so that has to be known of every scenario that
// runs on a cluster in this process.
func TestFootprintsAreMeasured(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(3))
	require.NoError(t, err)
	defer cluster.Close()
	report, err := Run(t.Context(), Config{
		Options: []kgo.Opt{kgo.SeedBrokers(cluster.ListenAddrs()...)}, RunID: NewRunID(),
		Profile: Extended, AllowAdmin: true,
	})
	require.NoError(t, err)
	if *updateFootprints {
		writeFootprints(t, report)
		return
	}
	for _, r := range report.Results {
		if r.Outcome == Skip {
			continue
		}
		_, ok := footprints()[r.ID]
		require.True(t, ok, "%s is not in footprints.txt: run this test with -footprints.update", r.ID)
	}
}

// writeFootprints keeps what is known of scenarios that did not run here.
func writeFootprints(t *testing.T, report *Report) {
	t.Helper()
	all := footprints()
	for _, r := range report.Results {
		if r.Outcome != Skip && r.Made != nil {
			all[r.ID] = *r.Made
		}
	}
	var b strings.Builder
	b.WriteString(footprintsHead)
	for _, s := range Scenarios() {
		if f, ok := all[s.ID]; ok {
			fmt.Fprintf(&b, "%s %d %d %d %d %d %s\n", s.ID, f.Topics, f.Partitions, f.TransactionalIDs, f.Groups, f.Bytes, strings.Join(f.Requests, ","))
		}
	}
	require.NoError(t, os.WriteFile("footprints.txt", []byte(b.String()), 0o644))
}
