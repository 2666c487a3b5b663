package mutant

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// takeovers are damages of what happens when a transactional ID is initialized
// anew.
var takeovers = []Mutant{
	{Number: 26, Name: "re-init does not abort", Kills: []string{"F-01", "F-03", "F-05"}, Make: neverTakenOver},
	{Number: 32, Name: "new data before the ABORT marker", Kills: []string{"F-01", "F-03"}, Make: lateAborts},
	{Number: 182, Name: "a commit acknowledged and then aborted by a re-init", Kills: []string{"F-04"}, Make: commitsOnlyAcknowledged},
	{Number: 183, Name: "the abort by a re-init is a COMMIT in one partition", Kills: []string{"F-03", "F-04"}, Make: halfTakenOver},
	{Number: 184, Name: "re-init takes any epoch", Kills: []string{"F-05"}, Make: func() Damage {
		return Damage{Keys: []kmsg.Key{kmsg.InitProducerID}, Request: func(c *Call) {
			req := c.Request.(*kmsg.InitProducerIDRequest)
			req.ProducerID, req.ProducerEpoch = -1, -1
		}}
	}},
	{Number: 185, Name: "re-init fences other IDs too", Kills: []string{"F-09"}, Make: fencesOthers},
}

// named calls do with where a request has its transactional ID, and with who
// the producer is. Batches of a Produce have that in themselves.
func named(req kmsg.Request, do func(name *string, who *identity)) {
	switch r := req.(type) {
	case *kmsg.AddPartitionsToTxnRequest:
		who := identity{r.ProducerID, r.ProducerEpoch}
		do(&r.TransactionalID, &who)
		r.ProducerID, r.ProducerEpoch = who.id, who.epoch
	case *kmsg.EndTxnRequest:
		who := identity{r.ProducerID, r.ProducerEpoch}
		do(&r.TransactionalID, &who)
		r.ProducerID, r.ProducerEpoch = who.id, who.epoch
	case *kmsg.ProduceRequest:
		if r.TransactionID == nil {
			return
		}
		eachSent(r, func(s sent) {
			name, who := *r.TransactionID, s.producer()
			do(&name, &who)
			r.TransactionID = &name
		})
	}
}

var transactionKeys = []kmsg.Key{kmsg.InitProducerID, kmsg.AddPartitionsToTxn, kmsg.Produce, kmsg.EndTxn}

// neverTakenOver gives every new initialization of an ID another ID at the
// cluster, so that the one before goes on.
func neverTakenOver() Damage {
	generations, of := map[string]int{}, map[string]string{} // by the checker's ID; the checker's ID by the cluster's
	known := map[int64]string{}                              // the cluster's ID by producer ID
	return Damage{
		Keys: transactionKeys,
		Request: func(c *Call) {
			if req, ok := c.Request.(*kmsg.InitProducerIDRequest); ok && req.TransactionalID != nil {
				name := *req.TransactionalID
				alias := fmt.Sprintf("%s-%d", name, generations[name])
				of[alias] = name
				req.TransactionalID, req.ProducerID, req.ProducerEpoch = &alias, -1, -1
				return
			}
			named(c.Request, func(name *string, who *identity) { *name = known[who.id] })
		},
		Response: func(c *Call) {
			req, ok := c.Request.(*kmsg.InitProducerIDRequest)
			if resp, is := c.Response.(*kmsg.InitProducerIDResponse); ok && is && resp.ErrorCode == 0 && req.TransactionalID != nil {
				known[resp.ProducerID] = *req.TransactionalID
				generations[of[*req.TransactionalID]]++
			}
		},
	}
}

// commitsOnlyAcknowledged keeps commits from the cluster.
func commitsOnlyAcknowledged() Damage {
	return Damage{Keys: []kmsg.Key{kmsg.EndTxn}, Request: func(c *Call) {
		req := c.Request.(*kmsg.EndTxnRequest)
		if !req.Commit {
			return
		}
		resp := req.ResponseKind().(*kmsg.EndTxnResponse)
		resp.ProducerID, resp.ProducerEpoch = req.ProducerID, req.ProducerEpoch
		c.Response = resp
	}}
}

// halfTakenOver shows the abort of a transaction that nobody ended as a commit,
// in every second partition.
func halfTakenOver() Damage {
	asked := map[identity]bool{}
	d := Damage{Keys: []kmsg.Key{kmsg.Fetch, kmsg.EndTxn}}
	d.Request = func(c *Call) {
		if req, ok := c.Request.(*kmsg.EndTxnRequest); ok && !req.Commit {
			asked[identity{req.ProducerID, req.ProducerEpoch}] = true
		}
	}
	d.Response = func(c *Call) {
		req, ok := c.Request.(*kmsg.FetchRequest)
		if !ok {
			return
		}
		eachFetched(req, c.Response.(*kmsg.FetchResponse), func(f fetched) {
			if f.partition.Index%2 == 0 {
				return
			}
			f.turnMarkers(func(b model.Batch) bool { // a marker may have the next epoch
				return !asked[identity{b.ProducerID, b.Epoch}] && !asked[identity{b.ProducerID, b.Epoch - 1}]
			})
			f.strike(func(int64) bool { return true })
		})
	}
	return d
}

// lateAborts shows the abort marker of a re-init after the batch that followed
// it.
func lateAborts() Damage {
	return onFetch(func(f fetched) {
		batches := f.batches()
		for i := 1; i < len(batches); i++ {
			marker, data := batches[i-1], batches[i]
			if marker.Kind != model.AbortMarker || data.Kind != model.Data || data.ProducerID != marker.ProducerID {
				continue
			}
			batches[i-1], batches[i] = moved(data, marker.Base), moved(marker, marker.Base+data.Last-data.Base+1)
		}
		f.put(batches)
	})
}

// fencesOthers takes over every other ID with a transaction when one is.
func fencesOthers() Damage {
	seen, open := map[string]bool{}, map[string]bool{}
	return Damage{
		Keys: transactionKeys,
		Request: func(c *Call) {
			switch req := c.Request.(type) {
			case *kmsg.InitProducerIDRequest:
				if req.TransactionalID == nil {
					return
				}
				name := *req.TransactionalID
				delete(open, name)
				if seen[name] {
					for other := range open {
						takeOver(c, other)
					}
				}
				seen[name] = true
			case *kmsg.EndTxnRequest:
				delete(open, req.TransactionalID)
			default:
				named(c.Request, func(name *string, _ *identity) { open[*name] = true })
			}
		},
	}
}

// takeOver initializes an ID, and reports whether that is done already.
func takeOver(c *Call, name string) bool {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID, req.TransactionTimeoutMillis = &name, 60_000
	req.ProducerID, req.ProducerEpoch = -1, -1
	resp, ok := c.Forward(req).(*kmsg.InitProducerIDResponse)
	return ok && resp.ErrorCode == 0 // the answer may be that it takes a while
}
