package mutant

import (
	"bytes"
	"maps"
	"slices"

	"example.com/readcommitted/conformance/internal/model"
)

// logs is what a damage has seen of each partition's log: only with what came
// before can it tell which transaction a batch belongs to.
type logs map[model.Partition]map[int64]model.Batch

// see takes over an answer's batches and returns the log as far as it is known.
func (s logs) see(f fetched) *model.Log {
	known := s[f.partition]
	if known == nil {
		known = map[int64]model.Batch{}
		s[f.partition] = known
	}
	for _, b := range f.batches() {
		b.Raw = bytes.Clone(b.Raw)
		known[b.Base] = b
	}
	var batches []model.Batch
	for _, base := range slices.Sorted(maps.Keys(known)) {
		batches = append(batches, known[base])
	}
	return model.NewLog(f.partition, 0, f.HighWatermark, batches)
}

// onFetchWithLog is onFetch for damages that need the log.
func onFetchWithLog(damage func(fetched, *model.Log)) Damage {
	seen := logs{}
	return onFetch(func(f fetched) { damage(f, seen.see(f)) })
}

// unmarked is a cluster in whose odd partition markers of some kinds are
// missing, so that the transactions stay open there. Their offsets are taken by
// control batches that say nothing.
func unmarked(kinds ...model.Kind) Damage {
	missing := func(b model.Batch) bool { return slices.Contains(kinds, b.Kind) }
	return onFetchWithLog(func(f fetched, l *model.Log) {
		if f.partition.Index != oddPartition {
			return
		}
		left := slices.Clone(l.Batches)
		for i := range left {
			if missing(left[i]) {
				left[i].Kind = model.EmptyControl
			}
		}
		open := model.NewLog(l.Partition, 0, l.End, left).LSO()
		f.LastStableOffset = min(f.LastStableOffset, open)
		f.replace(missing, emptied)
		if f.committed {
			f.without(func(b model.Batch) bool { return b.Last >= open })
		}
	})
}

// turnedWhere is a cluster in which some markers, chosen by where they stand in
// the log, are of the other type, and the lists go with them.
func turnedWhere(which func(l *model.Log, marker int) bool) Damage {
	return onFetchWithLog(func(f fetched, l *model.Log) {
		f.replace(isMarker, func(b model.Batch) []byte {
			if i, ok := l.Find(b.Base); ok && which(l, i) {
				return turned(b)
			}
			return b.Raw
		})
		if f.committed {
			f.relist(l, which)
		}
	})
}

// relist puts into the list what the turned markers aborted, and takes out what
// they committed.
func (f fetched) relist(l *model.Log, which func(l *model.Log, marker int) bool) {
	for _, r := range l.Runs {
		i, ok := l.Find(r.Marker)
		if !ok || r.Marker < f.fetchOffset || !which(l, i) {
			continue
		}
		entry := newEntry(r)
		f.AbortedTransactions = slices.DeleteFunc(f.AbortedTransactions, func(e abortedTransaction) bool {
			return e.ProducerID == r.ProducerID && e.FirstOffset == r.First
		})
		if r.Fate == model.Committed {
			f.AbortedTransactions = append(f.AbortedTransactions, entry)
		}
	}
}
