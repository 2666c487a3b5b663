package conformance

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/conformance/internal/wire"
)

// parked is a Fetch that waits at the broker while the script goes on. The
// script has to close it.
type parked struct {
	t      *trial
	p      model.Partition
	offset int64
	spec   fetchSpec
	again  bool // after an empty answer

	ctx     context.Context //nolint:containedctx // the life of the requests
	cancel  context.CancelFunc
	answers chan *wire.Exchange // at most one is on its way
	running sync.WaitGroup

	empty     atomic.Int64 // answers without a batch so far that came early
	throttled atomic.Bool  // for now: the Fetch is sent anew when that is over
}

// park sends a Fetch on a connection of its own and does not wait.
func (t *trial) park(p model.Partition, offset int64, spec fetchSpec) *parked {
	return t.parkFor(p, offset, spec, false)
}

// parkForData is park with a Fetch that is sent anew after each empty answer,
// as readers do.
func (t *trial) parkForData(p model.Partition, offset int64, spec fetchSpec) *parked {
	return t.parkFor(p, offset, spec, true)
}

func (t *trial) parkFor(p model.Partition, offset int64, spec fetchSpec, again bool) *parked {
	k := &parked{t: t, p: p, offset: offset, spec: spec, again: again, answers: make(chan *wire.Exchange, 1)}
	k.ctx, k.cancel = context.WithCancel(t.ctx)
	k.send()
	return k
}

func (k *parked) send() {
	req, broker := k.t.fetchRequest(k.p, k.offset, k.spec), k.t.leader(k.p)
	if _, err := k.t.client.Conn(k.ctx, broker, "parked"); err != nil { // so that the request goes out at once
		k.t.undecided("a connection to broker %d: %v", broker, err)
	}
	k.running.Go(func() {
		for {
			e := k.t.client.Do(k.ctx, broker, "parked", req)
			wait := k.idle(e)
			if wait == 0 {
				k.answers <- e
				return
			}
			k.throttled.Store(e.Throttled())
			if !k.rests(wait) {
				return
			}
			k.throttled.Store(false)
		}
	})
}

// rests waits before the Fetch is sent anew, and reports whether it still is to
// be: a broker may throttle for longer than anything goes on.
func (k *parked) rests(wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-k.ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// settleIn gives the broker time to take the Fetch up: more where it answers
// slowly.
func (k *parked) settleIn() {
	begin := time.Now()
	k.t.lso(k.p)
	k.t.pause(max(parkedFor, 2*time.Since(begin)), "the broker to park a fetch")
}

// parkedFor is how long a Fetch waits at least before anything happens.
const parkedFor = 300 * time.Millisecond

// idle is how long to wait before the Fetch is sent anew, 0 if the answer is
// one for the script.
func (k *parked) idle(e *wire.Exchange) time.Duration {
	switch {
	case e.Throttled():
		k.t.remember(step{exchange: e})
		return time.Duration(e.ThrottleMillis()) * time.Millisecond
	case k.again && isEmpty(e):
		k.t.viewOf(k.p, k.offset, k.spec, e, false)
		if e.Took() < early(k.spec.maxWait) {
			k.empty.Add(1)
		}
		return pollPause
	}
	return 0
}

// isEmpty reports whether an answer says that there is nothing yet.
func isEmpty(e *wire.Exchange) bool {
	resp, ok := e.Response.(*kmsg.FetchResponse)
	if !ok || e.Throttled() || resp.ErrorCode != 0 || len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return false
	}
	rp := &resp.Topics[0].Partitions[0]
	return rp.ErrorCode == 0 && len(rp.RecordBatches) == 0
}

// close gives up on an answer that has not come.
func (k *parked) close() {
	k.cancel()
	k.running.Wait()
}

// answer waits for the answer; false if none came in time. The time that a
// change of leader takes does not count, nor do throttles, whenever they began.
func (k *parked) answer(limit time.Duration) (answer, bool) {
	for watch := k.t.stopwatch(); ; {
		select {
		case e := <-k.answers:
			if a, ok := k.take(e); ok {
				return a, true
			}
			k.send()
			watch = k.t.stopwatch()
		case <-k.t.ctx.Done():
			k.t.undecided("waiting for the answer to a fetch of %s: %v", k.p, k.t.ctx.Err())
		case <-time.After(pollPause):
			switch {
			case k.throttled.Load():
				watch = k.t.stopwatch()
			case watch() > limit && len(k.answers) == 0:
				return answer{}, false
			}
		}
	}
}

// take makes a view of an exchange, false if it has to be repeated.
func (k *parked) take(e *wire.Exchange) (answer, bool) {
	t := k.t
	if e.Err != nil {
		t.remember(step{exchange: e})
		t.broken("fetch of "+k.p.String(), e)
	}
	v := t.viewOf(k.p, k.offset, k.spec, e, false)
	if v == nil {
		t.undecided("fetch of %s: %s", k.p, absentFrom(e, k.p, k.offset, k.spec).nothing())
	}
	if passes(v.ErrorCode) {
		t.refresh(k.p)
		return answer{}, false
	}
	return answer{View: v, took: e.Took()}, true
}
