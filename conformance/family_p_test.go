package conformance

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/conformance/internal/mutant"
	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/internal/kafkatest"
)

// answering is a broker that answers each Fetch in a way of its own.
type answering func(*kmsg.FetchRequest, *kmsg.FetchResponse)

func (a answering) damage() mutant.Damage {
	return mutant.Damage{Keys: []kmsg.Key{kmsg.Fetch}, Response: func(c *mutant.Call) {
		a(c.Request.(*kmsg.FetchRequest), c.Response.(*kmsg.FetchResponse))
	}}
}

// every calls do for each n-th answer that is meant.
func every(n int, meant func(*kmsg.FetchRequest) bool, do answering) answering {
	count := 0
	return func(req *kmsg.FetchRequest, resp *kmsg.FetchResponse) {
		if !meant(req) {
			return
		}
		if count++; count%n == 0 {
			do(req, resp)
		}
	}
}

func inSession(req *kmsg.FetchRequest) bool { return req.SessionEpoch > 0 }

// What brokers may choose must not be held against them.
func TestWhatAnAnswerMayLookLikeIsNoFinding(t *testing.T) {
	t.Parallel()
	sessions := []string{"P-07"}
	for _, test := range []struct {
		name      string
		broker    answering
		scenarios []string
		want      Outcome
	}{
		{
			"throttles", every(3, func(req *kmsg.FetchRequest) bool { return req.Version >= 5 }, throttled),
			[]string{"P-02", "P-04", "P-05", "P-06", "P-07", "P-08", "P-09", "P-10", "P-11", "P-13", "P-14", "P-15"},
			Pass,
		},
		{
			"keeps no session", func(_ *kmsg.FetchRequest, resp *kmsg.FetchResponse) { resp.SessionID = 0 },
			sessions, Skip,
		},
		{
			"ends sessions", every(11, inSession, func(_ *kmsg.FetchRequest, resp *kmsg.FetchResponse) { resp.SessionID = 0 }),
			sessions, Pass,
		},
		{"forgets sessions", every(11, inSession, forgotten), sessions, Pass},
		{"forgets every session", every(1, inSession, forgotten), sessions, Inconclusive},
		{"answers with one batch", short, []string{"P-02", "P-04", "P-05", "P-06", "P-07", "P-08", "P-09", "P-10", "P-11", "P-13", "P-14"}, Pass},
		{"lists in another order", reversed, []string{"P-06", "P-07", "P-08", "P-09", "P-10"}, Pass},
		{"keeps aborted batches to itself", filtering, []string{"P-02", "P-06", "P-07", "P-08", "P-10"}, Pass},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := kafkatest.Fake(t, kafkatest.Config{})
			for _, r := range runThrough(t, c, test.broker.damage(), test.scenarios...).Results {
				require.Equal(t, test.want, r.Outcome, "%s: %s\n%s", r.ID, r.Reason, findingsOf(r))
			}
		})
	}
}

// throttled is what a broker answers that throttles the client: nothing.
func throttled(req *kmsg.FetchRequest, resp *kmsg.FetchResponse) {
	resp.ThrottleMillis = 3
	if req.SessionEpoch >= 0 {
		resp.Topics = nil
		return
	}
	eachPartition(resp, func(p *kmsg.FetchResponseTopicPartition) { p.RecordBatches, p.AbortedTransactions = nil, nil })
}

// forgotten is what a broker answers that has thrown the session away.
func forgotten(_ *kmsg.FetchRequest, resp *kmsg.FetchResponse) {
	resp.ErrorCode, resp.SessionID, resp.Topics = kerr.FetchSessionIDNotFound.Code, 0, nil
}

// reversed keeps the order that the entries of one producer must have.
func reversed(_ *kmsg.FetchRequest, resp *kmsg.FetchResponse) {
	eachPartition(resp, func(p *kmsg.FetchResponseTopicPartition) {
		slices.SortStableFunc(p.AbortedTransactions, func(a, b kmsg.FetchResponseTopicPartitionAbortedTransaction) int {
			return cmp.Compare(b.ProducerID, a.ProducerID)
		})
	})
}

// short ends an answer after its first batch, and lists what that needs.
func short(_ *kmsg.FetchRequest, resp *kmsg.FetchResponse) {
	eachPartition(resp, func(p *kmsg.FetchResponseTopicPartition) {
		batches, _, _ := model.Parse(p.RecordBatches)
		if len(batches) == 0 {
			return
		}
		p.RecordBatches = batches[0].Raw
		p.AbortedTransactions = slices.DeleteFunc(p.AbortedTransactions, func(a kmsg.FetchResponseTopicPartitionAbortedTransaction) bool {
			return a.FirstOffset > batches[0].Last
		})
	})
}

// filtering leaves out of an answer what its list says is aborted, and the list.
func filtering(req *kmsg.FetchRequest, resp *kmsg.FetchResponse) {
	if req.IsolationLevel != model.ReadCommitted {
		return
	}
	eachPartition(resp, func(p *kmsg.FetchResponseTopicPartition) {
		var list []model.Entry
		for _, a := range p.AbortedTransactions {
			list = append(list, model.Entry{ProducerID: a.ProducerID, FirstOffset: a.FirstOffset})
		}
		batches, _, _ := model.Parse(p.RecordBatches)
		delivered, err := model.Deliver(list, batches, 0)
		if err != nil || len(list) == 0 {
			return
		}
		p.RecordBatches, p.AbortedTransactions = nil, []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
		for _, b := range batches {
			if b.Control() || slices.Contains(delivered, b.Base) {
				p.RecordBatches = append(p.RecordBatches, b.Raw...)
			}
		}
	})
}

func eachPartition(resp *kmsg.FetchResponse, do func(*kmsg.FetchResponseTopicPartition)) {
	for i := range resp.Topics {
		for k := range resp.Topics[i].Partitions {
			do(&resp.Topics[i].Partitions[k])
		}
	}
}

// A batch that cannot be read is noted where something was sent to, whatever span
// its header claims.
func TestUnreadableBatchesAreNotedWhereSomethingWasSent(t *testing.T) {
	raw := batchtest.Data(3, 3).Payload([]byte("nothing to read")).ClaimLastOffsetDelta(math.MaxInt32 - 1).Bytes()
	batches, _, problem := model.Parse(raw)
	require.Nil(t, problem)
	sent := []sentBatch{
		{model.Write{Values: [][]byte{[]byte("before")}}, 2},
		{model.Write{Values: [][]byte{[]byte("a"), []byte("b")}}, 1 << 20},
	}
	at := placesOf(batches, sent)
	require.ElementsMatch(t, []int64{3, 1 << 20, 1<<20 + 1}, slices.Collect(maps.Keys(at)))
	require.Contains(t, sent[0].changed(at), "nothing at offset 2")
	require.Contains(t, sent[1].changed(at), "records at offset 1048576 that cannot be read")
}
