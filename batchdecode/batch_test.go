package batchdecode_test

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/batchdecode"
	"example.com/readcommitted/internal/batchtest"
)

// requireError checks class, batch and field of an error.
func requireError(t *testing.T, err, class error, base, last int64, field string) {
	t.Helper()
	require.ErrorIs(t, err, class)
	for _, other := range []error{
		batchdecode.ErrTruncated, batchdecode.ErrCorrupt, batchdecode.ErrUnsupported, batchdecode.ErrTooLarge,
	} {
		if !errors.Is(class, other) {
			require.NotErrorIs(t, err, other, "an error has one class")
		}
	}
	var e *batchdecode.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, base, e.BaseOffset, "base offset in %v", err)
	require.Equal(t, last, e.LastOffset, "last offset in %v", err)
	require.Equal(t, field, e.Field, "field in %v", err)
}

// next decodes the one batch that b holds.
func next(t *testing.T, b []byte) batchdecode.Batch {
	t.Helper()
	batch, rest, err := batchdecode.Next(b)
	require.NoError(t, err)
	require.Empty(t, rest)
	return batch
}

func TestNextGivesEveryHeaderField(t *testing.T) {
	raw := batchtest.Data(100, 109).Txn(7).Epoch(3).Sequence(40).LeaderEpoch(12).Bytes()
	b := next(t, raw)
	require.Equal(t, raw, b.Bytes())
	require.Equal(t, raw[batchdecode.HeaderLen:], b.Payload())
	require.EqualValues(t, 2, b.Magic())
	require.EqualValues(t, 100, b.BaseOffset())
	require.EqualValues(t, 109, b.LastOffset())
	require.EqualValues(t, 9, b.LastOffsetDelta())
	require.EqualValues(t, 12, b.PartitionLeaderEpoch())
	require.EqualValues(t, 0x10, b.Attributes())
	require.Equal(t, batchtest.Timestamp(100), b.BaseTimestamp())
	require.Equal(t, batchtest.Timestamp(109), b.MaxTimestamp())
	require.EqualValues(t, 7, b.ProducerID())
	require.EqualValues(t, 3, b.ProducerEpoch())
	require.EqualValues(t, 40, b.BaseSequence())
	require.EqualValues(t, 10, b.RecordCount())
	require.True(t, b.IsTransactional())
	require.False(t, b.IsControl())
	require.False(t, b.HasDeleteHorizon())
	require.False(t, b.IsLogAppendTime())
}

func TestAttributeBitsAreIndependent(t *testing.T) {
	for _, tt := range []struct {
		name                            string
		batch                           batchtest.Batch
		txn, control, horizon, appended bool
	}{
		{name: "plain", batch: batchtest.Data(0, 0)},
		{name: "idempotent", batch: batchtest.Data(0, 0).Idempotent(1)},
		{name: "transactional", batch: batchtest.Data(0, 0).Txn(1), txn: true},
		{name: "control", batch: batchtest.Data(0, 0).Control(), control: true},
		{name: "marker", batch: batchtest.Abort(0, 1), txn: true, control: true},
		{name: "delete horizon", batch: batchtest.Data(0, 0).DeleteHorizon(9), horizon: true},
		{name: "log append time", batch: batchtest.Data(0, 0).LogAppendTime(9), appended: true},
		{name: "unused bits", batch: batchtest.Data(0, 0).Set(21, 0xff, 0x80).FixCRC()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := next(t, tt.batch.Bytes())
			require.Equal(t, tt.txn, b.IsTransactional())
			require.Equal(t, tt.control, b.IsControl())
			require.Equal(t, tt.horizon, b.HasDeleteHorizon())
			require.Equal(t, tt.appended, b.IsLogAppendTime())
		})
	}
}

func TestCodecIsTheLowThreeAttributeBits(t *testing.T) {
	names := []string{"none", "gzip", "snappy", "lz4", "zstd", "5", "6", "7"}
	for number, name := range names {
		b := next(t, batchtest.Data(3, 4).Txn(1).Set(22, byte(0x10|number)).FixCRC().Bytes())
		c, err := b.Codec()
		require.Equal(t, name, c.String())
		if number <= 4 {
			require.NoError(t, err)
			continue
		}
		requireError(t, err, batchdecode.ErrUnsupported, 3, 4, "attributes")
		_, err = b.Records(nil, 0)
		requireError(t, err, batchdecode.ErrUnsupported, 3, 4, "attributes")
	}
}

// Hostile and damaged lengths: twmb/franz-go commit a8fa6534. A length that is
// merely longer than the bytes is how a cut batch looks, and the padding
// pseudo-batch of old brokers: IBM/sarama commits 8d1bd4c0 and 682468dc.
func TestNextBoundsTheBatchLength(t *testing.T) {
	good := batchtest.Data(0, 9).Bytes()
	for _, tt := range []struct {
		name   string
		length int32
		class  error
		field  string
	}{
		{"minus one", -1, batchdecode.ErrCorrupt, "batch length"},
		{"minus thirteen", -13, batchdecode.ErrCorrupt, "batch length"},
		{"smallest", math.MinInt32, batchdecode.ErrCorrupt, "batch length"},
		{"zero", 0, batchdecode.ErrCorrupt, "batch length"},
		{"below any message", 13, batchdecode.ErrCorrupt, "batch length"},
		{"below a batch", 48, batchdecode.ErrCorrupt, "batch length"},
		{"largest", math.MaxInt32, batchdecode.ErrTruncated, "batch"},
		{"overflows with its own field", 0x7FFFFFF4, batchdecode.ErrTruncated, "batch"},
		{"one too many", int32(len(batchtest.Data(10, 19).Bytes()) - 12 + 1), batchdecode.ErrTruncated, "batch"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bad := batchtest.Data(10, 19).ClaimLength(tt.length).Bytes()
			log := append(append([]byte{}, good...), bad...)
			first, rest, err := batchdecode.Next(log)
			require.NoError(t, err)
			require.Equal(t, good, first.Bytes())
			for _, next := range nexts {
				batch, left, err := next.f(rest)
				requireError(t, err, tt.class, 10, -1, tt.field)
				require.Equal(t, bad, left, "rest is the input")
				require.Nil(t, batch.Bytes())
			}
		})
	}
}

var nexts = []struct {
	name string
	f    func([]byte) (batchdecode.Batch, []byte, error)
}{{"Next", batchdecode.Next}, {"NextUnchecked", batchdecode.NextUnchecked}}

// The partition's bytes are the bound, whatever else follows in the response:
// thomhurst/Dekaf#645, CallistoLabsNYC/samsa#76.
func TestNextStopsAtTheEndOfThePartition(t *testing.T) {
	response := append(batchtest.Data(0, 99).Bytes(), batchtest.Data(500, 509).Bytes()...)
	_, rest, err := batchdecode.Next(response[:500])
	requireError(t, err, batchdecode.ErrTruncated, 0, -1, "batch")
	require.Len(t, rest, 500)
}

func TestNextReportsDamageInACutBatch(t *testing.T) {
	for _, tt := range []struct {
		name  string
		bytes []byte
		class error
		field string
	}{
		{"length", batchtest.Data(7, 8).ClaimLength(13).Bytes()[:12], batchdecode.ErrCorrupt, "batch length"},
		{"magic 3", batchtest.Data(7, 8).ClaimMagic(3).Bytes()[:17], batchdecode.ErrUnsupported, "magic"},
		{"magic -1", batchtest.Data(7, 8).ClaimMagic(-1).Bytes()[:17], batchdecode.ErrUnsupported, "magic"},
		{"length for magic 1", batchtest.Set(batchtest.MessageV1(7, 7).Bytes(), 8, 0, 0, 0, 21)[:17], batchdecode.ErrCorrupt, "batch length"},
		{"length for magic 2", batchtest.Data(7, 8).ClaimLength(48).Bytes()[:17], batchdecode.ErrCorrupt, "batch length"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := batchdecode.Next(tt.bytes)
			requireError(t, err, tt.class, 7, -1, tt.field)
			_, _, err = batchdecode.Next(tt.bytes[:11])
			requireError(t, err, batchdecode.ErrTruncated, -1, -1, "batch")
		})
	}
}

func TestNextOfNothingIsTruncated(t *testing.T) {
	for _, b := range [][]byte{nil, {}} {
		_, rest, err := batchdecode.Next(b)
		requireError(t, err, batchdecode.ErrTruncated, -1, -1, "batch")
		require.Equal(t, b, rest)
	}
}

func TestNextChecksTheHeader(t *testing.T) {
	maxOffset := binary.BigEndian.AppendUint64(nil, math.MaxInt64-1)
	for _, tt := range []struct {
		name       string
		batch      batchtest.Batch
		base, last int64
		field      string
	}{
		{"negative base offset", batchtest.Data(0, 9).Set(0, 0xff), -1 << 56, -1, "base offset"},
		{"negative last offset delta", batchtest.Data(5, 9).ClaimLastOffsetDelta(-1), 5, -1, "last offset delta"},
		{"next offset overflows", batchtest.Data(0, 1).Set(0, maxOffset...), math.MaxInt64 - 1, math.MaxInt64, "last offset delta"},
		{"last offset overflows", batchtest.Data(0, 9).Set(0, maxOffset...), math.MaxInt64 - 1, -1, "last offset delta"},
		{"count of minus one", batchtest.Data(5, 9).ClaimCount(-1), 5, 9, "records count"},
		{"smallest count", batchtest.Data(5, 9).ClaimCount(math.MinInt32), 5, 9, "records count"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, next := range nexts {
				_, _, err := next.f(tt.batch.Bytes())
				requireError(t, err, batchdecode.ErrCorrupt, tt.base, tt.last, tt.field)
			}
		})
	}
	t.Run("next offset is the largest", func(t *testing.T) {
		b := next(t, batchtest.Data(0, 0).Set(0, maxOffset...).Bytes())
		require.EqualValues(t, math.MaxInt64-1, b.LastOffset())
	})
	for field, raw := range map[string][]byte{
		"base offset":       batchtest.Set(batchtest.MessageV0(4, 4).Bytes(), 0, 0xff),
		"last offset delta": batchtest.Set(batchtest.MessageV1(4, 4).Bytes(), 0, binary.BigEndian.AppendUint64(nil, math.MaxInt64)...),
	} {
		t.Run("message "+field, func(t *testing.T) {
			_, _, err := batchdecode.Next(raw)
			require.ErrorIs(t, err, batchdecode.ErrCorrupt)
			require.Contains(t, err.Error(), field)
		})
	}
}

// A bad CRC is an error with the batch's range, and says so each time: readers
// went past it or had no way past it in KAFKA-5211, KAFKA-5630, KAFKA-9206,
// aio-libs/aiokafka#321, twmb/franz-go#1164 and confluentinc/librdkafka#5581.
func TestNextRefusesABadCRC(t *testing.T) {
	good, after := batchtest.Data(0, 9).Bytes(), batchtest.Data(20, 29).Bytes()
	bad := batchtest.Data(10, 19).Flip(-1).Bytes()
	log := append(append(append([]byte{}, good...), bad...), after...)
	_, rest, err := batchdecode.Next(log)
	require.NoError(t, err)
	for range 2 {
		_, left, err := batchdecode.Next(rest)
		requireError(t, err, batchdecode.ErrCorrupt, 10, 19, "crc")
		require.Equal(t, rest, left)
		require.Contains(t, err.Error(), "batch 10-19: crc at byte 17")
	}
	b, rest, err := batchdecode.NextUnchecked(rest)
	require.NoError(t, err)
	requireError(t, b.CheckCRC(), batchdecode.ErrCorrupt, 10, 19, "crc")
	require.Equal(t, after, next(t, rest).Bytes())
}

func TestEveryByteButOffsetAndLeaderEpochIsGuarded(t *testing.T) {
	raw := batchtest.Data(3, 5).Txn(1).Bytes()
	for i := range raw {
		damaged := batchtest.Flip(raw, i)
		_, _, err := batchdecode.Next(damaged)
		if i < 8 || i >= 12 && i < 16 {
			require.NoError(t, err, "byte %d", i)
		} else {
			require.Error(t, err, "byte %d", i)
		}
	}
}

// DefaultRecordBatchTest testSetPartitionLeaderEpoch.
func TestLeaderEpochIsOutsideTheCRC(t *testing.T) {
	b := next(t, batchtest.Data(3, 5).Set(12, 0, 0, 1, 2).Bytes())
	require.EqualValues(t, 0x102, b.PartitionLeaderEpoch())
	require.NoError(t, b.CheckCRC())
}

// Each entry has its own format: twmb/franz-go commit 0cdc2b67.
func TestNextGoesByEachEntrysMagic(t *testing.T) {
	log := batchtest.Log{
		batchtest.MessageV1(4, 4),
		batchtest.Data(5, 6).Txn(7),
		batchtest.MessageV0(7, 7),
		batchtest.MessageV1(8, 10).Codec(batchtest.Gzip),
		batchtest.Data(11, 11).ClaimMagic(3),
	}
	rest, magics, lasts := log.Bytes(), []int8{1, 2, 0, 1}, []int64{4, 6, 7, 10}
	for i, magic := range magics {
		var b batchdecode.Batch
		var err error
		b, rest, err = batchdecode.Next(rest)
		require.NoError(t, err)
		require.Equal(t, magic, b.Magic())
		require.Equal(t, lasts[i], b.LastOffset())
		require.NoError(t, b.CheckCRC())
		if magic != 2 {
			requireLegacy(t, b)
		}
	}
	_, _, err := batchdecode.Next(rest)
	requireError(t, err, batchdecode.ErrUnsupported, 11, -1, "magic")
}

func requireLegacy(t *testing.T, b batchdecode.Batch) {
	t.Helper()
	require.Equal(t, b.BaseOffset(), b.LastOffset())
	require.False(t, b.IsTransactional() || b.IsControl() || b.HasDeleteHorizon() || b.IsLogAppendTime())
	require.EqualValues(t, -1, b.ProducerID())
	require.EqualValues(t, -1, b.ProducerEpoch())
	require.EqualValues(t, -1, b.BaseSequence())
	require.EqualValues(t, -1, b.PartitionLeaderEpoch())
	require.EqualValues(t, -1, b.RecordCount())
	require.Nil(t, b.Payload())
	if b.Magic() == 0 {
		require.EqualValues(t, -1, b.MaxTimestamp())
	} else {
		require.Equal(t, batchtest.Timestamp(b.LastOffset()), b.MaxTimestamp())
	}
	_, err := b.Records(nil, 0)
	requireError(t, err, batchdecode.ErrUnsupported, b.BaseOffset(), b.LastOffset(), "magic")
}

func TestLegacyCRCIsLeftToCheckCRC(t *testing.T) {
	b := next(t, batchtest.MessageV1(4, 4).Flip(-1).Bytes())
	requireError(t, b.CheckCRC(), batchdecode.ErrCorrupt, 4, 4, "crc")
}

func TestLegacyAttributes(t *testing.T) {
	b := next(t, batchtest.MessageV1(8, 10).Codec(batchtest.LZ4).Bytes())
	c, err := b.Codec()
	require.NoError(t, err)
	require.Equal(t, batchdecode.CodecLZ4, c)
	b = next(t, batchtest.Set(batchtest.MessageV1(4, 4).Bytes(), 17, 0x08))
	require.True(t, b.IsLogAppendTime())
	require.EqualValues(t, 8, b.Attributes())
}

// Skipping a batch must consume exactly its bytes: confluentinc/librdkafka
// commit bd71c96b3.
func TestNextAdvancesByWholeBatches(t *testing.T) {
	log := batchtest.Log{batchtest.Data(0, 9).Txn(1), batchtest.Abort(10, 1), batchtest.Data(11, 12)}
	rest := log.Bytes()
	for range 2 {
		var err error
		_, rest, err = batchdecode.Next(rest)
		require.NoError(t, err)
	}
	require.Equal(t, []int64{11, 12}, offsets(t, next(t, rest)))
}

func TestZeroBatchHoldsNothing(t *testing.T) {
	var b batchdecode.Batch
	require.Nil(t, b.Bytes())
	require.Nil(t, b.Payload())
	require.EqualValues(t, -1, b.Magic())
	require.EqualValues(t, -1, b.BaseOffset())
	require.EqualValues(t, -1, b.LastOffset())
	require.EqualValues(t, -1, b.MaxTimestamp())
	require.Zero(t, b.Attributes())
	require.NoError(t, b.CheckCRC())
	_, err := b.Records(nil, 0)
	require.ErrorIs(t, err, batchdecode.ErrUnsupported)
	_, ok, err := b.Control(nil, 0)
	require.NoError(t, err)
	require.False(t, ok)
}

// Every cut of a good batch is truncated, costs next to nothing and gives the
// input back.
func TestNextOfEveryPrefixIsTruncated(t *testing.T) {
	for name, raw := range map[string][]byte{
		"data":    batchtest.Data(3, 9).Txn(7).Bytes(),
		"zstd":    batchtest.Data(3, 9).Codec(batchtest.Zstd).Bytes(),
		"marker":  batchtest.Commit(3, 7).Bytes(),
		"empty":   batchtest.Empty(3, 9).Txn(7).Bytes(),
		"magic 0": batchtest.MessageV0(3, 3).Bytes(),
		"magic 1": batchtest.MessageV1(3, 3).Bytes(),
	} {
		t.Run(name, func(t *testing.T) {
			for n := range raw {
				_, rest, err := batchdecode.Next(raw[:n:n])
				require.ErrorIs(t, err, batchdecode.ErrTruncated, "%d bytes", n)
				require.Len(t, rest, n)
			}
			_, rest, err := batchdecode.Next(raw)
			require.NoError(t, err)
			require.Empty(t, rest)
		})
	}
}
