package conformance

import (
	"sync/atomic"
	"time"
)

// Of R-07: how long a leader stands still, and how soon everything has to go on
// after that.
const (
	standStill = 20 * time.Second
	goesOn     = time.Minute
)

// pausedLeader has producers and readers at work while a leader stands still.
func pausedLeader(t *trial) {
	within := t.bound(goesOn)
	t.expectOutages()
	ps := t.partitions(3)
	t.whole()
	load := t.newTraffic(ps)
	var resumed time.Time
	var stop atomic.Bool
	steps := []func(){func() {
		defer stop.Store(true)
		victim := t.leader(ps[0])
		t.pause(time.Second, "producers and readers at work")
		t.takeAway(actPause, victim)
		t.pause(standStill, "a leader that stands still")
		t.witness(t.run.answersNow(t.ctx, victim) != nil, "broker %d answered while it was paused", victim)
		t.fact("%d transactions ended before and while broker %d stood still", load.ended(), victim)
		t.act(actResume, victim)
		resumed = time.Now()
		load.awaitProgress(resumed, within)
	}}
	for _, w := range load.writers {
		steps = append(steps, func() { w.work(&stop) })
	}
	for _, r := range load.readers {
		steps = append(steps, func() { r.follow(&stop) })
	}
	t.together(steps...)
	t.whole()
	load.wantSafe()
}
