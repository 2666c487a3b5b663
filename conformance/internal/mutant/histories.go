package mutant

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// histories are damages that come now and then: a scenario that looks at one
// situation once may well not meet them.
var histories = []Mutant{
	{
		Number: 260, Name: "an entry missing in 1 of 200 answers", Kills: []string{"X-01"},
		Make: func() Damage {
			return oneIn(200, func(f fetched) bool {
				if len(f.AbortedTransactions) == 0 {
					return false
				}
				needed := f.needed()
				if needed < 0 {
					return false
				}
				f.AbortedTransactions = append(f.AbortedTransactions[:needed:needed], f.AbortedTransactions[needed+1:]...)
				return true
			})
		},
	},
	{
		Number: 261, Name: "LSO one too high in 1 of 100 answers", Kills: []string{"X-01"},
		Make: func() Damage {
			return oneIn(100, func(f fetched) bool {
				if f.LastStableOffset >= f.HighWatermark {
					return false
				}
				f.LastStableOffset++
				return true
			})
		},
	},
	{
		Number: 262, Name: "a committed batch missing in 1 of 1,000 answers", Kills: []string{"X-01"},
		Make: func() Damage {
			return oneIn(1000, func(f fetched) bool {
				batches := f.batches()
				for i := 0; i < len(batches)-1; i++ { // a reader asks for the last one again
					if b := &batches[i]; b.Kind == model.Data && !f.aborted(b) && b.Base >= f.fetchOffset {
						f.put(append(batches[:i:i], batches[i+1:]...))
						return true
					}
				}
				return false
			})
		},
	},
	{Number: 263, Name: "a re-init commits in 1 of 3", Kills: []string{"X-02"}, Make: nowAndThenCommitted},
}

// oneIn damages one in n answers at read_committed, or the next one that can be
// damaged.
func oneIn(n int, damage func(fetched) bool) Damage {
	since := 0
	return onCommitted(func(f fetched) {
		if since++; since >= n && damage(f) {
			since = 0
		}
	})
}

// needed is the index of an entry without which data of the answer would show,
// -1 if there is none.
func (f fetched) needed() int {
	batches := f.batches()
	for i, e := range f.AbortedTransactions {
		for k := range batches {
			b := &batches[k]
			if b.ProducerID != e.ProducerID || b.Last < e.FirstOffset {
				continue
			}
			if b.Control() {
				break
			}
			return i
		}
	}
	return -1
}

// aborted reports whether a batch stands for an entry of the list.
func (f fetched) aborted(b *model.Batch) bool {
	for _, e := range f.AbortedTransactions {
		if e.ProducerID == b.ProducerID {
			return true
		}
	}
	return false
}

// nowAndThenCommitted commits what an initialization has to abort, in one of
// three.
func nowAndThenCommitted() Damage {
	inside, n := map[string]identity{}, 0
	return Damage{
		Keys: transactionKeys,
		Request: func(c *Call) {
			switch req := c.Request.(type) {
			case *kmsg.EndTxnRequest:
				delete(inside, req.TransactionalID)
			case *kmsg.InitProducerIDRequest:
				if req.TransactionalID == nil {
					return
				}
				name := *req.TransactionalID
				who, open := inside[name]
				delete(inside, name)
				if !open {
					return
				}
				if n++; n%3 == 0 {
					end := kmsg.NewPtrEndTxnRequest()
					end.TransactionalID, end.ProducerID, end.ProducerEpoch, end.Commit = name, who.id, who.epoch, true
					_ = c.Forward(end)
				}
			default:
				named(c.Request, func(name *string, who *identity) { inside[*name] = *who })
			}
		},
	}
}
