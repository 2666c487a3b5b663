package mutant

import (
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// longPoll is the MaxWait in milliseconds from which on a Fetch counts as one
// that means to wait.
const longPoll = 500

// waiting are damages of fetches that wait.
var waiting = []Mutant{
	{
		Number: 19, Name: "a long poll is not woken by the end of a transaction", Kills: []string{"L-07", "L-08"}, Slow: 0.2,
		Make: func() Damage {
			return onLongPoll(func(_ *Call, req *kmsg.FetchRequest) { req.MinBytes = math.MaxInt32 }, nil)
		},
	},
	{
		Number: 20, Name: "an empty answer at once at the LSO", Kills: []string{"L-09"}, Warns: []string{"L-06"},
		Make: func() Damage {
			return onLongPoll(func(_ *Call, req *kmsg.FetchRequest) { req.MaxWaitMillis = 1 }, nil)
		},
	},
	{
		Number: 21, Name: "no list after a wait", Kills: []string{"L-07"},
		Make: func() Damage {
			return onLongPoll(nil, func(_ *Call, f fetched) { f.AbortedTransactions = nil })
		},
	},
	{
		Number: 125, Name: "a wait that is over gives what is undecided", Kills: []string{"L-06"},
		Make: func() Damage { return onLongPoll(nil, oneBeyond) },
	},
	{
		Number: 128, Name: "MinBytes counts what is undecided", Kills: []string{"L-09"},
		Make: func() Damage {
			return onLongPoll(func(c *Call, req *kmsg.FetchRequest) {
				topic := req.Topics[0]
				s := source{c, topic.Topic, topic.TopicID, topic.Partitions[0].Partition, req.Version}
				if got := s.read(model.ReadUncommitted, topic.Partitions[0].FetchOffset); got != nil && len(got.RecordBatches) >= int(req.MinBytes) {
					req.MaxWaitMillis = 1
				}
			}, nil)
		},
	},
}

// onLongPoll is a damage of fetches at read_committed that find nothing, or too
// little, and mean to wait for it: of the request, of the answer, or both.
func onLongPoll(request func(*Call, *kmsg.FetchRequest), response func(*Call, fetched)) Damage {
	waits := map[*Call]bool{}
	return Damage{
		Keys: []kmsg.Key{kmsg.Fetch},
		Request: func(c *Call) {
			req := c.Request.(*kmsg.FetchRequest)
			if !hasToWait(c, req) {
				return
			}
			waits[c] = true
			if request != nil {
				request(c, req)
			}
		},
		Response: func(c *Call) {
			if !waits[c] {
				return
			}
			delete(waits, c)
			if response != nil {
				eachFetched(c.Request.(*kmsg.FetchRequest), c.Response.(*kmsg.FetchResponse), func(f fetched) { response(c, f) })
			}
		},
	}
}

func hasToWait(c *Call, req *kmsg.FetchRequest) bool {
	if req.IsolationLevel != model.ReadCommitted || req.MaxWaitMillis < longPoll || len(req.Topics) != 1 || len(req.Topics[0].Partitions) != 1 {
		return false
	}
	topic := req.Topics[0]
	s := source{c, topic.Topic, topic.TopicID, topic.Partitions[0].Partition, req.Version}
	got := s.read(model.ReadCommitted, topic.Partitions[0].FetchOffset)
	return got != nil && got.ErrorCode == 0 && len(got.RecordBatches) < int(req.MinBytes)
}
