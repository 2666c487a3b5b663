package rcconsumer

import (
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// renewals are topics of a group that were deleted and created again. kgo keeps
// such a topic under its old ID until somebody purges it.
type renewals struct {
	mu      sync.Mutex
	retired map[string][][16]byte // earlier IDs by name, the newest last
	purged  map[string]bool       // by the caller, and not added again since
}

// retire remembers that an ID is out of use, and reports whether that is news.
func (r *renewals) retire(topic string, id [16]byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.retired[topic], id) {
		return false
	}
	if r.retired == nil {
		r.retired = make(map[string][][16]byte)
	}
	ids := append(r.retired[topic], id)
	r.retired[topic] = ids[max(0, len(ids)-maxRetired):]
	return true
}

func (r *renewals) ids(topic string) [][16]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.retired[topic])
}

// want and unwant note what the caller adds and purges.
func (r *renewals) want(topics []string) { r.note(topics, false) }

func (r *renewals) unwant(topics []string) { r.note(topics, true) }

func (r *renewals) note(topics []string, purged bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.purged == nil {
		r.purged = make(map[string]bool)
	}
	for _, t := range topics {
		r.purged[t] = purged
	}
}

func (r *renewals) wanted(topic string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.purged[topic]
}

// renew takes a topic up anew that has another ID than before. Nothing that was
// read of the old one is handed out or committed any more; the group says where
// to begin, as for a topic that has just been added.
func (g *group) renew(topic string, old [16]byte) {
	if !g.retire(topic, old) {
		return
	}
	c := g.c
	c.report.log(kgo.LogLevelWarn, "a topic was deleted and created again, and is taken up anew", "topic", topic)
	c.releaseTopic(topic)
	c.last.Go(func() {
		c.cl.PurgeTopicsFromConsuming(topic)
		if g.wanted(topic) && !g.guard.gaveUp(topic) {
			c.cl.AddConsumeTopics(topic) // does nothing for a pattern, which finds the topic again
		}
	})
}

// add subscribes the group to more topics.
func (g *group) add(topics []string) {
	g.want(topics)
	g.c.cl.AddConsumeTopics(topics...)
	if !g.c.cfg.regex {
		g.c.change(func(s *subscription) []*partition { s.name(topics...); return nil })
		g.c.meta.refresh()
	}
}

// purge ends that anything of the topics is handed out. What was handed out can
// be committed until the rebalance that follows.
func (g *group) purge(topics []string) {
	g.unwant(topics)
	for _, topic := range topics {
		for _, p := range g.c.partitionsOf(topic) {
			p.leave(false)
		}
	}
	g.c.change(func(s *subscription) []*partition {
		for _, topic := range topics {
			s.purge(topic)
		}
		return nil
	})
	g.c.dropErrorsOf(topics)
}
