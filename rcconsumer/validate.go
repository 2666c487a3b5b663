package rcconsumer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// doubtLocked has the leader say, before anything more is fetched, whether its
// log still has what lies in front of the fetch offset (KIP-320). Without an
// epoch there is nothing to ask about.
func (p *partition) doubtLocked() { p.doubted = p.fetchEpoch >= 0 }

// mustValidateLocked reports whether fetching waits for the leader's word.
func (p *partition) mustValidateLocked() bool {
	return p.doubted && p.phase == fetching && p.fetchEpoch >= 0 && p.leaderEpoch >= 0
}

// minEpochVersion is the first OffsetForLeaderEpoch version that a consumer may
// send: earlier ones need a right on the whole cluster. As in the Java client
// there is no validation with an older broker.
const minEpochVersion = 3

// validation is one partition whose fetch offset is being validated.
type validation struct {
	p           *partition
	gen         uint64
	leaderEpoch int32
	fetchEpoch  int32
	answer      epochEnd
}

// epochEnd is where a leader says that a leader epoch ends in its log.
type epochEnd struct {
	epoch   int32 // the largest epoch in the log up to the one asked about; -1 if none is known
	end     int64 // where that one ends, exclusive; -1 if none is known
	skipped bool  // the broker is too old to be asked
	err     error
}

// unvalidated returns what can be validated now, by leader, and when there may
// be more. A leader is not asked again about a partition before it has answered.
func (r *resetter) unvalidated(now time.Time) (led map[int32][]*validation, next time.Duration) {
	next = time.Hour
	led = make(map[int32][]*validation)
	for _, p := range r.c.allPartitions() {
		p.mu.Lock()
		switch {
		case !p.mustValidateLocked() || p.leader == noLeader || p.asked == p.leader:
		case p.parked.After(now):
			next = min(next, p.parked.Sub(now))
		default:
			p.asked = p.leader
			led[p.leader] = append(led[p.leader], &validation{
				p: p, gen: p.gen, leaderEpoch: p.leaderEpoch, fetchEpoch: p.fetchEpoch,
				answer: epochEnd{epoch: -1, end: -1, err: errLeftOut},
			})
		}
		p.mu.Unlock()
	}
	return led, next
}

// validate asks one leader about its partitions and applies the answers.
func (r *resetter) validate(ctx context.Context, leader int32, led []*validation) {
	overdue := r.c.meta.watch(time.Second) // the leader may have moved or died
	r.c.epochEnds(ctx, leader, led)
	overdue()
	if ctx.Err() != nil {
		return
	}
	for _, v := range led {
		r.validated(leader, v)
	}
	r.poke() // for those that something newer has sent to ask again
}

// validated applies an answer, unless something newer has moved the partition.
func (r *resetter) validated(leader int32, v *validation) {
	p := v.p
	var n notices
	p.mu.Lock()
	if p.asked == leader {
		p.asked = noLeader
	}
	if p.gen == v.gen && p.mustValidateLocked() {
		p.validatedLocked(v.answer, &n)
	}
	n.ready = p.deliverableLocked()
	p.mu.Unlock()
	r.c.tell(p, &n)
	r.c.pokeLeader(p)
}

// validatedLocked acts on the leader's word.
func (p *partition) validatedLocked(a epochEnd, n *notices) {
	if a.err == nil {
		p.ails.list.ended()
	}
	switch {
	case a.err != nil:
		p.listFailedLocked(p.wrapEpoch(a.err), n)
	case a.skipped, a.epoch >= 0 && a.end >= p.fetchOffset:
		p.doubted = false
	case a.epoch >= 0 && a.end >= 0:
		p.truncatedLocked(a.epoch, a.end, n)
	default:
		p.divergedLocked()
	}
}

func (p *partition) wrapEpoch(err error) error {
	return fmt.Errorf("topic %s partition %d: offset for leader epoch %d: %w", p.topic, p.id, p.fetchEpoch, err)
}

// epochEnds asks a leader where the epochs end, and notes the answers.
func (c *Consumer) epochEnds(ctx context.Context, leader int32, led []*validation) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	kresp, err := c.cl.Broker(int(leader)).Request(ctx, epochRequest(led))
	resp, _ := kresp.(*kmsg.OffsetForLeaderEpochResponse) // nil only with an error
	all := epochEnd{err: err}
	switch {
	case err != nil && isUnknownToBroker(err), err == nil && resp.Version < minEpochVersion:
		all = epochEnd{skipped: true}
	case err == nil:
		noteEpochEnds(resp, led)
		return
	}
	for _, v := range led {
		v.answer = all
	}
}

func epochRequest(led []*validation) *kmsg.OffsetForLeaderEpochRequest {
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.ReplicaID = -1
	topics := make(map[string]int)
	for _, v := range led {
		i, ok := topics[v.p.topic]
		if !ok {
			i = len(req.Topics)
			topics[v.p.topic] = i
			t := kmsg.NewOffsetForLeaderEpochRequestTopic()
			t.Topic = v.p.topic
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		p.Partition, p.CurrentLeaderEpoch, p.LeaderEpoch = v.p.id, v.leaderEpoch, v.fetchEpoch
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, p)
	}
	return req
}

func noteEpochEnds(resp *kmsg.OffsetForLeaderEpochResponse, led []*validation) {
	byKey := make(map[key]*validation, len(led))
	for _, v := range led {
		byKey[v.p.key()] = v
	}
	for i := range resp.Topics {
		for k := range resp.Topics[i].Partitions {
			p := &resp.Topics[i].Partitions[k]
			if v := byKey[key{topic: resp.Topics[i].Topic, partition: p.Partition}]; v != nil {
				v.answer = epochEnd{epoch: p.LeaderEpoch, end: p.EndOffset, err: kerr.ErrorForCode(p.ErrorCode)}
			}
		}
	}
}

// errLeftOut is retried: a broker may leave out what it has just lost.
var errLeftOut = errors.New("the broker left the partition out of its answer")

// isUnknownToBroker reports whether a request was not sent because the broker,
// or the user's kgo.MaxVersions, does not know it. kgo exports no error for it.
func isUnknownToBroker(err error) bool {
	return strings.Contains(err.Error(), "broker is too old") || strings.Contains(err.Error(), "request key is unknown")
}
