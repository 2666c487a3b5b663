package rcconsumer

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// polled notes that a poll has begun: what the one before it returned counts as
// worked on.
func (c *Consumer) polled() {
	if c.group == nil {
		return
	}
	c.out.mu.Lock()
	taken := c.out.taken
	c.out.taken = nil
	c.out.mu.Unlock()
	for _, p := range taken {
		p.mu.Lock()
		p.progress.polled()
		p.mu.Unlock()
	}
}

// pollBegins and pollEnds tell [MaxPollInterval] and [Consumer.Health] that the
// caller is alive.
func (c *Consumer) pollBegins() {
	c.polls.Add(1)
	c.guardBegins()
}

func (c *Consumer) pollEnds() {
	c.guardEnds()
	c.pollEnded.set(c.watch.began, time.Now())
	c.polls.Add(-1)
}

func (c *Consumer) guardBegins() {
	if c.group != nil {
		c.group.guard.begins()
	}
}

func (c *Consumer) guardEnds() {
	if c.group != nil {
		c.group.guard.ends()
	}
}

// stir tells Health alone that the caller took a record. Noted is when with
// noteStir: to look at the clock for each record would cost too much.
func (c *Consumer) stir() {
	if !c.stirred.Load() {
		c.stirred.Store(true)
	}
}

func (c *Consumer) noteStir() {
	if c.stirred.Swap(false) {
		c.pollEnded.set(c.watch.began, time.Now())
	}
}

// groupErrors are what there is to tell of the group.
func (c *Consumer) groupErrors() kgo.Fetches {
	if c.group == nil || !c.group.isReady() { // callbacks wait for New's hooks, and kgo's polls for callbacks
		return nil
	}
	if late := c.group.guard.tooLate(); late != nil {
		return kgo.NewErrFetch(late)
	}
	return c.group.gate.drain()
}

// drainSoon fires when it is time for groupErrors again; never without a group.
func (c *Consumer) drainSoon() <-chan time.Time {
	if c.group == nil {
		return nil
	}
	return time.After(drainEvery)
}

// takeAllowed takes what is buffered while no rebalance runs.
func (c *Consumer) takeAllowed(maxRecords int) kgo.Fetches {
	if c.group == nil {
		return c.take(maxRecords)
	}
	if c.out.empty() {
		return nil
	}
	c.group.gate.enter()
	taking := c.group.taking.begin()
	fetches := c.take(maxRecords)
	c.group.taking.end(taking)
	c.group.gate.leave(!fetches.Empty())
	return fetches
}

func (h *handOut) empty() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.ready) == 0 && len(h.injected) == 0
}

// tookFrom notes that a poll returns records of a group's partition.
func (h *handOut) tookFrom(p *partition) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.taken = append(h.taken, p)
}

// mayGoOn reports whether a loop may take one more record without asking
// whether a rebalance wants to run.
func (c *Consumer) mayGoOn() bool {
	return c.group == nil || !c.cfg.blockOnPoll || c.group.gate.holds()
}
