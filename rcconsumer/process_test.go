package rcconsumer_test

import (
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/batchdecode"
	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/rcconsumer"
)

func loadScenarios(t testing.TB) []batchtest.Scenario {
	t.Helper()
	all, err := batchtest.Load(os.DirFS("../testdata/scenarios"))
	require.NoError(t, err)
	require.NotEmpty(t, all)
	return all
}

func offsetsOf(records []*kgo.Record) []int64 {
	var out []int64
	for _, r := range records {
		out = append(out, r.Offset)
	}
	return out
}

// The public pass over every scenario, at both isolation levels.
func TestProcessFetchPartitionScenarios(t *testing.T) {
	for _, s := range loadScenarios(t) {
		t.Run(s.Name, func(t *testing.T) {
			o := rcconsumer.PassOptions{Topic: "t", Partition: 3, Offset: s.Fetch, MaxDecompressBatchBytes: s.Limit}
			stats := requireOutcome(t, &s, o, s.Visible, s.Next, s.ErrClass, s.ErrBase)
			require.EqualValues(t, len(s.Anomalies), stats.Anomalies)

			o.ReadUncommitted = true
			stats = requireOutcome(t, &s, o, s.Uncommitted, s.UncommittedNext, s.UncommittedErrClass, s.UncommittedErrBase)
			require.Zero(t, stats.Anomalies)
			require.Zero(t, stats.AbortedBatches)
		})
	}
}

func requireOutcome(
	t *testing.T, s *batchtest.Scenario, o rcconsumer.PassOptions,
	visible []int64, next int64, class batchtest.ErrorClass, base int64,
) rcconsumer.PartitionStats {
	t.Helper()
	rp := s.Partition()
	fp, gotNext, stats := rcconsumer.ProcessFetchPartition(o, rp)
	require.Equal(t, visible, offsetsOf(fp.Records), s.Doc)
	require.Equal(t, next, gotNext, s.Doc)
	require.EqualValues(t, o.Partition, fp.Partition)
	require.Equal(t, rp.HighWatermark, fp.HighWatermark)
	require.Equal(t, rp.LastStableOffset, fp.LastStableOffset)
	require.Equal(t, rp.LogStartOffset, fp.LogStartOffset)
	requireBatchError(t, fp.Err, class, base)
	require.EqualValues(t, len(visible), stats.DeliveredRecords)
	require.EqualValues(t, len(s.Records), stats.FetchedBytes)
	require.LessOrEqual(t, stats.DeliveredBytes+stats.AbortedBytes, stats.FetchedBytes)
	for _, r := range fp.Records {
		requireSent(t, s, r)
	}
	return stats
}

func requireBatchError(t *testing.T, err error, class batchtest.ErrorClass, base int64) {
	t.Helper()
	if class == batchtest.NoError {
		require.NoError(t, err)
		return
	}
	require.ErrorIs(t, err, map[batchtest.ErrorClass]error{
		batchtest.Corrupt: batchdecode.ErrCorrupt, batchtest.Unsupported: batchdecode.ErrUnsupported, batchtest.TooLarge: batchdecode.ErrTooLarge,
	}[class])
	require.NotErrorIs(t, err, batchdecode.ErrTruncated)
	var e *rcconsumer.BatchError
	require.ErrorAs(t, err, &e)
	require.Equal(t, "t", e.Topic)
	require.EqualValues(t, 3, e.Partition)
	require.Equal(t, base, e.BaseOffset)
	var tooLarge *kgo.ErrDecompressTooLarge
	if class == batchtest.TooLarge {
		require.ErrorAs(t, err, &tooLarge, "as kgo reports it")
		require.Equal(t, base, tooLarge.Offset)
		require.Equal(t, e.LastOffset+1, tooLarge.NextOffset)
	}
}

// requireSent holds a record against what the log has at its offset.
func requireSent(t *testing.T, s *batchtest.Scenario, r *kgo.Record) {
	t.Helper()
	sent, ok := s.Sent(r.Offset)
	require.True(t, ok, "offset %d is not in the log", r.Offset)
	require.Equal(t, "t", r.Topic)
	require.EqualValues(t, 3, r.Partition)
	require.Equal(t, sent.Key, r.Key)
	require.Equal(t, sent.Value, r.Value)
	if sent.Timestamp == -1 {
		require.Zero(t, r.Timestamp)
	} else {
		require.Equal(t, sent.Timestamp, r.Timestamp.UnixMilli())
	}
	require.Len(t, r.Headers, len(sent.Headers))
	for i, h := range r.Headers {
		require.Equal(t, sent.Headers[i], kmsg.Header{Key: h.Key, Value: h.Value})
	}
}

func TestProcessFetchPartitionErrorCode(t *testing.T) {
	rp := batchtest.Log{}.Partition(nil)
	rp.ErrorCode = kerr.OffsetOutOfRange.Code
	fp, next, _ := rcconsumer.ProcessFetchPartition(rcconsumer.PassOptions{Offset: 7}, rp)
	require.ErrorIs(t, fp.Err, kerr.OffsetOutOfRange)
	require.EqualValues(t, 7, next)
	require.Empty(t, fp.Records)
}

func TestProcessFetchPartitionKeepsControlRecordsIfAsked(t *testing.T) {
	rp := batchtest.Log{
		batchtest.Data(0, 1).Txn(7), batchtest.Abort(2, 7), batchtest.Data(3, 3).Txn(7), batchtest.Commit(4, 7),
	}.Partition(batchtest.Aborted(7, 0))
	fp, next, stats := rcconsumer.ProcessFetchPartition(rcconsumer.PassOptions{KeepControlRecords: true}, rp)
	require.NoError(t, fp.Err)
	require.Equal(t, []int64{2, 3, 4}, offsetsOf(fp.Records))
	require.EqualValues(t, 5, next)
	require.Equal(t, rcconsumer.PartitionStats{
		DeliveredBatches: 1, DeliveredRecords: 1, DeliveredBytes: int64(len(batchtest.Data(3, 3).Txn(7).Bytes())),
		AbortedBatches: 1, AbortedRecords: 2, AbortedBytes: int64(len(batchtest.Data(0, 1).Txn(7).Bytes())),
		ControlBatches: 2, FetchedBytes: int64(len(rp.RecordBatches)),
	}, stats, "control records are no messages")
}

// Headers alone claim records that would take gigabytes.
func TestProcessFetchPartitionClaimsAllocateNothing(t *testing.T) {
	var l batchtest.Log
	for i := range int64(10_000) {
		l = append(l, batchtest.Data(i, i).Codec(batchtest.Zstd).Payload([]byte{1}).ClaimCount(1<<31-1))
	}
	rp := l.Partition(nil)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fp, next, _ := rcconsumer.ProcessFetchPartition(rcconsumer.PassOptions{}, rp)
	runtime.ReadMemStats(&after)
	require.ErrorIs(t, fp.Err, batchdecode.ErrCorrupt)
	require.Zero(t, next)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(24<<20), "%d bytes were fetched", len(rp.RecordBatches))
}
