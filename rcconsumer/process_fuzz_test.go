package rcconsumer_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/batchdecode"
	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/rcconsumer"
)

// Flags of FuzzProcessFetchPartition.
const (
	fuzzUncommitted = 1 << iota
	fuzzControl
	fuzzFixCRC
)

// FuzzProcessFetchPartition reads whole responses and compares with
// kgo.ProcessFetchPartition, apart from the differences that are listed by name.
// With instructions the response is built by them, otherwise records and list
// are taken as they are.
func FuzzProcessFetchPartition(f *testing.F) {
	for i, s := range loadScenarios(f) {
		if len(s.Records) > 4_000 {
			continue // slow to mutate, and nothing else in them
		}
		for _, flags := range []uint8{0, uint8(i) % (fuzzFixCRC << 1)} {
			f.Add(flags, uint16(min(s.Fetch, 1<<16-1)), []byte(nil), listBytes(s.Aborted), s.Records)
		}
	}
	f.Add(uint8(0), uint16(0), bytes.Repeat([]byte{1, 0, 2, 0, 9, 4, 7, 3}, 12), []byte(nil), []byte(nil))
	f.Add(uint8(0), uint16(3), bytes.Repeat([]byte{0, 1, 1, 3, 15, 7, 6, 0, 2, 15}, 12), []byte(nil), []byte(nil))
	f.Fuzz(func(t *testing.T, flags uint8, fetch uint16, instructions, list, records []byte) {
		var rp *kmsg.FetchResponseTopicPartition
		if len(instructions) > 0 {
			rp = (&script{instructions}).response()
		} else {
			if flags&fuzzFixCRC != 0 {
				records = fixedCRCs(records)
			}
			rp = batchtest.Log{batchtest.Raw(bytes.Clone(records))}.Partition(listOf(list))
		}
		o := rcconsumer.PassOptions{
			Topic: "t", Offset: int64(fetch), MaxDecompressBatchBytes: fuzzLimit,
			ReadUncommitted: flags&fuzzUncommitted != 0, KeepControlRecords: flags&fuzzControl != 0,
		}
		requireBounded(t, o, rp)
		requirePass(t, o, rp)
	})
}

// requirePass reads a response with both and checks everything. It overwrites
// the response.
func requirePass(t *testing.T, o rcconsumer.PassOptions, rp *kmsg.FetchResponseTopicPartition) {
	t.Helper()
	w := readBoth(o, rp)
	requireOwnRules(t, w)
	requireAgreement(t, w)
	requireAliases(t, rp, w.ours.fp.Records)
}

// TestProcessFetchPartitionAgreesWithKgoOnRandomLogs is the same without a
// fuzzing engine: logs of some batches, most without a fault.
func TestProcessFetchPartitionAgreesWithKgoOnRandomLogs(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	randomLogs := 3_000
	if raceDetector {
		randomLogs = 200 // ten times as slow, and there is no concurrency to check
	}
	same, different := 0, 0
	for range randomLogs {
		instructions := make([]byte, random.IntN(120))
		for i := range instructions {
			instructions[i] = byte(random.Uint32())
		}
		o := rcconsumer.PassOptions{
			Topic: "t", Offset: int64(random.IntN(12) * random.IntN(2)), MaxDecompressBatchBytes: fuzzLimit,
			ReadUncommitted: random.IntN(4) == 0, KeepControlRecords: random.IntN(4) == 0,
		}
		rp := (&script{bytes.Clone(instructions)}).response()
		if len(readBoth(o, rp).allowed()) == 0 {
			same++
		} else {
			different++
		}
		if !t.Run("", func(t *testing.T) { requirePass(t, o, rp) }) {
			require.FailNow(t, "see above", "instructions %v, options %+v", instructions, o)
		}
	}
	require.Greater(t, same, randomLogs/3, "most are compared in full; not so %d", different)
}

// requireBounded reads once and holds what was allocated against the bytes
// present: all that a batch may decompress to, in records of the least size.
func requireBounded(t *testing.T, o rcconsumer.PassOptions, rp *kmsg.FetchResponseTopicPartition) {
	t.Helper()
	const once = 64 << 20                                 // decompressors, made by the first call
	const perBatch = fuzzLimit/7*200 + 4*fuzzLimit + 1000 // decompressed, and as records
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	rcconsumer.ProcessFetchPartition(o, rp)
	runtime.ReadMemStats(&after)
	size := len(rp.RecordBatches)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(once+(size/26+1)*perBatch+200*size))
}

// requireOwnRules checks what holds whatever kgo says.
func requireOwnRules(t *testing.T, w *twins) {
	t.Helper()
	fp, next := w.ours.fp, w.ours.next
	require.GreaterOrEqual(t, next, w.o.Offset, "the fetch offset never goes back")
	if fp.Err == nil && len(w.batches) > 0 {
		require.Equal(t, max(w.o.Offset, w.batches[len(w.batches)-1].LastOffset()+1), next)
	}
	last := w.o.Offset - 1
	for _, r := range fp.Records {
		require.True(t, r.Offset > last, "offsets increase from the fetch offset on")
		last = r.Offset
		require.True(t, w.o.KeepControlRecords || !r.Attrs.IsControl())
	}
	require.Greater(t, next, last, "nothing comes again")
	if fp.Err == nil {
		return
	}
	require.NotErrorIs(t, fp.Err, batchdecode.ErrTruncated)
	require.True(t, errors.Is(fp.Err, batchdecode.ErrCorrupt) || errors.Is(fp.Err, batchdecode.ErrUnsupported) ||
		errors.Is(fp.Err, batchdecode.ErrTooLarge), "%v has no class", fp.Err)
	var e *rcconsumer.BatchError
	require.ErrorAs(t, fp.Err, &e)
}

// requireAliases overwrites the input: keys and values of batches that are not
// compressed change with it, and nothing else does.
func requireAliases(t *testing.T, rp *kmsg.FetchResponseTopicPartition, records []*kgo.Record) {
	t.Helper()
	want := make([]kgo.Record, len(records))
	for i, r := range records {
		aliased := r.Attrs.CompressionType() == 0
		want[i] = *r
		want[i].Key, want[i].Value = afterOverwrite(r.Key, aliased), afterOverwrite(r.Value, aliased)
		want[i].Headers = nil
		for _, h := range r.Headers {
			want[i].Headers = append(want[i].Headers, kgo.RecordHeader{Key: string([]byte(h.Key)), Value: afterOverwrite(h.Value, aliased)})
		}
	}
	for i := range rp.RecordBatches {
		rp.RecordBatches[i] ^= 0xff
	}
	clear(rp.AbortedTransactions)
	for i, r := range records {
		require.Equal(t, want[i], *r)
	}
}

func afterOverwrite(b []byte, aliased bool) []byte {
	out := bytes.Clone(b)
	if aliased {
		for i := range out {
			out[i] ^= 0xff
		}
	}
	return out
}
