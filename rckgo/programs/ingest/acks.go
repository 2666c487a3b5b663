package main

import (
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// acks turns acknowledgements that come in any order into marks that come in
// the order of the records: a mark covers all records before it, so none of
// these may still be on its way.
type acks struct {
	mark func(*kgo.Record)

	mu      sync.Mutex
	first   int64 // number of pending[0]
	pending []pendingAck
	closed  bool
}

type pendingAck struct {
	record *kgo.Record
	acked  bool
}

// expect numbers a record. Records are expected in the order of their offsets.
func (a *acks) expect(r *kgo.Record) (number int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pending = append(a.pending, pendingAck{record: r})
	return a.first + int64(len(a.pending)) - 1
}

// ack acknowledges a record, and marks the last one before which nothing is
// pending.
func (a *acks) ack(number int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pending[number-a.first].acked = true
	var last *kgo.Record
	for len(a.pending) > 0 && a.pending[0].acked {
		last = a.pending[0].record
		a.pending = a.pending[1:]
		a.first++
	}
	if last != nil && !a.closed {
		a.mark(last)
	}
}

// close ends the marking.
func (a *acks) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
}
