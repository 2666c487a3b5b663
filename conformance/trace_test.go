package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/conformance/internal/wire"
	"example.com/readcommitted/internal/kafkatest"
)

// clock gives each exchange of a test a time of its own.
type clock struct{ now time.Time }

func (c *clock) tick() time.Time {
	if c.now.IsZero() {
		c.now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	}
	c.now = c.now.Add(time.Second)
	return c.now
}

func (c *clock) exchange(req kmsg.Request, answer func(kmsg.Response)) step {
	resp := req.ResponseKind()
	answer(resp)
	return step{exchange: &wire.Exchange{Broker: 1, Sent: c.tick(), Request: req, Response: resp}}
}

func (c *clock) poll(p model.Partition, lso int64) step {
	return step{view: &model.View{Partition: p, Version: 12, Isolation: model.ReadCommitted, Received: c.tick(), LastStableOffset: lso, HighW: 9}}
}

func (c *clock) produce(t *testing.T, p model.Partition, sequence int32) step {
	raw, err := model.Write{ProducerID: 7, Epoch: 2, BaseSequence: sequence, Transactional: true, Values: [][]byte{{1}, {2}}}.Encode()
	require.NoError(t, err)
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.TransactionID = 11, kmsg.StringPtr("id")
	partition := kmsg.NewProduceRequestTopicPartition()
	partition.Partition, partition.Records = p.Index, raw
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic, topic.Partitions = p.Topic, append(topic.Partitions, partition)
	req.Topics = append(req.Topics, topic)
	return c.exchange(req, func(r kmsg.Response) {
		done := kmsg.NewProduceResponseTopicPartition()
		done.Partition, done.BaseOffset = p.Index, 5
		of := kmsg.NewProduceResponseTopic()
		of.Topic, of.Partitions = p.Topic, append(of.Partitions, done)
		r.(*kmsg.ProduceResponse).Topics = append(r.(*kmsg.ProduceResponse).Topics, of)
	})
}

func (c *clock) add(p model.Partition, code int16) step {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch = 3, "id", 7, 2
	req.Topics = append(req.Topics, kmsg.AddPartitionsToTxnRequestTopic{Topic: p.Topic, Partitions: []int32{p.Index}})
	return c.exchange(req, func(r kmsg.Response) {
		r.(*kmsg.AddPartitionsToTxnResponse).Topics = []kmsg.AddPartitionsToTxnResponseTopic{{
			Topic: p.Topic, Partitions: []kmsg.AddPartitionsToTxnResponseTopicPartition{{Partition: p.Index, ErrorCode: code}},
		}}
	})
}

func (c *clock) init(named int64) step {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version, req.TransactionalID, req.TransactionTimeoutMillis = 4, kmsg.StringPtr("id"), 60_000
	req.ProducerID, req.ProducerEpoch = named, int16(min(named, 1))
	return c.exchange(req, func(r kmsg.Response) {
		r.(*kmsg.InitProducerIDResponse).ProducerID, r.(*kmsg.InitProducerIDResponse).ProducerEpoch = 7, 2
	})
}

func (c *clock) end() step {
	req := kmsg.NewPtrEndTxnRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = 3, "id", 7, 2, false
	return c.exchange(req, func(r kmsg.Response) { r.(*kmsg.EndTxnResponse).ErrorCode = kerr.ConcurrentTransactions.Code })
}

func evidenceFrom(steps ...step) []string {
	var t trace
	for _, s := range steps {
		t.add(s.seen())
	}
	return t.last(evidenceLines, p0)
}

func TestExchangesSayWhatDecides(t *testing.T) {
	var c clock
	require.Equal(t, []string{
		"12:00:01.000 InitProducerID v4 to broker 1 id timeout 60000 ms: NONE pid 7/2",
		"12:00:02.000 InitProducerID v4 to broker 1 id pid 7/1 timeout 60000 ms: NONE pid 7/2",
		"12:00:03.000 AddPartitionsToTxn v3 to broker 1 id pid 7/2 t/0: t/0 TRANSACTION_ABORTABLE",
		"12:00:04.000 Produce v11 to broker 1 id t/0 transactional pid 7/2 sequence 4 2 records: partition 0 NONE base offset 5",
		"12:00:05.000 EndTxn v3 to broker 1 id pid 7/2 commit false: CONCURRENT_TRANSACTIONS pid -1/-1",
	}, evidenceFrom(c.init(-1), c.init(7), c.add(p0, kerr.TransactionAbortable.Code), c.produce(t, p0, 4), c.end()))
}

func TestAdminExchangesSayWhatDecides(t *testing.T) {
	var c clock
	topic := kmsg.StringPtr("t")
	for _, k := range []struct {
		req    kmsg.Request
		answer func(kmsg.Response)
		want   string
	}{
		{
			&kmsg.WriteTxnMarkersRequest{Markers: []kmsg.WriteTxnMarkersRequestMarker{{
				ProducerID: 7, ProducerEpoch: 2, CoordinatorEpoch: 3, Topics: []kmsg.WriteTxnMarkersRequestMarkerTopic{{Topic: "t", Partitions: []int32{0}}},
			}}},
			func(r kmsg.Response) {
				r.(*kmsg.WriteTxnMarkersResponse).Markers = []kmsg.WriteTxnMarkersResponseMarker{{ProducerID: 7, Topics: []kmsg.WriteTxnMarkersResponseMarkerTopic{{
					Topic: "t", Partitions: []kmsg.WriteTxnMarkersResponseMarkerTopicPartition{{ErrorCode: kerr.InvalidProducerEpoch.Code}},
				}}}}
			},
			"WriteTxnMarkers v0 to broker 1 pid 7/2 commit false coordinator epoch 3 t/0: pid 7 t/0 INVALID_PRODUCER_EPOCH",
		},
		{
			&kmsg.DeleteRecordsRequest{Topics: []kmsg.DeleteRecordsRequestTopic{{Topic: "t", Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: 4}}}}},
			func(r kmsg.Response) {
				r.(*kmsg.DeleteRecordsResponse).Topics = []kmsg.DeleteRecordsResponseTopic{{Topic: "t", Partitions: []kmsg.DeleteRecordsResponseTopicPartition{{LowWatermark: 4}}}}
			},
			"DeleteRecords v0 to broker 1 t/0 below 4: t/0 NONE log start offset 4",
		},
		{
			&kmsg.DescribeProducersRequest{Topics: []kmsg.DescribeProducersRequestTopic{{Topic: "t", Partitions: []int32{0}}}},
			func(r kmsg.Response) {
				r.(*kmsg.DescribeProducersResponse).Topics = []kmsg.DescribeProducersResponseTopic{{Topic: "t", Partitions: []kmsg.DescribeProducersResponseTopicPartition{{
					ActiveProducers: []kmsg.DescribeProducersResponseTopicPartitionActiveProducer{{ProducerID: 7, ProducerEpoch: 2, LastSequence: 3, CurrentTxnStartOffset: -1}},
				}}}}
			},
			"DescribeProducers v0 to broker 1 t/0: t/0 NONE pid 7/2 last sequence 3 transaction from -1",
		},
		{
			&kmsg.DescribeTransactionsRequest{TransactionalIDs: []string{"id"}},
			func(r kmsg.Response) {
				r.(*kmsg.DescribeTransactionsResponse).TransactionStates = []kmsg.DescribeTransactionsResponseTransactionState{{
					TransactionalID: "id", State: "Ongoing", ProducerID: 7, ProducerEpoch: 2, Topics: []kmsg.DescribeTransactionsResponseTransactionStateTopic{{Topic: "t", Partitions: []int32{0, 1}}},
				}}
			},
			"DescribeTransactions v0 to broker 1 id: id NONE Ongoing pid 7/2 t [0 1]",
		},
		{
			&kmsg.ListTransactionsRequest{StateFilters: []string{"Ongoing"}, ProducerIDFilters: []int64{7}},
			func(r kmsg.Response) {
				r.(*kmsg.ListTransactionsResponse).TransactionStates = []kmsg.ListTransactionsResponseTransactionState{{TransactionalID: "id", TransactionState: "Ongoing", ProducerID: 7}}
			},
			"ListTransactions v0 to broker 1 Ongoing pid 7: NONE: id Ongoing pid 7",
		},
		{
			&kmsg.CreateTopicsRequest{Topics: []kmsg.CreateTopicsRequestTopic{{Topic: "t", NumPartitions: 2, Configs: []kmsg.CreateTopicsRequestTopicConfig{{Name: "a", Value: topic}}}}},
			func(r kmsg.Response) {
				r.(*kmsg.CreateTopicsResponse).Topics = []kmsg.CreateTopicsResponseTopic{{Topic: "t", ErrorCode: kerr.PolicyViolation.Code}}
			},
			"CreateTopics v0 to broker 1 t with 2 partitions a=t: t POLICY_VIOLATION",
		},
		{
			&kmsg.FindCoordinatorRequest{CoordinatorKey: "id"},
			func(r kmsg.Response) { r.(*kmsg.FindCoordinatorResponse).NodeID = 3 },
			"FindCoordinator v0 to broker 1 of id: NONE broker 3",
		},
		{
			&kmsg.MetadataRequest{Topics: []kmsg.MetadataRequestTopic{{Topic: topic}}},
			func(r kmsg.Response) {
				r.(*kmsg.MetadataResponse).Topics = []kmsg.MetadataResponseTopic{{Topic: topic, Partitions: []kmsg.MetadataResponseTopicPartition{
					{Partition: 1, ErrorCode: kerr.LeaderNotAvailable.Code, Leader: -1}, {Partition: 0, Leader: 2, LeaderEpoch: 5},
				}}}
			},
			"Metadata v0 to broker 1 t: t NONE 0 led by 2 in epoch 5 1 LEADER_NOT_AVAILABLE",
		},
	} {
		require.Equal(t, k.want, describe(c.exchange(k.req, k.answer).exchange))
	}
}

// Everything that an exchange can be about is bounded.
func TestExchangesAboutManyAreShort(t *testing.T) {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	for i := range 1000 {
		req.Topics = append(req.Topics, kmsg.AddPartitionsToTxnRequestTopic{Topic: "t", Partitions: []int32{int32(i)}})
	}
	require.Contains(t, describeRequest(req), "t/7 and 992 more")
}

// One who waits takes a line for each thing that was the same all the while, and
// does not push out what decided.
func TestPollsAreOneLine(t *testing.T) {
	var c clock
	steps := []step{c.init(-1), c.add(p0, 0), c.produce(t, p0, 0), c.end()}
	for range 3 * traced {
		steps = append(steps, c.poll(p0, 5), c.poll(model.Partition{Topic: "t", Index: 1}, 9))
	}
	steps = append(steps, c.poll(p0, 9))
	got := evidenceFrom(steps...)
	require.Len(t, got, 6, strings.Join(got, "\n"))
	for i, word := range []string{"InitProducerID", "AddPartitionsToTxn", "Produce", "EndTxn"} {
		require.Contains(t, got[i], word)
	}
	require.Contains(t, got[4], "LSO 5 HW 9")
	require.Contains(t, got[4], "(600 times since 12:00:05.000)")
	require.Contains(t, got[5], "LSO 9 HW 9")
}

// However much came since, the last of each kind stands there.
func TestWhatDecidedIsNotForgotten(t *testing.T) {
	var c clock
	other := model.Partition{Topic: "t", Index: 1}
	steps := []step{c.init(-1), c.add(p0, 0), c.produce(t, p0, 0), c.end()}
	for i := range 3 * traced {
		steps = append(steps, c.poll(p0, int64(i)), c.produce(t, other, int32(i)))
	}
	got := evidenceFrom(steps...)
	for i, word := range []string{"InitProducerID", "AddPartitionsToTxn", "Produce v11 to broker 1 id t/0 transactional pid 7/2 sequence 0", "EndTxn"} {
		require.Contains(t, got[i], word)
	}
	require.Contains(t, got[len(got)-1], fmt.Sprintf("LSO %d", 3*traced-1))
	require.LessOrEqual(t, len(got), evidenceLines)
	require.NotContains(t, strings.Join(got, "\n"), "t/1")
}

// What decided stands below what a script missed after a wait, and before the
// answer that an invariant found wrong.
func TestFindingsShowWhatDecided(t *testing.T) {
	t.Parallel()
	r := resultOf(t, kafkatest.Fake(t, kafkatest.Config{}), scenario(func(t *trial) {
		t.witness(true, "")
		p, w := t.partition(), t.producer()
		w.write(p, 2)
		w.commit()
		for range 40 {
			t.committed(p, 0)
		}
		t.expect(false, p, 0, "a", "b")
		v := *t.committed(p, 0).View
		v.Batches = slices.Clone(v.Batches)
		v.Batches[0].CRCValid = false
		t.keep(&v)
	}))
	require.Len(t, r.Findings, 2, findingsOf(r))
	for _, f := range r.Findings {
		all := strings.Join(f.Exchanges, "\n")
		require.LessOrEqual(t, len(f.Exchanges), evidenceLines)
		for _, word := range []string{"InitProducerID", "AddPartitionsToTxn", "Produce", "EndTxn", "Fetch"} {
			require.Contains(t, all, word, f.Invariant)
		}
	}
	require.Contains(t, strings.Join(r.Findings[0].Exchanges, "\n"), " times since ")
}
