package conformance

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/conformance/internal/wire"
)

// sameLeader makes a topic and returns n of its partitions that one broker
// leads, so that one request can ask for all of them.
func (t *trial) sameLeader(n int) []model.Partition {
	led := map[int32][]model.Partition{}
	for _, p := range t.partitions(int32(n * len(t.run.features.brokers))) {
		leader := t.leader(p)
		if led[leader] = append(led[leader], p); len(led[leader]) == n {
			return led[leader]
		}
	}
	t.undecided("no broker leads %d partitions of a new topic", n)
	return nil
}

// fetchEach fetches partitions of one topic that one broker leads in one
// request, again if the broker throttles or does not lead. The answers come in
// the order of the partitions.
func (t *trial) fetchEach(ps []model.Partition, offsets []int64, spec fetchSpec) []answer {
	var out []answer
	var why string
	if !t.until(t.bound(settled), "an answer with several partitions", func() bool {
		req := t.fetchEachRequest(ps, offsets, spec)
		quiet, told := t.watchQuiet(ps), t.reachedEach(ps)
		e := t.unthrottled(t.leader(ps[0]), "fetch", req)
		out = out[:0]
		for i, p := range ps {
			rp := partitionIn(e.Response.(*kmsg.FetchResponse), p.Index)
			if rp == nil || rp.ErrorCode != 0 {
				why = whyNone(rp, e.Response.(*kmsg.FetchResponse).ErrorCode)
				t.refresh(p)
				return false
			}
			a := t.take(p, offsets[i], rp, e, quiet(p))
			if a.Follower {
				why = "no one broker leads them"
				return false
			}
			if t.lags(a.View, told[i]) {
				why = "the high watermark of a new leader stays behind"
				return false
			}
			out = append(out, a)
		}
		return true
	}) {
		t.undecided("fetch of several partitions at once: %s", why)
	}
	return out
}

// unthrottled sends a request that may be repeated until the answer is not a
// throttled one.
func (t *trial) unthrottled(broker int32, lane string, req kmsg.Request) *wire.Exchange {
	for {
		e := t.do(broker, lane, req)
		if e.Err != nil {
			t.broken(kmsg.NameForKey(req.Key()), e)
		}
		if !e.Throttled() {
			return e
		}
		t.pause(time.Duration(e.ThrottleMillis())*time.Millisecond, "the end of a throttle")
	}
}

// take makes an answer of one partition of an exchange, and keeps it to be
// judged.
func (t *trial) take(p model.Partition, offset int64, rp *kmsg.FetchResponseTopicPartition, e *wire.Exchange, quiet bool) answer {
	alone, resp := *e, *e.Response.(*kmsg.FetchResponse)
	topic := kmsg.NewFetchResponseTopic()
	topic.Partitions = append(topic.Partitions, *rp)
	resp.Topics = []kmsg.FetchResponseTopic{topic}
	alone.Response = &resp
	spec := fetchSpec{isolation: e.Request.(*kmsg.FetchRequest).IsolationLevel}
	return answer{View: t.viewOf(p, offset, spec, &alone, quiet), took: e.Took()}
}

// partitionIn is a partition in an answer about one topic, nil if it is not
// there.
func partitionIn(resp *kmsg.FetchResponse, index int32) *kmsg.FetchResponseTopicPartition {
	for i := range resp.Topics {
		for k := range resp.Topics[i].Partitions {
			if rp := &resp.Topics[i].Partitions[k]; rp.Partition == index {
				return rp
			}
		}
	}
	return nil
}

func (t *trial) fetchEachRequest(ps []model.Partition, offsets []int64, spec fetchSpec) *kmsg.FetchRequest {
	req := t.fetchRequest(ps[0], offsets[0], spec)
	topic := &req.Topics[0]
	for i, p := range ps[1:] {
		partition := topic.Partitions[0]
		partition.Partition, partition.FetchOffset, partition.CurrentLeaderEpoch = p.Index, offsets[i+1], t.leaderEpoch(p)
		topic.Partitions = append(topic.Partitions, partition)
	}
	return req
}

// watchQuiet returns a function that tells, later, whether nothing happened to
// a partition since.
func (t *trial) watchQuiet(ps []model.Partition) func(model.Partition) bool {
	type look struct {
		changes int
		quiet   bool
	}
	before := map[model.Partition]look{}
	for _, p := range ps {
		changes, quiet := t.quietNow(p)
		before[p] = look{changes, quiet}
	}
	return func(p model.Partition) bool {
		changes, quiet := t.quietNow(p)
		return before[p].quiet && quiet && before[p].changes == changes
	}
}

// whyNone says why a partition of an answer is of no use.
func whyNone(rp *kmsg.FetchResponseTopicPartition, code int16) string {
	if rp != nil {
		return codeName(rp.ErrorCode)
	}
	return "missing; " + codeName(code)
}
