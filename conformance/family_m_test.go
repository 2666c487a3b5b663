package conformance

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/conformance/internal/mutant"
	"example.com/readcommitted/internal/kafkatest"
)

// Scenarios that need admin requests run only where these are allowed.
func TestMarkersAreRightOnGoodClusters(t *testing.T) {
	kafkatest.Each(t, kafkatest.Config{}, func(t *testing.T, c *kafkatest.Cluster) {
		report, err := Run(t.Context(), Config{
			Options: []kgo.Opt{kgo.SeedBrokers(c.Addrs()...)}, RunID: newRunID(t), Select: []string{"M", "D"}, AllowAdmin: true,
		})
		require.NoError(t, err)
		require.Empty(t, report.Left)
		for _, r := range report.Results {
			want := Pass
			if c.Fake() != nil && r.ID == "M-06" {
				want = Fail // kfake writes whatever marker it is told to
			}
			t.Log(r.ID, r.Outcome, r.Reason, r.Duration, r.Facts)
			require.Equal(t, want, r.Outcome, "%s: %s\n%s", r.ID, r.Reason, findingsOf(r))
		}
	})
}

// stamped gives markers a largest timestamp after their own one, as brokers do
// that stamp what is appended, and some attributes.
func stamped(attributes byte) mutant.Damage {
	return answering(func(_ *kmsg.FetchRequest, resp *kmsg.FetchResponse) {
		eachPartition(resp, func(p *kmsg.FetchResponseTopicPartition) {
			batches, _, _ := model.Parse(p.RecordBatches)
			for _, b := range batches {
				if b.Control() {
					b.Raw[22] |= attributes
					binary.BigEndian.PutUint64(b.Raw[35:], uint64(b.BaseTimestamp+1))
					model.Seal(b.Raw)
				}
			}
		})
	}).damage()
}

func TestMarkersMayBeStampedWhenTheyAreAppended(t *testing.T) {
	const appendTime = 1 << 3 // KIP-32
	for _, c := range []struct {
		name       string
		attributes byte
		want       Outcome
	}{
		{"by the broker", appendTime, Pass},
		{"with the producer's time", 0, Warn},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := runThrough(t, kafkatest.Fake(t, kafkatest.Config{}), stamped(c.attributes), "M-01").Results[0]
			require.Equal(t, c.want, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
			for _, f := range r.Findings {
				require.Contains(t, f.Expected, "one timestamp")
			}
		})
	}
}
