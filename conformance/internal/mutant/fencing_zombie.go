package mutant

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// zombies are damages of what a producer gets that is not the owner of its
// transactional ID any more.
var zombies = []Mutant{
	{Number: 31, Name: "a zombie's Produce and EndTxn accepted", Kills: []string{"F-02"}, Make: zombiesGoOn},
	{Number: 181, Name: "a zombie's Produce refused and written", Kills: []string{"F-02"}, Make: zombiesWriteAllTheSame},
	{Number: 191, Name: "a Produce out of its time acknowledged and lost", Kills: []string{"F-02", "T-02"}, Make: zombiesAcknowledged},
}

// newest follows who the cluster takes for the owner of each transactional ID.
type newest map[string]identity

func (n newest) learn(c *Call) {
	switch resp := c.Response.(type) {
	case *kmsg.InitProducerIDResponse:
		if req := c.Request.(*kmsg.InitProducerIDRequest); resp.ErrorCode == 0 && req.TransactionalID != nil {
			n[*req.TransactionalID] = identity{resp.ProducerID, resp.ProducerEpoch}
		}
	case *kmsg.EndTxnResponse:
		if req := c.Request.(*kmsg.EndTxnRequest); resp.ErrorCode == 0 && resp.Version >= 5 {
			n[req.TransactionalID] = identity{resp.ProducerID, resp.ProducerEpoch}
		}
	}
}

// zombie reports whether a producer was fenced.
func (n newest) zombie(name string, who identity) bool {
	now, ok := n[name]
	return ok && now.id == who.id && who.epoch < now.epoch
}

// ghost is a transactional ID of the damage's own, under which a zombie goes on.
type ghost struct {
	name     string
	who      identity
	sequence map[model.Partition]int32
}

// zombiesGoOn lets a fenced producer write and end transactions.
func zombiesGoOn() Damage {
	owners, ghosts := newest{}, map[identity]*ghost{}
	of := func(c *Call, name string, who identity) *ghost {
		if ghosts[who] == nil {
			ghosts[who] = newGhost(c, name)
		}
		return ghosts[who]
	}
	return Damage{
		Keys: transactionKeys,
		Request: func(c *Call) {
			named(c.Request, func(name *string, who *identity) {
				if owners.zombie(*name, *who) {
					g := of(c, *name, *who)
					g.enter(c.Request)
					*name, *who = g.name, g.who
				}
			})
		},
		Response: func(c *Call) { owners.learn(c) },
	}
}

// enter makes the batches of a Produce the ghost's.
func (g *ghost) enter(req kmsg.Request) {
	if produce, ok := req.(*kmsg.ProduceRequest); ok {
		eachSent(produce, func(s sent) {
			s.as(g.who, g.sequence[s.partition])
			g.sequence[s.partition] += s.count()
		})
	}
}

// newGhost asks the cluster for a producer ID.
func newGhost(c *Call, name string) *ghost {
	g := &ghost{name: name + "-ghost", sequence: map[model.Partition]int32{}}
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID, req.TransactionTimeoutMillis = &g.name, 60_000
	req.ProducerID, req.ProducerEpoch = -1, -1
	for range 10 {
		if resp, ok := c.Forward(req).(*kmsg.InitProducerIDResponse); ok && resp.ErrorCode == 0 {
			g.who = identity{resp.ProducerID, resp.ProducerEpoch}
			break
		}
	}
	return g
}

// zombiesWriteAllTheSame refuses a zombie's batch as it should, and writes it.
func zombiesWriteAllTheSame() Damage {
	owners, written := newest{}, map[kmsg.Request]bool{}
	return Damage{
		Keys: transactionKeys,
		Request: func(c *Call) {
			req, ok := c.Request.(*kmsg.ProduceRequest)
			if !ok || req.TransactionID == nil {
				return
			}
			name := *req.TransactionID
			eachSent(req, func(s sent) {
				if owners.zombie(name, s.producer()) {
					s.asNobody()
					req.TransactionID, written[req] = nil, true
				}
			})
		},
		Response: func(c *Call) {
			owners.learn(c)
			if written[c.Request] {
				eachAnswered(c.Response.(*kmsg.ProduceResponse), func(p *kmsg.ProduceResponseTopicPartition) {
					p.ErrorCode, p.BaseOffset = kerr.InvalidProducerEpoch.Code, -1
				})
			}
		},
	}
}

// zombiesAcknowledged says that a batch was written that the cluster refused.
func zombiesAcknowledged() Damage {
	return Damage{Keys: []kmsg.Key{kmsg.Produce}, Response: func(c *Call) {
		eachAnswered(c.Response.(*kmsg.ProduceResponse), func(p *kmsg.ProduceResponseTopicPartition) {
			switch p.ErrorCode {
			case kerr.InvalidProducerEpoch.Code, kerr.ProducerFenced.Code, kerr.InvalidTxnState.Code, kerr.TransactionAbortable.Code:
				p.ErrorCode, p.BaseOffset = 0, 0
			}
		})
	}}
}
