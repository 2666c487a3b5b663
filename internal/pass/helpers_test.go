package pass_test

import (
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/internal/pass"
)

func scenarios(t testing.TB) []batchtest.Scenario {
	t.Helper()
	all, err := batchtest.Load(os.DirFS("../../testdata/scenarios"))
	require.NoError(t, err)
	require.NotEmpty(t, all)
	return all
}

// scan is one scan of a log by a new scanner.
func scan(o pass.Options, l batchtest.Log, list ...int64) pass.Result {
	var s pass.Scanner
	return s.Scan(o, l.Bytes(), batchtest.Aborted(list...))
}

// bases are the base offsets of the kept batches.
func bases(res pass.Result) []int64 {
	var out []int64
	for _, k := range res.Kept {
		out = append(out, k.Batch.BaseOffset())
	}
	return out
}

// decode decodes all kept batches of a scan up to the first damaged one.
func decode(d *pass.Decoder, res pass.Result) ([]*kgo.Record, error) {
	var out []*kgo.Record
	for _, k := range res.Kept {
		var err error
		if out, err = d.Append(out, k); err != nil {
			return out, err
		}
	}
	return out, res.Err
}

func offsets(records []*kgo.Record) []int64 {
	var out []int64
	for _, r := range records {
		out = append(out, r.Offset)
	}
	return out
}

// allocated runs f and returns the bytes that were allocated meanwhile.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
