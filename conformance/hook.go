package conformance

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// What a hook does to a broker.
const (
	actKill   = "kill"
	actStop   = "stop"
	actStart  = "start"
	actPause  = "pause"
	actResume = "resume"
)

// hookLimit bounds one action of the hook.
const hookLimit = 2 * time.Minute

// hook has something done to a broker. It is never cut short by the end of a
// scenario or of the run: half of an action would leave nobody knows what.
func (r *run) hook(ctx context.Context, action string, broker int32) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Duration(float64(hookLimit)*max(r.config.Slow, 1)))
	defer cancel()
	if err := r.config.Hook(ctx, action, broker); err != nil {
		return fmt.Errorf("the hook could not %s broker %d: %w", action, broker, err)
	}
	return nil
}

// act does something to a broker. From the first time on, the scenario takes it
// for ordinary that brokers do not answer. If the hook fails, the script ends.
func (t *trial) act(action string, broker int32) {
	t.expectOutages()
	undone := action == actStart || action == actResume
	if !undone {
		t.noteDown(broker, action) // whatever becomes of it
	}
	if err := t.run.hook(t.ctx, action, broker); err != nil {
		t.undecided("%v", err)
	}
	if undone {
		t.noteDown(broker, "")
	}
}

// noteDown remembers what was done to a broker; "" when it is undone.
func (t *trial) noteDown(broker int32, action string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.down == nil {
		t.down = map[int32]string{}
	}
	switch {
	case action == "":
		delete(t.down, broker)
	case action == actPause && t.down[broker] != "": // a stopped broker cannot be resumed
	default:
		t.down[broker] = action
	}
}

// downNow are the brokers that a hook took away, and how.
func (t *trial) downNow() map[int32]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.down)
}

// restore has every broker run again that the script left stopped or paused,
// however the script ended, and waits until these answer. What did not work
// stands in the report among the things left behind.
func (t *trial) restore() {
	left := t.downNow()
	ctx := context.WithoutCancel(t.ctx)
	for _, broker := range slices.Sorted(maps.Keys(left)) {
		undo := actStart
		if left[broker] == actPause {
			undo = actResume
		}
		limit, err := hookLimit, t.run.hook(ctx, undo, broker)
		if err != nil {
			limit = glance // perhaps it had never been away
		}
		answers := t.run.answersAgain(ctx, broker, time.Duration(float64(limit)*max(t.run.config.Slow, 1)))
		if err = cmp.Or(err, answers); answers != nil {
			t.run.made.broker(fmt.Sprintf("broker %d, after the %s of %s: %v", broker, left[broker], t.scenario.ID, err))
			continue
		}
		t.noteDown(broker, "")
	}
}

// answersAgain waits until a broker lets clients in.
func (r *run) answersAgain(ctx context.Context, broker int32, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		err := r.answersNow(ctx, broker)
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(retryPause)
	}
}

// glance bounds a look at whether a broker answers.
const glance = 2 * time.Second

// answersNow is nil if a broker answers a client that comes anew.
func (r *run) answersNow(ctx context.Context, broker int32) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(float64(glance)*max(r.config.Slow, 1)))
	defer cancel()
	conn, err := r.client.Fresh(ctx, broker)
	if err != nil {
		return err
	}
	conn.Close()
	return nil
}
