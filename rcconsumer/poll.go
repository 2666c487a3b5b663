package rcconsumer

import (
	"context"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// handOut is what polls take from: partitions with something to hand out, in
// the order in which they got it, and errors that belong to no partition.
type handOut struct {
	mu       sync.Mutex
	ready    []*partition
	injected []kgo.Fetch
	moved    bool          // a position moved since the last poll that cared
	taken    []*partition  // by the latest poll, of a group's
	changed  chan struct{} // closed when any of the above changes
}

func (h *handOut) init() { h.changed = make(chan struct{}) }

func (h *handOut) signalLocked() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// offer tells polls that a partition has something, or that its position moved.
func (c *Consumer) offer(p *partition, ready, moved bool) {
	if !ready && !moved {
		return
	}
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	if ready && !slices.Contains(c.out.ready, p) {
		c.out.ready = append(c.out.ready, p)
	}
	c.out.moved = c.out.moved || moved
	c.out.signalLocked()
}

// maxInjected bounds errors that nobody polls for; the oldest go first.
const maxInjected = 100

// inject hands an error to the next poll, once however often it came until then.
func (c *Consumer) inject(topic string, partition int32, err error) {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	if c.out.waitsLocked(topic, partition, err) {
		return
	}
	if len(c.out.injected) >= maxInjected {
		c.out.injected = c.out.injected[1:]
	}
	c.out.injected = append(c.out.injected, kgo.Fetch{Topics: []kgo.FetchTopic{{
		Topic:      topic,
		Partitions: []kgo.FetchPartition{{Partition: partition, Err: err}},
	}}})
	c.out.signalLocked()
}

// waitsLocked reports whether the same error waits for a poll already.
func (h *handOut) waitsLocked(topic string, partition int32, err error) bool {
	return slices.ContainsFunc(h.injected, func(f kgo.Fetch) bool {
		t := &f.Topics[0]
		return t.Topic == topic && t.Partitions[0].Partition == partition && t.Partitions[0].Err.Error() == err.Error()
	})
}

// PollFetches waits until there are records or errors and returns all that is
// buffered; it is PollRecords(ctx, 0).
func (c *Consumer) PollFetches(ctx context.Context) kgo.Fetches { return c.PollRecords(ctx, 0) }

// PollRecords waits until there are records or errors and returns at most
// maxRecords records; if maxRecords <= 0 all that are buffered, but not more at
// once than some 16 MB or [BufferBytes], whichever is less: the rest comes with
// the next poll, and the first records need not wait until all are decoded.
// With a nil context it does not wait. Records of one partition come in offset
// order.
//
// The end of ctx and a closed consumer are told as in kgo: by a fetch with
// topic "" and partition -1 whose error is ctx.Err() or kgo.ErrClientClosed.
// An error of a partition comes after all records in front of it, in a poll
// that returns no record of that partition. Errors of a group come as kgo has
// them, such as a *kgo.ErrGroupSession for topic "" and partition 0. A waiting
// poll hears of them within a quarter of a second.
//
// Under kgo.BlockRebalanceOnPoll a poll that returns records holds rebalances
// back until AllowRebalance, and a poll waits while a rebalance runs, whatever
// its context says, as in kgo. Unlike there, a poll that returns no records
// holds nothing back.
func (c *Consumer) PollRecords(ctx context.Context, maxRecords int) kgo.Fetches {
	c.report.pollStart(ctx)
	c.pollBegins()
	defer c.pollEnds()
	c.polled()
	if ctx != nil && ctx.Err() != nil {
		return kgo.NewErrFetch(ctx.Err())
	}
	for {
		changed := c.out.wait()
		if c.ctx.Err() != nil {
			return kgo.NewErrFetch(kgo.ErrClientClosed)
		}
		if errs := c.groupErrors(); len(errs) > 0 {
			return errs
		}
		fetches := c.takeAllowed(maxRecords)
		moved := c.out.takeMoved() // whatever is returned, the caller sees positions as they are by then
		if len(fetches) > 0 || ctx == nil || moved && c.cfg.returnOnProgress {
			return fetches
		}
		select {
		case <-changed:
		case <-c.drainSoon():
		case <-ctx.Done():
			return kgo.NewErrFetch(ctx.Err())
		case <-c.ctx.Done():
			return kgo.NewErrFetch(kgo.ErrClientClosed)
		}
	}
}

// forget ends that polls look at a partition.
func (h *handOut) forget(p *partition) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ready = slices.DeleteFunc(h.ready, func(q *partition) bool { return q == p })
}

// dropErrors drops errors of partitions that nobody reads any more.
func (h *handOut) dropErrors(of func(topic string, partition int32) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.injected = slices.DeleteFunc(h.injected, func(f kgo.Fetch) bool {
		ts := f.Topics
		return len(ts) == 1 && len(ts[0].Partitions) == 1 && of(ts[0].Topic, ts[0].Partitions[0].Partition)
	})
}

func (h *handOut) wait() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changed
}

func (h *handOut) takeMoved() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	moved := h.moved
	h.moved = false
	return moved
}

func (h *handOut) takeInjected() []kgo.Fetch {
	h.mu.Lock()
	defer h.mu.Unlock()
	injected := h.injected
	h.injected = nil
	return injected
}

// next takes a partition out of the list.
func (h *handOut) next() *partition {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.ready) == 0 {
		return nil
	}
	p := h.ready[0]
	h.ready = h.ready[1:]
	return p
}

// maxPollBytes is about how much one poll decodes at most, in bytes of records
// in memory. Batches are decoded when a poll takes them.
const maxPollBytes = 16 << 20

// take collects what one poll returns.
func (c *Consumer) take(maxRecords int) kgo.Fetches {
	limit := takeLimit{records: maxRecords, bytes: min(maxPollBytes, c.cfg.bufferBytes)}
	var fetch kgo.Fetch
	var again []*partition
	taken := make(map[*partition]bool)
	for !limit.reached(maxRecords) {
		p := c.out.next()
		if p == nil {
			break
		}
		if taken[p] { // what arrived meanwhile waits for the next poll
			again = append(again, p)
			continue
		}
		taken[p] = true
		fp, topicID, more := c.takeFrom(p, &limit, maxRecords)
		if more {
			again = append(again, p)
		}
		if len(fp.Records) > 0 || fp.Err != nil {
			addPartition(&fetch, p.topic, topicID, fp)
		}
		if len(fp.Records) > 0 && c.group != nil {
			c.out.tookFrom(p)
		}
	}
	for _, p := range again {
		c.offer(p, true, false)
	}
	fetches := kgo.Fetches(c.out.takeInjected())
	if len(fetch.Topics) > 0 {
		fetches = append(kgo.Fetches{fetch}, fetches...)
	}
	return fetches
}

func addPartition(fetch *kgo.Fetch, topic string, id [16]byte, fp kgo.FetchPartition) {
	i := slices.IndexFunc(fetch.Topics, func(t kgo.FetchTopic) bool { return t.Topic == topic })
	if i < 0 {
		i = len(fetch.Topics)
		fetch.Topics = append(fetch.Topics, kgo.FetchTopic{Topic: topic, TopicID: id})
	}
	fetch.Topics[i].Partitions = append(fetch.Topics[i].Partitions, fp)
}
