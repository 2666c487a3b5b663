package mutant

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// readers are damages that only a reader's records show. The checker does not
// meet them: what a reader makes of them is the reader's own fault to it.
var readers = []Mutant{
	{
		Number: 201, Name: "readers get no list", Kills: []string{"C-01", "C-03", "C-05", "C-06", "C-08"}, Readers: true,
		Make: func() Damage { return onCommitted(func(f fetched) { f.AbortedTransactions = nil }) },
	},
	{
		Number: 202, Name: "readers miss the first data batch after another one", Kills: []string{"C-01", "C-02", "C-03"}, Readers: true,
		Make: func() Damage {
			return onFetch(func(f fetched) {
				f.withoutBatch(func(b, before *model.Batch) bool { return before != nil && !b.Control() })
			})
		},
	},
	{
		Number: 203, Name: "readers miss the batch that holds the start offset", Kills: []string{"C-03"}, Readers: true,
		Make: func() Damage {
			return onFetch(func(f fetched) {
				f.withoutBatch(func(b, _ *model.Batch) bool { return b.Base < f.fetchOffset && b.Last > f.fetchOffset })
			})
		},
	},
	{
		Number: 204, Name: "readers that begin at a marker miss the records behind it", Kills: []string{"C-05"}, Readers: true,
		Make: func() Damage {
			return onFetch(func(f fetched) {
				atMarker := false
				f.withoutBatch(func(b, before *model.Batch) bool {
					atMarker = atMarker || before == nil && b.Control()
					return atMarker && !b.Control()
				})
			})
		},
	},
	{
		Number: 205, Name: "readers get the list of the answer before", Kills: []string{"C-08"}, Readers: true,
		Make: func() Damage {
			before := map[model.Partition][]kmsg.FetchResponseTopicPartitionAbortedTransaction{}
			return onCommitted(func(f fetched) {
				if len(f.RecordBatches) > 0 {
					f.AbortedTransactions, before[f.partition] = before[f.partition], f.AbortedTransactions
				}
			})
		},
	},
	{
		Number: 206, Name: "readers are answered as at read_uncommitted", Kills: []string{"C-01", "C-06", "C-08"}, Readers: true,
		Make: func() Damage {
			return Damage{
				Keys:    []kmsg.Key{kmsg.Fetch},
				Request: func(c *Call) { c.Request.(*kmsg.FetchRequest).IsolationLevel = model.ReadUncommitted },
			}
		},
	},
	{
		Number: 207, Name: "readers are told of an LSO at the high watermark", Kills: []string{"C-04"}, Readers: true, Slow: 0.2,
		Make: func() Damage { return onCommitted(func(f fetched) { f.LastStableOffset = f.HighWatermark }) },
	},
}

// withoutBatch takes the first batch out of an answer that a rule picks; before
// is the one in front of it, nil for none.
func (f fetched) withoutBatch(pick func(b, before *model.Batch) bool) {
	batches := f.batches()
	var before *model.Batch
	for i := range batches {
		if pick(&batches[i], before) {
			f.put(slices.Delete(batches, i, i+1))
			return
		}
		before = &batches[i]
	}
}
