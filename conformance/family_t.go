package conformance

import (
	"fmt"
	"math"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"example.com/readcommitted/conformance/internal/model"
)

// How late a coordinator may abort a transaction whose timeout is over: Apache
// Kafka looks every 10 s, unless it is told otherwise, and the markers take their
// time; see [trial.untilTimeout].
const (
	shortTimeout = time.Second
	abortSlack   = 20 * time.Second
)

// Family T: transaction timeouts.
var familyT = []*Scenario{
	{
		ID: "T-01", Name: "coordinator-timeout-abort", Class: Live, Profile: Standard, Typical: 12 * time.Second, Limit: 2 * time.Minute,
		Requirement: "a transaction whose producer is silent is aborted within 20 s after its timeout, or as late as the coordinator says that it looks",
		Consequence: "one crashed producer holds every reader at read_committed back for ever",
		Witness:     "the last stable offset stood at the transaction before its timeout was over",
		Log:         "0 open | 1 abort, by the coordinator",
		Known:       "Tansu 0.6.0, where a transaction never times out",
		alone:       true, run: timeoutAborts,
	},
	{
		ID: "T-02", Name: "late-end-rejected", Class: Must, Profile: Standard, Typical: 12 * time.Second, Limit: 2 * time.Minute,
		Requirement: "the producer of a transaction that timed out and was aborted can neither commit it nor go on in it",
		Consequence: "an application believes that it committed what no reader will see",
		Witness:     "the abort marker was in the log before the producer tried",
		Log:         "0 written | 1 abort, by the coordinator | refused: EndTxn and Produce",
		alone:       true, run: lateEnd,
	},
	{
		ID: "T-03", Name: "timeout-validation", Class: Should, Profile: Standard, Typical: time.Second,
		Requirement: "a timeout that is not positive, or longer than the cluster allows, is refused",
		Consequence: "a transaction lives as long as one careless producer likes, and holds readers back",
		Witness:     "the cluster answered both requests",
		run:         oddTimeouts,
	},
	{
		ID: "T-04", Name: "not-too-early", Class: Must, Profile: Standard, Typical: 9 * time.Second, Limit: 2 * time.Minute,
		Requirement: "a transaction can be committed for as long as its timeout is not over",
		Consequence: "slow but correct producers lose their transactions",
		Witness:     "the transaction was open for 8 s, and its commit was answered before its timeout of 30 s",
		Log:         "0 open for 8 s | 1 commit",
		alone:       true, run: notTooEarly,
	},
	{
		ID: "T-05", Name: "timeout-multi-partition", Class: Must, Profile: Standard, Typical: 12 * time.Second, Limit: 2 * time.Minute,
		Requirement: "a transaction that times out is aborted in every partition that it touched",
		Consequence: "half of a transaction is visible, or readers of one partition wait for ever",
		Witness:     "the first abort marker came after the timeout was over",
		Log:         "six partitions: 0 written | 1 abort, by the coordinator",
		alone:       true, run: timeoutEverywhere,
	},
}

func timeoutAborts(t *trial) {
	ps, w := t.silent(1, t.bound(shortTimeout))
	p, first := ps[0], int64(0)
	held := t.committed(p, 0)
	t.witness(held.LastStableOffset == first && held.HighW > first, "%s: LSO %d, HW %d", held.about(), held.LastStableOffset, held.HighW)
	var a answer
	late := t.untilTimeout(w, w.began, func() bool {
		a = t.fetch(p, first, fetchSpec{isolation: model.ReadCommitted, maxWait: time.Second})
		return a.End() > first
	})
	if !t.expect(late == "", p, first, "an abort marker by "+late,
		fmt.Sprintf("LSO %d, HW %d after %v", a.LastStableOffset, a.HighW, time.Since(w.began).Round(time.Millisecond))) {
		return
	}
	t.fact("the last stable offset moved on %v after the transaction began, at a timeout of %v", time.Since(w.began).Round(100*time.Millisecond), w.timeout)
	t.endingAll(w.name)
	t.awaitMarker(p, w.id, 1)
	t.wantSettled(p)
	l := t.oracle(p)
	t.wantFate(l, w.generation(), model.Aborted)
	for _, r := range l.Runs {
		t.fact("the marker of the timeout has epoch %+d against its data", r.MarkerEpoch-r.Epoch)
	}
	t.wantEntries(t.committed(p, first), model.Entry{ProducerID: w.id, FirstOffset: first})
	t.wantDelivered(p, 0)
}

func lateEnd(t *trial) {
	ps, w := t.silent(1, t.bound(shortTimeout))
	p := ps[0]
	t.timedOut(w)
	t.settle(p)
	high, late := t.highWatermark(p), w.generation()
	t.witness(high == 2, "the log of %s ends at %d", p, high)
	if !t.wantRefused(p, "EndTxn of a transaction that timed out", w.tryEnd(true), fencedEnd) {
		return
	}
	t.wantRefused(p, "Produce of a transaction that timed out", w.tryWrite(p, 1), fencedProduce)
	t.wantEndAt(p, high, "what the producer tried too late")
	t.wantFate(t.oracle(p), late, model.Aborted)
	if t.wantSettled(p) {
		t.wantDelivered(p, 0)
	}
}

func oddTimeouts(t *trial) {
	id := t.newID()
	answered := true
	ask := func(millis int64) reply {
		w := t.idle(id, time.Duration(millis)*time.Millisecond)
		w.exact = true
		r := w.tryInit()
		answered = answered && r.err == nil
		return r
	}
	refused := func(millis int64, r reply) {
		t.wantRefused(model.Partition{}, fmt.Sprintf("InitProducerId with a timeout of %d ms", millis), r, []*kerr.Error{kerr.InvalidTransactionTimeout})
	}
	switch allowed, told, _ := t.brokerSetting(t.coordinator(id, ofTransaction), "transaction.max.timeout.ms"); {
	case told && allowed >= math.MaxInt32:
		t.fact("transaction.max.timeout.ms is %d: no timeout is longer than the cluster allows", allowed)
	case told:
		t.fact("transaction.max.timeout.ms is %d", allowed)
		refused(allowed+1, ask(allowed+1))
	default:
		if r := ask(math.MaxInt32); r.ok() { // which the cluster may allow
			t.fact("transaction.max.timeout.ms is not told, and a timeout of %d ms was accepted", math.MaxInt32)
		} else {
			refused(math.MaxInt32, r)
		}
	}
	refused(0, ask(0))
	t.witness(answered, "no answer")
}

// Of T-04: how long the transaction may last, and how long it does.
const (
	longTimeout = 30 * time.Second
	heldOpen    = 8 * time.Second
)

func notTooEarly(t *trial) {
	p, w := t.partition(), t.producerFor(t.newID(), t.bound(longTimeout))
	first, gen := w.write(p, 1), w.generation()
	for time.Since(w.began) < heldOpen {
		t.pause(heldOpen/16, "the age of a transaction")
		marked, age := t.markers(p, w.id) > 0, time.Since(w.began)
		if !w.inTime(age) || !t.expect(!marked, p, first, fmt.Sprintf("no marker before the timeout of %v", w.timeout),
			fmt.Sprintf("one within %v", age.Round(time.Millisecond))) {
			return
		}
	}
	began := w.began
	r := w.tryEnd(true)
	if !w.inTime(time.Since(began)) {
		return
	}
	if !t.wantTaken(p, fmt.Sprintf("EndTxn after %v, at a timeout of %v", time.Since(began).Round(time.Millisecond), w.timeout), r, fencedEnd) {
		return
	}
	t.awaitMarker(p, gen.id, 1)
	t.settle(p)
	t.wantFate(t.oracle(p), gen, model.Committed)
	t.wantDelivered(p, 0, first)
}

// inTime is the witness of T-04: a machine so slow that the timeout is over
// decides nothing.
func (w *producer) inTime(age time.Duration) bool {
	w.t.witness(age < w.timeout, "the transaction was %v old", age.Round(time.Millisecond))
	return age < w.timeout
}

func timeoutEverywhere(t *trial) {
	ps, w := t.silent(6, t.bound(2*shortTimeout))
	gen := w.generation()
	t.timedOut(w)
	for _, p := range ps {
		t.wantFate(t.oracle(p), gen, model.Aborted)
	}
	for _, p := range ps {
		if !t.wantSettled(p) {
			return // the others would say the same, and take long
		}
		t.wantDelivered(p, 0)
	}
}
