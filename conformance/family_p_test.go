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

// refusedFetch answers a Fetch that is meant with an error of the partition, in
// place of batches.
func refusedFetch(code *kerr.Error, meant func(*kmsg.FetchRequest) bool) mutant.Damage {
	return answering(func(req *kmsg.FetchRequest, resp *kmsg.FetchResponse) {
		if meant(req) {
			eachPartition(resp, func(p *kmsg.FetchResponseTopicPartition) {
				p.ErrorCode, p.RecordBatches, p.AbortedTransactions = code.Code, nil, nil
			})
		}
	}).damage()
}

// refusedWhole answers a Fetch that is meant with an error of the whole answer.
func refusedWhole(code int16, meant func(*kmsg.FetchRequest) bool) mutant.Damage {
	return answering(func(req *kmsg.FetchRequest, resp *kmsg.FetchResponse) {
		if meant(req) {
			resp.ErrorCode, resp.Topics = code, nil
		}
	}).damage()
}

// refusedList answers a version of ListOffsets with an error.
func refusedList(code *kerr.Error, version int16) mutant.Damage {
	return mutant.Damage{Keys: []kmsg.Key{kmsg.ListOffsets}, Response: func(c *mutant.Call) {
		if resp := c.Response.(*kmsg.ListOffsetsResponse); resp.Version == version {
			p := &resp.Topics[0].Partitions[0]
			p.ErrorCode, p.Offset = code.Code, -1
		}
	}}
}

func inOldVersion(req *kmsg.FetchRequest) bool { return req.Version == 9 }

func withLimitOfOne(req *kmsg.FetchRequest) bool {
	return req.Topics[0].Partitions[0].PartitionMaxBytes == 1 && req.MaxWaitMillis > 1 // one that asks for bounds waits 1 ms
}

func insideFirstBatch(req *kmsg.FetchRequest) bool {
	offset := req.Topics[0].Partitions[0].FetchOffset
	return 0 < offset && offset < 10
}

// first says whether a Fetch is the first that is meant.
func first(meant func(*kmsg.FetchRequest) bool) func(*kmsg.FetchRequest) bool {
	seen := false
	return func(req *kmsg.FetchRequest) bool {
		if seen || !meant(req) {
			return false
		}
		seen = true
		return true
	}
}

// An error where others get data is an answer like any other, and a wrong one;
// unless it passes, or says nothing of the cluster.
func TestErrorsInPlaceOfData(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		damage mutant.Damage
		id     string
		want   Outcome
		says   string
	}{
		{"small limits", refusedFetch(kerr.MessageTooLarge, withLimitOfOne), "P-13", Fail, "MESSAGE_TOO_LARGE"},
		{"small limits, for a walk", refusedFetch(kerr.MessageTooLarge, withLimitOfOne), "P-09", Fail, "MESSAGE_TOO_LARGE"},
		{"a version of Fetch", refusedFetch(kerr.UnknownServerError, inOldVersion), "P-06", Fail, "UNKNOWN_SERVER_ERROR"},
		{"a version of Fetch, as a whole", refusedWhole(kerr.UnsupportedVersion.Code, inOldVersion), "P-06", Fail, "UNSUPPORTED_VERSION"},
		{"a version of Fetch, without an error", refusedWhole(0, inOldVersion), "P-06", Fail, "an answer without the partition"},
		{"a version of ListOffsets", refusedList(kerr.UnknownServerError, 4), "P-06", Fail, "UNKNOWN_SERVER_ERROR"},
		{"offsets inside a batch", refusedFetch(kerr.OffsetOutOfRange, insideFirstBatch), "P-04", Fail, "OFFSET_OUT_OF_RANGE"},
		{"small limits, once", refusedFetch(kerr.MessageTooLarge, first(withLimitOfOne)), "P-13", Inconclusive, "MESSAGE_TOO_LARGE"},
		{"a version of Fetch that cannot carry the codec", refusedFetch(kerr.UnsupportedCompressionType, inOldVersion), "P-06", Inconclusive, "UNSUPPORTED_COMPRESSION_TYPE"},
		{"a version of Fetch for want of a right", refusedFetch(kerr.TopicAuthorizationFailed, inOldVersion), "P-06", Skip, ReasonNotAuthorized},
		{"a version of Fetch, for a moment", refusedFetch(kerr.NotLeaderForPartition, first(inOldVersion)), "P-06", Pass, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := runThrough(t, kafkatest.Fake(t, kafkatest.Config{}), test.damage, test.id).Results[0]
			require.Equal(t, test.want, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
			if test.want == Fail {
				require.Contains(t, r.Findings[0].Observed, test.says)
			} else {
				require.Contains(t, r.Reason, test.says)
			}
		})
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
