package rcconsumer

import (
	"context"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/pass"
)

// handOut is what polls take from: partitions with something to hand out, in
// the order in which they got it, and errors that belong to no partition.
type handOut struct {
	mu       sync.Mutex
	ready    []*partition
	injected []kgo.Fetch
	moved    bool          // a position moved since the last poll that cared
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

// inject hands an error to the next poll.
func (c *Consumer) inject(topic string, partition int32, err error) {
	c.out.mu.Lock()
	defer c.out.mu.Unlock()
	if len(c.out.injected) >= maxInjected {
		c.out.injected = c.out.injected[1:]
	}
	c.out.injected = append(c.out.injected, kgo.Fetch{Topics: []kgo.FetchTopic{{
		Topic:      topic,
		Partitions: []kgo.FetchPartition{{Partition: partition, Err: err}},
	}}})
	c.out.signalLocked()
}

// PollFetches waits until there are records or errors and returns all that is
// buffered; it is PollRecords(ctx, 0).
func (c *Consumer) PollFetches(ctx context.Context) kgo.Fetches { return c.PollRecords(ctx, 0) }

// PollRecords waits until there are records or errors and returns at most
// maxRecords records; all that are buffered if maxRecords <= 0, though not more
// than about [BufferBytes] of them at once. With a nil context it does not
// wait. Records of one partition come in offset order.
//
// The end of ctx and a closed consumer are told as in kgo: by a fetch with
// topic "" and partition -1 whose error is ctx.Err() or kgo.ErrClientClosed.
// An error of a partition comes after all records in front of it, in a poll
// that returns no record of that partition.
func (c *Consumer) PollRecords(ctx context.Context, maxRecords int) kgo.Fetches {
	c.report.pollStart(ctx)
	if ctx != nil && ctx.Err() != nil {
		return kgo.NewErrFetch(ctx.Err())
	}
	for {
		changed := c.out.wait()
		if c.ctx.Err() != nil {
			return kgo.NewErrFetch(kgo.ErrClientClosed)
		}
		fetches := c.take(maxRecords)
		moved := c.out.takeMoved() // whatever is returned, the caller sees positions as they are by then
		if len(fetches) > 0 || ctx == nil || moved && c.cfg.returnOnProgress {
			return fetches
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return kgo.NewErrFetch(ctx.Err())
		case <-c.ctx.Done():
			return kgo.NewErrFetch(kgo.ErrClientClosed)
		}
	}
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

// take collects what one poll returns.
func (c *Consumer) take(maxRecords int) kgo.Fetches {
	limit := takeLimit{records: maxRecords, bytes: c.cfg.bufferBytes}
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

// takeLimit is how much a poll may still take.
type takeLimit struct {
	records int
	bytes   int64
}

func (l *takeLimit) reached(maxRecords int) bool {
	return maxRecords > 0 && l.records <= 0 || l.bytes <= 0
}

func addPartition(fetch *kgo.Fetch, topic string, id [16]byte, fp kgo.FetchPartition) {
	i := slices.IndexFunc(fetch.Topics, func(t kgo.FetchTopic) bool { return t.Topic == topic })
	if i < 0 {
		i = len(fetch.Topics)
		fetch.Topics = append(fetch.Topics, kgo.FetchTopic{Topic: topic, TopicID: id})
	}
	fetch.Topics[i].Partitions = append(fetch.Topics[i].Partitions, fp)
}

// takeFrom takes what is buffered of one partition, batch by batch. more
// reports whether something is left.
func (c *Consumer) takeFrom(p *partition, limit *takeLimit, maxRecords int) (fp kgo.FetchPartition, topicID [16]byte, more bool) {
	fp.Partition = p.id
	p.mu.Lock()
	if p.polling { // another poll is at it, and offers it again when it is done
		p.mu.Unlock()
		return fp, topicID, false
	}
	p.polling = true
	before := p.pos.Next
	for !limit.reached(maxRecords) && !c.pauses.paused(p.topic, p.id) {
		if !p.decodeLocked() {
			break
		}
		q := p.queue[0]
		fp.HighWatermark, fp.LastStableOffset, fp.LogStartOffset = q.highWatermark, q.lastStableOffset, q.logStartOffset
		if !q.decoded.open() {
			if len(fp.Records) == 0 {
				fp.Err = p.takeErrorLocked(q)
			}
			break // after records the error waits for the next poll
		}
		fp.Records = p.takeRecordsLocked(fp.Records, limit, maxRecords)
	}
	p.polling = false
	topicID = p.topicID
	more = p.deliverableLocked()
	moved := p.pos.Next != before && len(fp.Records) == 0 // a batch turned out to hold nothing to hand out
	p.mu.Unlock()
	c.offer(p, false, moved)
	c.pokeLeader(p)
	return fp, topicID, more && !c.pauses.paused(p.topic, p.id)
}

// takeErrorLocked hands out the error of a piece, and what lies behind it comes
// next.
func (p *partition) takeErrorLocked(q *piece) error {
	err := q.err
	q.err = nil
	p.settleLocked()
	return err
}

// takeRecordsLocked hands out records of the batch that is decoded.
func (p *partition) takeRecordsLocked(dst []*kgo.Record, limit *takeLimit, maxRecords int) []*kgo.Record {
	d := &p.queue[0].decoded
	n := len(d.records)
	if maxRecords > 0 {
		n = min(n, limit.records)
	}
	records := d.records[:n:n]
	d.records = d.records[n:]
	limit.records -= n
	if !d.open() {
		limit.bytes -= d.bytes
		p.c.budget.release(d.bytes)
		d.bytes = 0
	}
	p.handedOutLocked(d, records)
	if !d.open() {
		*d = decoded{}
	}
	if p.c.report.listen {
		p.mu.Unlock()
		p.c.report.unbuffered(records, true)
		p.mu.Lock()
	}
	p.settleLocked()
	if dst == nil && n == cap(records) {
		return records // the slab of one batch is most often all there is
	}
	return append(dst, records...)
}

// decodeLocked makes sure that the piece at the front has a decoded batch or an
// error to hand out. It reports false if there is nothing to hand out. The lock
// is not held while records are decoded; what changes meanwhile wins.
func (p *partition) decodeLocked() bool {
	for {
		p.settleLocked()
		if len(p.queue) == 0 {
			return false
		}
		q := p.queue[0]
		if q.decoded.open() {
			return true
		}
		if len(q.kept) == 0 {
			return q.err != nil
		}
		k, gen := q.kept[0], p.gen
		p.mu.Unlock()
		records, err := p.decode(k, q.broker)
		p.mu.Lock()
		if p.gen != gen {
			p.giveUpLocked(records)
			continue // a seek or a pause may have taken the batch away
		}
		if err != nil {
			p.damagedLocked(q, k, err)
			return true
		}
		q.kept = q.kept[1:]
		if len(records) == 0 { // all below the fetch offset, or compacted away
			p.reachLocked(k.Batch.LastOffset()+1, k.Batch.PartitionLeaderEpoch())
			continue
		}
		q.decoded = decoded{records: records, batch: k, fresh: true, bytes: weigh(records)}
		p.c.budget.add(q.decoded.bytes)
		return true
	}
}

// giveUpLocked ends the life of records that are not handed out after all.
func (p *partition) giveUpLocked(records []*kgo.Record) {
	p.mu.Unlock()
	defer p.mu.Lock()
	if p.c.report.listen {
		p.c.report.unbuffered(records, false)
	}
	for _, r := range records {
		r.Recycle()
	}
}

// decode decodes one kept batch, sent by broker; no lock is held.
func (p *partition) decode(k pass.Kept, broker int32) ([]*kgo.Record, error) {
	d := pass.Decoder{
		Topic: p.topic, Partition: p.id,
		Custom: p.c.cfg.decompressor, MaxBatchBytes: p.c.cfg.maxDecompressed, Pools: p.c.cfg.pools,
	}
	if p.c.report.wantsRead {
		d.Read = func(m kgo.FetchBatchMetrics) { p.c.report.batchRead(broker, p.topic, p.id, m) }
	}
	records, err := d.Append(make([]*kgo.Record, 0, k.SizeHint()), k)
	if err == nil && p.c.report.listen {
		p.c.report.buffered(records)
	}
	return records, err
}

// damagedLocked pins the position in front of a batch whose records cannot be
// decoded, and throws away everything fetched behind it.
func (p *partition) damagedLocked(q *piece, k pass.Kept, err error) {
	p.dropLocked()
	p.phase, p.fetchOffset = fetching, max(p.pos.Next, k.First())
	if pass.IsTooLarge(err) {
		p.restLocked() // fetched again it would be as large
	} else {
		p.parkHereLocked()
	}
	p.appendLocked(&piece{
		end: -1, endEpoch: -1, err: p.batchError(err),
		highWatermark: q.highWatermark, lastStableOffset: q.lastStableOffset, logStartOffset: q.logStartOffset,
	})
}
