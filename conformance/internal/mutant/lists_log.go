package mutant

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// listsByLog are damages of lists and of what stands beside them that depend on
// how transactions ended.
var listsByLog = []Mutant{
	{
		Number: 3, Name: "an entry stays until its producer has ended another transaction", Kills: []string{"A-02", "A-03", "A-06"},
		Make: func() Damage { return byLog(stale) },
	},
	{
		Number: 7, Name: "an entry of a committed transaction", Kills: []string{"A-01", "A-02", "A-03", "A-04", "A-09"},
		Make: func() Damage {
			return byLog(func(f fetched, batches []model.Batch, l *model.Log) {
				if c := within(batches, l, model.Committed); len(c) > 0 {
					f.list(batches[c[0]].ProducerID, batches[c[0]].Base)
				}
			})
		},
	},
	{
		Number: 14, Name: "a committed batch in the middle missing", Kills: []string{"A-04", "A-08", "A-09"},
		Make: func() Damage { return byLog(dropCommitted) },
	},
	{
		Number: 151, Name: "a committed batch missing at both isolation levels", Kills: []string{"P-11"},
		Make: lostBatch,
	},
	{
		Number: 146, Name: "only transactions whose marker is in the answer are listed", Kills: []string{"A-08"},
		Make: func() Damage {
			return byLog(func(f fetched, batches []model.Batch, l *model.Log) {
				end := int64(-1)
				if n := len(batches); n > 0 {
					end = batches[n-1].Last
				}
				f.AbortedTransactions = slices.DeleteFunc(f.AbortedTransactions, func(e listedEntry) bool {
					r := runOf(l, e)
					return r != nil && r.Marker > end
				})
			})
		},
	},
	{
		Number: 147, Name: "inside an aborted transaction the producers beside it are listed", Kills: []string{"A-09"},
		Make: func() Damage {
			return byLog(func(f fetched, batches []model.Batch, l *model.Log) {
				c := within(batches, l, model.Committed)
				if len(within(batches, l, model.Aborted)) == 0 && len(f.AbortedTransactions) > 0 && len(c) > 0 {
					f.list(batches[c[0]].ProducerID, batches[c[0]].Base)
				}
			})
		},
	},
	{
		Number: 148, Name: "inside an aborted transaction only the last batch is answered", Kills: []string{"A-09"},
		Make: func() Damage {
			return byLog(func(f fetched, batches []model.Batch, l *model.Log) {
				if len(within(batches, l, model.Aborted)) == 0 && len(f.AbortedTransactions) > 0 && len(batches) > 1 {
					f.put(batches[len(batches)-1:])
				}
			})
		},
	},
	{
		Number: 149, Name: "a transaction is listed by its second batch", Kills: []string{"A-03", "A-04"},
		Make: func() Damage {
			return byLog(func(f fetched, _ []model.Batch, l *model.Log) {
				for i := range f.AbortedTransactions {
					e := &f.AbortedTransactions[i]
					if r := runOf(l, *e); r != nil && len(r.Batches) > 1 {
						e.FirstOffset = l.Batches[r.Batches[1]].Base
					}
				}
			})
		},
	},
}

// memory is what a damage has seen of the partitions, in answers at either
// isolation level.
type memory map[model.Partition]*remembered

type remembered struct {
	batches []model.Batch // by offset
	log     *model.Log    // of them; nil: not worked out since the last one came
}

// learn takes in the batches of an answer.
func (m memory) learn(p model.Partition, batches []model.Batch) {
	at := m[p]
	if at == nil {
		at = new(remembered)
		m[p] = at
	}
	for _, b := range batches {
		k, known := slices.BinarySearchFunc(at.batches, b.Base, func(x model.Batch, base int64) int { return cmp.Compare(x.Base, base) })
		if !known {
			at.batches, at.log = slices.Insert(at.batches, k, b), nil
		}
	}
}

// log is the partition as far as it was seen.
func (m memory) log(p model.Partition) *model.Log {
	at := m[p]
	if at.log == nil {
		end := int64(0)
		if n := len(at.batches); n > 0 {
			end = at.batches[n-1].Last + 1
		}
		at.log = model.NewLog(p, 0, end, at.batches)
	}
	return at.log
}

// byLog is a damage of answers at read_committed that knows the log: clients
// of the checker read it at read_uncommitted first.
func byLog(damage func(fetched, []model.Batch, *model.Log)) Damage {
	seen := memory{}
	return onFetch(func(f fetched) {
		batches := f.batches()
		seen.learn(f.partition, batches)
		if f.committed {
			damage(f, batches, seen.log(f.partition))
		}
	})
}

// list adds an entry.
func (f fetched) list(producerID, first int64) {
	e := kmsg.NewFetchResponseTopicPartitionAbortedTransaction()
	e.ProducerID, e.FirstOffset = producerID, first
	f.AbortedTransactions = append(f.AbortedTransactions, e)
}

// stale lists aborted transactions that ended before the fetch offset, until
// the producer has ended another one.
func stale(f fetched, _ []model.Batch, l *model.Log) {
	for _, r := range l.Runs {
		if r.Fate != model.Aborted || r.Marker >= f.fetchOffset {
			continue
		}
		ended := slices.ContainsFunc(l.Markers(r.ProducerID), func(m int) bool {
			return r.Marker < l.Batches[m].Base && l.Batches[m].Base < f.fetchOffset
		})
		if !ended {
			f.list(r.ProducerID, r.First)
		}
	}
}

// dropCommitted takes a committed data batch out that is neither the first nor
// the last one.
func dropCommitted(f fetched, batches []model.Batch, l *model.Log) {
	c := slices.DeleteFunc(within(batches, l, model.Committed), func(i int) bool { return i == 0 || i == len(batches)-1 })
	if len(c) > 0 {
		i := c[len(c)/2]
		f.put(slices.Delete(slices.Clone(batches), i, i+1))
	}
}

// lostBatch loses the first committed batch behind offset 2 of each partition,
// unless it is the only one of an answer.
func lostBatch() Damage {
	seen, lost := memory{}, map[model.Partition]int64{}
	return onFetch(func(f fetched) {
		batches := f.batches()
		seen.learn(f.partition, batches)
		l := seen.log(f.partition)
		if _, chosen := lost[f.partition]; !chosen {
			for i := l.At(3); i < len(l.Batches) && !chosen; i++ {
				if chosen = l.Fate(i) == model.Committed; chosen {
					lost[f.partition] = l.Batches[i].Base
				}
			}
		}
		at := slices.IndexFunc(batches, func(b model.Batch) bool {
			base, chosen := lost[f.partition]
			return chosen && b.Base == base
		})
		if at >= 0 && len(batches) > 1 {
			f.put(slices.Delete(slices.Clone(batches), at, at+1))
		}
	})
}

// within are the indexes of the batches that came to a fate.
func within(batches []model.Batch, l *model.Log, fate model.Fate) (out []int) {
	for i := range batches {
		if at, ok := l.Find(batches[i].Base); ok && l.Fate(at) == fate {
			out = append(out, i)
		}
	}
	return out
}

// runOf is the transaction that an entry stands for.
func runOf(l *model.Log, e listedEntry) *model.Run {
	at, ok := l.Find(e.FirstOffset)
	if !ok {
		return nil
	}
	return l.Run(at)
}
