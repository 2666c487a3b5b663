package model_test

import (
	"cmp"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/internal/batchtest"
)

// history draws a small log: producers whose transactions overlap, commit,
// abort, stay open or have no data, with plain batches between.
func history(t *rapid.T) *model.Log {
	var log batchtest.Log
	next := int64(0)
	epoch, open := map[int64]int16{}, map[int64]bool{}
	bump := rapid.Bool().Draw(t, "markers have the next epoch")
	for range rapid.IntRange(1, 14).Draw(t, "steps") {
		id := int64(rapid.IntRange(7, 9).Draw(t, "producer"))
		last := next + int64(rapid.IntRange(0, 2).Draw(t, "more records"))
		b := batchtest.Data(next, last).Codec(rapid.SampledFrom([]batchtest.Codec{batchtest.None, batchtest.LZ4}).Draw(t, "codec"))
		switch rapid.IntRange(0, 5).Draw(t, "step") {
		case 0:
			log = append(log, b)
		case 1:
			log = append(log, b.Idempotent(id).Epoch(epoch[id]))
		case 2, 3:
			open[id] = true
			log = append(log, b.Txn(id).Epoch(epoch[id]))
		default:
			if bump {
				epoch[id]++
			}
			kind := rapid.SampledFrom([]int16{batchtest.TypeAbort, batchtest.TypeCommit}).Draw(t, "type")
			last = next
			open[id] = false
			log = append(log, batchtest.Marker(next, id, kind, 0).Epoch(epoch[id]))
		}
		next = last + 1
	}
	batches, tail, problem := model.Parse(log.Bytes())
	require.Nil(t, problem)
	require.Zero(t, tail)
	return model.NewLog(partition, 0, next, batches)
}

// honestly is what a right broker answers, with the freedom that it has: how
// much it returns, and how much more than needed it lists.
func honestly(t *rapid.T, l *model.Log, from int64, isolation int8) *model.View {
	v := &model.View{
		Partition: partition, Isolation: isolation, Version: 17, FetchOffset: from, Quiet: true,
		LogStartOffset: l.Start, LastStableOffset: l.LSO(), HighW: l.End,
	}
	bound := l.End
	if isolation == model.ReadCommitted {
		bound = l.LSO()
		for _, r := range l.Runs {
			if r.Fate == model.Open {
				v.Open = append(v.Open, model.Pinned{ProducerID: r.ProducerID, First: r.First})
			}
		}
	}
	for i := l.At(from); i < len(l.Batches) && l.Batches[i].Last < bound; i++ {
		v.Batches = append(v.Batches, l.Batches[i])
	}
	v.Batches = v.Batches[:rapid.IntRange(0, len(v.Batches)).Draw(t, "batches")]
	if isolation == model.ReadUncommitted {
		v.ListNull = true
		return v
	}
	upTo := max(v.End(), int64(rapid.IntRange(0, int(l.End)).Draw(t, "listed up to")))
	var list []model.Run
	for _, r := range l.Runs {
		if r.Fate == model.Aborted && r.Marker >= from && r.First < upTo {
			list = append(list, r)
		}
	}
	if rapid.Bool().Draw(t, "in order of markers") {
		slices.SortFunc(list, func(a, b model.Run) int { return cmp.Compare(a.Marker, b.Marker) })
	}
	for _, r := range list {
		v.List = append(v.List, model.Entry{ProducerID: r.ProducerID, FirstOffset: r.First})
	}
	v.ListNull = len(list) == 0 && rapid.Bool().Draw(t, "null")
	return v
}

// trimmed is the log after the records below an offset were deleted.
func trimmed(l *model.Log, start int64) *model.Log {
	return model.NewLog(partition, start, l.End, l.Batches[l.At(start):])
}

func TestNothingIsHeldAgainstAnHonestBroker(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := history(t)
		require.Empty(t, model.U9(l), "%s", l)
		after := trimmed(l, int64(rapid.IntRange(0, int(l.End)).Draw(t, "log start")))
		for from := range l.End + 1 {
			for _, isolation := range []int8{model.ReadUncommitted, model.ReadCommitted} {
				v := honestly(t, l, from, isolation)
				require.Empty(t, judged(v, l), "fetch at %d of %s: %s", from, l, explain(v, l))
				if from < after.Start {
					continue
				}
				v.LogStartOffset, v.LastStableOffset = after.Start, after.LSO()
				require.Empty(t, judged(v, after), "fetch at %d of %s, from %d on: %s", from, l, after.Start, explain(v, after))
			}
		}
	})
}

// damages are single faults of an answer at read_committed. Each reports
// whether the answer had what it takes.
var damages = []struct {
	name string
	want []string // one of these has to be seen
	do   func(*rapid.T, *model.View, *model.Log) bool
}{
	{"a needed entry is missing", []string{"U3"}, func(t *rapid.T, v *model.View, l *model.Log) bool {
		i, ok := oneOf(t, v.List, func(e model.Entry) bool { return needed(e, v, l) })
		if ok {
			v.List = slices.Delete(v.List, i, i+1)
		}
		return ok
	}},
	{"an entry twice", []string{"U5"}, func(t *rapid.T, v *model.View, _ *model.Log) bool {
		i, ok := oneOf(t, v.List, func(model.Entry) bool { return true })
		if ok {
			v.List = append(v.List, v.List[i])
		}
		return ok
	}},
	{"an entry of a transaction that has ended", []string{"U4"}, func(t *rapid.T, v *model.View, l *model.Log) bool {
		i, ok := oneOf(t, l.Runs, func(r model.Run) bool { return r.Fate == model.Aborted && r.Marker < v.FetchOffset })
		return ok && list(v, l.Runs[i].ProducerID, l.Runs[i].First)
	}},
	{"an entry of a committed transaction", []string{"U4"}, func(t *rapid.T, v *model.View, l *model.Log) bool {
		i, ok := oneOf(t, l.Runs, func(r model.Run) bool { return r.Fate == model.Committed })
		return ok && list(v, l.Runs[i].ProducerID, l.Runs[i].First)
	}},
	{"an entry of an open transaction", []string{"U4"}, func(t *rapid.T, v *model.View, l *model.Log) bool {
		i, ok := oneOf(t, l.Runs, func(r model.Run) bool { return r.Fate == model.Open })
		return ok && list(v, l.Runs[i].ProducerID, l.Runs[i].First)
	}},
	{"an entry of nobody", []string{"U4"}, func(t *rapid.T, v *model.View, l *model.Log) bool {
		return list(v, 6, int64(rapid.IntRange(0, int(l.End)-1).Draw(t, "first")))
	}},
	{"an entry shifted", []string{"U4"}, func(t *rapid.T, v *model.View, l *model.Log) bool {
		i, ok := oneOf(t, v.List, func(model.Entry) bool { return true })
		if ok {
			v.List[i].FirstOffset += rapid.SampledFrom([]int64{-1, 1}).Draw(t, "by")
		}
		return ok && v.List[i].FirstOffset < l.End
	}},
	{"a committed batch left out", []string{"U13"}, func(t *rapid.T, v *model.View, l *model.Log) bool {
		i, ok := oneOf(t, v.Batches, func(b model.Batch) bool {
			at, _ := l.Find(b.Base)
			return (l.Fate(at) == model.Committed || l.Fate(at) == model.Plain) && b.Last+1 < v.End() && b.Last >= v.FetchOffset
		})
		if ok {
			v.Batches = slices.Delete(v.Batches, i, i+1)
		}
		return ok
	}},
	{"a batch twice", []string{"U7"}, func(t *rapid.T, v *model.View, _ *model.Log) bool {
		i, ok := oneOf(t, v.Batches, func(model.Batch) bool { return true })
		if ok {
			v.Batches = slices.Insert(v.Batches, i, v.Batches[i])
		}
		return ok
	}},
	{"two batches changed places", []string{"U7"}, func(t *rapid.T, v *model.View, _ *model.Log) bool {
		if len(v.Batches) < 2 {
			return false
		}
		i := rapid.IntRange(1, len(v.Batches)-1).Draw(t, "which")
		v.Batches[i-1], v.Batches[i] = v.Batches[i], v.Batches[i-1]
		return true
	}},
	{"a batch beyond the last stable offset", []string{"U2"}, func(_ *rapid.T, v *model.View, l *model.Log) bool {
		at := l.At(v.LastStableOffset)
		if at == len(l.Batches) || v.FetchOffset > v.LastStableOffset {
			return false
		}
		v.Batches = append(v.Batches, l.Batches[at])
		return true
	}},
	{"a commit for an abort, or the other way round", []string{"U11"}, func(t *rapid.T, v *model.View, _ *model.Log) bool {
		return rewrite(t, v, func(b model.Batch) bool { return b.Kind == model.CommitMarker || b.Kind == model.AbortMarker }, func(b *model.Batch) {
			entry := batchtest.Commit(b.Base, b.ProducerID)
			if b.Kind == model.CommitMarker {
				entry = batchtest.Abort(b.Base, b.ProducerID)
			}
			b.Raw = entry.Epoch(b.Epoch).Bytes()
		})
	}},
	{"a byte of a record", []string{"U7", "U11", "U11 warning"}, func(t *rapid.T, v *model.View, _ *model.Log) bool {
		return rewrite(t, v, func(b model.Batch) bool { return !b.Control() }, func(b *model.Batch) {
			b.Raw[rapid.IntRange(61, len(b.Raw)-1).Draw(t, "byte")] ^= 0x20
			if rapid.Bool().Draw(t, "under a right CRC") {
				model.Seal(b.Raw)
			}
		})
	}},
	{"a byte of the header", []string{"U7"}, func(t *rapid.T, v *model.View, _ *model.Log) bool {
		return rewrite(t, v, func(model.Batch) bool { return true }, func(b *model.Batch) {
			b.Raw[rapid.IntRange(17, 60).Draw(t, "byte")] ^= 1
		})
	}},
	{"another producer", []string{"U11"}, func(t *rapid.T, v *model.View, _ *model.Log) bool {
		return rewrite(t, v, func(model.Batch) bool { return true }, func(b *model.Batch) {
			binary.BigEndian.PutUint64(b.Raw[43:], uint64(b.ProducerID+1))
			model.Seal(b.Raw)
		})
	}},
	{"a last stable offset above the high watermark", []string{"U1"}, func(_ *rapid.T, v *model.View, _ *model.Log) bool {
		v.LastStableOffset = v.HighW + 1
		return true
	}},
	{"a last stable offset too high", []string{"U2b"}, func(_ *rapid.T, v *model.View, _ *model.Log) bool {
		v.LastStableOffset++
		return len(v.Open) > 0
	}},
	{"the high watermark for the last stable offset", []string{"U2b"}, func(_ *rapid.T, v *model.View, _ *model.Log) bool {
		v.LastStableOffset = v.HighW
		return len(v.Open) > 0
	}},
	{"a last stable offset below the log start", []string{"U1"}, func(_ *rapid.T, v *model.View, _ *model.Log) bool {
		v.LastStableOffset, v.Batches = v.LogStartOffset-1, nil
		return true
	}},
	{"a list at read_uncommitted", []string{"U6"}, func(_ *rapid.T, v *model.View, _ *model.Log) bool {
		v.Isolation = model.ReadUncommitted
		return len(v.List) > 0
	}},
}

func TestEachDamageOfAnAnswerIsSeen(t *testing.T) {
	for _, d := range damages {
		t.Run(d.name, func(t *testing.T) {
			seen := 0
			rapid.Check(t, func(t *rapid.T) {
				l := history(t)
				v := honestly(t, l, int64(rapid.IntRange(0, int(l.End)).Draw(t, "fetch offset")), model.ReadCommitted)
				if !d.do(t, v, l) {
					return // most logs have something to damage; see below
				}
				seen++
				got := judged(v, l)
				for _, name := range got {
					if slices.Contains(d.want, name) {
						return
					}
				}
				t.Fatalf("want one of %v, got %v: fetch at %d of %s, list %s", d.want, got, v.FetchOffset, l, model.ListString(v.List))
			})
			require.NotZero(t, seen)
		})
	}
}

func needed(e model.Entry, v *model.View, l *model.Log) bool {
	if len(v.Batches) == 0 {
		return false
	}
	return slices.Contains(l.Needed(v.FetchOffset, v.End()), e)
}

// list adds an entry that is not there yet.
func list(v *model.View, producerID, first int64) bool {
	e := model.Entry{ProducerID: producerID, FirstOffset: first}
	if slices.Contains(v.List, e) {
		return false
	}
	v.List, v.ListNull = append(v.List, e), false
	return true
}

// rewrite changes the bytes of one batch and reads it anew.
func rewrite(t *rapid.T, v *model.View, which func(model.Batch) bool, change func(*model.Batch)) bool {
	i, ok := oneOf(t, v.Batches, which)
	if !ok {
		return false
	}
	changed := v.Batches[i]
	changed.Raw = slices.Clone(changed.Raw)
	change(&changed)
	again, tail, problem := model.Parse(changed.Raw)
	if problem != nil || tail > 0 {
		v.Problem = &model.FormatError{Offset: changed.Base, What: "does not parse"}
		v.Batches = v.Batches[:i]
		return true
	}
	v.Batches[i] = again[0]
	return true
}

func oneOf[T any](t *rapid.T, from []T, which func(T) bool) (int, bool) {
	var fit []int
	for i, x := range from {
		if which(x) {
			fit = append(fit, i)
		}
	}
	if len(fit) == 0 {
		return 0, false
	}
	return rapid.SampledFrom(fit).Draw(t, "which"), true
}
