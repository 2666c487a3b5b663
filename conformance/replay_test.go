package conformance

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/conformance/internal/mutant"
	"example.com/readcommitted/internal/kafkatest"
)

// saved is a report as it comes back from a file.
func saved(t *testing.T, report *Report) *Report {
	t.Helper()
	text, err := json.Marshal(report)
	require.NoError(t, err)
	out := new(Report)
	require.NoError(t, json.Unmarshal(text, out))
	return out
}

// The damages that this test tries are those of the catalogue, and control
// batches without a CRC: the others break the same invariants.
const (
	lastOfCatalogue = 48
	crcOfZero       = 105
)

// Whatever an invariant finds is found again in what the report keeps of it.
func TestFindingsOfInvariantsAreFoundAgain(t *testing.T) {
	t.Parallel()
	c := kafkatest.Fake(t, kafkatest.Config{})
	found := map[string]bool{}
	for _, m := range mutant.All() {
		if m.Readers || m.Brokers > 1 || m.Slow > 0 || m.Number > lastOfCatalogue && m.Number != crcOfZero {
			continue
		}
		t.Run(fmt.Sprintf("%d %s", m.Number, m.Name), func(t *testing.T) {
			proxy, err := mutant.New(t.Context(), c.Addrs(), m.Make())
			require.NoError(t, err)
			defer proxy.Close()
			report, err := Run(t.Context(), Config{
				Options: []kgo.Opt{kgo.SeedBrokers(proxy.Addrs()...)}, RunID: newRunID(t), Select: []string{"A-01", "L-05"}, Slow: 0.05,
			})
			require.NoError(t, err)
			for _, again := range saved(t, report).Replay() {
				f := again.Finding
				if f.Invariant == "" {
					require.Equal(t, Skip, again.Outcome)
					continue
				}
				found[f.Invariant] = true
				require.Equal(t, f.Outcome, again.Outcome, "%s of %s: %s, now %s%s\n%s", f.Invariant, again.Result.ID, f.Observed, again.Observed, again.Reason, f.Exchanges)
			}
		})
	}
	for _, name := range []string{"U1", "U2b", "U3", "U4", "U5", "U7", "U9", "U10", "U12", "U13"} {
		require.True(t, found[name], "no damage broke %s: %v", name, found)
	}
}

// What the report does not have cannot be judged, and is no pass.
func TestWhatWasNotKeptIsNotJudged(t *testing.T) {
	t.Parallel()
	answer := Answer{Version: 12, Isolation: model.ReadCommitted, Body: packed([]byte("nonsense"))}
	for name, f := range map[string]Finding{
		"of the scenario's own":  {},
		"without an answer":      {Invariant: "U5"},
		"an answer too large":    {Invariant: "U5", Answers: []Answer{{}}},
		"an unreadable answer":   {Invariant: "U5", Answers: []Answer{answer}},
		"bytes that are no gzip": {Invariant: "U5", Answers: []Answer{{Body: []byte("nonsense")}}},
		"without a log":          {Invariant: "U9"},
		"an unknown invariant":   {Invariant: "U99", Answers: []Answer{evidenceOf(&model.View{})}},
	} {
		t.Run(name, func(t *testing.T) {
			f.Subject, f.Outcome = OfCluster, Fail
			report := &Report{Results: []Result{{Findings: []Finding{f}}}}
			again := report.Replay()
			require.Len(t, again, 1)
			require.Equal(t, Skip, again[0].Outcome)
			require.NotEmpty(t, again[0].Reason)
		})
	}
	about := Finding{Subject: OfClient("kgo"), Outcome: Fail}
	require.Empty(t, (&Report{Results: []Result{{Findings: []Finding{about}}}}).Replay())
}

// A finding is gone where this version finds nothing wrong with the answer.
func TestFindingsCanBeGone(t *testing.T) {
	t.Parallel()
	resp := kmsg.NewPtrFetchResponse()
	resp.Version = 12
	topic := kmsg.NewFetchResponseTopic()
	partition := kmsg.NewFetchResponseTopicPartition()
	for _, first := range []int64{3, 7, 7} {
		entry := kmsg.NewFetchResponseTopicPartitionAbortedTransaction()
		entry.ProducerID, entry.FirstOffset = 1, first
		partition.AbortedTransactions = append(partition.AbortedTransactions, entry)
	}
	for name, tt := range map[string]struct {
		entries int
		want    Outcome
	}{"an entry twice": {3, Fail}, "each entry once": {2, Pass}} {
		t.Run(name, func(t *testing.T) {
			partition := partition
			partition.AbortedTransactions = partition.AbortedTransactions[:tt.entries]
			topic.Partitions = []kmsg.FetchResponseTopicPartition{partition}
			resp.Topics = []kmsg.FetchResponseTopic{topic}
			answer := Answer{Version: 12, Isolation: model.ReadCommitted, Body: packed(resp.AppendTo(nil))}
			f := Finding{Subject: OfCluster, Outcome: Fail, Invariant: "U5", Answers: []Answer{answer}}
			again := (&Report{Results: []Result{{Findings: []Finding{f}}}}).Replay()
			require.Equal(t, tt.want, again[0].Outcome, again[0].Reason)
		})
	}
}
