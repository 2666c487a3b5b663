package rcconsumer

import (
	"maps"
	"slices"
)

// What is being read, and who is asked for it: c.parts and c.brokers.

// partition returns the state of a partition, nil if it is not being read.
func (c *Consumer) partition(topic string, id int32) *partition {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.parts[topic][id]
}

func (c *Consumer) allPartitions() []*partition {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*partition
	for _, ps := range c.parts {
		for _, p := range ps {
			all = append(all, p)
		}
	}
	return all
}

// ensure returns the state of a partition and makes it first if need be.
func (c *Consumer) ensure(topic string, id int32, start offsetSpec) *partition {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ensureLocked(topic, id, start)
}

func (c *Consumer) ensureLocked(topic string, id int32, start offsetSpec) *partition {
	p := c.parts[topic][id]
	if p == nil {
		p = newPartition(c, topic, id, start)
		if c.parts[topic] == nil {
			c.parts[topic] = make(map[int32]*partition)
		}
		c.parts[topic][id] = p
	}
	return p
}

// readTopics returns the topics that are being read.
func (c *Consumer) readTopics() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.parts))
}

// partitionsOf returns the partitions of a topic that are being read.
func (c *Consumer) partitionsOf(topic string) []*partition {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Values(c.parts[topic]))
}

func (c *Consumer) broker(id int32) *broker {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.brokers[id]
}

// busy is how many brokers are asked for a partition.
func (c *Consumer) busy() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range c.brokers {
		if b.serves() {
			n++
		}
	}
	return n
}

// pokeLeader makes the broker that is asked for the partition look at it again:
// its leader, or the follower that the leader prefers.
func (c *Consumer) pokeLeader(p *partition) {
	p.mu.Lock()
	source := p.sourceLocked()
	p.mu.Unlock()
	if b := c.broker(source); b != nil {
		b.poke()
	}
}

func (c *Consumer) pokeBrokers() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range c.brokers {
		b.poke()
	}
}
