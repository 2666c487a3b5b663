package pass_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/batchdecode"
	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/internal/pass"
)

func TestDecodeFillsEveryField(t *testing.T) {
	b := batchtest.Data(5, 6).Txn(7).Epoch(3).LeaderEpoch(9).Codec(batchtest.LZ4).With(
		batchtest.Record{
			Offset: 5, Timestamp: 1_700_000_000_123, Key: []byte("k"), Value: []byte("v"),
			Headers: []kmsg.Header{{Key: "a", Value: []byte("x")}, {Key: "", Value: nil}, {Key: "a", Value: []byte{}}},
		},
		batchtest.Record{Offset: 6, Timestamp: 1_700_000_000_000, Value: []byte{}},
	)
	res := scan(pass.Options{KeepControl: true}, batchtest.Log{b, batchtest.Commit(7, 7)})
	got, err := decode(&pass.Decoder{Topic: "t", Partition: 3}, res)
	require.NoError(t, err)
	attrs := func(control bool, codec kgo.CompressionCodecType) kgo.RecordAttrs {
		return kgo.NewRecordAttrs(kgo.RecordAttrsOpts{Codec: codec, Transactional: true, Control: control})
	}
	require.Equal(t, []*kgo.Record{
		{
			Topic: "t", Partition: 3, Offset: 5, Timestamp: time.UnixMilli(1_700_000_000_123),
			Key: []byte("k"), Value: []byte("v"), Attrs: attrs(false, kgo.CodecLz4),
			Headers:    []kgo.RecordHeader{{Key: "a", Value: []byte("x")}, {}, {Key: "a", Value: []byte{}}},
			ProducerID: 7, ProducerEpoch: 3, LeaderEpoch: 9,
		},
		{
			Topic: "t", Partition: 3, Offset: 6, Timestamp: time.UnixMilli(1_700_000_000_000),
			Value: []byte{}, Attrs: attrs(false, kgo.CodecLz4),
			ProducerID: 7, ProducerEpoch: 3, LeaderEpoch: 9,
		},
		{
			Topic: "t", Partition: 3, Offset: 7, Timestamp: time.UnixMilli(batchtest.Timestamp(7)),
			Key: batchtest.ControlKey(batchtest.TypeCommit), Value: batchtest.EndMarker(0), Attrs: attrs(true, kgo.CodecNone),
			ProducerID: 7,
		},
	}, got)
}

func TestDecodeLogAppendTime(t *testing.T) {
	got, err := decode(&pass.Decoder{}, scan(pass.Options{}, batchtest.Log{batchtest.Data(0, 1).LogAppendTime(1234)}))
	require.NoError(t, err)
	for _, r := range got {
		require.EqualValues(t, 1234, r.Timestamp.UnixMilli())
		require.EqualValues(t, 1, r.Attrs.TimestampType())
	}
}

func TestDecodeDropsRecordsBelowTheFetchOffset(t *testing.T) {
	for _, c := range []batchtest.Codec{batchtest.None, batchtest.Zstd} {
		res := scan(pass.Options{Offset: 3}, batchtest.Log{batchtest.Data(0, 5).Codec(c), batchtest.Data(6, 6)})
		got, err := decode(&pass.Decoder{}, res)
		require.NoError(t, err)
		require.Equal(t, []int64{3, 4, 5, 6}, offsets(got))
	}
	res := scan(pass.Options{Offset: 4}, batchtest.Log{batchtest.Data(0, 5).Keep(0, 3)})
	got, err := decode(&pass.Decoder{}, res)
	require.NoError(t, err)
	require.Empty(t, got)
	require.EqualValues(t, 6, res.Next)
}

// More records than one slab holds.
func TestDecodeLargeBatch(t *testing.T) {
	const n = 5_000
	res := scan(pass.Options{Offset: 1_500}, batchtest.Log{batchtest.Data(0, n-1)})
	got, err := decode(&pass.Decoder{}, res)
	require.NoError(t, err)
	require.Len(t, got, n-1_500)
	for i, r := range got {
		require.EqualValues(t, 1_500+i, r.Offset)
		require.Equal(t, batchtest.Key(r.Offset), r.Key)
	}
}

// A batch is delivered whole or not at all, and what was decoded before stays.
func TestDecodeDamageLeavesTheDestination(t *testing.T) {
	good, last := batchtest.Data(0, 1), batchtest.Data(2, 4)
	for name, bad := range map[string]batchtest.Batch{
		"last record":     last.Spoil(batchtest.FaultBody, 2),
		"too many":        last.ClaimCount(1 << 30),
		"one too many":    last.ClaimCount(4),
		"one too few":     last.ClaimCount(2),
		"trailing bytes":  last.Trailing(1),
		"payload":         last.Codec(batchtest.Zstd).Payload([]byte("no zstd")),
		"codec":           last.Codec(5),
		"payload missing": last.Codec(batchtest.Gzip).Payload([]byte{}),
	} {
		for _, pools := range [][]kgo.Pool{nil, {&recordPool{}}} {
			t.Run(name, func(t *testing.T) {
				d := &pass.Decoder{Topic: "t", Pools: pools}
				res := scan(pass.Options{}, batchtest.Log{good, bad})
				require.NoError(t, res.Err)
				dst := make([]*kgo.Record, 0, 100)
				dst, err := d.Append(dst, res.Kept[0])
				require.NoError(t, err)
				after, err := d.Append(dst, res.Kept[1])
				require.Error(t, err)
				base, lastOffset := pass.BatchOf(err)
				require.EqualValues(t, 2, base)
				require.EqualValues(t, 4, lastOffset)
				require.False(t, pass.IsTooLarge(err))
				require.Equal(t, []int64{0, 1}, offsets(after))
				for _, r := range after[:cap(after)][2:] {
					require.Nil(t, r, "nothing of the damaged batch is left behind")
				}
				if name == "codec" {
					require.ErrorIs(t, err, batchdecode.ErrUnsupported)
				} else {
					require.ErrorIs(t, err, batchdecode.ErrCorrupt)
				}
			})
		}
	}
}

// A count is only a claim, also where kgo decodes: it would make a record of
// 160 bytes for each byte.
func TestDecodeClaimedCountAllocatesNothing(t *testing.T) {
	b := batchtest.Data(0, 0).Size(1 << 20)
	for name, bad := range map[string]batchtest.Batch{
		"more than the bytes hold": b.ClaimCount(1<<31 - 1).ClaimLastOffsetDelta(1<<31 - 1),
		"as many as bytes":         b.ClaimCount(1 << 20).ClaimLastOffsetDelta(1 << 20),
		"as many as would fit":     b.ClaimCount(1 << 20 / 8).ClaimLastOffsetDelta(1 << 20),
		"compressed":               b.Codec(batchtest.Zstd).ClaimCount(1 << 17).ClaimLastOffsetDelta(1 << 20),
	} {
		for _, pools := range [][]kgo.Pool{nil, {&recordPool{}}} {
			t.Run(name, func(t *testing.T) {
				res := scan(pass.Options{}, batchtest.Log{bad})
				require.NoError(t, res.Err)
				d := &pass.Decoder{Pools: pools}
				var err error
				used := allocated(func() { _, err = d.Append(nil, res.Kept[0]) })
				require.ErrorIs(t, err, batchdecode.ErrCorrupt)
				require.Less(t, used, uint64(6<<20))
			})
		}
	}
}

// The same for the slice that is made for all records of an answer.
func TestSizeHintIsBoundedByTheBytes(t *testing.T) {
	for _, tt := range []struct {
		name string
		e    batchtest.Entry
		want int
	}{
		{"as claimed", batchtest.Data(0, 9), 10},
		{"as claimed, compressed", batchtest.Data(0, 9).Codec(batchtest.LZ4), 10},
		{"no bytes", batchtest.Data(0, 9).Payload([]byte{}).ClaimCount(1 << 30), 0},
		{"some bytes", batchtest.Data(0, 9).Payload(make([]byte, 70)).ClaimCount(1 << 30), 10},
		{"some compressed bytes", batchtest.Data(0, 9).Codec(batchtest.LZ4).Payload(make([]byte, 70)).ClaimCount(1 << 30), 70},
		{"many bytes", batchtest.Data(0, 9).Payload(make([]byte, 1<<20)).ClaimCount(1 << 30), 1024},
		{"old message", batchtest.MessageV1(0, 9).Codec(batchtest.Gzip), 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			res := scan(pass.Options{}, batchtest.Log{tt.e})
			require.Len(t, res.Kept, 1)
			require.Equal(t, tt.want, res.Kept[0].SizeHint())
		})
	}
}

func TestDecodeLimit(t *testing.T) {
	b := batchtest.Data(0, 9).Size(1000)
	plain := len(b.Bytes()) - batchdecode.HeaderLen
	for _, c := range batchtest.Codecs() {
		for _, pools := range [][]kgo.Pool{nil, {&recordPool{}}} {
			res := scan(pass.Options{}, batchtest.Log{b.Codec(c)})
			d := &pass.Decoder{Pools: pools, MaxBatchBytes: plain}
			got, err := decode(d, res)
			require.NoError(t, err, "%s: the limit is inclusive", c)
			require.Len(t, got, 10)
			d.MaxBatchBytes--
			_, err = decode(d, res)
			if c == batchtest.None {
				require.NoError(t, err, "nothing is decompressed")
				continue
			}
			require.ErrorIs(t, err, batchdecode.ErrTooLarge, "%s", c)
			require.True(t, pass.IsTooLarge(err))
		}
	}
}

// noting is a decompressor of the user.
type noting struct {
	kgo.Decompressor
	calls int
}

func (n *noting) Decompress(src []byte, c kgo.CompressionCodecType) ([]byte, error) {
	n.calls++
	return n.Decompressor.Decompress(src, c)
}

// Aborted batches never reach a decompressor, and no batch reaches it twice.
func TestDecodeUsesTheGivenDecompressorOncePerKeptBatch(t *testing.T) {
	l := batchtest.Log{
		batchtest.Data(0, 1).Codec(batchtest.Zstd),
		batchtest.Data(2, 3).Codec(batchtest.Zstd).Txn(7),
		batchtest.Abort(4, 7),
		batchtest.MessageV1(5, 6).Codec(batchtest.Gzip),
	}
	for _, pools := range [][]kgo.Pool{nil, {&recordPool{}}} {
		n := &noting{Decompressor: kgo.DefaultDecompressor()}
		res := scan(pass.Options{}, l, 7, 2)
		require.Zero(t, n.calls)
		got, err := decode(&pass.Decoder{Custom: n, Pools: pools}, res)
		require.NoError(t, err)
		require.Equal(t, []int64{0, 1, 5, 6}, offsets(got))
		require.Equal(t, 2, n.calls)
	}
}

func TestDecodeOldMessages(t *testing.T) {
	l := batchtest.Log{
		batchtest.MessageV0(0, 0), batchtest.MessageV0(1, 3).Codec(batchtest.Gzip),
		batchtest.MessageV1(4, 4), batchtest.MessageV1(5, 9).Codec(batchtest.LZ4).Keep(5, 7, 9),
	}
	got, err := decode(&pass.Decoder{Topic: "t"}, scan(pass.Options{Offset: 2}, l))
	require.NoError(t, err)
	require.Equal(t, []int64{2, 3, 4, 5, 7, 9}, offsets(got))
	for _, r := range got {
		require.Equal(t, batchtest.Value(r.Offset), r.Value)
		require.EqualValues(t, -1, r.LeaderEpoch)
	}
	res := scan(pass.Options{}, batchtest.Log{batchtest.MessageV1(4, 4).Flip(-1)})
	_, err = decode(&pass.Decoder{}, res)
	require.ErrorIs(t, err, batchdecode.ErrCorrupt, "its CRC is checked when it is decoded")
}

// An append to a key or value must not reach what lies behind it.
func TestDecodeSlicesHaveNoSpareCapacity(t *testing.T) {
	for _, c := range batchtest.Codecs() {
		b := batchtest.Data(0, 3).Codec(c).Each(func(r batchtest.Record) batchtest.Record {
			r.Headers = []kmsg.Header{{Key: "h", Value: []byte("x")}}
			return r
		})
		got, err := decode(&pass.Decoder{}, scan(pass.Options{}, batchtest.Log{b}))
		require.NoError(t, err)
		for _, r := range got {
			require.Equal(t, len(r.Key), cap(r.Key))
			require.Equal(t, len(r.Value), cap(r.Value))
			require.Equal(t, len(r.Headers[0].Value), cap(r.Headers[0].Value))
		}
	}
}
