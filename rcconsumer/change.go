package rcconsumer

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
)

// AddConsumeTopics reads topics whole, from kgo.ConsumeStartOffset on, and the
// partitions they get later. A topic that does not exist yet is waited for. A
// topic that is read already goes on as it is; if partitions of it were named
// (kgo.ConsumePartitions, [Consumer.AddConsumePartitions]) that means without
// the others, until it is purged. Without arguments, after Close, and on a
// consumer of patterns (kgo.ConsumeRegex) it does nothing. All as in kgo.
func (c *Consumer) AddConsumeTopics(topics ...string) {
	if c.group != nil {
		c.group.add(topics)
		return
	}
	if c.cfg.regex {
		return
	}
	c.change(func(s *subscription) (gone []*partition) {
		for _, topic := range topics {
			s.whole(topic)
		}
		return nil
	})
	c.meta.refresh()
}

// AddConsumePartitions reads partitions, each from the offset given. One that
// does not exist yet is waited for. One that is read already goes on where it
// is; to start it anew remove it first, or call SetOffsets. If its topic is
// read whole, no partitions of it are taken up any more besides those already
// read. On a consumer of patterns, in a group and after Close it does nothing.
// All as in kgo.
func (c *Consumer) AddConsumePartitions(partitions map[string]map[int32]kgo.Offset) {
	if c.cfg.regex || c.group != nil {
		return
	}
	c.change(func(s *subscription) (gone []*partition) {
		for topic, ps := range partitions {
			for id, o := range ps {
				s.pin(topic, id, specOf(o))
			}
		}
		return nil
	})
	c.meta.refresh()
}

// RemoveConsumePartitions ends the reading of partitions: polls that begin
// after it returned return neither records nor errors of them, and what was
// buffered is dropped. A pause of them stays. Of a topic read whole no more
// partitions are taken up after that, whatever partition was removed; the
// others are read on. The topic itself stays known ([Consumer.GetConsumeTopics])
// until it is purged. On a consumer of patterns and in a group it does nothing.
// All as in kgo.
func (c *Consumer) RemoveConsumePartitions(partitions map[string][]int32) {
	if c.cfg.regex || c.group != nil {
		return
	}
	c.change(func(s *subscription) (gone []*partition) {
		for topic, ids := range partitions {
			for _, id := range ids {
				s.unpin(topic, id)
				if p := c.parts[topic][id]; p != nil {
					gone = append(gone, p)
				}
			}
		}
		return gone
	})
	c.out.dropErrors(func(topic string, id int32) bool { return slices.Contains(partitions[topic], id) })
}

// PurgeTopicsFromConsuming ends the reading of topics and forgets them; for
// what is buffered see [Consumer.RemoveConsumePartitions]. Added again a topic
// begins at kgo.ConsumeStartOffset. On a consumer of patterns a topic that
// still exists and matches is found again with the next metadata, and begins
// anew. A member of a group gives the topics back to the group; what was handed
// out can be committed until the rebalance that follows. All as in kgo.
func (c *Consumer) PurgeTopicsFromConsuming(topics ...string) {
	c.purge(topics)
	if c.group != nil {
		c.cl.PurgeTopicsFromConsuming(slices.Clone(topics)...) // kgo sorts what it is given
	}
}

func (c *Consumer) purge(topics []string) {
	if c.group != nil {
		c.group.purge(topics)
		return
	}
	c.change(func(s *subscription) (gone []*partition) {
		for _, topic := range topics {
			s.purge(topic)
			gone = slices.AppendSeq(gone, maps.Values(c.parts[topic]))
		}
		return gone
	})
	c.dropErrorsOf(topics)
}

func (c *Consumer) dropErrorsOf(topics []string) {
	c.out.dropErrors(func(topic string, _ int32) bool { return slices.Contains(topics, topic) })
}

// PurgeTopicsFromClient is [Consumer.PurgeTopicsFromConsuming], and
// kgo.Client.PurgeTopicsFromClient for what the client underneath knows of the
// topics: producing to them begins anew.
func (c *Consumer) PurgeTopicsFromClient(topics ...string) {
	c.purge(topics)
	c.cl.PurgeTopicsFromClient(slices.Clone(topics)...)
}

// GetConsumeTopics returns the topics that are subscribed by name, sorted,
// whether they exist or not. On a consumer of patterns these are the topics
// being read.
func (c *Consumer) GetConsumeTopics() []string {
	if c.group != nil {
		topics := c.cl.GetConsumeTopics()
		slices.Sort(topics)
		return topics
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cfg.regex {
		return append([]string{}, slices.Sorted(maps.Keys(c.parts))...)
	}
	return append([]string{}, slices.Sorted(maps.Keys(c.sub.named))...)
}

// change changes what is subscribed, and ends the reading of the
// partitions that fn returns. It is the one way from the methods above to the
// subscription.
func (c *Consumer) change(fn func(*subscription) (gone []*partition)) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	gone := fn(&c.sub)
	c.startLocked()
	for _, p := range gone {
		c.detachLocked(p)
	}
	c.mu.Unlock()
	for _, p := range gone {
		c.finish(p)
	}
}
