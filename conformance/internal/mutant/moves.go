package mutant

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// severalBrokers are damages that only show where a partition has another
// leader, or a follower that gives it to readers.
var severalBrokers = []Mutant{
	{
		Number: 43, Name: "no list after a leader move", Kills: []string{"R-01", "R-02"}, Brokers: 3,
		Make: func() Damage {
			return elsewhere(func(f fetched, _ *model.Log) {
				if f.committed {
					f.AbortedTransactions = nil
				}
			})
		},
	},
	{
		Number: 250, Name: "a new leader does not know of open transactions", Kills: []string{"R-01"}, Brokers: 3,
		Make: func() Damage {
			return elsewhere(func(f fetched, l *model.Log) {
				if f.committed && f.LastStableOffset < f.HighWatermark {
					f.move(l, f.HighWatermark)
				}
			})
		},
	},
	{
		Number: 251, Name: "a transaction ends the other way where the leader moved", Kills: []string{"R-01"}, Brokers: 3,
		Make: tornByMove,
	},
	{
		Number: 252, Name: "a new leader lacks a committed batch", Kills: []string{"R-02"}, Brokers: 3,
		Make: func() Damage {
			return elsewhere(func(f fetched, l *model.Log) {
				f.without(func(b model.Batch) bool {
					at, ok := l.Find(b.Base)
					return ok && l.Fate(at) == model.Committed && b.Last+1 < l.End/2
				})
			})
		},
	},
	{
		Number: 253, Name: "a new leader has other records", Kills: []string{"R-02"}, Brokers: 3,
		Make: func() Damage {
			return elsewhere(func(f fetched, _ *model.Log) { damageBatches(f, alteredValue) })
		},
	},
	{
		Number: 254, Name: "a follower has no list", Kills: []string{"R-06"}, Brokers: 3,
		Make: func() Damage {
			return elsewhere(func(f fetched, _ *model.Log) { f.AbortedTransactions = nil })
		},
	},
	{
		Number: 255, Name: "a follower answers up to its high watermark", Kills: []string{"R-06"}, Brokers: 3,
		Make: func() Damage {
			return elsewhere(func(f fetched, l *model.Log) { f.move(l, f.HighWatermark) })
		},
	},
}

// elsewhere is a damage of answers to a Fetch that come from another broker
// than the first one that was asked for the partition. It knows the log.
func elsewhere(damage func(fetched, *model.Log)) Damage {
	seen, first := logs{}, map[model.Partition]int32{}
	return Damage{Keys: []kmsg.Key{kmsg.Fetch}, Response: func(c *Call) {
		eachFetched(c.Request.(*kmsg.FetchRequest), c.Response.(*kmsg.FetchResponse), func(f fetched) {
			l := seen.see(f)
			if _, known := first[f.partition]; !known {
				first[f.partition] = c.Broker
			}
			if c.Broker != first[f.partition] {
				damage(f, l)
			}
		})
	}}
}

// tornByMove is a cluster in which the markers that a partition got since its
// leader moved are of the other type, and the lists go with them.
func tornByMove() Damage {
	since := map[model.Partition]int64{} // the first offset that only a new leader had
	var damage Damage
	damage = elsewhere(func(f fetched, _ *model.Log) {
		if _, known := since[f.partition]; !known {
			since[f.partition] = f.HighWatermark
		}
	})
	seen, moved := logs{}, damage.Response
	damage.Response = func(c *Call) {
		moved(c)
		eachFetched(c.Request.(*kmsg.FetchRequest), c.Response.(*kmsg.FetchResponse), func(f fetched) {
			from, hasMoved := since[f.partition]
			l := seen.see(f)
			if !hasMoved {
				return
			}
			late := func(l *model.Log, marker int) bool { return l.Batches[marker].Base >= from }
			f.replace(isMarker, func(b model.Batch) []byte {
				if i, ok := l.Find(b.Base); ok && late(l, i) {
					return turned(b)
				}
				return b.Raw
			})
			if f.committed {
				f.relist(l, late)
			}
		})
	}
	return damage
}
