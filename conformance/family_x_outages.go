package conformance

import (
	"time"

	"example.com/readcommitted/conformance/internal/history"
)

// Sizes of X-04.
const (
	outagePause = 600 * time.Millisecond // instead of historyPause: producers are to be at work all the while
	outageCalm  = 3 * time.Second        // between two outages
	outageTime  = 4 * time.Second        // of one
)

// outageActions are what happens to one broker after the other.
var outageActions = []string{actPause, actStop, actKill}

// gentle is what a transaction comes to while brokers come and go: there is
// nobody whose connection could be left on purpose.
func gentle(t history.Txn) history.Txn {
	if t.Ending == history.Crash {
		t.Ending = history.Abandon
	}
	if t.Ending == history.Leave {
		t.Ending = history.Commit
	}
	return t
}

func (x *randomRun) outagesWanted() int64 {
	if !x.t.rough.Load() {
		return 0
	}
	return int64(len(outageActions))
}

// outage is what happens to brokers, nothing in other scenarios.
func (x *randomRun) outage() []func() {
	if !x.t.rough.Load() {
		return nil
	}
	return []func(){x.disturb}
}

// disturb takes one broker after the other away while producers are at work,
// and brings it back.
func (x *randomRun) disturb() {
	t := x.t
	brokers := t.run.features.brokers
	first := t.rand.IntN(len(brokers))
	for i, action := range outageActions {
		t.pause(outageCalm, "producers and readers at work")
		broker := brokers[(first+i)%len(brokers)]
		t.takeAway(action, broker)
		t.pause(outageTime, "a broker that is away")
		t.bringBack(broker)
		x.outages.Add(1)
	}
}
