package conformance

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// add makes partitions part of the transaction (TV1) without writing to them.
func (w *producer) add(ps ...model.Partition) {
	if r := w.tryAdd(ps...); !r.ok() {
		r.unusable(w.t, "AddPartitionsToTxn")
	}
}

// tryAdd is add, for answers that a script wants to see.
func (w *producer) tryAdd(ps ...model.Partition) reply {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.Version = w.t.version(kmsg.AddPartitionsToTxn, 3) // above are for brokers
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = w.name, w.id, w.epoch
	for _, p := range ps {
		topic := kmsg.NewAddPartitionsToTxnRequestTopic()
		topic.Topic, topic.Partitions = p.Topic, []int32{p.Index}
		req.Topics = append(req.Topics, topic)
	}
	w.starts()
	leave := w.joins(ps...)
	r := w.t.retried("AddPartitionsToTxn", func() reply {
		e := w.t.do(w.coordinator(), w.lane(), req)
		if e.Err != nil {
			return reply{exchange: e, err: e.Err}
		}
		resp := e.Response.(*kmsg.AddPartitionsToTxnResponse)
		for _, topic := range resp.Topics {
			for _, p := range topic.Partitions {
				if p.ErrorCode != 0 {
					return reply{exchange: e, code: p.ErrorCode}
				}
			}
		}
		return reply{exchange: e, code: resp.ErrorCode}
	})
	for _, p := range ps {
		w.part[p] = w.part[p] || r.ok()
	}
	if r.err == nil && !r.ok() {
		leave()
	}
	return r
}

// commit ends the transaction and waits until its markers are in the log.
func (w *producer) commit() { w.finish(true) }

// abort is commit's opposite.
func (w *producer) abort() { w.finish(false) }

func (w *producer) finish(commit bool) {
	id, inside := w.id, w.partitionsInside()
	before := map[model.Partition]int{}
	for _, p := range inside {
		before[p] = w.t.markers(p, id)
	}
	w.end(commit)
	for _, p := range inside {
		w.t.awaitMarker(p, id, before[p]+1)
	}
}

// end ends the transaction; the markers may come later.
func (w *producer) end(commit bool) {
	if r := w.tryEnd(commit); !r.ok() {
		r.unusable(w.t, "EndTxn")
	}
}

// tryEnd is end, for answers that a script wants to see.
func (w *producer) tryEnd(commit bool) reply {
	req := w.endRequest(commit)
	w.t.endingAll(w.name)
	r := w.t.retried("EndTxn", func() reply {
		return replyIn(w.t.do(w.coordinator(), w.lane(), req))
	})
	if r.ok() {
		w.ended(r.exchange.Response.(*kmsg.EndTxnResponse))
	}
	return r
}

func (w *producer) endRequest(commit bool) *kmsg.EndTxnRequest {
	req := kmsg.NewPtrEndTxnRequest()
	req.Version = w.t.version(kmsg.EndTxn, 4)
	if w.level >= TV2 {
		req.Version = w.t.version(kmsg.EndTxn, 5)
	}
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = w.name, w.id, w.epoch, commit
	return req
}

// ended takes over what the answer says of the next transaction.
func (w *producer) ended(resp *kmsg.EndTxnResponse) {
	w.txn++
	if resp.Version >= 5 && resp.ProducerID >= 0 {
		w.begin(resp.ProducerID, resp.ProducerEpoch)
		return
	}
	w.began = time.Time{}
	clear(w.part)
	clear(w.wrote)
	clear(w.groups)
}

// endingAll notes that a request goes out which may end the open transactions
// of a transactional ID, in all their partitions.
func (t *trial) endingAll(name string) {
	if name == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if t.endings == nil {
		t.endings = map[string]time.Time{}
	}
	t.endings[name] = now
	for _, p := range t.order {
		at := t.places[p]
		for _, pin := range at.pins {
			if pin.ended.IsZero() && !pin.marked && pin.name == name {
				pin.ended = now
				at.changes++
				at.unended++
			}
		}
	}
}

// awaitMarker waits until the n-th marker of a producer is in the log, and the
// last stable offset with it where it has to be.
func (t *trial) awaitMarker(p model.Partition, producerID int64, n int) {
	if !t.until(t.bound(settled), "a marker in "+p.String(), func() bool { return t.markers(p, producerID) >= n }) {
		t.reportAs(Live, p, -1, "a marker of each ended transaction in every partition it touched, within 10 s",
			"no marker of the producer came")
		t.stop(Inconclusive, "a transaction that was ended has no marker in "+p.String())
	}
	t.passed(p, producerID)
}

// passed notes that a producer's transaction is over in a partition. It is
// quiet again once the last stable offset has followed; if that does not come,
// the partition stays unquiet, and the script will see why.
func (t *trial) passed(p model.Partition, producerID int64) {
	t.mu.Lock()
	at := t.placeLocked(p)
	over := 0
	for _, pin := range at.pins {
		if pin.producerID == producerID && !pin.marked && !pin.ended.IsZero() {
			pin.marked = true
			over++
		}
	}
	t.mu.Unlock()
	if over > 0 && !t.follows(p) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	at.changes++
	at.unended -= over
}

// follow bounds the wait for a last stable offset whose marker is in the log.
const follow = 2 * time.Second

func (t *trial) follows(p model.Partition) bool {
	return t.inTime(follow, p, func() bool { return t.followed(p) })
}

// followed reports whether the last stable offset is where the transactions
// that are still open let it be.
func (t *trial) followed(p model.Partition) bool {
	// Others may write meanwhile: what has to be stable comes first.
	high, want := t.highWatermark(p), t.stable(p)
	lso := t.lso(p)
	return want < 0 && lso >= high || want >= 0 && lso >= want
}
