package rcconsumer

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-wake:
	case <-t.C:
	}
}

// rest lets a pause pass. In a long one after failures the leaders may move: a
// dead broker's successor is elected some time after it died.
func (b *broker) rest(ctx context.Context, d time.Duration) {
	if b.failures > 0 {
		rested := b.c.meta.watch(time.Second)
		defer rested()
	}
	sleep(ctx, d, nil)
}

// aside bounds how long a partition is held up by a wait that is not its own:
// kgo.FetchMaxWait may be hours.
const aside = 500 * time.Millisecond

// maxLongPoll bounds how long a seek or a new assignment waits for the Fetch that
// is in flight to its broker, whatever kgo.FetchMaxWait says: it cannot be
// cancelled without losing the connection.
const maxLongPoll = 5 * time.Second

// longPoll is how long the broker may wait for data before it answers.
func (pl *plan) longPoll(most time.Duration) time.Duration {
	switch {
	case pl.leftOut, pl.alone:
		return 0 // a long poll would keep those left out from their room
	case !pl.next.IsZero():
		return min(most, aside) // parked ones want in
	default:
		return min(most, maxLongPoll)
	}
}

// pace keeps a broker that answers nothing at once from being asked in a loop.
// Where a partition waits for room the pause ends as soon as there is some.
func (b *broker) pace(got, leftOut bool, wait, took time.Duration) {
	if got || wait > 0 && took >= wait/2 {
		b.hasty = 0
		return
	}
	b.hasty++
	until := time.Now().Add(backoff(b.hasty, 5*time.Millisecond, max(min(b.c.cfg.maxWait, aside), 100*time.Millisecond)))
	if leftOut {
		b.paced = until
	} else {
		b.notBefore = later(b.notBefore, until)
	}
}

// throttled leaves the broker alone for as long as it asks (KIP-219): sent any
// earlier, our next Fetch would hold up heartbeats and commits on their way to the
// same broker. No wait is too long, since kgo keeps to it in any case; but no
// follower is worth a long one.
func (b *broker) throttled(since time.Time, d time.Duration) {
	if d <= 0 {
		return
	}
	b.notBefore = later(b.notBefore, since.Add(d))
	if d >= throttleTold {
		b.c.report.log(kgo.LogLevelInfo, "a broker asks not to be asked for a while", "broker", b.id, "throttle", d)
	}
	if d >= idleRecheck {
		b.desert(fmt.Errorf("throttled for %v", d))
	}
}

// throttleTold is how long a throttle is worth a log line.
const throttleTold = time.Second

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// backoff doubles from first up to most.
func backoff(n int, first, most time.Duration) time.Duration {
	return min(first<<min(max(n-1, 0), 20), max(first, most))
}

// minBackoff is the shortest pause after a failed request, whatever
// kgo.RetryBackoffFn says: nothing may spin.
const minBackoff = 20 * time.Millisecond
