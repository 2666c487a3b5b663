package mutant

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// second are damages of what KIP-890 brought: requests that come out of their
// time are told apart, and writes add partitions.
var second = slices.Concat(secondEnds, secondWrites)

var secondEnds = []Mutant{
	{Number: 230, Name: "EndTxn takes any epoch", Kills: []string{"V-03", "V-08"}, Second: true, Make: func() Damage { return anyEpochEnds(0) }},
	{Number: 231, Name: "EndTxn of an old epoch refused and carried out", Kills: []string{"V-03", "V-08"}, Second: true, Make: func() Damage {
		return anyEpochEnds(kerr.ProducerFenced.Code)
	}},
	{Number: 232, Name: "EndTxn v5 tells the old epoch", Kills: []string{"V-04", "V-06"}, Second: true, Make: func() Damage {
		return retold(func(req *kmsg.EndTxnRequest, resp *kmsg.EndTxnResponse) { resp.ProducerEpoch = req.ProducerEpoch })
	}},
	{Number: 233, Name: "EndTxn v5 tells an epoch that nobody has", Kills: []string{"V-04", "V-06"}, Second: true, Make: func() Damage {
		return retold(func(_ *kmsg.EndTxnRequest, resp *kmsg.EndTxnResponse) { resp.ProducerEpoch++ })
	}},
	{Number: 234, Name: "EndTxn up to v4 fences its own producer", Kills: []string{"V-09"}, Make: fencedByItself},
}

// anyEpochEnds lets an EndTxn of an older epoch end what its ID has open, and
// answers it with a code.
func anyEpochEnds(code int16) Damage {
	owners, late := newest{}, map[kmsg.Request]bool{}
	return Damage{
		Keys: []kmsg.Key{kmsg.InitProducerID, kmsg.EndTxn},
		Request: func(c *Call) {
			named(c.Request, func(name *string, who *identity) {
				if owners.zombie(*name, *who) {
					*who, late[c.Request] = owners[*name], true
				}
			})
		},
		Response: func(c *Call) {
			owners.learn(c)
			if resp, ok := c.Response.(*kmsg.EndTxnResponse); ok && late[c.Request] && resp.ErrorCode == 0 {
				resp.ErrorCode = code
			}
		},
	}
}

// retold changes what answers to EndTxn v5 tell of the next transaction.
func retold(change func(*kmsg.EndTxnRequest, *kmsg.EndTxnResponse)) Damage {
	return Damage{Keys: []kmsg.Key{kmsg.EndTxn}, Response: func(c *Call) {
		if resp := c.Response.(*kmsg.EndTxnResponse); resp.ErrorCode == 0 && resp.Version >= 5 {
			change(c.Request.(*kmsg.EndTxnRequest), resp)
		}
	}}
}

// fencedByItself bumps the epoch after an EndTxn in whose answer there is no
// room for it.
func fencedByItself() Damage {
	return Damage{Keys: []kmsg.Key{kmsg.EndTxn}, Response: func(c *Call) {
		if resp := c.Response.(*kmsg.EndTxnResponse); resp.ErrorCode != 0 || resp.Version >= 5 {
			return
		}
		for range 100 { // the markers may not be written yet
			if takeOver(c, c.Request.(*kmsg.EndTxnRequest).TransactionalID) {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}}
}

var secondWrites = []Mutant{
	{Number: 235, Name: "a write out of its transaction is a plain one", Kills: []string{"V-01", "V-02"}, Make: plainOutOfPlace},
	{Number: 236, Name: "only the first of several writes adds its partition", Kills: []string{"V-05"}, Second: true, Make: func() Damage {
		return Damage{Keys: []kmsg.Key{kmsg.Produce}, Request: func(c *Call) {
			req := c.Request.(*kmsg.ProduceRequest)
			eachSent(req, func(s sent) {
				if req.Version >= 12 && s.transactional() && s.partition.Index > 0 {
					s.asNobody()
					req.TransactionID = nil
				}
			})
		}}
	}},
	{Number: 237, Name: "an end misses a partition that a write added", Kills: []string{"V-05"}, Slow: hasty, Second: true, Make: func() Damage {
		return unmarked(model.CommitMarker, model.AbortMarker)
	}},
	{Number: 238, Name: "Produce v12 takes only partitions that were added", Kills: []string{"V-05"}, Second: true, Make: onlyAdded},
	{Number: 239, Name: "the producer ID after the last epoch is nobody's", Kills: []string{"V-07"}, Make: unknownSuccessor},
}

// membership is which partitions each transactional ID has in its transaction,
// as far as AddPartitionsToTxn tells.
type membership map[string]map[model.Partition]bool

func (m membership) learn(req kmsg.Request) {
	switch r := req.(type) {
	case *kmsg.AddPartitionsToTxnRequest:
		if m[r.TransactionalID] == nil {
			m[r.TransactionalID] = map[model.Partition]bool{}
		}
		for _, topic := range r.Topics {
			for _, p := range topic.Partitions {
				m[r.TransactionalID][model.Partition{Topic: topic.Topic, Index: p}] = true
			}
		}
	case *kmsg.EndTxnRequest:
		delete(m, r.TransactionalID)
	}
}

// plainOutOfPlace takes the batches of a producer that the cluster would refuse
// out of their transactions: those whose partition was not added and, from
// Produce v12 on, those of an older epoch.
func plainOutOfPlace() Damage {
	inside, owners := membership{}, newest{}
	return Damage{
		Keys: transactionKeys,
		Request: func(c *Call) {
			inside.learn(c.Request)
			req, ok := c.Request.(*kmsg.ProduceRequest)
			if !ok || req.TransactionID == nil {
				return
			}
			name := *req.TransactionID
			eachSent(req, func(s sent) {
				if req.Version < 12 && !inside[name][s.partition] || owners.zombie(name, s.producer()) {
					s.asNobody()
					req.TransactionID = nil
				}
			})
		},
		Response: func(c *Call) { owners.learn(c) },
	}
}

// onlyAdded refuses writes to partitions that were not added, whatever their
// version.
func onlyAdded() Damage {
	inside := membership{}
	return Damage{Keys: transactionKeys, Request: func(c *Call) {
		inside.learn(c.Request)
		req, ok := c.Request.(*kmsg.ProduceRequest)
		if !ok || req.TransactionID == nil {
			return
		}
		eachSent(req, func(s sent) {
			if !inside[*req.TransactionID][s.partition] {
				c.Response = refusedWrite(req, s.partition, kerr.InvalidTxnState.Code)
			}
		})
	}}
}

// refusedWrite is the answer to a Produce for one partition.
func refusedWrite(req *kmsg.ProduceRequest, to model.Partition, code int16) *kmsg.ProduceResponse {
	p := kmsg.NewProduceResponseTopicPartition()
	p.Partition, p.ErrorCode, p.BaseOffset = to.Index, code, -1
	topic := kmsg.NewProduceResponseTopic()
	topic.Topic = to.Topic
	topic.Partitions = append(topic.Partitions, p)
	resp := req.ResponseKind().(*kmsg.ProduceResponse)
	resp.Topics = append(resp.Topics, topic)
	return resp
}

// unknownSuccessor is a cluster whose epochs are used up at once, and that gives
// a producer ID then of which it knows nothing.
func unknownSuccessor() Damage {
	asked := map[string]int{}
	return Damage{Keys: []kmsg.Key{kmsg.InitProducerID}, Response: func(c *Call) {
		req, resp := c.Request.(*kmsg.InitProducerIDRequest), c.Response.(*kmsg.InitProducerIDResponse)
		if resp.ErrorCode != 0 || req.TransactionalID == nil {
			return
		}
		if asked[*req.TransactionalID]++; asked[*req.TransactionalID] > 3 {
			resp.ProducerID, resp.ProducerEpoch = resp.ProducerID+1<<40, 0
		}
	}}
}
