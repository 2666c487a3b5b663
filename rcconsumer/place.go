package rcconsumer

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// place puts a partition with the broker that is to be asked for it, which
// starts to fetch it, and takes it away from all others.
func (c *Consumer) place(p *partition) {
	p.mu.Lock()
	source := p.sourceLocked()
	if p.gone { // released meanwhile
		source = noLeader
	}
	awaits := p.phase == awaiting || p.mustValidateLocked()
	c.mu.Lock()
	// Under both locks: whoever changes the source places the partition after
	// that, and no broker ends between here and add.
	for id, b := range c.brokers {
		if id != source {
			b.remove(p)
		}
	}
	b := c.brokers[source]
	if b == nil && source != noLeader && !c.closed {
		b = c.startBrokerLocked(source)
	}
	if b != nil {
		b.add(p)
	}
	c.mu.Unlock()
	p.mu.Unlock()
	if awaits {
		c.resets.poke()
	}
}

// startBrokerLocked begins to fetch from a broker.
func (c *Consumer) startBrokerLocked(id int32) *broker {
	b := newBroker(c, id)
	ctx, cancel := context.WithCancel(c.ctx)
	b.stop = cancel
	c.brokers[id] = b
	c.spawn(func(context.Context) {
		defer cancel()
		b.run(ctx)
	})
	return b
}

// learnBrokers takes over which brokers the cluster has. Partitions that are
// read from a follower that is gone go back to their leaders.
func (c *Consumer) learnBrokers(brokers []kmsg.MetadataResponseBroker) {
	if len(brokers) == 0 {
		return // a broker that has just started knows nobody
	}
	known := make(map[int32]bool, len(brokers))
	for i := range brokers {
		known[brokers[i].NodeID] = true
	}
	c.mu.Lock()
	c.known = known
	c.mu.Unlock()
	for _, p := range c.allPartitions() {
		c.leaveUnknown(p, known)
	}
}

// endIdleLoops ends the loops of brokers that are gone and that no partition
// needs; one that comes back gets a new loop.
func (c *Consumer) endIdleLoops() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, b := range c.brokers {
		if len(c.known) > 0 && !c.known[id] && !b.serves() {
			delete(c.brokers, id)
			b.stop() // a Fetch in flight is for partitions that have moved on
		}
	}
}

// knows reports whether the newest metadata names the broker.
func (c *Consumer) knows(id int32) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[id]
}
