package rcconsumer

import "sync"

// taking keeps the callbacks of a group behind polls that have begun to take
// records. What they have taken counts as handed out and may be committed by the
// callback, so the caller must have it by then. Without
// kgo.BlockRebalanceOnPoll nothing else keeps the two apart.
type taking struct {
	mu  sync.Mutex
	now *round // of polls that begin; nil if there is none since the last wait
}

// round is the polls that began between two waits.
type round struct {
	polls int
	over  chan struct{} // closed when all have ended, if anybody waits
}

func (t *taking) begin() *round {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now == nil {
		t.now = &round{over: make(chan struct{})}
	}
	t.now.polls++
	return t.now
}

func (t *taking) end(r *round) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r.polls--; r.polls == 0 && r != t.now {
		close(r.over)
	}
}

// wait waits for the polls that have begun, and for none that begins later.
func (t *taking) wait() {
	t.mu.Lock()
	r := t.now
	t.now = nil
	busy := r != nil && r.polls > 0
	t.mu.Unlock()
	if busy {
		<-r.over
	}
}
