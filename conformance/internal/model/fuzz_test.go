package model_test

import (
	"math"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/internal/batchtest"
)

// FuzzAnswer reads any bytes as an answer, and judges what could be read. What
// is allocated has to be in proportion to the bytes, but for decompression,
// which has a bound of its own.
func FuzzAnswer(f *testing.F) {
	scenarios, err := batchtest.Load(os.DirFS("../../../testdata/scenarios"))
	require.NoError(f, err)
	for _, s := range scenarios {
		f.Add(s.Records)
	}
	f.Add(batchtest.Data(0, 0).ClaimLastOffsetDelta(math.MaxInt32 - 1).ClaimCount(math.MaxInt32).Bytes())
	f.Add(batchtest.Data(0, 0).Codec(batchtest.Zstd).ClaimLastOffsetDelta(math.MaxInt32 - 1).ClaimCount(math.MaxInt32).Bytes())
	f.Add(atTheLastOffset().Bytes())
	f.Fuzz(func(t *testing.T, raw []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		batches, tail, problem := model.Parse(raw)
		runtime.ReadMemStats(&after)
		require.LessOrEqual(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<10+100*len(raw)), "bytes allocated by Parse")
		read := tail
		for i := range batches {
			read += len(batches[i].Raw)
		}
		require.LessOrEqual(t, read, len(raw))
		require.Equal(t, problem == nil, read == len(raw))
		for i := range batches {
			readRecords(t, &batches[i])
		}
		judgeAny(batches)
	})
}

func readRecords(t *testing.T, b *model.Batch) {
	records, err := b.Records()
	last := b.Base - 1
	for _, r := range records {
		require.Greater(t, r.Offset, last)
		require.LessOrEqual(t, r.Offset, b.Last)
		last = r.Offset
	}
	if err == nil {
		require.Len(t, records, int(b.Count))
	}
	offsets, _ := b.Offsets()
	require.LessOrEqual(t, len(offsets), int(b.Count))
}

// judgeAny must not panic, whatever the log is.
func judgeAny(batches []model.Batch) {
	if len(batches) == 0 {
		return
	}
	end := batches[len(batches)-1].Last + 1
	l := model.NewLog(partition, batches[0].Base, end, batches)
	v := &model.View{
		Partition: partition, Isolation: model.ReadCommitted, Version: 17, FetchOffset: batches[0].Base, Quiet: true,
		LastStableOffset: end, HighW: end, Batches: batches, List: []model.Entry{{ProducerID: batches[0].ProducerID, FirstOffset: batches[0].Base}},
	}
	judged(v, l)
	model.U9(l)
	_ = l.String()
}

func TestEveryScenarioFileCanBeRead(t *testing.T) {
	scenarios, err := batchtest.Load(os.DirFS("../../../testdata/scenarios"))
	require.NoError(t, err)
	for _, s := range scenarios {
		t.Run(s.Name, func(t *testing.T) {
			batches, _, _ := model.Parse(s.Records)
			for i := range batches {
				readRecords(t, &batches[i])
			}
			judgeAny(batches)
		})
	}
}
