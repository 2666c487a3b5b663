package mutant

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// shape are damages of what an answer holds, whatever it says of transactions.
var shape = []Mutant{
	{
		Number: 8, Name: "a list at read_uncommitted", Kills: []string{"P-02"},
		Make: func() Damage {
			return onFetch(func(f fetched) {
				if f.committed {
					return
				}
				for _, e := range needed(f) {
					f.AbortedTransactions = append(f.AbortedTransactions, entry(e))
				}
			})
		},
	},
	{
		Number: 15, Name: "the batch that holds the fetch offset is dropped where the offset lies inside it", Kills: []string{"P-04"},
		Make: func() Damage {
			return onFetch(func(f fetched) {
				if batches := f.batches(); len(batches) > 0 && batches[0].Base < f.fetchOffset {
					f.put(batches[1:])
				}
			})
		},
	},
	{
		Number: 24, Name: "every acknowledgement names offset 0", Kills: []string{"P-11"},
		Make: func() Damage {
			return Damage{Keys: []kmsg.Key{kmsg.Produce}, Response: func(c *Call) {
				for i := range c.Response.(*kmsg.ProduceResponse).Topics {
					topic := &c.Response.(*kmsg.ProduceResponse).Topics[i]
					for k := range topic.Partitions {
						if topic.Partitions[k].ErrorCode == 0 {
							topic.Partitions[k].BaseOffset = 0
						}
					}
				}
			}}
		},
	},
	{
		Number: 39, Name: "an error between the LSO and the high watermark", Kills: []string{"P-05"},
		Make: func() Damage {
			return onCommitted(func(f fetched) {
				if f.LastStableOffset < f.fetchOffset && f.fetchOffset <= f.HighWatermark {
					f.ErrorCode, f.RecordBatches = kerr.OffsetOutOfRange.Code, nil
				}
			})
		},
	},
	{
		Number: 40, Name: "the list is lost where topic IDs stand for names", Kills: []string{"P-06"},
		Make: func() Damage {
			return onCommitted(func(f fetched) {
				if f.version >= 13 {
					f.AbortedTransactions = nil
				}
			})
		},
	},
	{
		Number: 42, Name: "the lists of two partitions are swapped", Kills: []string{"P-08"},
		Make: func() Damage { return Damage{Keys: []kmsg.Key{kmsg.Fetch}, Response: swapLists} },
	},
	{
		Number: 101, Name: "only transactions whose marker is in the answer are listed", Kills: []string{"P-09"},
		Make: func() Damage {
			return onCommitted(func(f fetched) {
				ended := map[int64]bool{}
				for _, b := range f.batches() {
					ended[b.ProducerID] = ended[b.ProducerID] || b.Kind == model.AbortMarker
				}
				kept := []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
				for _, e := range f.AbortedTransactions {
					if ended[e.ProducerID] {
						kept = append(kept, e)
					}
				}
				f.AbortedTransactions = kept
			})
		},
	},
	{
		Number: 107, Name: "an offset out of range is answered without an error", Kills: []string{"P-05"},
		Make: toleratedOffsets,
	},
	{
		Number: 111, Name: "no list instead of an empty one", Kills: []string{"P-03"},
		Make: func() Damage {
			return onCommitted(func(f fetched) {
				if len(f.AbortedTransactions) == 0 {
					f.AbortedTransactions = nil
				}
			})
		},
	},
}

// needed are the entries for the aborted transactions that end in the answer.
func needed(f fetched) []model.Entry {
	batches := f.batches()
	if len(batches) == 0 {
		return nil
	}
	end := batches[len(batches)-1].Last + 1
	return model.NewLog(f.partition, f.fetchOffset, end, batches).Needed(f.fetchOffset, end)
}

func entry(e model.Entry) kmsg.FetchResponseTopicPartitionAbortedTransaction {
	out := kmsg.NewFetchResponseTopicPartitionAbortedTransaction()
	out.ProducerID, out.FirstOffset = e.ProducerID, e.FirstOffset
	return out
}

// swapLists gives the first and the last partition of each topic the list of
// the other.
func swapLists(c *Call) {
	if c.Request.(*kmsg.FetchRequest).IsolationLevel != model.ReadCommitted {
		return
	}
	resp := c.Response.(*kmsg.FetchResponse)
	for i := range resp.Topics {
		ps := resp.Topics[i].Partitions
		if n := len(ps); n > 1 {
			ps[0].AbortedTransactions, ps[n-1].AbortedTransactions = ps[n-1].AbortedTransactions, ps[0].AbortedTransactions
		}
	}
}

// toleratedOffsets answers an offset out of range with the bounds that the
// partition had last, and nothing else.
func toleratedOffsets() Damage {
	type bounds struct{ start, stable, high int64 }
	last := map[model.Partition]bounds{}
	healthy := onFetch(func(f fetched) {
		last[f.partition] = bounds{f.LogStartOffset, f.LastStableOffset, f.HighWatermark}
	})
	return Damage{Keys: healthy.Keys, Response: func(c *Call) {
		healthy.Response(c)
		resp := c.Response.(*kmsg.FetchResponse)
		for i := range resp.Topics {
			for k := range resp.Topics[i].Partitions {
				p := &resp.Topics[i].Partitions[k]
				if p.ErrorCode == kerr.OffsetOutOfRange.Code {
					b := last[rememberedAs(&resp.Topics[i], p.Partition)]
					p.ErrorCode, p.LogStartOffset, p.LastStableOffset, p.HighWatermark = 0, b.start, b.stable, b.high
				}
			}
		}
	}}
}

// rememberedAs is the key by which a damage remembers a partition: its topic by name
// or, from v13 on, by ID.
func rememberedAs(topic *kmsg.FetchResponseTopic, partition int32) model.Partition {
	if topic.Topic == "" {
		return model.Partition{Topic: string(topic.TopicID[:]), Index: partition}
	}
	return model.Partition{Topic: topic.Topic, Index: partition}
}
