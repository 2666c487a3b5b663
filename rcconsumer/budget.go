package rcconsumer

import "sync"

// budget bounds the memory held for data not yet handed out, in bytes. Bytes
// of a Fetch are reserved before it is sent and corrected when it is answered.
type budget struct {
	freed func() // called without the lock after bytes became free

	mu    sync.Mutex
	limit int64
	used  int64 // reserved or held
	held  int64 // of used: bytes that are here
}

func newBudget(limit int64, freed func()) *budget { return &budget{limit: limit, freed: freed} }

// reserve takes up to want bytes and returns how many it took. It takes
// nothing while little is free, so that a full buffer does not degrade into
// fetches of single batches, but always something when nothing is held: what
// others have only reserved must not stop a broker, since an idle one reserves
// again and again.
func (b *budget) reserve(want int64) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	free := b.limit - b.used
	if want <= 0 || b.held > 0 && free < min(want, b.least()) {
		return 0
	}
	got := max(1, min(want, free))
	b.used += got
	return got
}

// least is the smallest reservation, unless less than that is wanted.
func (b *budget) least() int64 { return max(1, b.limit/8) }

// unreserve gives back a reservation that was not used.
func (b *budget) unreserve(n int64) { b.settle(n, 0) }

// settle turns a reservation into the bytes that came.
func (b *budget) settle(reserved, actual int64) {
	b.mu.Lock()
	b.used += actual - reserved
	b.held += actual
	b.mu.Unlock()
	if actual < reserved {
		b.freed()
	}
}

// add books bytes without asking: a batch that is here must pass.
func (b *budget) add(n int64) {
	b.mu.Lock()
	b.used += n
	b.held += n
	b.mu.Unlock()
}

func (b *budget) release(n int64) {
	if n == 0 {
		return
	}
	b.mu.Lock()
	b.used -= n
	b.held -= n
	b.mu.Unlock()
	b.freed()
}

// full reports whether there is no room to fetch more.
func (b *budget) full() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held > 0 && b.limit-b.held < b.least()
}

// holds is how many bytes are here.
func (b *budget) holds() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

// lease is the share of one answer in the budget. The answer's bytes are one
// allocation, so they stay booked until the last piece of it is gone.
type lease struct {
	budget  *budget
	release func() // called when the bytes are not needed any more; may be nil

	mu    sync.Mutex
	bytes int64
	refs  int
}

// newLease takes over a reservation, with one reference for the caller.
func newLease(b *budget, reserved int64) *lease { return &lease{budget: b, bytes: reserved, refs: 1} }

// resize corrects the booking, once, to the bytes that really came.
func (l *lease) resize(actual int64) {
	l.mu.Lock()
	reserved := l.bytes
	l.bytes = actual
	l.mu.Unlock()
	l.budget.settle(reserved, actual)
}

func (l *lease) retain() {
	l.mu.Lock()
	l.refs++
	l.mu.Unlock()
}

func (l *lease) drop() {
	l.mu.Lock()
	l.refs--
	last := l.refs == 0
	n := l.bytes
	if last {
		l.bytes = 0
	}
	l.mu.Unlock()
	if !last {
		return
	}
	if l.release != nil {
		l.release()
	}
	l.budget.release(n)
}
