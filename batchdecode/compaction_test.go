package batchdecode_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/batchdecode"
	"example.com/readcommitted/internal/batchtest"
)

// MemoryRecordsTest testFilterTo: the ranges of batches outlive their records.
func TestCompactedBatchesKeepTheirRange(t *testing.T) {
	log := batchtest.Log{
		batchtest.Data(1, 2).Keep(1),
		batchtest.Data(3, 5).Keep(4, 5),
		batchtest.Data(6, 6),
	}
	var ranges [][2]int64
	var got []int64
	for rest := log.Bytes(); len(rest) > 0; {
		b, after, err := batchdecode.Next(rest)
		require.NoError(t, err)
		ranges = append(ranges, [2]int64{b.BaseOffset(), b.LastOffset()})
		got = append(got, offsets(t, b)...)
		rest = after
	}
	require.Equal(t, [][2]int64{{1, 2}, {3, 5}, {6, 6}}, ranges)
	require.Equal(t, []int64{1, 4, 5, 6}, got)
}

// MemoryRecordsTest testFilterToPreservesProducerInfo.
func TestCompactedBatchKeepsItsProducer(t *testing.T) {
	b := next(t, batchtest.Data(3, 5).Txn(7).Epoch(2).Sequence(10).Keep(4, 5).Bytes())
	require.EqualValues(t, 7, b.ProducerID())
	require.EqualValues(t, 2, b.ProducerEpoch())
	require.EqualValues(t, 10, b.BaseSequence())
	require.True(t, b.IsTransactional())
	require.EqualValues(t, 2, b.RecordCount())
	require.Equal(t, []int64{4, 5}, offsets(t, b))
}

// MemoryRecordsTest testEmptyBatchRetention, DefaultRecordBatchTest
// testWriteEmptyHeader.
func TestEmptyBatchKeepsItsHeader(t *testing.T) {
	for name, batch := range map[string]batchtest.Batch{
		"data":    batchtest.Empty(3, 5).Txn(7).Epoch(2).Sequence(10),
		"control": batchtest.Empty(3, 5).Txn(7).Epoch(2).Control(),
	} {
		t.Run(name, func(t *testing.T) {
			raw := batch.Bytes()
			require.Len(t, raw, batchdecode.HeaderLen)
			b := next(t, raw)
			require.EqualValues(t, 5, b.LastOffset())
			require.EqualValues(t, 7, b.ProducerID())
			require.EqualValues(t, -1, b.BaseTimestamp())
			require.Equal(t, batchtest.Timestamp(5), b.MaxTimestamp())
			require.Zero(t, b.RecordCount())
			require.True(t, b.IsTransactional())
			require.Equal(t, name == "control", b.IsControl())
			require.Empty(t, offsets(t, b))
		})
	}
}

// The end of a whole batch tells it from a cut one, whatever records are left
// in it: segmentio/kafka-go#621.
func TestMissingTailIsNotACutBatch(t *testing.T) {
	compacted := batchtest.Data(0, 9).Keep(0, 1, 2, 3, 4, 5, 6, 7)
	b := next(t, compacted.Bytes())
	require.Equal(t, []int64{0, 1, 2, 3, 4, 5, 6, 7}, offsets(t, b))
	require.EqualValues(t, 9, b.LastOffset())

	_, _, err := batchdecode.Next(compacted.Cut(20).Bytes())
	requireError(t, err, batchdecode.ErrTruncated, 0, -1, "batch")
}

// MemoryRecordsTest testBaseTimestampToDeleteHorizonConversion.
func TestDeleteHorizonLeavesTimestamps(t *testing.T) {
	stamps := []int64{5, 10, 15}
	plain := batchtest.Data(0, 2).Each(func(r batchtest.Record) batchtest.Record {
		r.Timestamp = stamps[r.Offset]
		return r
	})
	for name, batch := range map[string]batchtest.Batch{
		"none": plain, "above": plain.DeleteHorizon(1_700_000_000_000), "zero": plain.DeleteHorizon(0), "largest": plain.DeleteHorizon(math.MaxInt64),
	} {
		t.Run(name, func(t *testing.T) {
			for i, r := range records(t, next(t, batch.Bytes())) {
				require.Equal(t, stamps[i], r.Timestamp)
			}
		})
	}
	t.Run("marker grows", func(t *testing.T) {
		raw := batchtest.Abort(9, 7).DeleteHorizon(batchtest.BaseTime + 86_400_000).Bytes()
		require.Greater(t, len(raw), 78)
		b := next(t, raw)
		require.True(t, b.HasDeleteHorizon())
		c, ok, err := b.Control(nil, 0)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, batchdecode.ControlAbort, c.Type)
		require.Equal(t, batchtest.Timestamp(9), records(t, b)[0].Timestamp)
	})
}

// DefaultRecordBatchTest buildDefaultRecordBatchWithSequenceWrapAround.
func TestBaseSequenceNearItsEndIsRead(t *testing.T) {
	b := next(t, batchtest.Data(0, 2).Txn(7).Sequence(math.MaxInt32-1).Bytes())
	require.EqualValues(t, math.MaxInt32-1, b.BaseSequence())
	require.Equal(t, []int64{0, 1, 2}, offsets(t, b))
}
