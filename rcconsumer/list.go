package rcconsumer

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// query is a question to ListOffsets.
type query uint8

const (
	queryStart         query = iota // log start offset
	queryEnd                        // last stable offset, or high watermark at read_uncommitted
	queryHighWatermark              // high watermark, whatever the isolation level
	queryNewest                     // timestamp of the newest record
	queryTime                       // first offset at or after a timestamp
	queries
)

// Special timestamps of ListOffsets.
const (
	timestampEnd    = -1
	timestampStart  = -2
	timestampNewest = -3
)

// minListVersion is the first ListOffsets version that knows isolation levels.
const minListVersion = 2

// minNewestVersion is the first that knows the newest record (KIP-734).
const minNewestVersion = 7

// listTimeout bounds one round of ListOffsets.
const listTimeout = 15 * time.Second

// listed is the answer to a query.
type listed struct {
	offset    int64
	epoch     int32
	timestamp int64
	err       error
}

// plus moves the offset; a moved offset has no epoch to validate against.
func (l listed) plus(n int64) listed {
	if n != 0 {
		l.offset, l.epoch = added(l.offset, n), -1
	}
	return l
}

// within clips the offset to [lo, hi].
func (l listed) within(lo, hi listed) listed {
	if l.offset > hi.offset {
		l = hi
	}
	if l.offset < lo.offset {
		l = lo
	}
	return l
}

// err is the first error of all answers.
func (j *job) err() error {
	for _, a := range j.answers {
		if a.err != nil {
			return a.err
		}
	}
	return nil
}

// asks reports whether the job needs the answer to q.
func (j *job) asks(cfg *config, q query) bool {
	spec := j.want.spec
	if j.want.outOfRange {
		spec = cfg.reset
	}
	if j.err() != nil {
		return false
	}
	switch q {
	case queryStart, queryEnd:
		return true
	case queryHighWatermark:
		return j.want.outOfRange
	case queryNewest:
		return spec.at == atLookback
	default:
		return spec.byTime || spec.at == atLookback || spec.at == atRewind && j.want.outOfRange && !j.want.consumed.IsZero()
	}
}

// timestamp is what q asks ListOffsets for.
func (j *job) timestamp(cfg *config, q query) int64 {
	switch q {
	case queryStart:
		return timestampStart
	case queryEnd, queryHighWatermark:
		return timestampEnd
	case queryNewest:
		return timestampNewest
	default:
	}
	spec := j.want.spec
	if j.want.outOfRange {
		spec = cfg.reset
	}
	switch spec.at {
	case atRewind:
		return back(j.want.consumed.UnixMilli(), spec.lookback)
	case atLookback:
		newest := j.answers[queryNewest].timestamp
		if newest < 0 {
			newest = time.Now().UnixMilli()
		}
		return back(newest, spec.lookback)
	default:
		return max(spec.at, 1)
	}
}

// back goes d back in time, but never to a timestamp with a special meaning.
func back(ms int64, d time.Duration) int64 { return max(ms-d.Milliseconds(), 1) }

// list asks q for all jobs and notes the answers in them.
func (c *Consumer) list(ctx context.Context, q query, jobs []*job) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	req := kmsg.NewPtrListOffsetsRequest()
	if !c.cfg.readUncommitted && q != queryHighWatermark {
		req.IsolationLevel = isolationCommitted
	}
	byKey := make(map[key]*job, len(jobs))
	topics := make(map[string]int)
	for _, j := range jobs {
		byKey[j.p.key()] = j
		j.answers[q] = listed{offset: -1, epoch: -1, timestamp: -1, err: errLeftOut}
		i, ok := topics[j.p.topic]
		if !ok {
			i = len(req.Topics)
			topics[j.p.topic] = i
			t := kmsg.NewListOffsetsRequestTopic()
			t.Topic = j.p.topic
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition = j.p.id
		p.Timestamp = j.timestamp(&c.cfg, q)
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, p)
	}
	for _, shard := range c.cl.RequestSharded(ctx, req) {
		if resp, ok := shard.Resp.(*kmsg.ListOffsetsResponse); ok && shard.Err == nil {
			c.listing.note(shard.Meta.NodeID, time.Duration(resp.ThrottleMillis)*time.Millisecond)
		}
		noteShard(shard, q, byKey)
	}
}

var errNegativeOffset = errors.New("the broker listed a negative offset")

func noteShard(shard kgo.ResponseShard, q query, byKey map[key]*job) {
	err := shard.Err
	resp, ok := shard.Resp.(*kmsg.ListOffsetsResponse)
	if err == nil && ok && resp.Version < minListVersion {
		err = &VersionError{Request: "ListOffsets", Got: resp.Version, Need: minListVersion}
	}
	if err != nil {
		failShard(shard.Req, q, byKey, err)
		return
	}
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for k := range t.Partitions {
			p := &t.Partitions[k]
			j := byKey[key{topic: t.Topic, partition: p.Partition}]
			switch {
			case j == nil:
			case q == queryNewest && resp.Version < minNewestVersion:
				j.answers[q] = listed{offset: -1, epoch: -1, timestamp: -1} // taken for now
			default:
				j.answers[q] = j.p.key().listedOf(p, q == queryTime || q == queryNewest)
			}
		}
	}
}

func failShard(req kmsg.Request, q query, byKey map[key]*job, err error) {
	r, ok := req.(*kmsg.ListOffsetsRequest)
	if !ok {
		return
	}
	for i := range r.Topics {
		for k := range r.Topics[i].Partitions {
			if j := byKey[key{topic: r.Topics[i].Topic, partition: r.Topics[i].Partitions[k].Partition}]; j != nil {
				j.answers[q].err = j.wrap(err)
			}
		}
	}
}

// listedOf reads one partition's answer. Only a search by time may find nothing.
func (k key) listedOf(p *kmsg.ListOffsetsResponseTopicPartition, byTime bool) listed {
	err := kerr.ErrorForCode(p.ErrorCode)
	if err == nil && p.Offset < 0 && !byTime {
		err = errNegativeOffset
	}
	if err != nil {
		return listed{offset: -1, epoch: -1, timestamp: -1, err: k.listError(err)}
	}
	return listed{offset: p.Offset, epoch: p.LeaderEpoch, timestamp: p.Timestamp}
}

func (j *job) wrap(err error) error {
	return j.p.key().listError(err)
}
