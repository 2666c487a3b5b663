package mutant

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// listing are damages of ListOffsets.
var listing = []Mutant{
	{
		Number: 23, Name: "ListOffsets ignores the isolation level", Kills: []string{"L-05", "L-11"},
		Make: func() Damage { return onList(func(int64) bool { return true }) },
	},
	{
		Number: 123, Name: "ListOffsets by time ignores the isolation level", Warns: []string{"L-05"},
		Make: func() Damage { return onList(func(timestamp int64) bool { return timestamp >= 0 }) },
	},
	{
		Number: 126, Name: "ListOffsets of the largest timestamp ignores the isolation level", Warns: []string{"L-05"},
		Make: func() Damage { return onList(func(timestamp int64) bool { return timestamp == -3 }) },
	},
}

// onList asks some of the searches at read_uncommitted.
func onList(some func(timestamp int64) bool) Damage {
	return Damage{
		Keys: []kmsg.Key{kmsg.ListOffsets},
		Request: func(c *Call) {
			req := c.Request.(*kmsg.ListOffsetsRequest)
			for _, topic := range req.Topics {
				for _, p := range topic.Partitions {
					if some(p.Timestamp) {
						req.IsolationLevel = model.ReadUncommitted
					}
				}
			}
		},
	}
}
