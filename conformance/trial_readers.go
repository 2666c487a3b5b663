package conformance

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"example.com/readcommitted/conformance/internal/model"
)

// reading is one client that reads one partition.
type reading struct {
	t       *trial
	client  Client
	at      model.Partition
	session Session

	got     []Delivered
	state   State
	said    error  // by the last call, nil if that went well
	trouble string // why it hands out nothing more
	stalled bool   // because it stands still, and says nothing
}

const (
	// stalled is how long a reader may stand still although there is more to get.
	stalled = 10 * time.Second
	// stuck is the same where time is not what is judged.
	stuck = 3 * stalled
	// erring is how long a reader may say errors before that counts: readers may
	// say what they go on to try again.
	erring = 5 * time.Second
	// lingering is how long a reader is watched that should hand out nothing
	// more, and glancing if there is nothing more in the log either.
	lingering = 250 * time.Millisecond
	glancing  = 50 * time.Millisecond
	// pulling bounds one wait for records. A reader that fetches while it is
	// waited for, and not before, needs time for that.
	pulling = 2 * time.Second
)

// unlimited is more records than any scenario writes: a reader that hands out
// more goes round in circles.
const unlimited = 100_000

// open begins to read with a client; nil if it is not to be judged: because it
// cannot be opened, which leaves the scenario undecided, or because enough was
// found against it already, and one that stands still takes long each time.
func (t *trial) open(c Client, a Assignment) *reading {
	if t.convicted(c) {
		return nil
	}
	r := &reading{t: t, client: c, at: model.Partition{Topic: a.Topic, Index: a.Partition}, state: State{Position: -1, End: -1, Lag: -1}}
	err := safely(func() (err error) {
		r.session, err = c.Open(t.ctx, a)
		return err
	})
	if err != nil {
		t.unread("client %s cannot be opened: %v", c.Name(), err)
		return nil
	}
	return r
}

func (t *trial) convicted(c Client) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := 0
	for i := range t.result.Findings {
		if t.result.Findings[i].Subject == OfClient(c.Name()) {
			found++
		}
	}
	return found >= findingsShown
}

// close ends the reading. What was handed out is not judged by it.
func (r *reading) close() {
	_ = safely(func() error { r.session.Close(); return nil })
}

// pull takes what the client hands out within a moment, and reports whether it
// got on.
func (r *reading) pull(limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(r.t.ctx, limit)
	defer cancel()
	before := r.state.Position
	var fresh []Delivered
	r.said = safely(func() (err error) {
		fresh, err = r.session.Next(ctx)
		r.state = r.session.State()
		return err
	})
	r.got = append(r.got, fresh...)
	switch panicked := (*panicError)(nil); {
	case r.t.ctx.Err() != nil:
		r.t.undecided("reading %s with %s: %v", r.at, r.client.Name(), r.t.ctx.Err())
	case errors.As(r.said, &panicked):
		r.trouble = r.said.Error()
	case r.said != nil:
		r.t.pause(limit, r.client.Name())
	}
	return len(fresh) > 0 || r.state.Position != before
}

// until pulls until a condition holds, and reports whether it came to that. A
// client that stands still for limit is in trouble, and one that only says
// errors is so earlier.
func (r *reading) until(limit time.Duration, done func() bool) bool {
	stood := time.Duration(0)
	for wait := pollPause; r.trouble == "" && !done(); wait = min(2*wait, pulling) {
		begin := time.Now()
		moved := r.pull(wait)
		stood += min(time.Since(begin), 2*wait) // more is the machine's, not the reader's
		if moved {
			stood, wait = 0, pollPause
		}
		switch {
		case len(r.got) > unlimited:
			r.trouble = fmt.Sprintf("more than %d records were handed out", unlimited)
		case r.said != nil && stood > r.t.bound(min(limit, erring)):
			r.trouble = r.said.Error()
		case stood > r.t.bound(limit):
			r.stalled, r.trouble = true, fmt.Sprintf("nothing was handed out for %v", stood.Round(time.Millisecond))
		}
	}
	return r.trouble == ""
}

// passed is one past the highest offset that was handed out.
func (r *reading) passed() int64 {
	next := int64(0)
	for _, d := range r.got {
		next = max(next, d.Offset+1)
	}
	return next
}

// readAll reads to the last record of the truth, and on for a moment if the log
// has more than the reader should hand out.
func (r *reading) readAll(w truth) {
	if !r.until(stuck, func() bool { return r.passed() > w.last() }) || w.closed() {
		return
	}
	r.linger()
}

func (r *reading) linger() {
	end := time.Now().Add(r.t.bound(lingering))
	for left := time.Until(end); r.trouble == "" && left > 0; left = time.Until(end) {
		r.pull(left)
	}
}

// readings are several clients that read the same partition.
type readings []*reading

// openAll begins to read with every client.
func (t *trial) openAll(a Assignment) (rs readings) {
	for _, c := range t.run.config.Clients {
		if r := t.open(c, a); r != nil {
			rs = append(rs, r)
		}
	}
	return rs
}

// each does something with every reading, side by side.
func (rs readings) each(t *trial, do func(*reading)) {
	functions := make([]func(), len(rs))
	for i, r := range rs {
		functions[i] = func() { do(r) }
	}
	t.together(functions...)
}

func (rs readings) close() {
	for _, r := range rs {
		r.close()
	}
}

// panicError is a panic of a client.
type panicError struct {
	cause any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.cause, e.stack) }

// safely calls into a client. A panic is an error of the client's.
func safely(call func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = &panicError{cause, debug.Stack()}
		}
	}()
	return call()
}
