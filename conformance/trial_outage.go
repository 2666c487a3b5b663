package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/wire"
)

// While brokers come and go, everything may take longer: until a broker is held
// for dead, until its partitions have other leaders, until markers have their
// replicas. Brokers of default settings need 9 s for the first alone.
const roughPatience = 6

// roughAnswer bounds an exchange while brokers come and go, beside what its
// request lets the broker wait: one that is paused never answers.
const roughAnswer = 5 * time.Second

// expectOutages has the scenario take it for ordinary that brokers do not
// answer.
func (t *trial) expectOutages() {
	if !t.rough.Load() {
		t.controller() // so that every broker's address is known
		t.rough.Store(true)
	}
}

// outage reports whether an exchange had no answer for a reason that passes
// with time, because brokers come and go.
func (t *trial) outage(err error) bool {
	return t.rough.Load() && t.ctx.Err() == nil &&
		(errors.Is(err, wire.ErrCut) || errors.Is(err, wire.ErrTimeout) || errors.Is(err, wire.ErrUnreachable))
}

// exchange sends one request on a lane of the trial.
func (t *trial) exchange(broker int32, lane string, wait time.Duration, req kmsg.Request) *wire.Exchange {
	if !t.rough.Load() {
		return t.client.Do(t.ctx, broker, lane, req)
	}
	ctx, cancel := context.WithTimeout(t.ctx, wait+time.Duration(float64(roughAnswer)*t.patience))
	defer cancel()
	if broker != wire.Bootstrap {
		return t.client.Do(ctx, broker, lane, req)
	}
	return t.client.Do(ctx, t.somebody(), lane, req)
}

// somebody is a broker to ask what any broker knows: not one that a hook took
// away, and another one each time that one did not answer.
func (t *trial) somebody() int32 {
	down := t.downNow()
	up := slices.DeleteFunc(slices.Clone(t.run.features.brokers), func(b int32) bool { return down[b] != "" })
	if len(up) == 0 {
		return wire.Bootstrap
	}
	return up[int(t.turns.Load())%len(up)]
}

// anybody sends a request that any broker answers, until one does.
func (t *trial) anybody(lane string, req kmsg.Request) *wire.Exchange {
	var e *wire.Exchange
	t.until(t.bound(settled), "a broker that answers", func() bool {
		e = t.exchange(wire.Bootstrap, lane, 0, req)
		if t.outage(e.Err) {
			t.turns.Add(1)
			return false
		}
		return true
	})
	return e
}

// takeAway stops a broker in some way, and ends the script if it answers all
// the same.
func (t *trial) takeAway(action string, broker int32) {
	t.act(action, broker)
	gone := t.until(t.bound(stableFollows), fmt.Sprintf("the end of broker %d", broker), func() bool {
		return t.run.answersNow(t.ctx, broker) != nil
	})
	t.witness(gone, "broker %d answers after the %s of the hook", broker, action)
	if !gone {
		t.undecided("broker %d answers after the %s of the hook", broker, action)
	}
}

// bringBack undoes takeAway, and waits until the cluster is whole.
func (t *trial) bringBack(broker int32) {
	action := actStart
	if t.downNow()[broker] == actPause {
		action = actResume
	}
	t.act(action, broker)
	t.whole()
}

// syncLimit bounds the time until replicas follow again, beside roughPatience.
const syncLimit = 20 * time.Second

// whole waits until every broker is there, and every partition of the trial has
// a leader and all of its replicas in sync. Transactions themselves lie in a
// topic of the cluster's own, which is looked at if it may be.
func (t *trial) whole() {
	why := ""
	if !t.until(t.bound(syncLimit), "a whole cluster", func() bool {
		why = t.partsMissing()
		return why == ""
	}) {
		t.undecided("the cluster does not become whole again: %s", why)
	}
}

// transactionLog is the topic in which Apache Kafka keeps transactions.
const transactionLog = "__transaction_state"

func (t *trial) partsMissing() string {
	for _, b := range t.run.features.brokers {
		if err := t.run.answersNow(t.ctx, b); err != nil {
			return fmt.Sprintf("broker %d: %v", b, err)
		}
	}
	t.mu.Lock()
	topics := append(slices.Clone(t.topics), transactionLog)
	for _, p := range t.order { // of topics that scenarios share
		topics = append(topics, p.Topic)
	}
	t.mu.Unlock()
	slices.Sort(topics)
	for _, topic := range slices.Compact(topics) {
		for _, p := range t.describe(topic).Partitions {
			if p.ErrorCode != 0 || p.Leader < 0 || len(p.ISR) < len(p.Replicas) {
				return fmt.Sprintf("%s/%d: leader %d, replicas %v, in sync %v", topic, p.Partition, p.Leader, p.Replicas, p.ISR)
			}
		}
	}
	return ""
}
