package mutant

import (
	"cmp"
	"slices"

	"example.com/readcommitted/conformance/internal/model"
)

// storageCleaned are damages of logs that were compacted. They show once a
// partition was.
var storageCleaned = []Mutant{
	{
		Number: 30, Name: "compaction keeps an aborted value and takes the committed one before it", Kills: []string{"S-03"},
		Make: func() Damage { return onCleaned(takeBeforeAborted) },
	},
	{
		Number: 242, Name: "compaction passes an open transaction", Kills: []string{"S-10"},
		Make: func() Damage { return onCleaned(passOpen) },
	},
	{
		Number: 248, Name: "compaction forgets which transactions were aborted", Kills: []string{"S-03"},
		Make: func() Damage {
			return onCleaned(func(f fetched, _ []model.Batch, l *model.Log) {
				if f.committed {
					f.restoreAborted(l)
					f.AbortedTransactions = nil
				}
			})
		},
	},
	{
		Number: 249, Name: "compaction takes abort markers before the records", Kills: []string{"S-04"},
		Make: func() Damage { return onCleaned(takeMarkers) },
	},
}

// onCleaned is a damage of partitions in which records are missing that were
// there before. It is given the log as it was.
func onCleaned(damage func(fetched, []model.Batch, *model.Log)) Damage {
	seen, cleaned := memory{}, map[model.Partition]bool{}
	return onFetch(func(f fetched) {
		batches := f.batches()
		cleaned[f.partition] = cleaned[f.partition] || seen.lacks(f, batches)
		seen.learn(f.partition, batches)
		if cleaned[f.partition] && len(batches) > 0 {
			damage(f, batches, seen.log(f.partition))
		}
	})
}

// lacks reports whether an answer has less than was there before.
func (m memory) lacks(f fetched, batches []model.Batch) bool {
	at := m[f.partition]
	if at == nil || len(batches) == 0 {
		return false
	}
	there := map[int64]int32{} // records by base offset
	for _, b := range batches {
		there[b.Base] = b.Count
	}
	end := batches[len(batches)-1].Last
	return slices.ContainsFunc(at.batches, func(b model.Batch) bool {
		return f.fetchOffset <= b.Base && b.Last <= end && there[b.Base] < b.Count
	})
}

// takeBeforeAborted takes committed batches all of whose keys were changed by
// an aborted transaction after them.
func takeBeforeAborted(f fetched, batches []model.Batch, l *model.Log) {
	aborted := map[string]int64{} // the newest offset by key
	for i := range l.Batches {
		if l.Fate(i) == model.Aborted {
			records, _ := l.Batches[i].Records()
			for _, r := range records {
				aborted[string(r.Key)] = r.Offset
			}
		}
	}
	f.put(slices.DeleteFunc(batches, func(b model.Batch) bool {
		at, ok := l.Find(b.Base)
		records, _ := b.Records()
		return ok && l.Fate(at) == model.Committed && len(records) > 0 && !slices.ContainsFunc(records, func(r model.Record) bool {
			return aborted[string(r.Key)] < r.Offset
		})
	}))
}

// passOpen takes the first committed batch above the last stable offset.
func passOpen(f fetched, batches []model.Batch, l *model.Log) {
	lso := l.LSO()
	at := slices.IndexFunc(batches, func(b model.Batch) bool {
		i, ok := l.Find(b.Base)
		return ok && b.Base >= lso && l.Fate(i) == model.Committed
	})
	if at >= 0 {
		f.put(slices.Delete(batches, at, at+1))
	}
}

// restoreAborted puts back what compaction took of aborted transactions, and
// returns the transactions of which that was something.
func (f fetched) restoreAborted(l *model.Log) (restored []*model.Run) {
	batches := f.batches()
	end := batches[len(batches)-1].Last
	for i := l.At(f.fetchOffset); i < len(l.Batches) && l.Batches[i].Base <= end; i++ {
		if l.Fate(i) != model.Aborted {
			continue
		}
		was := l.Batches[i]
		k, there := slices.BinarySearchFunc(batches, was.Base, func(x model.Batch, base int64) int { return cmp.Compare(x.Base, base) })
		switch {
		case !there:
			batches = slices.Insert(batches, k, was)
		case batches[k].Count < was.Count:
			batches[k] = was
		default:
			continue
		}
		restored = append(restored, l.Run(i))
	}
	f.put(batches)
	return restored
}

// takeMarkers puts aborted records back, and takes the markers behind them, at
// read_uncommitted.
func takeMarkers(f fetched, _ []model.Batch, l *model.Log) {
	if f.committed {
		return
	}
	gone := map[int64]bool{}
	for _, r := range f.restoreAborted(l) {
		gone[r.Marker] = true
	}
	f.replace(func(b model.Batch) bool { return b.Control() && gone[b.Base] }, emptied)
}
