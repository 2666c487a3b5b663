package abortset_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/abortset"
)

// rules are logs and lists where the list and the markers agree, or no marker
// can speak, so that Set and Response give the same verdicts.
var rules = []struct {
	name      string
	batches   string
	list      string
	delivered string // base offsets
	anomalies string
}{
	{name: "no batches", list: "1:0"},

	// Kafka FetcherTest.testSkippingAbortedTransactions
	{name: "aborted data is dropped", batches: "T1@0-1 A1@2", list: "1:0"},
	// Kafka FetcherTest.testReturnCommittedTransactions
	{name: "committed data is delivered", batches: "T1@0-1 C1@2", delivered: "0"},
	// Kafka FetcherTest.testReadCommittedWithCommittedAndAbortedTransactions
	{
		name:      "two producers interleave, commits among aborts",
		batches:   "T1@0-1 T2@2 C1@3 T2@4 A2@5 T1@6 T2@7 T1@8 A1@9 C2@10",
		list:      "2:2 1:6",
		delivered: "0 7",
	},
	// Kafka FetcherTest.testMultipleAbortMarkers
	{name: "a second abort marker changes nothing", batches: "T1@0-1 A1@2 A1@3 T1@4-5 C1@6", list: "1:0", delivered: "4"},
	// Kafka FetcherTest.testReadCommittedAbortMarkerWithNoData
	{name: "abort marker whose data is gone ends its entry", batches: "A1@5 T1@6-8 C1@9", list: "1:0", delivered: "6"},
	// Kafka FetcherTest.testReadCommittedWithCompactedTopic
	{
		name:      "compacted log, list neither sorted nor within the data",
		batches:   "T3@3-4 T2@15-17 T1@22-23 A2@28 T3@30-32 C3@35 T1@39-40",
		list:      "2:6 1:0",
		delivered: "3 30",
	},
	// Kafka FetcherTest.testFetcherIgnoresControlRecords
	{name: "idempotent data is in no transaction", batches: "N1@0 A1@1", delivered: "0"},
	// Kafka FetcherTest.testEmptyControlBatch
	{name: "empty control batch does no harm", batches: "E1@0 T1@1-2 C1@3", delivered: "1"},
	// Kafka CompletedFetchTest.testAbortedTransactionRecordsRemoved
	{name: "ten aborted records", batches: "T1@0-9 A1@10", list: "1:0"},
	// Kafka CompletedFetchTest.testCommittedTransactionRecordsIncluded
	{name: "null list", batches: "T1@0-9 C1@10", delivered: "0"},
	// Kafka FetchCollectorTest.testReadCommittedWithAbortedTransaction, second response
	{name: "abort marker first, entry at its own offset", batches: "A1@21 T1@22-41", list: "1:21", delivered: "22"},

	// franz-go commit b9b50cce: Redpanda lists newest ranges first
	{name: "list in reverse order", batches: "T1@0-1 A1@2 T1@3-4 C1@5 T1@6-7 A1@8", list: "1:6 1:0", delivered: "3"},
	// kafka4beam/brod#659
	{name: "commit marker does not consume an entry ahead", batches: "T1@1 A1@2 T1@3 C1@4 T1@5 A1@6 T1@7 C1@8", list: "1:5 1:1", delivered: "3 7"},
	{name: "aborted between two committed", batches: "T1@1 C1@2 T1@3 A1@4 T1@5 C1@6", list: "1:3", delivered: "1 5"},
	// platformatic/kafka#391
	{name: "fetch begins at an abort marker without an entry", batches: "A1@6 N@7", delivered: "7"},
	{name: "fetch begins at an abort marker with its entry", batches: "A1@6 N@7", list: "1:4", delivered: "7"},
	{name: "unlisted abort marker leaves its producer usable", batches: "A1@6 T1@7 C1@8", delivered: "7"},
	// Kafka RemoteLogManager.addAbortedTransactions goes through a hash set
	{
		name:      "tiered storage order",
		batches:   "T5@10-11 A5@12 T6@13 C6@14 N@15-39 T5@40 A5@41 T5@42 C5@43",
		list:      "5:40 5:10",
		delivered: "13 15 42",
	},
	// linkedin/kafka#267
	{
		name:      "duplicate entry is no second abort",
		batches:   "T5@10-11 A5@12 T6@13 C6@14 N@15-39 T5@40 A5@41 T5@42 C5@43",
		list:      "5:10 5:40 5:10 5:10",
		delivered: "13 15 42",
		anomalies: "duplicate 5@10 first=10",
	},
	// confluentinc/librdkafka#3020, segmentio/kafka-go#1332
	{name: "plain data after an aborted transaction", batches: "T4005@0-9 A4005@10 N@11", list: "4005:0", delivered: "11"},
	// franz-go commit 2ef926db
	{name: "control batch of another type ends nothing", batches: "T3@0-1 O3@2 T3@3 A3@4 N@5", list: "3:0", delivered: "5"},
	// KAFKA-5231, KIP-890: the marker's epoch is not the data's, IDs alone match
	{name: "same producer commits after an abort", batches: "T8@0-1 A8@2 T8@3 C8@4", list: "8:0", delivered: "3"},
	// kafka4beam/brod#392
	{name: "one committed record, null list", batches: "T1@0 C1@1", delivered: "0"},
	// confluentinc/librdkafka PR 3369
	{name: "abort marker of another producer consumes nothing", batches: "T1@0 A2@1 T1@2 A1@3 N@4", list: "1:0", delivered: "4"},

	{name: "entry begins before the view", batches: "T1@50 A1@51 T1@52 C1@53", list: "1:3", delivered: "52"},
	{name: "entries beyond the view rest", batches: "T1@0 C1@1 T1@2", list: "1:3 2:7 1:9", delivered: "0 2"},
	{name: "entry at the last offset of a batch", batches: "T1@0-3", list: "1:3"},
	{name: "entry one past the last offset of a batch", batches: "T1@0-3", list: "1:4", delivered: "0"},
	{name: "entry reached by a batch of another producer", batches: "T2@5 N@6 T1@7", list: "1:4", delivered: "5 6"},
	{name: "abort marker reaches its own entry first", batches: "N@0-3 A1@4 T1@5", list: "1:4", delivered: "0 5"},
	{name: "commit marker does not end suppression", batches: "T1@0 C1@7 T1@9", list: "1:0", delivered: ""},
	{name: "empty control batch does not end suppression", batches: "T1@0 E1@1 T1@2", list: "1:0", delivered: ""},
	{name: "idempotent data of an aborted producer is delivered", batches: "T1@0 N1@1 A1@2", list: "1:0", delivered: "1"},
	{name: "data without a producer ID cannot be aborted", batches: "T-1@0 A-1@1", list: "-1:0", delivered: "0"},
	{name: "two aborted transactions of one producer", batches: "T1@0 A1@1 T1@2 T1@3 A1@4", list: "1:0 1:2"},
	{name: "three producers open at once", batches: "T1@0 T2@1 T3@2 C2@3 T1@4 A3@5 A1@6", list: "3:2 1:0", delivered: "1"},
}

func TestSetAndResponseFollowTheRule(t *testing.T) {
	var s abortset.Set
	var r abortset.Response
	for _, test := range rules {
		t.Run(test.name, func(t *testing.T) {
			batches, list := parseBatches(t, test.batches), parseList(t, test.list)
			require.Equal(t, test.delivered, delivered(t, batches, judgeEach(&s, batches, list)), "Set")
			verdicts, anomalies := r.Judge(batches, list)
			require.Equal(t, test.delivered, delivered(t, batches, verdicts), "Response")
			require.Equal(t, test.anomalies, describe(anomalies))

			slices.Reverse(list)
			require.Equal(t, test.delivered, delivered(t, batches, judgeEach(&s, batches, list)), "Set, list reversed")
			verdicts, anomalies = r.Judge(batches, list)
			require.Equal(t, test.delivered, delivered(t, batches, verdicts), "Response, list reversed")
			require.Equal(t, test.anomalies, describe(anomalies))
		})
	}
}

func TestZeroSetAbortsNothing(t *testing.T) {
	var s abortset.Set
	require.Equal(t, abortset.Deliver, s.Judge(abortset.Batch{ProducerID: 1, Kind: abortset.Transactional}))
	require.Equal(t, abortset.Control, s.Judge(abortset.Batch{BaseOffset: 1, LastOffset: 1, ProducerID: 1, Kind: abortset.Abort}))
}

// An entry's abort marker can be compacted away while a reader is between two
// fetches; what was active before must not drop what comes after.
func TestSetForgetsAtReset(t *testing.T) {
	var s abortset.Set
	data := abortset.Batch{ProducerID: 1, Kind: abortset.Transactional}
	list := []abortset.AbortedTransaction{{ProducerID: 1, FirstOffset: 0}, {ProducerID: 1, FirstOffset: 5}}
	s.Reset(list)
	require.Equal(t, abortset.Drop, s.Judge(data))
	s.Reset(nil)
	data.BaseOffset, data.LastOffset = 9, 9
	require.Equal(t, abortset.Deliver, s.Judge(data), "neither the active producer nor the entry ahead survives")
}

func TestListIsNeitherKeptNorChanged(t *testing.T) {
	list := []abortset.AbortedTransaction{{ProducerID: 1, FirstOffset: 9}, {ProducerID: 2, FirstOffset: 4}, {ProducerID: 1, FirstOffset: 0}}
	before := slices.Clone(list)
	batches := parseBatches(t, "T1@0 A1@1 T2@4")
	var s abortset.Set
	s.Reset(list)
	var r abortset.Response
	r.Judge(batches, list)
	require.Equal(t, before, list)

	clear(list)
	require.Equal(t, abortset.Drop, s.Judge(batches[0]))
}
