package rcconsumer

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// subscription is what is to be read: topics by name or by pattern, and single
// partitions. It begins as the options have it and changes while the consumer
// runs. Consumer.mu guards it together with Consumer.parts, so that what is no
// longer subscribed cannot be begun by a Metadata answer that was on its way.
type subscription struct {
	cfg *config

	// byGroup: a group says which partitions are read; none is begun from here,
	// and an error of a topic that no partition is read of is kgo's to hand out.
	byGroup bool

	// named are the topics that metadata is asked for by name, each with the
	// number of the change that named it last. A topic stays named when its
	// last partition is removed.
	named   map[string]uint64
	changes uint64

	// pinned has the topics that are read: where each partition begins, or
	// nothing at all for a topic that is read whole. As in kgo a topic with
	// pinned partitions is not read whole besides.
	pinned map[string]map[int32]offsetSpec
}

func newSubscription(cfg *config) subscription {
	s := subscription{cfg: cfg, named: make(map[string]uint64), pinned: make(map[string]map[int32]offsetSpec)}
	if s.byGroup = cfg.group != ""; s.byGroup {
		if !cfg.regex {
			s.name(cfg.topics...) // for Health: kgo says little of them
		}
		return s
	}
	if cfg.regex {
		return s
	}
	for topic, ps := range cfg.partitions {
		s.name(topic)
		for id, o := range ps {
			s.pin(topic, id, specOf(o))
		}
	}
	for _, topic := range cfg.topics {
		s.whole(topic)
	}
	return s
}

// empty reports whether nothing is to be read. A group may assign something at
// any time.
func (s *subscription) empty() bool {
	if s.byGroup || s.cfg.regex {
		return !s.byGroup && len(s.cfg.include) == 0
	}
	return len(s.named) == 0
}

// name makes metadata be asked for topics.
func (s *subscription) name(topics ...string) {
	for _, topic := range topics {
		s.changes++
		s.named[topic] = s.changes
	}
}

// whole subscribes to all partitions of a topic, unless some are pinned.
func (s *subscription) whole(topic string) {
	s.name(topic)
	if s.pinned[topic] == nil {
		s.pinned[topic] = make(map[int32]offsetSpec)
	}
}

// pin subscribes to a partition. Of a topic read whole no more partitions are
// begun from then on.
func (s *subscription) pin(topic string, id int32, start offsetSpec) {
	s.whole(topic)
	s.pinned[topic][id] = start
}

// unpin ends the subscription of a partition, and of the rest of a topic that
// is read whole.
func (s *subscription) unpin(topic string, id int32) {
	delete(s.pinned[topic], id)
	if len(s.pinned[topic]) == 0 {
		delete(s.pinned, topic)
	}
}

// purge forgets a topic.
func (s *subscription) purge(topic string) {
	delete(s.named, topic)
	delete(s.pinned, topic)
}

// starts returns the partitions of a topic that are to be read, and where they
// begin, given those that exist.
func (s *subscription) starts(topic string, existing []int32) map[int32]offsetSpec {
	ps, subscribed := s.pinned[topic]
	switch {
	case s.byGroup, !subscribed && !s.cfg.regex:
		return nil
	case len(ps) > 0:
		return ps
	}
	starts := make(map[int32]offsetSpec, len(existing))
	for _, id := range existing {
		starts[id] = s.cfg.start
	}
	return starts
}

// subscribed returns the topics to ask metadata for, or that all are wanted.
// Topics of which a partition is read are among them however it was begun.
func (c *Consumer) subscribed() (named []string, all bool) {
	if c.cfg.regex && !c.sub.byGroup {
		return nil, len(c.cfg.include) > 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	named = slices.AppendSeq(slices.Collect(maps.Keys(c.sub.named)), maps.Keys(c.parts))
	slices.Sort(named)
	return slices.Compact(named), false
}

// injectAsked hands out what a Metadata answer said, unless its topic is not
// asked for any more.
func (c *Consumer) injectAsked(k key, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cfg.regex || c.parts[k.topic] != nil || !c.sub.byGroup && c.sub.named[k.topic] > 0 {
		c.inject(k.topic, k.partition, err)
	}
}

// namedAt is the number of the change that named the topic last.
func (c *Consumer) namedAt(topic string) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sub.named[topic]
}

// startSubscribed begins to read what is subscribed of a topic and exists. It
// returns what is subscribed, does not exist and never did.
func (c *Consumer) startSubscribed(topic string, existing map[int32]*kmsg.MetadataResponseTopicPartition) (absent []int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, start := range c.sub.starts(topic, slices.Collect(maps.Keys(existing))) {
		switch {
		case c.parts[topic][id] != nil:
		case existing[id] == nil:
			absent = append(absent, id)
		default:
			c.ensureLocked(topic, id, start)
		}
	}
	return absent
}
