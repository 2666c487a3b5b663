package mutant

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// listsByTime are damages that only a reader notices who reads while
// transactions end.
var listsByTime = []Mutant{
	{
		Number: 44, Name: "no list for 100 ms after an abort", Kills: []string{"A-10"},
		Make: lateLists,
	},
	{
		Number: 150, Name: "every fifth answer at read_committed is one at read_uncommitted", Kills: []string{"A-10"},
		Make: func() Damage {
			n := 0
			return Damage{
				Keys: []kmsg.Key{kmsg.Fetch},
				Request: func(c *Call) {
					if req := c.Request.(*kmsg.FetchRequest); req.IsolationLevel == model.ReadCommitted {
						if n++; n%5 == 0 {
							req.IsolationLevel = model.ReadUncommitted
						}
					}
				},
			}
		},
	},
	{
		Number: 152, Name: "open transactions are answered, aborted ones are listed", Kills: []string{"A-01", "A-10"},
		Make: openReadable,
	},
}

// openReadable answers at read_uncommitted, with the list that the same Fetch
// has at read_committed.
func openReadable() Damage {
	lists := map[*Call]*kmsg.FetchResponse{}
	return Damage{
		Keys: []kmsg.Key{kmsg.Fetch},
		Request: func(c *Call) {
			req := c.Request.(*kmsg.FetchRequest)
			if req.IsolationLevel != model.ReadCommitted {
				return
			}
			same := *req
			same.MaxWaitMillis = 1 // nobody else gets through until it is back
			lists[c], _ = c.Forward(&same).(*kmsg.FetchResponse)
			req.IsolationLevel = model.ReadUncommitted
		},
		Response: func(c *Call) {
			from := lists[c]
			delete(lists, c)
			resp := c.Response.(*kmsg.FetchResponse)
			if from == nil || len(from.Topics) != 1 || len(resp.Topics) != 1 {
				return
			}
			for i := range resp.Topics[0].Partitions {
				resp.Topics[0].Partitions[i].AbortedTransactions = from.Topics[0].Partitions[i].AbortedTransactions
			}
		},
	}
}

// lateLists counts from the moment at which the broker is asked to abort, and
// again from its answer.
func lateLists() Damage {
	var ready time.Time
	later := func(c *Call) bool {
		req, ok := c.Request.(*kmsg.EndTxnRequest)
		if ok && !req.Commit {
			ready = time.Now().Add(100 * time.Millisecond)
		}
		return ok
	}
	damage := onCommitted(func(f fetched) {
		if time.Now().Before(ready) {
			f.AbortedTransactions = nil
		}
	})
	fetch := damage.Response
	damage.Keys = append(damage.Keys, kmsg.EndTxn)
	damage.Request = func(c *Call) { later(c) }
	damage.Response = func(c *Call) {
		if !later(c) {
			fetch(c)
		}
	}
	return damage
}
