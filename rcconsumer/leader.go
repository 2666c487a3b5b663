package rcconsumer

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// subscribed returns the topics to ask for, or that all are wanted.
func (c *Consumer) subscribed() (named []string, all bool) {
	if c.cfg.regex {
		return nil, len(c.cfg.include) > 0
	}
	named = slices.Collect(maps.Keys(c.cfg.partitions))
	named = append(named, c.cfg.topics...)
	slices.Sort(named)
	return slices.Compact(named), false
}

// starts returns the partitions of a topic that are to be read, and where they
// start, given that the topic has count partitions.
func (c *Consumer) starts(topic string, count int) map[int32]offsetSpec {
	starts := make(map[int32]offsetSpec)
	for id, o := range c.cfg.partitions[topic] {
		starts[id] = specOf(o)
	}
	if c.cfg.regex || slices.Contains(c.cfg.topics, topic) {
		for id := range int32(count) {
			starts[id] = c.cfg.start
		}
	}
	return starts
}

// adopt takes over what metadata says of one topic: its ID, new partitions,
// leaders. It reports whether all partitions that are to be read have one.
func (m *metadata) adopt(topic string, t *kmsg.MetadataResponseTopic) (complete bool) {
	c := m.c
	leaders := make(map[int32]*kmsg.MetadataResponseTopicPartition, len(t.Partitions))
	for i := range t.Partitions {
		leaders[t.Partitions[i].Partition] = &t.Partitions[i]
	}
	complete = true
	for id, spec := range c.starts(topic, len(t.Partitions)) {
		k := key{topic: topic, partition: id}
		meta := leaders[id]
		if meta == nil { // named by the caller, not there yet
			m.failed(k, kerr.UnknownTopicOrPartition)
			complete = false
			continue
		}
		if err := leaderError(meta); err != nil {
			m.failed(k, err)
		} else {
			delete(m.told, k)
		}
		p := c.ensure(topic, id, spec)
		if !c.identify(p, t.TopicID) {
			complete = false
			continue
		}
		moved, behind := p.leads(meta.Leader, meta.LeaderEpoch)
		if moved {
			c.place(p)
		}
		complete = complete && meta.Leader >= 0 && !behind
	}
	return complete
}

// leaderError is why a partition has no leader, nil if it has one.
func leaderError(p *kmsg.MetadataResponseTopicPartition) error {
	if p.Leader >= 0 {
		return nil
	}
	if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
		return err
	}
	return kerr.LeaderNotAvailable
}

// maxRetired is how many earlier topic IDs of a name are remembered.
const maxRetired = 8

// identify compares the topic's ID with the one known, and starts a partition
// anew if its topic was deleted and created again under the same name: nothing
// of the old topic's offsets means anything in the new one. It reports false
// if the answer is about a topic that is gone already, from a broker that is
// behind.
func (c *Consumer) identify(p *partition, id [16]byte) (current bool) {
	p.mu.Lock()
	old := p.topicID
	switch {
	case old == id, id == [16]byte{}:
		p.mu.Unlock()
		return true
	case slices.Contains(p.retired, id):
		p.mu.Unlock()
		return false
	case old == [16]byte{}:
		p.topicID = id
		p.mu.Unlock()
		return true
	}
	p.topicID = id
	p.retired = append(p.retired, old)
	p.retired = p.retired[max(0, len(p.retired)-maxRetired):]
	var n notices
	p.beginAnewLocked(&n)
	n.ready = p.deliverableLocked()
	p.mu.Unlock()
	c.tell(p, &n)
	return true
}

// beginAnewLocked reads a recreated topic by the reset policy: from its start
// unless the policy names a place.
func (p *partition) beginAnewLocked(n *notices) {
	p.leader, p.leaderEpoch, p.endsEpoch = noLeader, -1, -1 // epochs begin anew
	p.pos.LogStartOffset, p.pos.LastStableOffset, p.pos.HighWatermark = -1, -1, -1
	if p.c.cfg.reset.noReset {
		p.dropLocked()
		p.restLocked()
		p.handOutLocked(fmt.Errorf("topic %s partition %d: the topic was deleted and created again: %w", p.topic, p.id, kerr.UnknownTopicID), n)
		return
	}
	spec := p.c.cfg.reset
	if spec.at == atRewind {
		spec = offsetSpec{at: atStart, epoch: -1}
	}
	from := p.pos.Next
	p.pos.Next, p.pos.NextEpoch = -1, -1
	p.beginLocked(spec)
	if p.phase == awaiting {
		n.awaits = true
		p.want.anew, p.want.from = true, from
	} else {
		n.reset = &reset{from: from, to: p.fetchOffset}
	}
}

// setLeaderLocked adopts what metadata or a broker's hint says, if it is not
// older than what is known, and reports whether anything changed.
func (p *partition) setLeaderLocked(leader, epoch int32) bool {
	if epoch >= 0 && epoch < p.leaderEpoch || leader == p.leader && epoch == p.leaderEpoch {
		return false
	}
	if leader < 0 {
		leader, epoch = noLeader, p.leaderEpoch // a leaderless partition keeps its epoch: twmb/franz-go#1331
		if p.leader == noLeader {
			return false
		}
	}
	p.leader, p.leaderEpoch = leader, epoch
	p.gen++ // answers of the old leader are late
	p.parked, p.probe = time.Time{}, probing{}
	p.audit.Clear()
	return true
}

// epochPatience is how many Metadata answers in a row may name an older leader
// epoch before it is believed: kgo's number. A lagging broker answers so for a
// moment, a cluster that lost its epochs for ever.
const epochPatience = 5

// leads adopts a Metadata answer. A broker that is behind is not believed, until
// it has said the same for so long that it must be right.
func (p *partition) leads(leader, epoch int32) (changed, behind bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	behind = epoch >= 0 && epoch < p.leaderEpoch
	if !behind {
		p.rewinds = 0
	} else if p.rewinds++; p.rewinds >= epochPatience {
		p.rewinds, p.leaderEpoch, p.endsEpoch, behind = 0, -1, -1, false
	}
	return p.setLeaderLocked(leader, epoch), behind
}
