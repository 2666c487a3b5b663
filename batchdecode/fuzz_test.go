package batchdecode_test

import (
	"bytes"
	"errors"
	"math"
	"runtime"
	"runtime/metrics"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/batchdecode"
	"example.com/readcommitted/internal/batchtest"
)

func seeds() [][]byte {
	r := batchtest.At(4)
	r.Headers = []kmsg.Header{{Key: "h", Value: []byte("v")}, {Key: "n"}}
	return [][]byte{
		batchtest.Data(0, 9).Bytes(),
		batchtest.Data(3, 5).Txn(7).With(batchtest.At(3), r).Bytes(),
		batchtest.Data(0, 99).Codec(batchtest.Zstd).Bytes(),
		batchtest.Data(0, 9).LogAppendTime(5).Bytes(),
		batchtest.Data(0, 9).DeleteHorizon(5).Bytes(),
		batchtest.Commit(9, 7).Bytes(),
		batchtest.EmptyControl(9, 7).Bytes(),
		batchtest.Data(0, 9).Cut(20).Bytes(),
		batchtest.Data(0, 9).ClaimLength(math.MaxInt32).Bytes(),
		batchtest.Data(0, 9).ClaimCount(math.MaxInt32).Bytes(),
		batchtest.MessageV0(4, 4).Bytes(),
		batchtest.Log{batchtest.MessageV1(4, 6).Codec(batchtest.Gzip), batchtest.Data(7, 8)}.Bytes(),
	}
}

// FuzzNext walks any bytes as a fetched partition. What is accepted must agree
// with kmsg, and must be accepted again on its own.
func FuzzNext(f *testing.F) {
	for _, s := range seeds() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		before := bytes.Clone(in)
		requireCheap(t, len(in), func() { _, _, _ = batchdecode.Next(in) })
		walk(t, in, batchdecode.Next)
		walk(t, in, batchdecode.NextUnchecked)
		require.Equal(t, before, in, "decoding never writes")
	})
}

func walk(t *testing.T, in []byte, next func([]byte) (batchdecode.Batch, []byte, error)) {
	for rest := in; ; {
		b, after, err := next(rest)
		if err != nil {
			requirePlace(t, err, len(rest))
			require.Equal(t, rest, after)
			return
		}
		size := len(rest) - len(after)
		require.Equal(t, rest[:size], b.Bytes())
		require.GreaterOrEqual(t, b.LastOffset(), b.BaseOffset())
		again, none, err := next(rest[:size:size])
		require.NoError(t, err)
		require.Empty(t, none)
		require.Equal(t, b.Bytes(), again.Bytes())
		_, _, err = next(rest[: size-1 : size-1])
		require.ErrorIs(t, err, batchdecode.ErrTruncated)
		if b.Magic() == 2 {
			requireLikeKmsg(t, b)
		}
		rest = after
	}
}

// requirePlace checks that an error has a class and a place within the input.
func requirePlace(t *testing.T, err error, size int) {
	var e *batchdecode.Error
	require.ErrorAs(t, err, &e)
	require.NotEmpty(t, e.Field)
	require.True(t, e.Position >= 0 && e.Position <= size, "position %d of %d", e.Position, size)
	require.True(t, errors.Is(err, batchdecode.ErrTruncated) || errors.Is(err, batchdecode.ErrCorrupt) ||
		errors.Is(err, batchdecode.ErrUnsupported), "class of %v", err)
}

// requireLikeKmsg compares a batch's header with kmsg's reading of it.
func requireLikeKmsg(t *testing.T, b batchdecode.Batch) {
	var twin kmsg.RecordBatch
	require.NoError(t, twin.ReadFrom(b.Bytes()))
	require.Equal(t, twin, kmsg.RecordBatch{
		FirstOffset:          b.BaseOffset(),
		Length:               int32(len(b.Bytes()) - 12),
		PartitionLeaderEpoch: b.PartitionLeaderEpoch(),
		Magic:                b.Magic(),
		CRC:                  twin.CRC,
		Attributes:           b.Attributes(),
		LastOffsetDelta:      b.LastOffsetDelta(),
		FirstTimestamp:       b.BaseTimestamp(),
		MaxTimestamp:         b.MaxTimestamp(),
		ProducerID:           b.ProducerID(),
		ProducerEpoch:        b.ProducerEpoch(),
		FirstSequence:        b.BaseSequence(),
		NumRecords:           b.RecordCount(),
		Records:              b.Payload(),
	})
}

// FuzzRecords decodes any bytes as the record section of a plausible batch.
// The records accepted must be those that kmsg reads, one by one; where the
// section is refused, so must it be by kmsg or by a rule that kmsg leaves out.
func FuzzRecords(f *testing.F) {
	for _, s := range seeds() {
		if b, _, err := batchdecode.Next(s); err == nil && b.Magic() == 2 {
			f.Add(b.Payload(), b.RecordCount(), b.LastOffsetDelta(), b.BaseTimestamp(), b.IsLogAppendTime())
		}
	}
	f.Fuzz(func(t *testing.T, section []byte, count, lastDelta int32, baseTimestamp int64, appended bool) {
		batch := batchtest.Data(100, 100).Payload(section).ClaimCount(count & math.MaxInt32).ClaimLastOffsetDelta(lastDelta & math.MaxInt32)
		batch = batch.Each(func(r batchtest.Record) batchtest.Record { r.Timestamp = baseTimestamp; return r })
		if appended {
			batch = batch.LogAppendTime(77)
		}
		raw := batch.Bytes()
		b, rest, err := batchdecode.Next(raw)
		require.NoError(t, err)
		require.Empty(t, rest)

		var got []batchdecode.Record
		requireCheap(t, len(raw), func() { got, err = readRecords(b) })
		want, wantErr := twinRecords(b)
		if wantErr != nil {
			require.ErrorIs(t, err, batchdecode.ErrCorrupt, "kmsg: %v", wantErr)
			requirePlace(t, err, len(raw))
		} else {
			require.NoError(t, err)
		}
		// A wrong count is known before the first record.
		require.True(t, len(got) == len(want) || len(got) == 0 && err != nil, "%d records, kmsg %d", len(got), len(want))
		for i := range got {
			requireLikeTwin(t, want[i], got[i], b)
		}
	})
}

// requireCheap checks that f allocates no more than a small multiple of the
// size of its input: a record of 120 bytes can come from 7. The runtime counts
// what all goroutines allocate, the fuzzing engine's too, so the least of a few
// tries counts.
func requireCheap(t *testing.T, size int, f func()) {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	limit, least := uint64(32*size+1<<20), uint64(math.MaxUint64)
	for try := 0; try < 5 && least >= limit; try++ {
		metrics.Read(sample)
		before := sample[0].Value.Uint64()
		f()
		metrics.Read(sample)
		least = min(least, sample[0].Value.Uint64()-before)
	}
	require.Less(t, least, limit)
}

var errTwin = errors.New("refused")

// twinRecords reads the records of an uncompressed batch by kmsg, and applies
// the rules that kmsg does not have: increasing offsets within the batch,
// header counts and keys, nothing behind the last record. A record that fails
// ends it; one that is followed by too much is not in the result.
func twinRecords(b batchdecode.Batch) (all []kmsg.Record, err error) {
	section, previous := b.Payload(), int32(-1)
	for i := range b.RecordCount() {
		length, n := kbin.Varint(section)
		if n <= 0 || length < 0 || int(length) > len(section)-n {
			return all, errTwin
		}
		var r kmsg.Record
		if err := r.ReadFrom(section[:n+int(length)]); err != nil {
			return all, err
		}
		if !consumes(section[n : n+int(length)]) {
			return all, errTwin
		}
		if r.OffsetDelta <= previous || r.OffsetDelta > b.LastOffsetDelta() {
			return all, errTwin
		}
		section, previous = section[n+int(length):], r.OffsetDelta
		if i == b.RecordCount()-1 && len(section) > 0 {
			return all, errTwin
		}
		all = append(all, r)
	}
	if len(section) > 0 {
		return all, errTwin
	}
	return all, nil
}

// consumes reports whether kmsg's reader gets through the fields of a record
// body and stands at its very end. A negative header count, which kmsg takes
// for 0, and a null header key, which it takes for an empty one, are refused:
// Kafka does so (DefaultRecord.readFrom).
func consumes(body []byte) bool {
	reader := kbin.Reader{Src: body}
	reader.Int8()
	reader.Varlong()
	reader.Varint()
	reader.VarintBytes()
	reader.VarintBytes()
	count := int(reader.Varint())
	if count < 0 || count > len(reader.Src) {
		return false
	}
	for range count {
		if reader.VarintBytes() == nil {
			return false
		}
		reader.VarintBytes()
	}
	return reader.Ok() && len(reader.Src) == 0
}

func requireLikeTwin(t *testing.T, want kmsg.Record, got batchdecode.Record, b batchdecode.Batch) {
	require.Equal(t, b.BaseOffset()+int64(want.OffsetDelta), got.Offset)
	require.Equal(t, want.Attributes, got.Attributes)
	require.Equal(t, want.Key, got.Key)
	require.Equal(t, want.Value, got.Value)
	if b.IsLogAppendTime() {
		require.Equal(t, b.MaxTimestamp(), got.Timestamp)
	} else {
		require.Equal(t, b.BaseTimestamp()+want.TimestampDelta64, got.Timestamp)
	}
	require.Equal(t, len(want.Headers), got.HeaderCount())
	for i, h := range got.AppendHeaders(nil) {
		require.Equal(t, want.Headers[i].Key, string(h.Key))
		require.Equal(t, want.Headers[i].Value, h.Value)
	}
}

// Claimed counts size nothing: twmb/franz-go commit 3f3d1b44.
func TestClaimsDoNotAllocate(t *testing.T) {
	for name, raw := range map[string][]byte{
		"count":        batchtest.Data(0, 9).ClaimCount(math.MaxInt32).Bytes(),
		"length":       batchtest.Data(0, 9).ClaimLength(math.MaxInt32).Bytes(),
		"header count": batchtest.Data(0, 0).Payload(body(0, 0, 0, 1, 1, 0xfe, 0xff, 0xff, 0xff, 0x0f)).Bytes(),
		"key length":   batchtest.Data(0, 0).Payload(body(0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 0x0f, 1, 0)).Bytes(),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			b, _, err := batchdecode.Next(raw)
			if err == nil {
				_, err = readRecords(b)
			}
			runtime.ReadMemStats(&after)
			require.Error(t, err)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<10))
		})
	}
}
