package rcconsumer

import (
	"context"
	"iter"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Records returns an endless sequence of records, for a loop with range. A
// record counts as handed out when it is yielded: inside the loop
// Position.Next is one past it, or behind the invisible batches that follow it
// and are fetched. A loop that ends early (break, return, panic) keeps the
// rest for the next poll or the next loop. Within a partition records come in
// offset order; partitions take turns of about 1 MB.
//
// What is not a record comes as (nil, err):
//
//   - An error of a partition, after the records in front of it, as in polls.
//     The sequence goes on if the loop does.
//   - The end of ctx: ctx.Err(), once, then the sequence ends.
//   - A closed consumer: kgo.ErrClientClosed, then the sequence ends.
//
// In a group the record yielded last counts as worked on, for auto-commit, when
// the loop asks for the next one. Under kgo.BlockRebalanceOnPoll rebalances wait
// from the first record on until AllowRebalance.
//
// With a nil context the sequence ends when nothing is buffered. Each step is a
// poll that returns at most one record: it may run beside polls and other
// loops, and the same record is yielded by one of them only. The loop sees
// pauses, seeks and Close made in its body at once. [ReturnOnProgress] has no
// effect on it.
func (c *Consumer) Records(ctx context.Context) iter.Seq2[*kgo.Record, error] {
	return func(yield func(*kgo.Record, error) bool) {
		it := iteration{c: c, ctx: ctx}
		defer it.end()
		for {
			r, err := it.next()
			if r == nil && err == nil || !yield(r, err) || it.over {
				return
			}
		}
	}
}

// turnBytes is about how much of one partition is yielded before another one
// has its turn, in bytes of records in memory.
const turnBytes = 1 << 20

// iteration is one loop over Records.
type iteration struct {
	c    *Consumer
	ctx  context.Context // nil: do not wait
	over bool            // what next returned is the last thing

	p    *partition  // whose turn it is; nil if nobody's
	left int64       // of the turn, in bytes
	last *partition  // of the record yielded last
	told kgo.Fetches // errors of the group that are still to be yielded
}

// next is one step: a record, an error, or neither at the end.
func (it *iteration) next() (*kgo.Record, error) {
	it.c.guardBegins()
	defer it.c.guardEnds()
	if it.ctx != nil && it.ctx.Err() != nil {
		it.over = true
		return nil, it.ctx.Err()
	}
	if it.p != nil && it.c.mayGoOn() {
		if r := it.p.takeOne(); r != nil {
			it.c.stir()
			return r, nil
		}
	}
	return it.await()
}

// await is next where a poll is needed.
func (it *iteration) await() (*kgo.Record, error) {
	it.c.polls.Add(1)
	defer func() {
		it.c.stir()
		it.c.noteStir()
		it.c.polls.Add(-1)
	}()
	it.c.report.pollStart(it.ctx)
	it.worked()
	for {
		changed := it.c.out.wait()
		if it.c.ctx.Err() != nil {
			it.over = true
			return nil, kgo.ErrClientClosed
		}
		if r, err := it.allowed(); r != nil || err != nil || it.ctx == nil {
			return r, err
		}
		select {
		case <-changed:
		case <-it.c.drainSoon():
		case <-it.c.ctx.Done():
		case <-it.ctx.Done():
			it.over = true
			return nil, it.ctx.Err()
		}
	}
}

// worked notes that the record yielded last has been worked on.
func (it *iteration) worked() {
	it.remember()
	it.c.polled()
}

// remember leaves the record yielded last to the next poll.
func (it *iteration) remember() {
	if it.last != nil && it.c.group != nil {
		it.c.out.tookFrom(it.last)
	}
	it.last = nil
}

// end leaves to polls what the loop has not yielded.
func (it *iteration) end() {
	it.remember()
	it.told.EachError(it.c.inject)
}

// allowed finds the next thing to yield while no rebalance runs.
func (it *iteration) allowed() (*kgo.Record, error) {
	if it.c.group == nil {
		return it.find()
	}
	if it.told = append(it.told, it.c.groupErrors()...); len(it.told) > 0 {
		err := it.told[0].Topics[0].Partitions[0].Err
		it.told = it.told[1:]
		return nil, err
	}
	if it.p == nil && it.c.out.empty() {
		return nil, nil
	}
	it.c.group.gate.enter()
	taking := it.c.group.taking.begin()
	r, err := it.find()
	it.c.group.taking.end(taking)
	it.c.group.gate.leave(r != nil)
	return r, err
}

// find looks for the next batch or error: first of the partition whose turn it
// is, then of the others.
func (it *iteration) find() (*kgo.Record, error) {
	if err := it.c.out.takeOneInjected(); err != nil {
		return nil, err
	}
	if it.p != nil && it.left > 0 {
		if r, err := it.open(it.p); r != nil || err != nil {
			it.yields(r)
			return r, err
		}
	}
	it.p = nil
	for {
		p := it.c.out.next()
		if p == nil {
			return nil, nil
		}
		it.left = turnBytes
		if r, err := it.open(p); r != nil || err != nil {
			it.p = p
			it.yields(r)
			return r, err
		}
	}
}

func (it *iteration) yields(r *kgo.Record) {
	if r != nil {
		it.last = it.p
	}
}

// open decodes the next batch of a partition and takes its first record, or
// takes the error that comes first.
func (it *iteration) open(p *partition) (r *kgo.Record, err error) {
	p.mu.Lock()
	if p.polling { // another poll is at it, and offers it again when it is done
		p.mu.Unlock()
		return nil, nil
	}
	p.polling = true
	before := p.pos.Next
	if !it.c.pauses.paused(p.topic, p.id) && p.decodeLocked() {
		if q := p.queue[0]; q.decoded.open() {
			it.left -= q.decoded.bytes
			r = p.takeRecordsLocked(nil, &takeLimit{records: 1}, 1)[0]
		} else {
			err = p.takeErrorLocked(q)
		}
	}
	p.polling = false
	more := p.deliverableLocked()
	moved := p.pos.Next != before && r == nil
	p.mu.Unlock()
	it.c.offer(p, false, moved)
	if more && !it.c.pauses.paused(p.topic, p.id) {
		it.c.out.keep(p)
	}
	it.c.pokeLeader(p)
	return r, err
}

// takeOne hands out one record of the batch that is decoded, nil if none is.
func (p *partition) takeOne() *kgo.Record {
	p.mu.Lock()
	if p.polling || len(p.queue) == 0 || !p.queue[0].decoded.open() {
		p.mu.Unlock()
		return nil
	}
	p.progress.polled() // the record before has been worked on
	r := p.takeRecordsLocked(nil, &takeLimit{records: 1}, 1)[0]
	room := len(p.queue) == 0 || !p.queue[0].decoded.open()
	p.mu.Unlock()
	if room {
		p.c.pokeLeader(p)
	}
	return r
}

// keep lists a partition for everybody while a loop takes from it: the loop may
// be left at any step, and may rest in its body for ever.
func (h *handOut) keep(p *partition) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Contains(h.ready, p) {
		h.ready = append(h.ready, p)
		h.signalLocked()
	}
}

// takeOneInjected takes the oldest error that belongs to no partition's queue.
func (h *handOut) takeOneInjected() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.injected) == 0 {
		return nil
	}
	err := h.injected[0].Topics[0].Partitions[0].Err
	h.injected = h.injected[1:]
	return err
}
