package mutant

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// storage are damages that depend on where records lie, or on which of them are
// left.
var storage = slices.Concat([]Mutant{
	{
		Number: 240, Name: "a transaction whose beginning was deleted is not listed", Kills: []string{"S-05"},
		Make: func() Damage {
			return onCommitted(func(f fetched) {
				f.AbortedTransactions = slices.DeleteFunc(f.AbortedTransactions, func(e listedEntry) bool {
					return e.FirstOffset < f.LogStartOffset
				})
			})
		},
	},
	{
		Number: 241, Name: "an emptied log has no offsets", Kills: []string{"S-07"},
		Make: func() Damage {
			return onFetch(func(f fetched) {
				if f.LogStartOffset > 0 && f.LogStartOffset == f.HighWatermark {
					f.ErrorCode = kerr.OffsetOutOfRange.Code
				}
			})
		},
	},
	{
		Number: 243, Name: "an open transaction whose beginning was deleted holds nothing back", Kills: []string{"S-06"},
		Make: func() Damage {
			return onCommittedCall(func(c *Call, f fetched) {
				if f.LogStartOffset > 0 && f.LastStableOffset <= f.LogStartOffset {
					f.LastStableOffset = f.HighWatermark
					f.put(sourceOf(c, f).batches(f.fetchOffset, f.HighWatermark))
				}
			})
		},
	},
	{
		Number: 244, Name: "transactions whose marker is more than a segment away are not listed", Kills: []string{"S-01"},
		Make: func() Damage {
			return bySegments(func(f fetched, end int64, r *model.Run, l *model.Log) bool { return farther(l, end, r.Marker) })
		},
	},
	{
		Number: 245, Name: "transactions that began more than a segment ago are not listed", Kills: []string{"S-02"},
		Make: func() Damage {
			return bySegments(func(f fetched, _ int64, r *model.Run, l *model.Log) bool { return farther(l, r.First, f.fetchOffset) })
		},
	},
	{
		Number: 246, Name: "a transaction of a deleted topic holds back the new one of its name", Kills: []string{"S-09"}, Slow: 0.3,
		Make: oldTopicPins,
	},
	{
		Number: 247, Name: "a marker of nobody's ends every open transaction", Kills: []string{"S-09"},
		Make: func() Damage {
			return onCommittedCall(func(c *Call, f fetched) {
				l := sourceOf(c, f).log(f.HighWatermark)
				for i := range l.Batches {
					if b := &l.Batches[i]; (b.Kind == model.AbortMarker || b.Kind == model.CommitMarker) && l.Run(i) == nil {
						f.LastStableOffset = f.HighWatermark
						f.put(slices.DeleteFunc(l.Batches, func(b model.Batch) bool { return b.Last < f.fetchOffset }))
						return
					}
				}
			})
		},
	},
}, storageCleaned)

// segmentBytes is the size of the segments that scenarios ask for.
const segmentBytes = 1 << 20

// farther reports whether the log has more than a segment between two offsets.
func farther(l *model.Log, from, to int64) bool {
	n := 0
	for i := l.At(from); i < len(l.Batches) && l.Batches[i].Base < to; i++ {
		n += len(l.Batches[i].Raw)
	}
	return n > segmentBytes
}

// bySegments takes entries out of lists by where their transaction lies, and by
// where the answer ends.
func bySegments(missing func(f fetched, end int64, r *model.Run, l *model.Log) bool) Damage {
	return byLog(func(f fetched, batches []model.Batch, l *model.Log) {
		end := f.fetchOffset
		if n := len(batches); n > 0 {
			end = batches[n-1].Last + 1
		}
		f.AbortedTransactions = slices.DeleteFunc(f.AbortedTransactions, func(e listedEntry) bool {
			r := runOf(l, e)
			return r != nil && missing(f, end, r, l)
		})
	})
}

// oldTopicPins remembers, by the names of topics, where a transaction held them
// back, and holds back topics of the same names that have other IDs.
func oldTopicPins() Damage {
	type pin struct {
		id    [16]byte
		first int64
	}
	names, pins := map[[16]byte]string{}, map[string]pin{}
	d := onCommitted(func(f fetched) {
		var id [16]byte
		copy(id[:], f.partition.Topic)
		name := names[id]
		old, pinned := pins[name]
		switch {
		case f.version < 13 || name == "":
		case pinned && old.id != id:
			f.LastStableOffset = min(f.LastStableOffset, old.first)
			f.without(func(b model.Batch) bool { return b.Last >= old.first })
		case f.LastStableOffset < f.HighWatermark:
			pins[name] = pin{id, f.LastStableOffset}
		}
	})
	fetches := d.Response
	d.Keys = append(d.Keys, kmsg.Metadata)
	d.Response = func(c *Call) {
		metadata, ok := c.Response.(*kmsg.MetadataResponse)
		if !ok {
			fetches(c)
			return
		}
		for _, topic := range metadata.Topics {
			if topic.Topic != nil {
				names[topic.TopicID] = *topic.Topic
			}
		}
	}
	return d
}
