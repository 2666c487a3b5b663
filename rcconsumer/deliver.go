package rcconsumer

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/pass"
)

// takeLimit is how much a poll may still take.
type takeLimit struct {
	records int
	bytes   int64
}

func (l *takeLimit) reached(maxRecords int) bool {
	return maxRecords > 0 && l.records <= 0 || l.bytes <= 0
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
	p.progress.take(p.nextLocked())
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
	p.phase = fetching
	p.fetchFromLocked(max(p.pos.Next, k.First()), p.pos.NextEpoch)
	wrapped := p.batchError(err)
	if pass.IsTooLarge(err) {
		p.stopLocked(wrapped) // fetched again it would be as large
	} else {
		p.undecodableLocked(p.fetchOffset, wrapped)
		p.parkHereLocked()
	}
	p.appendLocked(&piece{
		end: -1, endEpoch: -1, err: wrapped,
		highWatermark: q.highWatermark, lastStableOffset: q.lastStableOffset, logStartOffset: q.logStartOffset,
	})
}
