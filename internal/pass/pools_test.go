package pass_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/internal/pass"
)

// recordPool lends slices of records, and knows how many are out.
type recordPool struct{ lent, back int }

func (p *recordPool) GetRecords(n int) []kgo.Record { p.lent++; return make([]kgo.Record, n) }
func (p *recordPool) PutRecords([]kgo.Record)       { p.back++ }

// bytesPool is given decompressed bytes when their records are recycled.
type bytesPool struct {
	recordPool
	put int
}

func (*bytesPool) GetDecompressBytes([]byte, kgo.CompressionCodecType) []byte { return nil }
func (p *bytesPool) PutDecompressBytes([]byte)                                { p.put++ }

func TestPoolsGiveTheSameRecords(t *testing.T) {
	l := batchtest.Log{
		batchtest.Data(0, 2).Codec(batchtest.Snappy), batchtest.Data(3, 4).Txn(7), batchtest.Abort(5, 7),
		batchtest.Data(6, 9).Txn(7).LogAppendTime(1234).Keep(6, 8), batchtest.Commit(10, 7),
	}
	for _, control := range []bool{false, true} {
		res := scan(pass.Options{Offset: 1, KeepControl: control}, l, 7, 3)
		want, err := decode(&pass.Decoder{Topic: "t", Partition: 2}, res)
		require.NoError(t, err)
		got, err := decode(&pass.Decoder{Topic: "t", Partition: 2, Pools: []kgo.Pool{&recordPool{}}}, res)
		require.NoError(t, err)
		for _, r := range got {
			r.Context = nil // leads back to the pool
		}
		require.Equal(t, want, got)
	}
}

// Of each kept batch the last Recycle gives everything back, and nothing is
// lent for dropped batches.
func TestPoolsGetBackWhatTheyLent(t *testing.T) {
	l := batchtest.Log{
		batchtest.Data(0, 2).Codec(batchtest.LZ4), batchtest.Data(3, 4).Txn(7).Codec(batchtest.LZ4), batchtest.Abort(5, 7),
		batchtest.Data(6, 6),
	}
	p := &bytesPool{}
	got, err := decode(&pass.Decoder{Pools: []kgo.Pool{p}}, scan(pass.Options{Offset: 1}, l, 7, 3))
	require.NoError(t, err)
	require.Equal(t, []int64{1, 2, 6}, offsets(got))
	require.Equal(t, 2, p.lent)

	got[0].Recycle()
	require.Zero(t, p.back, "one record of the batch is still in use")
	got[1].Recycle()
	require.Equal(t, 1, p.back)
	require.Equal(t, 1, p.put)
	got[2].Recycle()
	require.Equal(t, 2, p.back)
	require.Equal(t, 1, p.put, "the last batch was not compressed")
}

func TestPoolsLendNothingToDamage(t *testing.T) {
	for name, bad := range map[string]batchtest.Batch{
		"count":   batchtest.Data(0, 3).ClaimCount(5),
		"record":  batchtest.Data(0, 3).Spoil(batchtest.FaultLength, 3),
		"payload": batchtest.Data(0, 3).Codec(batchtest.Gzip).Payload([]byte("no gzip")),
	} {
		t.Run(name, func(t *testing.T) {
			p := &recordPool{}
			_, err := decode(&pass.Decoder{Pools: []kgo.Pool{p}}, scan(pass.Options{}, batchtest.Log{bad}))
			require.Error(t, err)
			require.Zero(t, p.lent)
		})
	}
}

// Without pools a record can be recycled all the same.
func TestRecycleWithoutPoolsDoesNothing(t *testing.T) {
	got, err := decode(&pass.Decoder{Topic: "t"}, scan(pass.Options{}, batchtest.Log{batchtest.Data(0, 1)}))
	require.NoError(t, err)
	before := *got[0]
	got[0].Recycle()
	require.Equal(t, before, *got[0])
}
