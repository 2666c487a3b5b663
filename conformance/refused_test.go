package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/mutant"
)

// refusing answers a request that the cluster announces with an error.
func refusing(key kmsg.Key, code int16) mutant.Damage {
	return mutant.Damage{Keys: []kmsg.Key{key}, Response: func(c *mutant.Call) {
		switch resp := c.Response.(type) {
		case *kmsg.InitProducerIDResponse:
			resp.ErrorCode, resp.ProducerID, resp.ProducerEpoch = code, -1, -1
		case *kmsg.EndTxnResponse:
			resp.ErrorCode = code
		case *kmsg.AddPartitionsToTxnResponse:
			for i := range resp.Topics {
				for k := range resp.Topics[i].Partitions {
					resp.Topics[i].Partitions[k].ErrorCode = code
				}
			}
		case *kmsg.CreateTopicsResponse:
			resp.Topics[0].ErrorCode = code
		case *kmsg.ProduceResponse:
			p := &resp.Topics[0].Partitions[0]
			p.ErrorCode, p.BaseOffset = code, -1
		case *kmsg.ListOffsetsResponse:
			p := &resp.Topics[0].Partitions[0]
			p.ErrorCode, p.Offset = code, -1
		case *kmsg.FetchResponse:
			p := &resp.Topics[0].Partitions[0]
			p.ErrorCode, p.HighWatermark, p.LastStableOffset, p.RecordBatches = code, -1, -1, nil
		}
	}}
}

// A cluster that announces transactions and then refuses them is not one that
// has none: what it has to do with them stays open, which is no pass.
func TestAnnouncedRequestsThatAreRefusedExcuseNothing(t *testing.T) {
	t.Parallel()
	for _, key := range []kmsg.Key{
		kmsg.InitProducerID, kmsg.EndTxn, kmsg.AddPartitionsToTxn, kmsg.CreateTopics, kmsg.Produce, kmsg.ListOffsets, kmsg.Fetch,
	} {
		for _, code := range []*kerr.Error{kerr.UnsupportedVersion, kerr.PolicyViolation, kerr.InvalidConfig} {
			t.Run(key.Name()+" "+code.Message, func(t *testing.T) {
				t.Parallel()
				r, report := behind(t, refusing(key, code.Code), quickly, Find("A-01"))
				require.Equal(t, Inconclusive, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
				require.Contains(t, r.Reason, code.Message)
				verdict := report.Judge(Terms{})
				require.Equal(t, []string{"A-01"}, verdict.Undecided)
				require.False(t, verdict.Judged())
			})
		}
	}
}

// Settings are a cluster's own business, and so is what administrators may do.
func TestSettingsOfAScenarioMayBeDeclined(t *testing.T) {
	t.Parallel()
	declining := mutant.Damage{Keys: []kmsg.Key{kmsg.CreateTopics}, Request: func(c *mutant.Call) {
		req := c.Request.(*kmsg.CreateTopicsRequest)
		if len(req.Topics[0].Configs) == 0 {
			return
		}
		resp := kmsg.NewPtrCreateTopicsResponse()
		topic := kmsg.NewCreateTopicsResponseTopic()
		topic.Topic, topic.ErrorCode = req.Topics[0].Topic, kerr.PolicyViolation.Code
		resp.Topics = append(resp.Topics, topic)
		c.Response = resp
	}}
	r, _ := behind(t, declining, nil, scenario(func(t *trial) { t.partition("cleanup.policy=compact") }))
	require.Equal(t, Skip, r.Outcome, r.Reason)
	require.Equal(t, ReasonRefused, r.Reason)
}

// An EndTxn that is carried out and answered with an error shows neither that
// what is acknowledged is committed nor that a takeover fences.
func TestCommitsThatNobodyAcknowledgesAreNoWitness(t *testing.T) {
	t.Parallel()
	unknown := refusing(kmsg.EndTxn, kerr.UnknownServerError.Code)
	r, _ := behind(t, unknown, func(c *Config) { c.Slow = 0.03 }, Find("F-04"))
	require.Equal(t, Inconclusive, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
	require.Contains(t, r.Reason, "commits were acknowledged, the last was answered with UNKNOWN_SERVER_ERROR")
}

// Commits that are never carried out are whole, and show nothing.
func TestCommitsThatAreLostAreNoWitness(t *testing.T) {
	t.Parallel()
	lost := mutant.Damage{Keys: []kmsg.Key{kmsg.EndTxn}, Request: func(c *mutant.Call) {
		c.Response = c.Request.ResponseKind()
	}}
	r, _ := behind(t, lost, quickly, Find("M-09"))
	require.Equal(t, Inconclusive, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
	require.Contains(t, r.Reason, "no witness: none of 3 commits whose clients left was carried out")
}
