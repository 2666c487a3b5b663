package rcconsumer

import (
	"context"
	"sync"
	"time"
)

// throttles are the brokers that asked not to be asked for offsets for a while
// (KIP-219). A question that is sent any earlier waits in kgo, and everything
// else that goes to the same broker waits behind it, fetches too. A broker that
// did so once is asked one question at a time from then on, since each answer may
// ask for a pause. The zero value is ready; any goroutine may use it.
type throttles struct {
	mu sync.Mutex
	of map[int32]*throttle // by broker
}

type throttle struct {
	until  time.Time
	busy   bool          // a question is on its way
	urgent int           // how many wait with one that others have to wait for
	freed  chan struct{} // capacity 1: busy ended
}

// note takes over what an answer of a broker asks for.
func (t *throttles) note(broker int32, d time.Duration) {
	if d <= 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = make(map[int32]*throttle)
	}
	if t.of[broker] == nil {
		t.of[broker] = &throttle{freed: make(chan struct{}, 1)}
	}
	t.of[broker].until = later(t.of[broker].until, time.Now().Add(d))
}

// left is how long the broker is to be left alone yet; not above 0 if it may be
// asked.
func (t *throttles) left(broker int32, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.of[broker]; e != nil {
		return e.until.Sub(now)
	}
	return 0
}

// throttleLook is how often somebody looks who waits for another's question.
const throttleLook = time.Second

// enter waits until the broker may be asked, or for the context's end. What is
// urgent, since a partition is not read before, goes first. leave is to be
// called with the answer noted.
func (t *throttles) enter(ctx context.Context, broker int32, urgent bool) (leave func()) {
	t.mu.Lock()
	e := t.of[broker]
	t.mu.Unlock()
	if e == nil {
		return func() {}
	}
	if urgent {
		t.wait(e, 1)
		defer t.wait(e, -1)
	}
	for ctx.Err() == nil {
		free, left := t.take(e, urgent)
		if free {
			return func() { t.leave(e) }
		}
		sleep(ctx, left, e.freed)
	}
	return func() {}
}

// take lets a question go out, or says when to look again.
func (t *throttles) take(e *throttle, urgent bool) (free bool, left time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if left = time.Until(e.until); left > 0 {
		return false, left
	}
	if e.busy || e.urgent > 0 && !urgent {
		return false, throttleLook
	}
	e.busy = true
	return true, 0
}

func (t *throttles) wait(e *throttle, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.urgent += n
}

func (t *throttles) leave(e *throttle) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.busy = false
	select {
	case e.freed <- struct{}{}:
	default:
	}
}
