package rcconsumer

import (
	"sync"
	"time"
)

// streak is a thing that fails again and again, from its first failure to its
// first success. The zero value has not failed.
type streak struct {
	since, last time.Time // of the first and of the latest failure
	err         error     // of the latest one
}

func (s *streak) failed(err error, now time.Time) {
	if !s.on() {
		s.since = now
	}
	s.last, s.err = now, err
}

func (s *streak) ended() {
	if s.on() {
		*s = streak{}
	}
}

// on reports whether the streak goes on.
func (s streak) on() bool { return s.err != nil }

// sharedStreak is a streak that several goroutines look at. Its lock is the last
// one to be taken, and nothing is done under it.
type sharedStreak struct {
	mu sync.Mutex
	s  streak
}

func (s *sharedStreak) failed(err error, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.s.failed(err, now)
}

func (s *sharedStreak) ended() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.s.ended()
}

func (s *sharedStreak) look() streak {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.s
}

// rounds are streaks of things that are looked at together, again and again:
// what a round does not name has not failed in it. Between the rounds it tells
// of the last one.
type rounds struct {
	mu          sync.Mutex
	known, next map[key]streak
}

// failed notes a failure in the round that goes on.
func (r *rounds) failed(k key, err error, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.known[k]
	s.failed(err, now)
	if r.next == nil {
		r.next = make(map[key]streak)
	}
	r.next[k] = s
}

// turn ends a round.
func (r *rounds) turn() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known, r.next = r.next, nil
}

// failing reports whether something failed in the last round.
func (r *rounds) failing(k key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, failed := r.known[k]
	return failed
}

// each calls fn for what failed in the last round.
func (r *rounds) each(fn func(key, streak)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, s := range r.known {
		fn(k, s)
	}
}
