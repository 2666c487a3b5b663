package mutant

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// bounds are damages of the last stable offset and the high watermark.
var bounds = slices.Concat(wrongBounds, undecided, waiting, listing)

// wrongBounds are damages of where the bounds are.
var wrongBounds = []Mutant{
	{
		Number: 9, Name: "LSO one too high", Kills: []string{"L-01", "L-06"},
		Make: func() Damage {
			return onCommitted(func(f fetched) {
				if f.LastStableOffset < f.HighWatermark {
					f.LastStableOffset++
				}
			})
		},
	},
	{
		Number: 10, Name: "LSO is the high watermark", Kills: []string{"L-01", "L-02", "L-03"},
		Make: func() Damage { return onCommitted(func(f fetched) { f.LastStableOffset = f.HighWatermark }) },
	},
	{
		Number: 11, Name: "LSO frozen at the first transaction", Kills: []string{"L-02", "L-04"}, Slow: 0.2,
		Make: func() Damage {
			return misplaced(func(l *model.Log) int64 {
				if len(l.Runs) > 0 {
					return l.Runs[0].First
				}
				return l.End
			})
		},
	},
	{
		Number: 12, Name: "LSO above the high watermark", Kills: []string{"L-01", "L-02"},
		Make: func() Damage {
			return onCommitted(func(f fetched) {
				if f.LastStableOffset == f.HighWatermark {
					f.LastStableOffset++
				}
			})
		},
	},
	{
		Number: 38, Name: "LSO at the newest open transaction", Kills: []string{"L-02"},
		Make: func() Damage { return misplaced(newestOpen) },
	},
	{
		Number: 45, Name: "LSO and high watermark go back", Kills: []string{"L-11"},
		Make: staleBounds,
	},
	{
		Number: 121, Name: "LSO moves only when nothing is open", Kills: []string{"L-02", "L-14", "L-15"}, Slow: 0.2,
		Make: func() Damage { return misplaced(sinceNothingWasOpen) },
	},
	{
		Number: 129, Name: "now and then the LSO is the high watermark", Kills: []string{"L-11"},
		Make: func() Damage {
			answers := 0
			return misplaced(func(l *model.Log) int64 {
				if answers++; answers%10 == 0 {
					return l.End
				}
				return l.LSO()
			})
		},
	},
}

// newestOpen is where the newest open transaction begins.
func newestOpen(l *model.Log) int64 {
	for _, r := range slices.Backward(l.Runs) {
		if r.Fate == model.Open {
			return r.First
		}
	}
	return l.End
}

// sinceNothingWasOpen is where the chain of overlapping transactions begins of
// which one is still open.
func sinceNothingWasOpen(l *model.Log) int64 {
	open, begin := map[int64]bool{}, int64(0)
	for i := range l.Batches {
		switch b := &l.Batches[i]; {
		case b.Control():
			delete(open, b.ProducerID)
		case b.Transactional():
			if len(open) == 0 {
				begin = b.Base
			}
			open[b.ProducerID] = true
		}
	}
	if len(open) == 0 {
		return l.End
	}
	return begin
}

// misplaced puts the last stable offset where a function says, in answers to
// Fetch with all that follows from it, and in those to ListOffsets.
func misplaced(lso func(*model.Log) int64) Damage {
	d := onCommittedCall(func(c *Call, f fetched) {
		s := sourceOf(c, f)
		l := s.log(f.HighWatermark)
		f.move(l, lso(l))
	})
	fetch := d.Response
	d.Keys = append(d.Keys, kmsg.ListOffsets)
	d.Response = func(c *Call) {
		if _, ok := c.Request.(*kmsg.FetchRequest); ok {
			fetch(c)
			return
		}
		eachListed(c, func(p listed) {
			s := byName(c, p.topic, p.Partition)
			got := s.read(model.ReadUncommitted, 0)
			if got == nil || p.timestamp != -1 {
				return
			}
			p.Offset = lso(s.log(got.HighWatermark))
		})
	}
	return d
}

// move sets the last stable offset and gives what a broker gives that believes
// in it: batches up to there, and the list for these.
func (f fetched) move(l *model.Log, lso int64) {
	batches := f.batches()
	end := f.fetchOffset
	if n := len(batches); n > 0 {
		end = batches[n-1].Last + 1
	}
	if end >= f.LastStableOffset {
		for i := l.At(max(end, f.fetchOffset)); i < len(l.Batches) && l.Batches[i].Base < lso; i++ {
			batches = append(batches, l.Batches[i])
		}
	}
	batches = slices.DeleteFunc(batches, func(b model.Batch) bool { return b.Last >= lso })
	f.put(batches)
	f.LastStableOffset = lso
	f.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
	for _, e := range l.Needed(f.fetchOffset, lso) {
		f.addEntry(e)
	}
}

func (f fetched) addEntry(e model.Entry) {
	a := kmsg.NewFetchResponseTopicPartitionAbortedTransaction()
	a.ProducerID, a.FirstOffset = e.ProducerID, e.FirstOffset
	f.AbortedTransactions = append(f.AbortedTransactions, a)
}

// staleBounds gives every fifth answer the bounds of an older one, as a cache
// does that is not always asked.
func staleBounds() Damage {
	type line struct {
		p         model.Partition
		committed bool
	}
	type pair struct{ lso, high int64 }
	seen := map[line][]pair{}
	return onFetch(func(f fetched) {
		at := line{f.partition, f.committed}
		seen[at] = append(seen[at], pair{f.LastStableOffset, f.HighWatermark})
		if n := len(seen[at]); n%5 == 0 {
			old := seen[at][n-5]
			f.LastStableOffset, f.HighWatermark = old.lso, old.high
		}
	})
}
