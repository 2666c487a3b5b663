package rcconsumer

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// sessionFrom is from how many partitions on a broker is asked within a fetch
// session (KIP-227). A request and its answer have some 70 bytes for each
// partition, twice a second when idle; a session leaves out what has not
// changed. For fewer partitions that saves nothing worth a place among the
// broker's sessions, of which it keeps 1000 for all its clients.
const sessionFrom = 100

// sessionRefused is how long no session is asked for after a broker gave none.
const sessionRefused = time.Minute

// session is what one broker remembers of our requests. The zero value is a
// session that has not begun. It holds no truth of its own: every request is
// written in full from the partitions' state, and the session takes out of it
// what the broker has already.
type session struct {
	id     int32 // 0: the broker has none, as far as known
	epoch  int32 // of the next request; 0 begins a session, and ends the one with id
	sent   map[place]lastAsk
	fresh  map[place]lastAsk // what sent is after the request in flight
	full   bool              // the request in flight begins the session
	losses int               // sessions lost in a row
	off    time.Time         // until then none is asked for
}

// place is a partition as a session names it.
type place struct {
	topicID   [16]byte
	partition int32
}

// lastAsk is what the broker was last told of a partition.
type lastAsk struct {
	topic           string
	offset          int64
	epoch, maxBytes int32
}

// wants reports whether n partitions are asked for within the session. One that
// has begun goes on with fewer.
func (s *session) wants(n int, now time.Time) bool {
	return s.epoch > 0 || n >= sessionFrom && !s.off.After(now)
}

// prepare makes a full request one of the session.
func (s *session) prepare(req *kmsg.FetchRequest) {
	s.fresh = make(map[place]lastAsk)
	req.SessionID, req.SessionEpoch = s.id, s.epoch
	s.full = s.epoch == 0
	topics := req.Topics[:0]
	for _, t := range req.Topics {
		changed := t.Partitions[:0]
		for _, p := range t.Partitions {
			at := place{t.TopicID, p.Partition}
			now := lastAsk{t.Topic, p.FetchOffset, p.CurrentLeaderEpoch, p.PartitionMaxBytes}
			if before, ok := s.sent[at]; s.full || !ok || before != now {
				changed = append(changed, p)
			}
			s.fresh[at] = now
		}
		if t.Partitions = changed; len(changed) > 0 {
			topics = append(topics, t)
		}
	}
	req.Topics = topics
	if !s.full {
		req.ForgottenTopics = s.forgotten()
	}
}

// forgotten are the partitions that the broker has and that are not asked for.
func (s *session) forgotten() (topics []kmsg.FetchRequestForgottenTopic) {
	index := make(map[[16]byte]int)
	for at, was := range s.sent {
		if _, ok := s.fresh[at]; ok {
			continue
		}
		i, ok := index[at.topicID]
		if !ok {
			i = len(topics)
			index[at.topicID] = i
			t := kmsg.NewFetchRequestForgottenTopic()
			t.Topic, t.TopicID = was.topic, at.topicID
			topics = append(topics, t)
		}
		topics[i].Partitions = append(topics[i].Partitions, at.partition)
	}
	return topics
}

// answered goes on after an answer without an error of the whole.
func (s *session) answered(resp *kmsg.FetchResponse, now time.Time) {
	s.losses = 0
	if resp.SessionID == 0 { // the broker has no place for one
		*s = session{off: now.Add(sessionRefused)}
		return
	}
	s.id, s.sent = resp.SessionID, s.fresh
	if s.epoch++; s.epoch <= 0 { // after the largest comes 1
		s.epoch = 1
	}
}

// broken begins anew after a request whose fate is not known, or that was
// refused. It reports whether that is worth another request at once: the broker
// has only lost the session, for the first time in a row.
func (s *session) broken(err error) (again bool) {
	lost := errors.Is(err, kerr.FetchSessionIDNotFound) || errors.Is(err, kerr.InvalidFetchSessionEpoch) || errors.Is(err, kerr.FetchSessionTopicIDError)
	if errors.Is(err, kerr.FetchSessionIDNotFound) {
		s.id = 0
	}
	s.epoch, s.sent = 0, nil
	if !lost {
		return false
	}
	s.losses++
	return s.losses == 1
}

// unchanged goes through the partitions that an answer within a session left
// out: the broker has nothing to tell of them.
func (b *broker) unchanged(pl *plan, total int) {
	for i := range pl.wanted {
		w := &pl.wanted[i]
		if w.settled {
			continue
		}
		var n notices
		w.p.mu.Lock()
		if w.p.gen == w.gen {
			w.p.unchangedLocked(total, &n)
		}
		w.p.mu.Unlock()
		b.c.tell(w.p, &n)
	}
}

// unchangedLocked is emptyLocked for an answer that leaves the partition out. A
// broker leaves one out only if its high watermark is what it was, and the last
// stable offset cannot have passed the fetch offset: the bytes in between would
// be there. At read_uncommitted the fetch offset is far ahead of it and nothing
// tells: then the sampler has to ask.
func (p *partition) unchangedLocked(total int, n *notices) {
	if stable := p.pos.LastStableOffset; stable >= 0 && (stable == p.pos.HighWatermark || !p.pos.readUncommitted) {
		p.pos.UpdatedAt = time.Now()
	}
	p.trouble.streak, p.trouble.unknown = 0, 0
	p.ails.fetch.ended()
	end := p.pos.end()
	switch {
	case p.fetchOffset == end || end < 0:
		p.quiet, p.probe = 0, probing{}
	case p.fetchOffset > end:
		p.probe = probing{}
		p.quietLocked()
	case p.pos.readTo >= end:
		p.quietLocked()
	case total == 0: // nobody used up the answer
		p.probeLocked(false, end, n)
	}
}
