package mutant

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// sequences are damages of idempotence.
var sequences = []Mutant{
	{Number: 25, Name: "a duplicate is appended", Kills: []string{"F-07"}, Make: func() Damage {
		return renumbering(func(sequence, next int32) bool { return sequence < next })
	}},
	{Number: 186, Name: "a plain batch within a transaction accepted", Kills: []string{"F-06"}, Make: func() Damage {
		return Damage{Keys: []kmsg.Key{kmsg.Produce}, Request: func(c *Call) {
			eachSent(c.Request.(*kmsg.ProduceRequest), func(s sent) {
				if !s.transactional() {
					s.asNobody()
				}
			})
		}}
	}},
	{Number: 187, Name: "a gap in the sequences accepted", Kills: []string{"F-08"}, Make: func() Damage {
		return renumbering(func(sequence, next int32) bool { return sequence > next })
	}},
	{Number: 190, Name: "a duplicate acknowledged at another offset", Kills: []string{"F-07"}, Make: duplicatesElsewhere},
}

// stream is what a broker counts sequences in.
type stream struct {
	who       identity
	partition model.Partition
}

// counting follows the next sequence of each stream.
type counting map[stream]int32

func (n counting) learn(c *Call) {
	eachWritten(c.Request.(*kmsg.ProduceRequest), c.Response.(*kmsg.ProduceResponse), func(s sent) {
		at := stream{s.producer(), s.partition}
		n[at] = max(n[at], s.sequence()+s.count())
	})
}

// renumbering gives batches whose sequence is wrong in some way the right one,
// so that the cluster takes them.
func renumbering(wrong func(sequence, next int32) bool) Damage {
	next := counting{}
	return Damage{
		Keys: []kmsg.Key{kmsg.Produce},
		Request: func(c *Call) {
			eachSent(c.Request.(*kmsg.ProduceRequest), func(s sent) {
				if want, ok := next[stream{s.producer(), s.partition}]; ok && s.sequence() >= 0 && wrong(s.sequence(), want) {
					s.as(s.producer(), want)
				}
			})
		},
		Response: func(c *Call) { next.learn(c) },
	}
}

// duplicatesElsewhere names the end of the log in the answer to a duplicate.
func duplicatesElsewhere() Damage {
	next, repeated := counting{}, map[*kmsg.ProduceRequest]int32{}
	return Damage{
		Keys: []kmsg.Key{kmsg.Produce},
		Request: func(c *Call) {
			req := c.Request.(*kmsg.ProduceRequest)
			eachSent(req, func(s sent) {
				if want := next[stream{s.producer(), s.partition}]; s.sequence() >= 0 && s.sequence() < want {
					repeated[req] = want
				}
			})
		},
		Response: func(c *Call) {
			next.learn(c)
			end, ok := repeated[c.Request.(*kmsg.ProduceRequest)]
			if !ok {
				return
			}
			eachAnswered(c.Response.(*kmsg.ProduceResponse), func(p *kmsg.ProduceResponseTopicPartition) {
				if p.ErrorCode == 0 {
					p.BaseOffset = int64(end)
				}
			})
		},
	}
}
