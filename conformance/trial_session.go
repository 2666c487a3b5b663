package conformance

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/conformance/internal/wire"
)

// session is a fetch session (KIP-227) over partitions of one topic that one
// broker leads: after a first full request only what changed is said, and the
// broker answers only with what changed.
type session struct {
	t          *trial
	isolation  int8
	partitions []model.Partition
	position   map[model.Partition]int64
	answers    map[model.Partition][]answer // those that held batches

	id, epoch int32 // epoch 0: the next request is a full one
	told      map[model.Partition]int64
	epochs    map[model.Partition]int32 // of the leader, as told
	forgotten []model.Partition         // to be said in the next request
	restarts  int
	rounds    int // incremental answers with batches
}

// sessionRestarts bounds how often a broker may end a session: it may whenever
// its cache is full.
const sessionRestarts = 10

func (t *trial) openSession(isolation int8, ps ...model.Partition) *session {
	s := &session{
		t: t, isolation: isolation, partitions: slices.Clone(ps),
		position: map[model.Partition]int64{}, answers: map[model.Partition][]answer{}, told: map[model.Partition]int64{},
		epochs: map[model.Partition]int32{},
	}
	for _, p := range ps {
		s.position[p] = 0
	}
	return s
}

// request is full, or says what changed since the last one.
func (s *session) request() *kmsg.FetchRequest {
	base := s.partitions[0]
	req := s.t.fetchRequest(base, 0, fetchSpec{isolation: s.isolation, maxWait: longWait})
	req.SessionID, req.SessionEpoch = s.id, s.epoch
	topic := req.Topics[0]
	blank := topic.Partitions[0]
	topic.Partitions = nil
	for _, p := range s.partitions {
		told, ok := s.told[p]
		if epoch := s.t.leaderEpoch(p); s.epoch == 0 || !ok || told != s.position[p] || epoch != s.epochs[p] {
			s.epochs[p] = epoch
			blank.Partition, blank.FetchOffset, blank.CurrentLeaderEpoch = p.Index, s.position[p], epoch
			topic.Partitions = append(topic.Partitions, blank)
		}
	}
	if req.Topics = nil; len(topic.Partitions) > 0 {
		req.Topics = append(req.Topics, topic)
	}
	if len(s.forgotten) > 0 && s.epoch > 0 {
		gone := kmsg.NewFetchRequestForgottenTopic()
		gone.Topic, gone.TopicID = base.Topic, s.t.topicID(base)
		for _, p := range s.forgotten {
			gone.Partitions = append(gone.Partitions, p.Index)
		}
		req.ForgottenTopics = append(req.ForgottenTopics, gone)
	}
	return req
}

// next asks until the broker gives an answer that says something, and takes it
// in: positions move, and what came is kept to be judged.
func (s *session) next() {
	t := s.t
	for {
		quiet := t.watchQuiet(s.partitions)
		e := t.do(t.leader(s.partitions[0]), "session", s.request())
		if e.Err != nil {
			t.broken("fetch in a session", e)
		}
		resp := e.Response.(*kmsg.FetchResponse)
		if resp.ErrorCode != 0 {
			s.failed(resp.ErrorCode)
			continue
		}
		full := s.epoch == 0
		s.advance(resp.SessionID)
		if e.Throttled() {
			// The epoch has advanced on both sides all the same, but a full
			// answer without partitions says nothing of those asked for.
			if full && s.id != 0 {
				s.restart(s.id)
			}
			t.pause(time.Duration(e.ThrottleMillis())*time.Millisecond, "the end of a throttle")
			continue
		}
		for i := range resp.Topics {
			for k := range resp.Topics[i].Partitions {
				s.take(e, &resp.Topics[i].Partitions[k], quiet)
			}
		}
		return
	}
}

// advance goes on to the next epoch of the session, or begins anew if the
// broker ended it.
func (s *session) advance(id int32) {
	for _, p := range s.partitions {
		s.told[p] = s.position[p]
	}
	s.forgotten = nil
	if id == 0 {
		s.restart(0)
		return
	}
	s.id, s.epoch = id, s.epoch+1
}

// failed begins anew after errors with which a broker ends a session.
func (s *session) failed(code int16) {
	switch {
	case code == kerr.FetchSessionIDNotFound.Code:
		s.restart(0)
	case code == kerr.InvalidFetchSessionEpoch.Code, passes(code), code == kerr.FetchSessionTopicIDError.Code:
		s.restart(s.id)
	default:
		s.t.refused("fetch in a session", kmsg.NewPtrFetchRequest(), code)
	}
	s.t.pause(retryPause, "a fetch session")
}

func (s *session) restart(id int32) {
	s.id, s.epoch = id, 0
	if s.restarts++; s.restarts > sessionRestarts {
		s.t.undecided("the broker ended the fetch session %d times", s.restarts)
	}
}

// take takes in one partition of an answer.
func (s *session) take(e *wire.Exchange, rp *kmsg.FetchResponseTopicPartition, quiet func(model.Partition) bool) {
	t := s.t
	at := slices.IndexFunc(s.partitions, func(p model.Partition) bool { return p.Index == rp.Partition })
	if at < 0 {
		p := model.Partition{Topic: s.partitions[0].Topic, Index: rp.Partition}
		t.expectAs(Should, false, p, -1, "an answer with partitions of the session only", "partition "+p.String())
		return
	}
	p := s.partitions[at]
	if rp.ErrorCode != 0 {
		if !passes(rp.ErrorCode) {
			t.refused("fetch of "+p.String()+" in a session", kmsg.NewPtrFetchRequest(), rp.ErrorCode)
		}
		t.refresh(p)
		s.restart(s.id)
		return
	}
	a := t.take(p, s.position[p], rp, e, quiet(p))
	a.LeaderEpoch = s.epochs[p] // also where this request did not repeat it
	a.Elected = t.elected(p, a.LeaderEpoch)
	if a.Problem != nil {
		t.unreadable(p, a)
	}
	if len(a.Batches) > 0 {
		if e.Request.(*kmsg.FetchRequest).SessionEpoch > 0 {
			s.rounds++
		}
		s.answers[p] = append(s.answers[p], a)
		s.position[p] = a.End()
	}
}

// readTo fetches until a partition's position is at an offset, and reports
// whether it got there as long as ordinary fetches could.
func (s *session) readTo(p model.Partition, offset int64) bool {
	for s.position[p] < offset {
		at := s.position[p]
		if !s.t.keepsUp(p, at, s.isolation, func() bool { s.next(); return s.position[p] > at }) {
			return false
		}
	}
	return true
}

// forget takes a partition out of the session.
func (s *session) forget(p model.Partition) {
	s.partitions = slices.DeleteFunc(s.partitions, func(q model.Partition) bool { return q == p })
	s.forgotten = append(s.forgotten, p)
	delete(s.told, p)
}
