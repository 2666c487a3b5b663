package mutant

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// timeouts are damages of how long a transaction may last.
var timeouts = []Mutant{
	{Number: 33, Name: "timeout never fires", Kills: []string{"T-01"}, Slow: 0.1, Make: func() Damage {
		return retimed(func(int32) int32 { return 600_000 })
	}},
	{Number: 34, Name: "timeout fires early", Kills: []string{"T-04"}, Make: func() Damage {
		return retimed(func(millis int32) int32 { return min(millis, 1000) })
	}},
	{Number: 36, Name: "late EndTxn accepted", Kills: []string{"T-02"}, Make: lateCommits},
	{Number: 188, Name: "the abort by timeout is a COMMIT in one partition", Kills: []string{"T-05"}, Make: halfTakenOver},
	{Number: 189, Name: "odd timeouts cut down instead of refused", Kills: []string{"T-03"}, Make: func() Damage {
		return retimed(func(millis int32) int32 { return min(max(millis, 1000), 60_000) })
	}},
	{Number: 192, Name: "every second timeout is a commit", Kills: []string{"T-01"}, Make: nowAndThenCommittedLate},
	{Number: 193, Name: "an abort with nothing behind it holds every partition back but one", Kills: []string{"T-05"}, Slow: 0.2, Make: func() Damage {
		return misplaced(func(l *model.Log) int64 {
			if l.Partition.Index == 0 {
				return l.LSO()
			}
			return abortedTail(l)
		})
	}},
	{Number: 194, Name: "an abort with nothing behind it holds the LSO back", Kills: []string{"T-02"}, Slow: 0.2, Make: func() Damage {
		return misplaced(abortedTail)
	}},
	{Number: 195, Name: "an abort with nothing behind it holds the LSO back, of transactions v2 too", Kills: []string{"V-03", "V-08"}, Slow: hasty, Second: true, Make: func() Damage {
		return misplaced(abortedTail)
	}},
}

// abortedTail is the first offset of the last transaction, if that was aborted.
func abortedTail(l *model.Log) int64 {
	if n := len(l.Runs); n > 0 && l.Runs[n-1].Fate == model.Aborted && l.Runs[n-1].Marker == l.End-1 {
		return l.Runs[n-1].First
	}
	return l.LSO()
}

// nowAndThenCommittedLate shows as committed what every second producer with a
// short timeout wrote, none of which ends its transactions itself.
func nowAndThenCommittedLate() Damage {
	n, turned := 0, map[int64]bool{}
	match := func(producerID int64) bool { return turned[producerID] }
	return Damage{Keys: []kmsg.Key{kmsg.InitProducerID, kmsg.Fetch}, Response: func(c *Call) {
		switch req := c.Request.(type) {
		case *kmsg.InitProducerIDRequest:
			resp := c.Response.(*kmsg.InitProducerIDResponse)
			if resp.ErrorCode == 0 && req.TransactionTimeoutMillis <= 10_000 {
				turned[resp.ProducerID] = n%2 == 0
				n++
			}
		case *kmsg.FetchRequest:
			eachFetched(req, c.Response.(*kmsg.FetchResponse), func(f fetched) {
				f.turnMarkers(func(b model.Batch) bool { return match(b.ProducerID) })
				f.strike(match)
			})
		}
	}}
}

// retimed changes the transaction timeout on its way to the cluster.
func retimed(change func(millis int32) int32) Damage {
	return Damage{Keys: []kmsg.Key{kmsg.InitProducerID}, Request: func(c *Call) {
		req := c.Request.(*kmsg.InitProducerIDRequest)
		req.TransactionTimeoutMillis = change(req.TransactionTimeoutMillis)
	}}
}

// lateCommits accepts a commit that comes too late, and shows the transaction
// as committed from then on.
func lateCommits() Damage {
	committed := map[int64]bool{}
	match := func(producerID int64) bool { return committed[producerID] }
	return Damage{
		Keys: []kmsg.Key{kmsg.EndTxn, kmsg.Fetch},
		Response: func(c *Call) {
			switch req := c.Request.(type) {
			case *kmsg.EndTxnRequest:
				resp := c.Response.(*kmsg.EndTxnResponse)
				if !req.Commit || resp.ErrorCode == 0 || kerr.IsRetriable(kerr.ErrorForCode(resp.ErrorCode)) {
					return
				}
				committed[req.ProducerID] = true
				resp.ErrorCode, resp.ProducerID, resp.ProducerEpoch = 0, req.ProducerID, req.ProducerEpoch+1
			case *kmsg.FetchRequest:
				eachFetched(req, c.Response.(*kmsg.FetchResponse), func(f fetched) {
					f.turnMarkers(func(b model.Batch) bool { return match(b.ProducerID) })
					f.strike(match)
				})
			}
		},
	}
}
