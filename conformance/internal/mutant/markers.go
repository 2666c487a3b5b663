package mutant

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// hasty is for damages that are noticed by waiting for a marker in vain.
const hasty = 0.4

// oddPartition is the one that damages of a single partition are about.
const oddPartition = 3

// markers are damages of control batches, of how transactions end, and of what
// is said about them.
var markers = slices.Concat(ended, described)

var ended = []Mutant{
	{
		Number: 16, Name: "no ABORT markers at read_committed", Kills: []string{"A-01", "M-02"},
		Make: func() Damage {
			return onCommitted(func(f fetched) { f.without(func(b model.Batch) bool { return b.Kind == model.AbortMarker }) })
		},
	},
	{
		Number: 17, Name: "COMMIT markers are ABORT markers and the other way round", Kills: []string{"M-01", "M-02", "M-08"},
		Make: func() Damage { return onFetch(func(f fetched) { f.replace(isMarker, turned) }) },
	},
	{
		Number: 18, Name: "a marker missing in one partition", Kills: []string{"M-02"}, Slow: hasty,
		Make: func() Damage { return unmarked(model.CommitMarker, model.AbortMarker) },
	},
	{
		Number: 27, Name: "a second EndTxn turns the outcome round", Kills: []string{"M-08"},
		Make: retryTurns,
	},
	{
		Number: 35, Name: "an abort misses one partition", Kills: []string{"M-02"}, Slow: hasty,
		Make: func() Damage { return unmarked(model.AbortMarker) },
	},
	{
		Number: 37, Name: "EndTxn acknowledged, not applied", Kills: []string{"M-02"}, Slow: hasty,
		Make: func() Damage {
			return Damage{Keys: []kmsg.Key{kmsg.EndTxn}, Request: acknowledgeEnd}
		},
	},
	{
		Number: 47, Name: "marker epoch below the data's", Kills: []string{"M-01"},
		Make: func() Damage {
			return onFetchWithLog(func(f fetched, l *model.Log) {
				f.replace(isMarker, func(b model.Batch) []byte {
					i, ok := l.Find(b.Base)
					if r := l.Run(i); ok && r != nil {
						return withEpoch(b, r.Epoch-1)
					}
					return b.Raw
				})
			})
		},
	},
	{
		Number: 161, Name: "Produce answers do not count markers", Kills: []string{"M-03"},
		Make: countingRecords,
	},
	{
		Number: 162, Name: "an administrator's ABORT marker is a COMMIT marker", Kills: []string{"M-05"},
		Make: func() Damage {
			return Damage{Keys: []kmsg.Key{kmsg.WriteTxnMarkers}, Request: func(c *Call) {
				for i := range c.Request.(*kmsg.WriteTxnMarkersRequest).Markers {
					m := &c.Request.(*kmsg.WriteTxnMarkersRequest).Markers[i]
					m.Committed = !m.Committed
				}
			}}
		},
	},
	{
		Number: 163, Name: "WriteTxnMarkers refuses nothing", Kills: []string{"M-06"},
		Make: func() Damage {
			return Damage{Keys: []kmsg.Key{kmsg.WriteTxnMarkers}, Response: func(c *Call) {
				for _, m := range c.Response.(*kmsg.WriteTxnMarkersResponse).Markers {
					for _, t := range m.Topics {
						for i := range t.Partitions {
							t.Partitions[i].ErrorCode = 0
						}
					}
				}
			}}
		},
	},
	{
		Number: 164, Name: "one partition ends the other way", Kills: []string{"M-02", "M-09"},
		Make: func() Damage {
			return turnedWhere(func(l *model.Log, i int) bool { return l.Partition.Index == oddPartition })
		},
	},
	{
		Number: 165, Name: "markers without a value", Kills: []string{"M-01"},
		Make: func() Damage { return onFetch(func(f fetched) { f.replace(isMarker, withoutValue) }) },
	},
	{
		Number: 166, Name: "an EndTxn for the other outcome is acknowledged", Kills: []string{"M-08"},
		Make: func() Damage {
			return Damage{Keys: []kmsg.Key{kmsg.EndTxn}, Response: func(c *Call) {
				if r := c.Response.(*kmsg.EndTxnResponse); r.ErrorCode == invalidTxnState {
					r.ErrorCode = 0
				}
			}}
		},
	},
	{
		Number: 167, Name: "a second EndTxn bumps the epoch again", Kills: []string{"M-08"},
		Second: true, Make: retryBumps,
	},
	{
		Number: 168, Name: "WriteTxnMarkers acknowledged, not applied", Kills: []string{"M-05"}, Slow: hasty,
		Make: func() Damage {
			return Damage{Keys: []kmsg.Key{kmsg.WriteTxnMarkers}, Request: acknowledgeMarkers}
		},
	},
}

const invalidTxnState = 48

func isMarker(b model.Batch) bool {
	return b.Kind == model.CommitMarker || b.Kind == model.AbortMarker
}

// without removes batches from the answer.
func (f fetched) without(gone func(model.Batch) bool) {
	all := f.batches()
	if left := slices.DeleteFunc(slices.Clone(all), gone); len(left) < len(all) {
		f.put(left)
	}
}

// replace puts other bytes in the place of some batches.
func (f fetched) replace(which func(model.Batch) bool, by func(model.Batch) []byte) {
	all, changed := f.batches(), false
	for i := range all {
		if which(all[i]) {
			all[i].Raw, changed = by(all[i]), true
		}
	}
	if changed {
		f.put(all)
	}
}
