package rcconsumer

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// sync commits for the caller, or on revoke: no other commit runs beside it, and
// done has been called when it returns.
func (s *commits) sync(ctx context.Context, all claims, done commitFunc) {
	if len(all) == 0 {
		return
	}
	defer s.ask()()
	e := &envelope{s: s, all: all}
	s.c.cl.CommitOffsetsSync(e.context(ctx), all.offsets(), e.answered(done))
}

// auto commits at the interval. It waits for the answer, but commits of the
// caller's own that need not wait are taken meanwhile.
func (s *commits) auto(ctx context.Context) {
	all, done := s.automatic(), s.callback()
	if len(all) == 0 {
		return
	}
	answered := make(chan struct{})
	e := &envelope{s: s, all: all, auto: true}
	s.c.cl.CommitOffsets(e.context(ctx), all.offsets(), e.answered(func(c *Consumer, req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
		defer close(answered)
		done(c, req, resp, err)
	}))
	<-answered
}

// last commits on revoke. As in kgo the callback hears of it also if there was
// nothing to commit.
func (s *commits) last(ctx context.Context) {
	all, done := s.automatic(), s.callback()
	if len(all) == 0 {
		done(s.c, kmsg.NewPtrOffsetCommitRequest(), kmsg.NewPtrOffsetCommitResponse(), nil)
		return
	}
	s.sync(ctx, all, done)
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
	auto    bool // nobody asked for it
	refused []kmsg.OffsetCommitRequestTopic
}

// answered notes what was accepted before it tells done, which sees what was
// refused here answered like the rest.
func (e *envelope) answered(done commitFunc) func(*kgo.Client, *kmsg.OffsetCommitRequest, *kmsg.OffsetCommitResponse, error) {
	return func(_ *kgo.Client, req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
		e.s.heard(req, resp, err)
		if resp != nil {
			nameTopics(req, resp)
			e.note(req, resp)
			resp.Topics = withRefusals(resp.Topics, e.refused)
		}
		req.Topics = withRefused(req.Topics, e.refused)
		done(e.s.c, req, resp, err)
	}
}

// note takes over what the group has accepted of what was sent, which a
// kgo.PreCommitFnContext of the caller's may have changed.
func (e *envelope) note(req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse) {
	accepted := make(map[key]bool)
	for i := range resp.Topics {
		for _, rp := range resp.Topics[i].Partitions {
			accepted[key{topic: resp.Topics[i].Topic, partition: rp.Partition}] = rp.ErrorCode == 0
		}
	}
	for i := range req.Topics {
		for _, rp := range req.Topics[i].Partitions {
			k := key{topic: req.Topics[i].Topic, partition: rp.Partition}
			cl, asked := e.all[k]
			if !asked {
				cl.p = e.s.c.partition(k.topic, k.partition)
			}
			if cl.p != nil && accepted[k] {
				cl.p.committed(kgo.EpochOffset{Epoch: rp.LeaderEpoch, Offset: rp.Offset}, cl.moves)
			}
		}
	}
}

// committed notes what the group holds.
func (p *partition) committed(at kgo.EpochOffset, moves int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.progress.commit(at, moves)
	p.pos.Committed = at.Offset
}

// verdict is what becomes of an offset in the last moment.
type verdict uint8

const (
	sent      verdict = iota
	refused           // the partition is another's, or not the one that was read
	overtaken         // another commit came in between, or a seek
)

// keepOwned takes out of a request what this member may not commit any more,
// and what is overtaken.
func (e *envelope) keepOwned(req *kmsg.OffsetCommitRequest) {
	var kept []kmsg.OffsetCommitRequestTopic
	for _, t := range req.Topics {
		all, out := t.Partitions, t
		t.Partitions, out.Partitions = nil, nil
		for _, p := range all {
			switch e.judge(t.Topic, p.Partition) {
			case sent:
				t.Partitions = append(t.Partitions, p)
			case refused:
				out.Partitions = append(out.Partitions, p)
			case overtaken: // without a word: the group has it, or nobody asked
			}
		}
		if len(t.Partitions) > 0 {
			kept = append(kept, t)
		}
		if len(out.Partitions) > 0 {
			e.refused = append(e.refused, out)
		}
	}
	req.Topics = kept
}

// judge decides whether a partition is committed: it must be read as it was when
// the offset was taken. A topic that this member does not consume belongs to
// nobody it knows, and is the caller's own affair.
func (e *envelope) judge(topic string, id int32) verdict {
	cl, asked := e.all[key{topic: topic, partition: id}]
	p := e.s.c.partition(topic, id)
	switch {
	case !asked: // added by the caller's own kgo.PreCommitFnContext
		return sent
	case p != nil && p == cl.p:
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.judgeLocked(cl, e.auto)
	case e.s.c.cl.Context().Err() != nil:
		return sent // it is not, and kgo says why: the client is closed
	case p == nil && cl.p == nil && !slices.Contains(e.s.c.cl.GetConsumeTopics(), topic) && !e.s.c.group.guard.gaveUp(topic):
		return sent
	default:
		return refused
	}
}

func (p *partition) judgeLocked(cl claim, auto bool) verdict {
	moved := cl.moves != p.progress.moves
	switch {
	case p.lost, p.gone:
		return refused
	case moved && auto, !moved && !cl.exact && p.progress.back(cl.at):
		return overtaken
	default:
		return sent
	}
}

// context carries the look at ownership to kgo, behind what the caller's own
// context carries there. With a nil context kgo would wait forever and let
// nobody join meanwhile.
func (e *envelope) context(ctx context.Context) context.Context {
	if ctx == nil {
		ctx = e.s.c.cl.Context()
	}
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
