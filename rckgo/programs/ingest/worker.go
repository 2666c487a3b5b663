package main

import (
	"context"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// fetchControl is what a worker needs of the client.
type fetchControl interface {
	PauseFetchPartitions(map[string][]int32) map[string][]int32
	ResumeFetchPartitions(map[string][]int32)
	MarkCommitRecords(...*kgo.Record)
}

// worker takes the records of one partition from its queue to the sink, in
// their order.
type worker struct {
	tp     topicPartition
	client fetchControl
	sink   *sink
	limit  int           // records in the queue at which the partition is paused
	wake   chan struct{} // the queue may hold records
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}  // run has returned
	onWay  sync.WaitGroup // records that the sink has
	acks   acks

	mu      sync.Mutex
	queue   []*kgo.Record
	paused  bool
	session int64
	seq     int64 // records taken from the queue in this session
}

func newWorker(tp topicPartition, client fetchControl, to *sink, limit int) *worker {
	w := &worker{
		tp: tp, client: client, sink: to, limit: limit,
		wake: make(chan struct{}, 1), done: make(chan struct{}),
		acks: acks{mark: func(r *kgo.Record) { client.MarkCommitRecords(r) }},
	}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	return w
}

// begin starts a new session; see service.begins.
func (w *worker) begin(session int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.session, w.seq = session, 0
}

// enqueue adds records and pauses the partition if they are too many: the queue
// holds at most its limit and the records of one poll. It never waits.
func (w *worker) enqueue(records []*kgo.Record) (paused bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = append(w.queue, records...)
	if len(w.queue) >= w.limit && !w.paused {
		w.paused, paused = true, true
		w.client.PauseFetchPartitions(w.tp.set())
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
	return paused
}

// take returns the next record, nil if there is none. Half a queue is enough to
// fetch again.
func (w *worker) take() (r *kgo.Record, session, seq int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 {
		return nil, 0, 0
	}
	r, w.queue = w.queue[0], w.queue[1:]
	if w.paused && len(w.queue) <= w.limit/2 {
		w.paused = false
		w.client.ResumeFetchPartitions(w.tp.set())
	}
	w.seq++
	return r, w.session, w.seq
}

// run works until the worker is ended.
func (w *worker) run() {
	defer close(w.done)
	for w.ctx.Err() == nil {
		r, session, seq := w.take()
		if r == nil {
			select {
			case <-w.wake:
			case <-w.ctx.Done():
			}
			continue
		}
		w.submit(r, session, seq)
	}
}

// submit waits until the sink takes a record, or the worker is ended.
func (w *worker) submit(r *kgo.Record, session, seq int64) {
	number := w.acks.expect(r)
	w.onWay.Add(1)
	taken := w.sink.put(w.ctx, laneOf(r), delivery{lineOf(r, session, seq), func(written bool) {
		if written {
			w.acks.ack(number)
		}
		w.onWay.Done()
	}})
	if !taken { // it stays unacknowledged, and is the last one
		w.onWay.Done()
	}
}

// finish ends the worker when what the sink has is written and marked. What
// waits in the queue is given up: the partition's next owner reads it.
func (w *worker) finish() {
	w.cancel()
	<-w.done
	w.onWay.Wait()
}

// abandon ends the worker; nothing is marked any more.
func (w *worker) abandon() {
	w.acks.close()
	w.finish()
}
