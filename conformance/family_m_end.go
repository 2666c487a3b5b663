package conformance

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/conformance/internal/wire"
)

// endRetry ends a transaction, says so twice again, and then says the opposite.
// Nothing but the first may count.
func endRetry(t *trial, commit bool) {
	p, w := t.partition(), t.producer()
	first, id := w.write(p, 2), w.id
	same, other := w.endRequest(commit), w.endRequest(!commit)
	before := t.markers(p, id)
	w.end(commit)
	w.wantRepeated(p, same)
	t.awaitMarker(p, id, before+1)
	w.wantRepeated(p, same)
	r := w.answeredEnd(other)
	t.expectSafe(Must, !r.ok(), p, first, fmt.Sprintf("EndTxn (commit %v) of a transaction that ended otherwise: refused", !commit), r.String())
	t.expectAs(Should, r.ok() || r.in(fencedEnd), p, first, "INVALID_TXN_STATE or an error of fenced producers", r.String())
	last := w.write(p, 1)
	w.commit()
	t.settle(p)
	t.wantRuns(p, id, fateOf(commit), model.Committed)
	if commit {
		t.wantDelivered(p, 0, first, first+1, last)
	} else {
		t.wantDelivered(p, 0, last)
	}
}

// sendEnd sends an EndTxn whose answer changes nothing of what the producer
// believes.
func (w *producer) sendEnd(req *kmsg.EndTxnRequest) reply {
	r := w.t.retried("EndTxn", func() reply {
		return replyIn(w.t.do(w.coordinator(), w.lane(), req))
	})
	if r.err == nil && passes(r.code) {
		w.t.undecided("EndTxn sent again: %s for too long", r)
	}
	return r
}

// answeredEnd is sendEnd for who needs an answer.
func (w *producer) answeredEnd(req *kmsg.EndTxnRequest) reply {
	r := w.t.again("EndTxn", w.sendEnd(req))
	if r.err != nil {
		r.unusable(w.t, "EndTxn")
	}
	return r
}

// wantRepeated sends an EndTxn that was carried out once more. A client that
// lost the first answer needs this one; one that is refused instead at least
// knows that it knows nothing.
func (w *producer) wantRepeated(p model.Partition, req *kmsg.EndTxnRequest) {
	r := w.answeredEnd(req)
	if !w.t.expectAs(Should, r.ok(), p, -1, "EndTxn sent again: NONE", r.String()) || req.Version < 5 {
		return
	}
	resp := r.exchange.Response.(*kmsg.EndTxnResponse)
	w.t.expectSafe(w.t.safety(), resp.ProducerID == w.id && resp.ProducerEpoch == w.epoch, p, -1,
		fmt.Sprintf("EndTxn sent again: pid %d/%d, as at first", w.id, w.epoch),
		fmt.Sprintf("pid %d/%d", resp.ProducerID, resp.ProducerEpoch))
}

// leavings is how many commits are sent by a client that leaves.
const leavings = 3

// commitAndLeave commits from connections that end before the answer, and has
// another producer of the same ID decide what is left.
func commitAndLeave(t *trial) {
	ps, name := t.partitions(4), t.newID()
	visible, committed, whole := map[model.Partition][]int64{}, 0, true
	for n := range leavings {
		w := t.producerFor(name, defaultTimeout)
		bases, before := map[model.Partition]int64{}, map[model.Partition]int{}
		for _, p := range ps {
			bases[p], before[p] = w.write(p, 1), t.markers(p, w.id)
		}
		w.leaveCommitting()
		if n == leavings-1 && committed == 0 { // whoever takes over may have been faster so far
			t.until(t.bound(follow), "a commit whose client left", func() bool { return t.markers(ps[0], w.id) > before[ps[0]] })
		}
		t.producerFor(name, defaultTimeout)
		for _, p := range ps {
			t.awaitMarker(p, w.id, before[p]+1)
		}
		fate, same := t.wantSameEnd(ps, bases)
		whole = whole && same
		if fate == model.Committed {
			committed++
			for _, p := range ps {
				visible[p] = append(visible[p], bases[p])
			}
		}
	}
	t.witness(!whole || committed > 0, "none of %d commits whose clients left was carried out", leavings)
	for _, p := range ps {
		t.wantSettled(p) // an abort may have come last
		t.wantDelivered(p, 0, visible[p]...)
	}
}

// leaveCommitting sends the commit on a connection of its own and closes that.
func (w *producer) leaveCommitting() {
	t, req := w.t, w.endRequest(true)
	broker := w.coordinator()
	t.endingAll(w.name)
	e := t.sendAndLeave(broker, req)
	t.witness(!e.Sent.IsZero(), "the commit was not sent")
}

// sendAndLeave sends a request on a connection of its own, which it closes
// without waiting for the answer.
func (t *trial) sendAndLeave(broker int32, req kmsg.Request) *wire.Exchange {
	conn, err := t.client.Fresh(t.ctx, broker)
	if err != nil {
		t.undecided("a connection to broker %d: %v", broker, err)
	}
	defer conn.Close()
	e := conn.SendAndLeave(t.ctx, req)
	t.run.made.watch(e)
	t.remember(step{exchange: e})
	if !errors.Is(e.Err, wire.ErrCut) {
		t.broken(kmsg.NameForKey(req.Key()), e)
	}
	return e
}

// wantSameEnd asserts that what a transaction wrote ended alike everywhere, and
// returns how.
func (t *trial) wantSameEnd(ps []model.Partition, bases map[model.Partition]int64) (one model.Fate, same bool) {
	fates, lost := map[model.Fate]int{}, false
	for _, p := range ps {
		l := t.oracle(p)
		i, ok := l.Find(bases[p])
		if !ok {
			t.expectSafe(t.safety(), false, p, bases[p], fmt.Sprintf("the batch that was acknowledged at %d", bases[p]), "none")
			lost = true
			continue
		}
		one = l.Fate(i)
		fates[one]++
	}
	same = t.expectEnd(t.safety(), fates[model.Open] > 0, len(fates) == 1 && fates[model.Open] == 0, ps[0], bases[ps[0]],
		"one outcome in all partitions of a transaction", fmt.Sprint(fates))
	t.fact("%s: a commit whose client left was %s", t.level, one)
	return one, same && !lost
}
