package rcconsumer

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// adopt takes over what metadata says of one topic: new partitions, its ID,
// leaders. It reports whether all partitions that are to be read have one.
func (m *metadata) adopt(topic string, t *kmsg.MetadataResponseTopic) (complete bool) {
	metas := make(map[int32]*kmsg.MetadataResponseTopicPartition, len(t.Partitions))
	for i := range t.Partitions {
		metas[t.Partitions[i].Partition] = &t.Partitions[i]
	}
	complete = true
	for _, id := range m.c.startSubscribed(topic, metas) { // named by the caller, not there yet
		m.failed(key{topic: topic, partition: id}, kerr.UnknownTopicOrPartition)
		complete = false
	}
	for _, p := range m.c.partitionsOf(topic) {
		if !m.lead(p, t.TopicID, metas[p.id]) {
			complete = false
		}
	}
	return complete
}

// lead takes over what metadata says of one partition that is read, and reports
// whether it has a leader. A partition that is not mentioned is read on: one
// answer without it proves nothing.
func (m *metadata) lead(p *partition, topicID [16]byte, meta *kmsg.MetadataResponseTopicPartition) (complete bool) {
	k := p.key()
	if meta == nil {
		m.failed(k, kerr.UnknownTopicOrPartition)
		return false
	}
	if err := leaderError(meta); err != nil {
		m.failed(k, err)
	} else {
		delete(m.told, k)
	}
	if !m.c.identify(p, topicID) {
		return false
	}
	moved, behind := p.leads(meta.Leader, meta.LeaderEpoch)
	if moved {
		m.c.place(p)
	}
	return meta.Leader >= 0 && !behind
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
	case p.gone, old == id, id == [16]byte{}:
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
	if c.group != nil {
		p.mu.Unlock()
		c.group.renew(p.topic, old)
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
	p.follow = following{replica: noLeader}
	p.forgetEndsLocked(-1, -1)
	if p.c.cfg.reset.noReset {
		err := fmt.Errorf("topic %s partition %d: the topic was deleted and created again: %w", p.topic, p.id, kerr.UnknownTopicID)
		p.dropLocked()
		p.stopLocked(err)
		p.handOutLocked(err, n)
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
	if leader < 0 {
		leader = noLeader
	}
	if leader < 0 || epoch < 0 {
		epoch = p.leaderEpoch // no epoch undoes none that is known, else a truncation would go unseen: twmb/franz-go#1331
	}
	if p.gone || epoch < p.leaderEpoch || leader == p.leader && epoch == p.leaderEpoch {
		return false
	}
	grown := epoch > p.leaderEpoch
	p.leader, p.leaderEpoch = leader, epoch
	if grown {
		p.doubtLocked()
	}
	p.lineage++
	p.moveSourceLocked(noLeader) // the new leader may prefer another replica
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
