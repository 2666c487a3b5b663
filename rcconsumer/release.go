package rcconsumer

// detachLocked ends that a partition is found among those being read. The
// caller, who holds c.mu, finishes it without that lock.
func (c *Consumer) detachLocked(p *partition) {
	if c.parts[p.topic][p.id] != p {
		return
	}
	delete(c.parts[p.topic], p.id)
	if len(c.parts[p.topic]) == 0 {
		delete(c.parts, p.topic)
	}
}

// finish ends the life of a detached partition. Answers on their way to it are
// not applied, and no poll that begins later returns a record of it. Begun
// again the same topic partition is another object.
func (c *Consumer) finish(p *partition) {
	p.mu.Lock()
	p.dropLocked()
	p.restLocked()
	p.gone = true
	p.mu.Unlock()
	c.takeFromBrokers(p)
	c.out.forget(p)
}

// release ends the reading of a partition; see finish.
func (c *Consumer) release(p *partition) {
	c.mu.Lock()
	c.detachLocked(p)
	c.mu.Unlock()
	c.finish(p)
}

// releaseTopic ends the reading of a topic.
func (c *Consumer) releaseTopic(topic string) {
	for _, p := range c.partitionsOf(topic) {
		c.release(p)
	}
}

// takeFromBrokers ends that any broker is asked for a partition.
func (c *Consumer) takeFromBrokers(p *partition) {
	c.mu.Lock()
	brokers := make([]*broker, 0, len(c.brokers))
	for _, b := range c.brokers {
		brokers = append(brokers, b)
	}
	c.mu.Unlock()
	for _, b := range brokers {
		b.remove(p)
	}
}
