package mutant

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// lists are damages of abortedTransactions that look at one answer only; those
// that know the log, or the time, follow in others.
var lists = slices.Concat([]Mutant{
	{
		Number: 1, Name: "no list", Kills: []string{"A-01", "A-02"},
		Make: func() Damage { return onCommitted(func(f fetched) { f.AbortedTransactions = nil }) },
	},
	{
		Number: 2, Name: "the list's first entry missing", Kills: []string{"A-01", "A-03", "A-04"},
		Make: func() Damage {
			return onEntries(func(list []listedEntry) []listedEntry { return list[1:] })
		},
	},
	{
		Number: 4, Name: "an entry twice", Kills: []string{"A-01", "A-02", "A-05"},
		Make: func() Damage {
			return onEntries(func(list []listedEntry) []listedEntry { return append(list, list[len(list)-1]) })
		},
	},
	{
		Number: 5, Name: "the list in reverse order", Kills: []string{"A-05"},
		Make: func() Damage {
			return onEntries(func(list []listedEntry) []listedEntry {
				slices.Reverse(list)
				return list
			})
		},
	},
	{
		Number: 6, Name: "first offsets one too high", Kills: []string{"A-01", "A-03", "A-07"},
		Make: func() Damage { return shifted(+1) },
	},
	{
		Number: 22, Name: "no list beside more than 64 batches", Kills: []string{"A-04", "A-07"},
		Make: func() Damage {
			return onCommitted(func(f fetched) {
				if len(f.batches()) > 64 {
					f.AbortedTransactions = nil
				}
			})
		},
	},
	{
		Number: 141, Name: "the list's last entry missing", Kills: []string{"A-01", "A-03", "A-04"},
		Make: func() Damage {
			return onEntries(func(list []listedEntry) []listedEntry { return list[:len(list)-1] })
		},
	},
	{
		Number: 142, Name: "first offsets one too low", Kills: []string{"A-01", "A-03"},
		Make: func() Damage { return shifted(-1) },
	},
	{
		Number: 143, Name: "one entry of each producer", Kills: []string{"A-03", "A-07"},
		Make: func() Damage {
			return onEntries(func(list []listedEntry) []listedEntry {
				seen := map[int64]bool{}
				return slices.DeleteFunc(list, func(e listedEntry) bool {
					again := seen[e.ProducerID]
					seen[e.ProducerID] = true
					return again
				})
			})
		},
	},
	{
		Number: 144, Name: "a list of at most 300 entries", Kills: []string{"A-07"},
		Make: func() Damage {
			return onEntries(func(list []listedEntry) []listedEntry { return list[:min(len(list), 300)] })
		},
	},
	{
		Number: 145, Name: "only transactions that begin in the answer are listed", Kills: []string{"A-08"},
		Make: func() Damage {
			return onCommitted(func(f fetched) {
				batches := f.batches()
				f.AbortedTransactions = slices.DeleteFunc(f.AbortedTransactions, func(e listedEntry) bool {
					return len(batches) == 0 || e.FirstOffset < batches[0].Base
				})
			})
		},
	},
	{
		Number: 153, Name: "no list where the limit of the whole answer ends it", Kills: []string{"A-08"},
		Make: func() Damage {
			return onCommitted(func(f fetched) {
				batches := f.batches()
				if n := len(batches); n > 0 && batches[n-1].Last+1 < f.LastStableOffset && f.tightest {
					f.AbortedTransactions = nil
				}
			})
		},
	},
}, listsByLog, listsByTime)

// listedEntry is an entry of a list.
type listedEntry = kmsg.FetchResponseTopicPartitionAbortedTransaction

// onEntries is a damage of lists at read_committed that are not empty.
func onEntries(damage func([]listedEntry) []listedEntry) Damage {
	return onCommitted(func(f fetched) {
		if len(f.AbortedTransactions) > 0 {
			f.AbortedTransactions = damage(f.AbortedTransactions)
		}
	})
}

func shifted(by int64) Damage {
	return onEntries(func(list []listedEntry) []listedEntry {
		for i := range list {
			list[i].FirstOffset += by
		}
		return list
	})
}
