package mutant

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// Mutant is a broken cluster with a name, and the scenarios that have to notice.
type Mutant struct {
	Number int
	Name   string
	Kills  []string // scenario IDs; each has to fail, or warn where its class is SHOULD

	// Warns are scenarios that have to warn: what is damaged weighs less there
	// than the rest of the scenario.
	Warns []string
	// Readers says that only readers under judgement meet the damage, not the
	// checker: together with it they are a broken reader.
	Readers bool
	// Brokers is how many the cluster must have; 0 means 1.
	Brokers int
	// Slow scales the scenarios' bounds on time, for damages that they only
	// notice by waiting in vain; 0 means 1.
	Slow float64
	// Make begins a damage, with a memory of its own.
	Make func() Damage
}

// All are the mutants, by their numbers.
func All() []Mutant {
	return slices.Concat(lists, bounds, shape, shapeOfBytes, shapeOfRequests, markers, fencing, severalBrokers, readers, histories)
}

// fetched is one partition of an answer to a Fetch, with what was asked for.
type fetched struct {
	*kmsg.FetchResponseTopicPartition
	partition   model.Partition // the topic by name or, from v13 on, by ID
	fetchOffset int64
	committed   bool // asked for at read_committed
	version     int16
	tightest    bool // the limit of the whole answer is below the partition's
}

// batches are the partition's batches, as far as they can be read.
func (f fetched) batches() []model.Batch {
	batches, _, _ := model.Parse(f.RecordBatches)
	return batches
}

// put replaces the partition's bytes by these batches.
func (f fetched) put(batches []model.Batch) {
	var raw []byte
	for _, b := range batches {
		raw = append(raw, b.Raw...)
	}
	f.RecordBatches = raw
}

// onFetch is a damage of the partitions of answers to a Fetch that have no
// error.
func onFetch(damage func(fetched)) Damage {
	return Damage{
		Keys: []kmsg.Key{kmsg.Fetch},
		Response: func(c *Call) {
			req := c.Request.(*kmsg.FetchRequest)
			eachFetched(req, c.Response.(*kmsg.FetchResponse), damage)
		},
	}
}

// onCommitted is onFetch for answers at read_committed.
func onCommitted(damage func(fetched)) Damage {
	return onFetch(func(f fetched) {
		if f.committed {
			damage(f)
		}
	})
}

func eachFetched(req *kmsg.FetchRequest, resp *kmsg.FetchResponse, do func(fetched)) {
	for i := range resp.Topics {
		topic := &resp.Topics[i]
		for k := range topic.Partitions {
			p := &topic.Partitions[k]
			if p.ErrorCode != 0 {
				continue
			}
			f := fetched{
				FetchResponseTopicPartition: p, committed: req.IsolationLevel == model.ReadCommitted, version: resp.Version,
				partition: model.Partition{Topic: topic.Topic, Index: p.Partition}, fetchOffset: -1,
			}
			if topic.Topic == "" {
				f.partition.Topic = string(topic.TopicID[:])
			}
			for _, asked := range req.Topics {
				for _, ap := range asked.Partitions {
					if ap.Partition == p.Partition && (asked.Topic == topic.Topic && topic.Topic != "" || asked.TopicID == topic.TopicID && topic.Topic == "") {
						f.fetchOffset = ap.FetchOffset
						f.tightest = req.MaxBytes < ap.PartitionMaxBytes
					}
				}
			}
			do(f)
		}
	}
}
