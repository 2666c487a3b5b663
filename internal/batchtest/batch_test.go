package batchtest

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func decode(t *testing.T, raw []byte) kmsg.RecordBatch {
	t.Helper()
	var rb kmsg.RecordBatch
	require.NoError(t, rb.ReadFrom(raw))
	require.Equal(t, int(rb.Length), len(raw)-12)
	return rb
}

func TestBatchHeaderSaysWhatWasAskedFor(t *testing.T) {
	b := Data(10, 14).Txn(7).Epoch(3).Sequence(math.MaxInt32).LeaderEpoch(9).Codec(LZ4).Keep(11, 13)
	rb := decode(t, b.Bytes())
	want := kmsg.RecordBatch{
		FirstOffset: 10, Length: rb.Length, PartitionLeaderEpoch: 9, Magic: 2, CRC: rb.CRC,
		Attributes: 1<<4 | 3, LastOffsetDelta: 4, FirstTimestamp: Timestamp(11), MaxTimestamp: Timestamp(13),
		ProducerID: 7, ProducerEpoch: 3, FirstSequence: math.MaxInt32, NumRecords: 2, Records: rb.Records,
	}
	require.Equal(t, want, rb)
}

func TestPlainBatchHasNoProducer(t *testing.T) {
	rb := decode(t, Data(0, 1).Bytes())
	require.Equal(t, int64(-1), rb.ProducerID)
	require.Equal(t, int16(-1), rb.ProducerEpoch)
	require.Equal(t, int32(-1), rb.FirstSequence)
	require.Zero(t, rb.Attributes)
}

// Sizes as MemoryRecords.writeEndTransactionalMarker and
// DefaultRecordBatch.writeEmptyHeader give them.
func TestMarkersAndEmptyBatchesHaveKafkasSizes(t *testing.T) {
	require.Len(t, Commit(5, 7).Bytes(), 78)
	require.Len(t, Abort(5, 7).Bytes(), 78)
	require.Len(t, Empty(0, 9).Txn(7).Bytes(), 61)
	require.Len(t, EmptyControl(5, 7).Bytes(), 61)
	require.Greater(t, len(Abort(5, 7).DeleteHorizon(BaseTime+1e11).Bytes()), 78)
}

func TestMarkerHoldsTypeAndCoordinatorEpoch(t *testing.T) {
	for _, controlType := range []int16{TypeAbort, TypeCommit, 5, -1} {
		rb := decode(t, Marker(5, 7, controlType, 42).Bytes())
		require.Equal(t, int16(1<<4|1<<5), rb.Attributes)
		require.Equal(t, int32(-1), rb.FirstSequence)
		var r kmsg.Record
		require.NoError(t, r.ReadFrom(rb.Records))
		var key kmsg.ControlRecordKey
		require.NoError(t, key.ReadFrom(r.Key))
		require.Equal(t, kmsg.ControlRecordKey{Type: kmsg.ControlRecordKeyType(controlType)}, key)
		var value kmsg.EndTxnMarker
		require.NoError(t, value.ReadFrom(r.Value))
		require.Equal(t, kmsg.EndTxnMarker{CoordinatorEpoch: 42}, value)
	}
}

func TestEmptyControlBatchKeepsItsBits(t *testing.T) {
	rb := decode(t, EmptyControl(5, 7).Epoch(2).Bytes())
	require.Equal(t, int16(1<<4|1<<5), rb.Attributes)
	require.Equal(t, int64(7), rb.ProducerID)
	require.Equal(t, int16(2), rb.ProducerEpoch)
	require.Equal(t, int64(-1), rb.FirstTimestamp)
	require.Equal(t, int32(0), rb.NumRecords)
}

func TestCRCDoesNotCoverTheLeaderEpoch(t *testing.T) {
	require.Equal(t, decode(t, Data(0, 1).Bytes()).CRC, decode(t, Data(0, 1).LeaderEpoch(9).Bytes()).CRC)
	require.NotEqual(t, decode(t, Data(0, 1).Bytes()).CRC, decode(t, Data(0, 1).Txn(9).Bytes()).CRC)
}

func TestDeleteHorizonLeavesTimestampsAlone(t *testing.T) {
	rb := decode(t, Data(0, 0).DeleteHorizon(BaseTime+1e11).Bytes())
	require.Equal(t, int16(1<<6), rb.Attributes)
	require.Equal(t, BaseTime+int64(1e11), rb.FirstTimestamp)
	var r kmsg.Record
	require.NoError(t, r.ReadFrom(rb.Records))
	require.Equal(t, Timestamp(0), rb.FirstTimestamp+r.TimestampDelta64)
}

// A description that is shared must not change when another is made of it.
func TestMethodsLeaveTheirReceiverAlone(t *testing.T) {
	b := Data(0, 3).Txn(1).Flip(-1).Spoil(FaultLength, 0)
	before := b.Bytes()
	_ = b.Cut(1).Bytes()
	_ = b.Flip(-2).Bytes()
	_ = b.Spoil(FaultLength, 1).Bytes()
	_ = b.Each(func(r Record) Record { r.Value = nil; return r }).Bytes()
	_ = b.Keep(2).ClaimCount(9).Epoch(9).Bytes()
	require.Equal(t, before, b.Bytes())
}

func TestEveryCodecDecompresses(t *testing.T) {
	decompressor := kgo.DefaultDecompressor()
	for _, c := range Codecs() {
		for _, size := range []int{1, 100, 70_000} {
			src := Data(0, 0).Size(size).records[0].Value
			got, err := decompressor.Decompress(c.Compress(src), kgo.CompressionCodecType(c.bits()))
			require.NoError(t, err, "%s of %d bytes", c, size)
			require.Equal(t, src, got, "%s of %d bytes", c, size)
		}
	}
}

func TestXerialIsFramedAndSnappyIsNot(t *testing.T) {
	src := make([]byte, 5*xerialChunk)
	framed := Xerial.Compress(src)
	require.Equal(t, []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1}, framed[:16])
	chunks := 0
	for rest := framed[16:]; len(rest) > 0; chunks++ {
		rest = rest[4+binary.BigEndian.Uint32(rest):]
	}
	require.Equal(t, 5, chunks)
	require.NotEqual(t, framed[:2], Snappy.Compress(src)[:2])
}

func TestMessagesAreThoseOfTheirFormat(t *testing.T) {
	var v0 kmsg.MessageV0
	require.NoError(t, v0.ReadFrom(MessageV0(3, 3).Bytes()))
	require.Equal(t, int8(0), v0.Magic)
	require.Equal(t, Value(3), v0.Value)

	var wrapper, inner kmsg.MessageV1
	require.NoError(t, wrapper.ReadFrom(MessageV1(3, 5).Codec(Gzip).Bytes()))
	require.Equal(t, int64(5), wrapper.Offset)
	set, err := kgo.DefaultDecompressor().Decompress(wrapper.Value, kgo.CodecGzip)
	require.NoError(t, err)
	require.NoError(t, inner.ReadFrom(set[:12+binary.BigEndian.Uint32(set[8:])]))
	require.Equal(t, int64(0), inner.Offset)
	require.Equal(t, Timestamp(3), inner.Timestamp)
}

func TestLogPartitionEndsBehindItsLastEntry(t *testing.T) {
	log := Log{Data(0, 1).Txn(7), MessageV1(2, 2), Abort(3, 7), Data(4, 9).Cut(1)}
	p := log.Partition(Aborted(7, 0))
	require.Equal(t, int64(10), p.HighWatermark)
	require.Equal(t, int64(10), p.LastStableOffset)
	require.Equal(t, log.Bytes(), p.RecordBatches)
	require.Len(t, p.AbortedTransactions, 1)
	require.Equal(t, int64(7), p.AbortedTransactions[0].ProducerID)
	require.NotNil(t, Aborted())
}
