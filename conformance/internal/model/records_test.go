package model_test

import (
	"bytes"
	"encoding/binary"
	"math"
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

// atTheLastOffset is a batch after which there is no offset.
func atTheLastOffset() batchtest.Batch {
	return batchtest.Data(0, 0).Set(0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
}

// What a header claims is refused before anything is made or gone through for it.
func TestClaimsTakeNeitherMemoryNorTime(t *testing.T) {
	for _, c := range []struct {
		name  string
		batch batchtest.Batch
		want  string
	}{
		{"records beyond the bytes", batchtest.Data(0, 0).ClaimLastOffsetDelta(math.MaxInt32 - 1).ClaimCount(math.MaxInt32), "2147483647 records in 19 bytes"},
		{"records beyond what may be decompressed", batchtest.Data(0, 0).Codec(batchtest.Zstd).ClaimLastOffsetDelta(math.MaxInt32 - 1).ClaimCount(math.MaxInt32), "2147483647 records in 16777216 bytes"},
		{"the last of all offsets", atTheLastOffset(), "last offset delta 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _, problem := model.Parse(c.batch.Bytes())
			require.Empty(t, got)
			require.NotNil(t, problem)
			require.Equal(t, c.want, problem.What)
		})
	}
}

// A compressed batch may claim as many records as could be decompressed. It has
// the offsets of those that are there.
func TestOffsetsOfCompressedBatchesAreNotClaims(t *testing.T) {
	got, _, problem := model.Parse(batchtest.Data(5, 7).Codec(batchtest.Zstd).ClaimLastOffsetDelta(999_999).ClaimCount(1_000_000).Bytes())
	require.Nil(t, problem)
	offsets, err := got[0].Offsets()
	require.Error(t, err)
	require.Equal(t, []int64{5, 6, 7}, offsets)
}

// A record that claims a header for each of its bytes is refused before room is
// made for these. As many headers as its bytes hold are read.
func TestHeadersAreNotMadeForClaims(t *testing.T) {
	const size = 1 << 20
	record := func(headers int64) []byte {
		body := []byte{0, 0, 0, 1, 1} // attributes, deltas, no key, no value
		body = binary.AppendVarint(body, headers)
		body = append(body, make([]byte, size)...) // headers with an empty key and value
		return append(binary.AppendVarint(nil, int64(len(body))), body...)
	}
	read := func(headers int64) ([]model.Record, error) {
		got, _, problem := model.Parse(batchtest.Data(0, 0).Payload(record(headers)).Bytes())
		require.Nil(t, problem)
		return got[0].Records()
	}
	records, err := read(size / 2)
	require.NoError(t, err)
	require.Len(t, records[0].Headers, size/2)
	_, err = read(size/2 + 1)
	require.ErrorContains(t, err, "more headers than its bytes hold")
}
