package model_test

import (
	"bytes"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/internal/batchtest"
)

func TestRecordsInEachCodec(t *testing.T) {
	for _, c := range batchtest.Codecs() {
		t.Run(c.String(), func(t *testing.T) {
			got, tail, problem := model.Parse(batchtest.Data(5, 7).Codec(c).Bytes())
			require.Nil(t, problem)
			require.Zero(t, tail)
			records, err := got[0].Records()
			require.NoError(t, err)
			require.Len(t, records, 3)
			for i, r := range records {
				want := batchtest.At(5 + int64(i))
				require.Equal(t, model.Record{Offset: want.Offset, Timestamp: want.Timestamp, Key: want.Key, Value: want.Value}, r)
			}
		})
	}
}

func TestTimestampsOfTheBroker(t *testing.T) {
	got, _, problem := model.Parse(batchtest.Data(0, 1).LogAppendTime(7).Bytes())
	require.Nil(t, problem)
	records, err := got[0].Records()
	require.NoError(t, err)
	require.EqualValues(t, 7, records[0].Timestamp)
	require.EqualValues(t, 7, records[1].Timestamp)
}

func TestWrittenBatchesReadBack(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	for _, codec := range []kgo.CompressionCodec{
		kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression(),
	} {
		w := model.Write{
			ProducerID: 7, Epoch: 3, BaseSequence: 5, Transactional: true, Codec: codec, Timestamp: now,
			Values: [][]byte{[]byte("a"), nil, bytes.Repeat([]byte("c"), 1000)}, Keys: [][]byte{nil, []byte("k"), nil},
		}
		raw, err := w.Encode()
		require.NoError(t, err)
		got, tail, problem := model.Parse(raw)
		require.Nil(t, problem)
		require.Zero(t, tail)
		require.Len(t, got, 1)
		b := got[0]
		require.True(t, b.CRCValid && b.Transactional() && !b.Control())
		require.EqualValues(t, 7, b.ProducerID)
		require.EqualValues(t, 3, b.Epoch)
		require.EqualValues(t, 5, b.BaseSequence)
		require.EqualValues(t, 2, b.Last)
		records, err := b.Records()
		require.NoError(t, err)
		for i, r := range records {
			require.Equal(t, model.Record{Offset: int64(i), Timestamp: now.UnixMilli(), Key: w.Keys[i], Value: w.Values[i]}, r)
		}
	}
}

// A few bytes may stand for gigabytes. They are refused without ever taking the
// memory.
func TestBombsDoNotGoOff(t *testing.T) {
	const size = 1 << 30
	plain := make([]byte, size/16)
	for _, c := range []batchtest.Codec{batchtest.Gzip, batchtest.LZ4, batchtest.Snappy, batchtest.Xerial, batchtest.Zstd, batchtest.ZstdStream} {
		t.Run(c.String(), func(t *testing.T) {
			payload := c.Compress(append(plain, 0))
			if c != batchtest.Snappy { // frames may follow one another
				payload = bytes.Repeat(payload, 16)
			}
			raw := batchtest.Data(0, 0).Codec(c).Payload(payload).Bytes()
			got, _, problem := model.Parse(raw)
			require.Nil(t, problem)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := got[0].Records()
			runtime.ReadMemStats(&after)
			require.Error(t, err)
			// A buffer that grows is allocated several times over.
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(size), "bytes allocated")
		})
	}
}
