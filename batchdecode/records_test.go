package batchdecode_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/batchdecode"
	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/internal/codec"
)

var codecs = codec.New()

// records reads all records of a batch. It copies what a Record points to.
func records(t *testing.T, b batchdecode.Batch) []batchdecode.Record {
	t.Helper()
	got, err := readRecords(b)
	require.NoError(t, err)
	return got
}

func readRecords(b batchdecode.Batch) ([]batchdecode.Record, error) {
	it, err := b.Records(codecs, 0)
	if err != nil {
		return nil, err
	}
	got := make([]batchdecode.Record, 0, it.Remaining())
	var r batchdecode.Record
	for it.Next(&r) {
		got = append(got, r)
	}
	return got, it.Err()
}

func offsets(t *testing.T, b batchdecode.Batch) []int64 {
	t.Helper()
	var got []int64
	for _, r := range records(t, b) {
		got = append(got, r.Offset)
	}
	return got
}

func TestRecordsOfEveryCodec(t *testing.T) {
	for _, c := range batchtest.Codecs() {
		t.Run(c.String(), func(t *testing.T) {
			got := records(t, next(t, batchtest.Data(5, 24).Codec(c).Bytes()))
			require.Len(t, got, 20)
			for i, r := range got {
				o := int64(5 + i)
				require.Equal(t, o, r.Offset)
				require.Equal(t, batchtest.Timestamp(o), r.Timestamp)
				require.Equal(t, batchtest.Key(o), r.Key)
				require.Equal(t, batchtest.Value(o), r.Value)
				require.Zero(t, r.HeaderCount())
				require.Empty(t, r.AppendHeaders(nil))
			}
		})
	}
}

func TestNullAndEmptyAreKeptApart(t *testing.T) {
	got := records(t, next(t, batchtest.Data(0, 0).With(
		batchtest.Record{Offset: 0, Key: nil, Value: []byte{}},
		batchtest.Record{Offset: 0, Key: []byte{}, Value: nil},
	).Set(26, 1).Payload(append(
		wire(kmsg.Record{Key: nil, Value: []byte{}}),
		wire(kmsg.Record{OffsetDelta: 1, Key: []byte{}, Value: nil})...,
	)).ClaimLastOffsetDelta(1).Bytes()))
	require.Len(t, got, 2)
	require.Nil(t, got[0].Key)
	require.Equal(t, []byte{}, got[0].Value)
	require.Equal(t, []byte{}, got[1].Key)
	require.Nil(t, got[1].Value)
}

// Null header values, repeated and empty keys: vertx-kafka-client#313,
// dpkp/kafka-python#2004, apache/druid#16192.
func TestHeadersKeepOrderDuplicatesAndNulls(t *testing.T) {
	headers := []kmsg.Header{
		{Key: "a", Value: nil}, {Key: "a", Value: []byte{}}, {Key: "a", Value: []byte("x")}, {Key: "", Value: []byte("y")},
	}
	r := batchtest.At(0)
	r.Headers = headers
	got := records(t, next(t, batchtest.Data(0, 0).With(r).Bytes()))
	require.Equal(t, 4, got[0].HeaderCount())
	first := batchdecode.Header{Key: []byte("before")}
	all := got[0].AppendHeaders([]batchdecode.Header{first})
	require.Len(t, all, 5)
	require.Equal(t, first, all[0])
	for i, h := range headers {
		require.Equal(t, h.Key, string(all[i+1].Key))
		require.NotNil(t, all[i+1].Key)
		require.Equal(t, h.Value, all[i+1].Value)
	}
}

// Base plus delta was used on topics with log append time in ruby-kafka#706,
// kafka_protocol#60, kafkajs#838, KAFKA-5353 and redpanda#27674. Deltas held in
// 32 bits overflow after 24 days: twmb/franz-go commit a0f2e5bc.
func TestRecordTimestamps(t *testing.T) {
	const day, at = int64(86_400_000), batchtest.BaseTime
	ten := at + 3650*day
	for _, tt := range []struct {
		name  string
		batch batchtest.Batch
		first int64
		want  []int64
	}{
		{"create time", batchtest.Data(0, 1), at, []int64{at, ten}},
		{"older than the base", batchtest.Data(0, 1), at + day, []int64{at + day, ten}},
		{"log append time", batchtest.Data(0, 1).LogAppendTime(77), at, []int64{77, 77}},
		{"log append time, base none", batchtest.Data(0, 1).LogAppendTime(77).Set(27, 255, 255, 255, 255, 255, 255, 255, 255).FixCRC(), at, []int64{77, 77}},
		{"delete horizon above", batchtest.Data(0, 1).DeleteHorizon(ten + 30*day), at, []int64{at, ten}},
		{"delete horizon below", batchtest.Data(0, 1).DeleteHorizon(at - 30*day), at, []int64{at, ten}},
		{"no timestamp", batchtest.Data(0, 1), -1, []int64{-1, ten}},
		{"wraps", batchtest.Data(0, 1).DeleteHorizon(math.MinInt64), at, []int64{at, ten}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stamps := []int64{tt.first, ten}
			b := tt.batch.Each(func(r batchtest.Record) batchtest.Record {
				r.Timestamp = stamps[r.Offset]
				return r
			})
			var got []int64
			for _, r := range records(t, next(t, b.Bytes())) {
				got = append(got, r.Timestamp)
			}
			require.Equal(t, tt.want, got)
		})
	}
}

// wire encodes a record with its length.
func wire(r kmsg.Record) []byte {
	body := r.AppendTo(nil)[1:]
	return append(kbin.AppendVarint(nil, int32(len(body))), body...)
}

// body puts a length before a hand-made record body.
func body(b ...byte) []byte { return append(kbin.AppendVarint(nil, int32(len(b))), b...) }

func join(parts ...[]byte) (all []byte) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// Damage inside a whole batch is an error that names the batch, never an early
// end: thomhurst/Dekaf#2065. Header counts and keys: vertx-kafka-client#313.
func TestDamagedRecordsAreNamed(t *testing.T) {
	good := body(0, 0, 0, 1, 1, 0)
	huge := []byte{0xff, 0xff, 0xff, 0xff, 0x0f}
	for _, tt := range []struct {
		name    string
		payload []byte
		field   string
		pos     int
		text    string
	}{
		{"empty body", join(body(), make([]byte, 6)), "record 1: attributes", 1, "no bytes left"},
		{"negative length", join([]byte{1}, good), "record 1: length", 0, "-1"},
		{"length beyond the batch", []byte{100, 0, 0, 2, 1, 1, 0}, "record 1: length", 0, "50 with 6 bytes left"},
		{"length overflows", join(huge, good), "record 1: length", 0, "-2147483648"},
		{"length too long", join([]byte{0x80, 0x80, 0x80, 0x80, 0x80, 0}, good), "record 1: length", 0, "varint"},
		{"length above 32 bits", join([]byte{0xff, 0xff, 0xff, 0xff, 0x1f}, good), "record 1: length", 0, "varint"},
		{"length cut", []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80}, "record 1: length", 0, "no bytes left"},
		{"timestamp cut", join(body(0, 0x80), make([]byte, 6)), "record 1: timestamp delta", 2, "no bytes left"},
		{"timestamp too long", body(join([]byte{0}, []byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 2}, []byte{2, 1, 1, 0})...), "record 1: timestamp delta", 2, "varint"},
		{"offset repeated", body(0, 0, 0, 1, 1, 0), "record 1: offset delta", 3, "0 after 0"},
		{"offset negative", body(0, 0, 1, 1, 1, 0), "record 1: offset delta", 3, "-1 after 0"},
		{"offset behind the last", body(0, 0, 6, 1, 1, 0), "record 1: offset delta", 3, "3 after 0, last 2"},
		{"key beyond the body", body(0, 0, 2, 8, 1, 0), "record 1: key length", 4, "4 with 2 bytes left"},
		{"key huge", body(join([]byte{0, 0, 2}, []byte{0xfe, 0xff, 0xff, 0xff, 0x0f}, []byte{1, 0})...), "record 1: key length", 4, "2147483647 with 2 bytes left"},
		{"value beyond the body", body(0, 0, 2, 1, 4, 0), "record 1: value length", 5, "2 with 1 bytes left"},
		{"no header count", body(0, 0, 2, 1, 2, 7), "record 1: header count", 7, "no bytes left"},
		{"negative header count", body(0, 0, 2, 1, 1, 1), "record 1: header count", 6, "-1"},
		{"more headers than bytes", body(0, 0, 2, 1, 1, 4, 0, 0, 0), "record 1: header count", 6, "2 with 3 bytes left"},
		{"negative header key", body(0, 0, 2, 1, 1, 4, 0, 0, 1, 0), "record 1: header 1: header key length", 9, "negative"},
		{"header value beyond the body", body(0, 0, 2, 1, 1, 2, 0, 2), "record 1: header 0: header value length", 8, "1 with 0 bytes left"},
		{"bytes left in the body", body(0, 0, 2, 1, 1, 0, 0), "record 1: end", 7, "1 bytes left in the record"},
		{"bytes left behind it", join(body(0, 0, 2, 1, 1, 0), []byte{9, 9}), "record 1: end", 7, "2 bytes after the last record"},
	} {
		for _, c := range batchtest.Codecs() {
			t.Run(tt.name+"/"+c.String(), func(t *testing.T) {
				raw := batchtest.Data(10, 12).Codec(c).Payload(c.Compress(join(good, tt.payload))).ClaimCount(2).Bytes()
				got, err := readRecords(next(t, raw))
				require.Len(t, got, 1, "records before the damage")
				requireError(t, err, batchdecode.ErrCorrupt, 10, 12, tt.field)
				var e *batchdecode.Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, batchdecode.HeaderLen+len(good)+tt.pos, e.Position)
				require.Contains(t, err.Error(), tt.text)
			})
		}
	}
}

func TestFirstOffsetDeltaIsNotNegative(t *testing.T) {
	b := next(t, batchtest.Data(10, 12).Payload(body(0, 0, 1, 1, 1, 0)).ClaimCount(1).Bytes())
	_, err := readRecords(b)
	requireError(t, err, batchdecode.ErrCorrupt, 10, 12, "record 0: offset delta")
}

func TestErrorEndsTheIteration(t *testing.T) {
	at := len(batchtest.Data(0, 5).Bytes()) // the length of record 6
	it, err := next(t, batchtest.Data(0, 9).Set(at, 0x7f).FixCRC().Bytes()).Records(nil, 0)
	require.NoError(t, err)
	var r batchdecode.Record
	for i := range int64(6) {
		require.True(t, it.Next(&r))
		require.Equal(t, i, r.Offset)
		require.LessOrEqual(t, it.Remaining(), 9-int(i))
		require.NoError(t, it.Err())
	}
	require.False(t, it.Next(&r))
	first := it.Err()
	requireError(t, first, batchdecode.ErrCorrupt, 0, 9, "record 6: length")
	require.False(t, it.Next(&r))
	require.Equal(t, first, it.Err())
	require.Zero(t, it.Remaining())
}

// DefaultRecordBatchTest testInvalidRecordCount, compressed and not; counts
// that lie big sized a slice in twmb/franz-go commit 3f3d1b44.
func TestRecordCountMustBeRight(t *testing.T) {
	section := next(t, batchtest.Data(0, 2).Bytes()).Payload()
	for _, c := range batchtest.Codecs() {
		for _, tt := range []struct {
			count int32
			opens bool
			field string
		}{
			{2, true, "record 1: end"},
			{4, true, "record 3: length"},
			{0, false, "records"},
			{int32(len(section)/7 + 1), false, "records count"},
			{math.MaxInt32, false, "records count"},
		} {
			t.Run(fmt.Sprintf("%s/%d", c, tt.count), func(t *testing.T) {
				b := next(t, batchtest.Data(0, 2).Codec(c).ClaimCount(tt.count).ClaimLastOffsetDelta(9).Bytes())
				_, err := b.Records(codecs, 0)
				require.Equal(t, tt.opens, err == nil)
				_, err = readRecords(b)
				requireError(t, err, batchdecode.ErrCorrupt, 0, 9, tt.field)
			})
		}
	}
}

// A varint padded to its longest form is read, as by Kafka and kbin: producers
// that reserve room for a length write such.
func TestPaddedVarintsAreRead(t *testing.T) {
	b := batchtest.Data(0, 0).Payload([]byte{0x8e, 0x80, 0x00, 0, 0, 0x80, 0x00, 1, 1, 0}).ClaimCount(1)
	require.Equal(t, []int64{0}, offsets(t, next(t, b.Bytes())))
}

// Kafka reads every negative key or value length as null.
func TestNegativeKeyAndValueLengthsAreNull(t *testing.T) {
	b := batchtest.Data(0, 0).Payload(body(0, 0, 0, 3, 5, 2, 0, 7)).ClaimCount(1)
	r := records(t, next(t, b.Bytes()))[0]
	require.Nil(t, r.Key)
	require.Nil(t, r.Value)
	require.Nil(t, r.AppendHeaders(nil)[0].Value)
}

func TestAppendingToASliceLeavesItsNeighbours(t *testing.T) {
	r := batchtest.At(0)
	r.Headers = []kmsg.Header{{Key: "h", Value: []byte("v")}}
	raw := append(batchtest.Data(0, 0).With(r).Bytes(), batchtest.Data(1, 1).Bytes()...)
	before := append([]byte{}, raw...)
	b, _, err := batchdecode.Next(raw)
	require.NoError(t, err)
	got := records(t, b)[0]
	h := got.AppendHeaders(nil)[0]
	for _, s := range [][]byte{got.Key, got.Value, h.Key, h.Value, b.Bytes(), b.Payload()} {
		_ = append(s, "overwritten"...)
	}
	require.Equal(t, before, raw)
}

func TestRecordsAliasTheBatch(t *testing.T) {
	raw := batchtest.Data(0, 0).Bytes()
	r := records(t, next(t, raw))[0]
	clear(raw)
	require.Equal(t, make([]byte, len(batchtest.Value(0))), r.Value)
}

func TestOverwrittenHeadersDoNotPanic(t *testing.T) {
	r := batchtest.At(0)
	r.Headers = []kmsg.Header{{Key: "h", Value: []byte("v")}}
	raw := batchtest.Data(0, 0).With(r).Bytes()
	got := records(t, next(t, raw))[0]
	for i := range raw {
		raw[i] = 0xff
	}
	require.Empty(t, got.AppendHeaders(nil))
}

// Every cut of a record section under a right header is corrupt, never a short
// result, and costs no more than its bytes.
func TestEveryPrefixOfARecordSectionIsCorrupt(t *testing.T) {
	r := batchtest.At(4)
	r.Headers = []kmsg.Header{{Key: "h", Value: []byte("v")}, {Key: "n"}}
	for _, c := range batchtest.Codecs() {
		t.Run(c.String(), func(t *testing.T) {
			batch := batchtest.Data(3, 5).With(batchtest.At(3), r, batchtest.At(5)).Codec(c)
			section := next(t, batch.Bytes()).Payload()
			for n := range section {
				_, err := readRecords(next(t, batch.Payload(section[:n:n]).Bytes()))
				require.ErrorIs(t, err, batchdecode.ErrCorrupt, "%d bytes", n)
			}
		})
	}
}

func TestDecodingDoesNotAllocate(t *testing.T) {
	r := batchtest.At(100)
	r.Headers = []kmsg.Header{{Key: "h", Value: []byte("v")}}
	raw := append(batchtest.Data(0, 99).Txn(1).Bytes(), batchtest.Data(100, 100).With(r).Bytes()...)
	headers := make([]batchdecode.Header, 0, 1)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for rest := raw; len(rest) > 0; {
			b, after, err := batchdecode.Next(rest)
			if err != nil {
				panic(err)
			}
			it, err := b.Records(nil, 0)
			if err != nil {
				panic(err)
			}
			var r batchdecode.Record
			for it.Next(&r) {
				headers = r.AppendHeaders(headers[:0])
			}
			if it.Err() != nil {
				panic(it.Err())
			}
			rest = after
		}
	}))
}
