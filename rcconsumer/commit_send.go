package rcconsumer

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// sync commits for the caller, or on revoke: no other commit runs beside it, and
// done has been called when it returns.
func (s *commits) sync(ctx context.Context, all claims, done commitFunc) {
	defer s.ask()()
	s.send(ctx, all, done)
}

// send commits and waits for the answer.
func (s *commits) send(ctx context.Context, all claims, done commitFunc) {
	if len(all) == 0 {
		return
	}
	e := &envelope{s: s, all: all}
	s.c.cl.CommitOffsetsSync(e.context(ctx), all.offsets(), e.answered(done))
}

// async commits for the caller and does not wait.
func (s *commits) async(ctx context.Context, all claims, done commitFunc) {
	answered := s.ask()
	e := &envelope{s: s, all: all}
	s.c.cl.CommitOffsets(e.context(ctx), all.offsets(), e.answered(func(c *Consumer, req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
		defer answered()
		done(c, req, resp, err)
	}))
}

func (all claims) offsets() map[string]map[int32]kgo.EpochOffset {
	offsets := make(map[string]map[int32]kgo.EpochOffset)
	for k, cl := range all {
		if offsets[k.topic] == nil {
			offsets[k.topic] = make(map[int32]kgo.EpochOffset)
		}
		offsets[k.topic][k.partition] = cl.at
	}
	return offsets
}

// envelope is one commit on its way through kgo. kgo sends whatever it is given,
// after waits that may outlast the assignment, so that ownership is looked at
// in the last moment: an offset of a partition that is another's by then could
// set the other back.
type envelope struct {
	s       *commits
	all     claims
	refused []kmsg.OffsetCommitRequestTopic
}

// answered notes what was accepted before it tells done.
func (e *envelope) answered(done commitFunc) func(*kgo.Client, *kmsg.OffsetCommitRequest, *kmsg.OffsetCommitResponse, error) {
	return func(_ *kgo.Client, req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
		if err == nil {
			nameTopics(req, resp)
			e.s.note(resp, e.all)
			req.Topics = append(req.Topics, e.refused...)
			resp.Topics = append(resp.Topics, refusals(e.refused)...)
		}
		done(e.s.c, req, resp, err)
	}
}

// nameTopics fills in the names that version 10 of the answer leaves out.
func nameTopics(req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse) {
	for i := range resp.Topics {
		t := &resp.Topics[i]
		if t.Topic != "" {
			continue
		}
		if k := slices.IndexFunc(req.Topics, func(rt kmsg.OffsetCommitRequestTopic) bool { return rt.TopicID == t.TopicID }); k >= 0 {
			t.Topic = req.Topics[k].Topic
		}
	}
}

// refusals answer for partitions that were not sent, with what a coordinator
// says to a member that no longer has them.
func refusals(refused []kmsg.OffsetCommitRequestTopic) []kmsg.OffsetCommitResponseTopic {
	topics := make([]kmsg.OffsetCommitResponseTopic, 0, len(refused))
	for _, rt := range refused {
		t := kmsg.NewOffsetCommitResponseTopic()
		t.Topic, t.TopicID = rt.Topic, rt.TopicID
		for _, rp := range rt.Partitions {
			p := kmsg.NewOffsetCommitResponseTopicPartition()
			p.Partition, p.ErrorCode = rp.Partition, kerr.RebalanceInProgress.Code
			t.Partitions = append(t.Partitions, p)
		}
		topics = append(topics, t)
	}
	return topics
}

// keepOwned takes out of a request what this member may not commit any more.
func (e *envelope) keepOwned(req *kmsg.OffsetCommitRequest) {
	kept := req.Topics[:0]
	for _, t := range req.Topics {
		refused := t
		refused.Partitions = nil
		own := make([]kmsg.OffsetCommitRequestTopicPartition, 0, len(t.Partitions))
		for _, p := range t.Partitions {
			if e.owns(t.Topic, p.Partition) {
				own = append(own, p)
			} else {
				refused.Partitions = append(refused.Partitions, p)
			}
		}
		if t.Partitions = own; len(own) > 0 {
			kept = append(kept, t)
		}
		if len(refused.Partitions) > 0 {
			e.refused = append(e.refused, refused)
		}
	}
	req.Topics = kept
}

// owns reports whether a partition may be committed: it is read as it was when
// the offset was taken. A topic that this member does not consume belongs to
// nobody it knows, and is the caller's own affair.
func (e *envelope) owns(topic string, id int32) bool {
	cl, asked := e.all[key{topic: topic, partition: id}]
	p := e.s.c.partition(topic, id)
	switch {
	case !asked: // added by the caller's own kgo.PreCommitFnContext
		return true
	case p == nil && cl.p == nil:
		return !slices.Contains(e.s.c.cl.GetConsumeTopics(), topic) && !e.s.c.group.guard.gaveUp(topic)
	case p != cl.p:
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.lost && !p.gone
}

// context carries the look at ownership to kgo, behind what the caller's own
// context carries there.
func (e *envelope) context(ctx context.Context) context.Context {
	return commitContext{Context: ctx, own: kgo.PreCommitFnContext(context.Background(), func(req *kmsg.OffsetCommitRequest) error {
		e.keepOwned(req)
		return nil
	})}
}

type commitContext struct {
	context.Context
	own context.Context // answers for kgo's key alone
}

func (c commitContext) Value(k any) any {
	type preCommit = func(*kmsg.OffsetCommitRequest) error
	own, ok := c.own.Value(k).(preCommit)
	if !ok {
		return c.Context.Value(k)
	}
	theirs, ok := c.Context.Value(k).(preCommit)
	if !ok {
		return own
	}
	return func(req *kmsg.OffsetCommitRequest) error {
		if err := theirs(req); err != nil {
			return err
		}
		return own(req)
	}
}
