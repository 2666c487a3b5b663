package mutant

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// shapeOfRequests are damages that depend on how a client asks.
var shapeOfRequests = []Mutant{
	{
		Number: 41, Name: "incremental answers omit the partition", Kills: []string{"P-07"},
		Make: func() Damage {
			return onFetches(func(req *kmsg.FetchRequest, resp *kmsg.FetchResponse) {
				if incremental(req) {
					resp.Topics = nil
				}
			})
		},
	},
	{
		Number: 102, Name: "nothing is answered where the limit is below the size of the batch", Kills: []string{"P-13", "P-09"},
		Make: func() Damage {
			return onFetches(func(req *kmsg.FetchRequest, resp *kmsg.FetchResponse) {
				eachFetched(req, resp, func(f fetched) {
					batches := f.batches()
					if f.fetchOffset > 0 && len(batches) > 0 && len(batches[0].Raw) > int(limitOf(req, f.partition)) {
						f.RecordBatches = nil
					}
				})
			})
		},
	},
	{
		Number: 106, Name: "a fetch that does not wait is answered without topics", Kills: []string{"P-15"},
		Make: func() Damage {
			return onFetches(func(req *kmsg.FetchRequest, resp *kmsg.FetchResponse) {
				if req.MaxWaitMillis == 0 {
					resp.Topics = nil
				}
			})
		},
	},
	{
		Number: 108, Name: "incremental answers have no list", Kills: []string{"P-07"},
		Make: func() Damage {
			return onFetches(func(req *kmsg.FetchRequest, resp *kmsg.FetchResponse) {
				if incremental(req) {
					eachFetched(req, resp, func(f fetched) { f.AbortedTransactions = nil })
				}
			})
		},
	},
	{
		Number: 109, Name: "no isolation in Fetch up to v11", Kills: []string{"P-06"},
		Make: func() Damage {
			return Damage{Keys: []kmsg.Key{kmsg.Fetch}, Request: func(c *Call) {
				if req := c.Request.(*kmsg.FetchRequest); req.Version <= 11 {
					req.IsolationLevel = model.ReadUncommitted
				}
			}}
		},
	},
	{
		Number: 110, Name: "no isolation in ListOffsets up to v5", Kills: []string{"P-06"},
		Make: func() Damage {
			return Damage{Keys: []kmsg.Key{kmsg.ListOffsets}, Request: func(c *Call) {
				if req := c.Request.(*kmsg.ListOffsetsRequest); req.Version <= 5 {
					req.IsolationLevel = model.ReadUncommitted
				}
			}}
		},
	},
	{
		Number: 112, Name: "incremental answers lose the first of several batches", Kills: []string{"P-07"},
		Make: func() Damage {
			return onFetches(func(req *kmsg.FetchRequest, resp *kmsg.FetchResponse) {
				if !incremental(req) {
					return
				}
				eachFetched(req, resp, func(f fetched) {
					if batches := f.batches(); len(batches) > 1 {
						f.put(batches[1:])
					}
				})
			})
		},
	},
	{
		Number: 113, Name: "the first batch is cut off at the limit", Kills: []string{"P-13", "P-09"},
		Make: func() Damage {
			return onFetches(func(req *kmsg.FetchRequest, resp *kmsg.FetchResponse) {
				eachFetched(req, resp, func(f fetched) {
					if limit := int(limitOf(req, f.partition)); f.fetchOffset >= 0 && len(f.RecordBatches) > limit {
						f.RecordBatches = f.RecordBatches[:limit]
					}
				})
			})
		},
	},
}

// onFetches is a damage of whole answers to a Fetch.
func onFetches(damage func(*kmsg.FetchRequest, *kmsg.FetchResponse)) Damage {
	return Damage{Keys: []kmsg.Key{kmsg.Fetch}, Response: func(c *Call) {
		damage(c.Request.(*kmsg.FetchRequest), c.Response.(*kmsg.FetchResponse))
	}}
}

// incremental reports whether a request goes on with a fetch session.
func incremental(req *kmsg.FetchRequest) bool { return req.SessionID != 0 && req.SessionEpoch > 0 }

// limitOf is how many bytes of a partition a request wants.
func limitOf(req *kmsg.FetchRequest, p model.Partition) int32 {
	for _, topic := range req.Topics {
		for _, asked := range topic.Partitions {
			if asked.Partition == p.Index && (topic.Topic == p.Topic || string(topic.TopicID[:]) == p.Topic) {
				return asked.PartitionMaxBytes
			}
		}
	}
	return 0
}
