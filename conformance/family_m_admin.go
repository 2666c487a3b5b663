package conformance

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// openForAdmin writes 0 committed | 1 commit and leaves n records open after
// that. The transaction before tells the partition of the coordinator's epoch.
func openForAdmin(t *trial, p model.Partition, w *producer, n int) (first int64, m adminMarker) {
	w.write(p, 1)
	w.commit()
	first = w.write(p, n)
	a := t.activeProducer(p, w.id)
	t.witness(a != nil && a.CurrentTxnStartOffset == first, "DescribeProducers of %s gives %+v for pid %d", p, a, w.id)
	if a == nil {
		t.undecided("DescribeProducers of %s does not have the open transaction of pid %d", p, w.id)
	}
	return first, adminMarker{producerID: w.id, epoch: int16(a.ProducerEpoch), coordinator: max(0, a.CoordinatorEpoch)}
}

// adminAbort ends a transaction as tools for hanging ones do, and then lets its
// coordinator end it too.
func adminAbort(t *trial) {
	p, w := t.partition(), t.producer()
	first, m := openForAdmin(t, p, w, 2)
	id, before := w.id, t.markers(p, w.id)
	r := t.tryAbortMarker(p, m)
	if !t.expect(r.ok(), p, first, "WriteTxnMarkers with the epochs of DescribeProducers: NONE", r.String()) {
		w.abort()
		return
	}
	t.awaitMarker(p, id, before+1)
	t.expect(t.settle(p), p, first, "the last stable offset at the high watermark after the marker", "it stays below")
	t.wantEntries(t.shown(p, 0, 0), model.Entry{ProducerID: id, FirstOffset: first})
	t.wantDelivered(p, 0, 0)
	t.whileMarkerMayCome(p, id, func() { w.end(false) })
	last := w.write(p, 1)
	w.commit()
	t.wantNothingOpen(p)
	t.wantRuns(p, id, model.Committed, model.Aborted, model.Committed)
	t.wantDelivered(p, 0, 0, last)
}

// wantNothingOpen asserts that nothing holds a partition back and that no
// producer is said to.
func (t *trial) wantNothingOpen(p model.Partition) {
	t.expect(t.settle(p), p, -1, "the last stable offset at the high watermark with nothing open", "it stays below")
	if !t.run.features.has(kmsg.DescribeProducers, 0) {
		return
	}
	for _, a := range t.activeProducers(p) {
		t.expectAs(Should, a.CurrentTxnStartOffset < 0, p, a.CurrentTxnStartOffset, "no transaction in DescribeProducers",
			fmt.Sprintf("one of pid %d from %d on", a.ProducerID, a.CurrentTxnStartOffset))
	}
}

// staleMarkers writes markers with an epoch too low, of the producer and then
// of the coordinator, into an open transaction.
func staleMarkers(t *trial) {
	p, w := t.partition(), t.producer()
	w.init() // an epoch above 0, so that there is one below it
	first, m := openForAdmin(t, p, w, 1)
	if m.epoch == 0 {
		w.abort()
		t.undecided("no epoch above 0 after the ID was taken over")
	}
	high := t.highWatermark(p)
	lowEpoch, lowCoordinator := m, m
	lowEpoch.epoch--
	lowCoordinator.coordinator--
	if t.wantStale(p, "producer epoch below that of the transaction", lowEpoch, kerr.InvalidProducerEpoch) &&
		t.wantStale(p, "coordinator epoch below the last", lowCoordinator, kerr.TransactionCoordinatorFenced) {
		a := t.committed(p, 0)
		t.wantHigh(a, high)
		t.wantLSO(a, first)
	}
	t.whileMarkerMayCome(p, w.id, w.abort)
	t.wantNothingOpen(p)
	t.wantDelivered(p, 0, 0)
}

// wantStale asserts that a marker is refused, and reports if it is, for
// whatever reason.
func (t *trial) wantStale(p model.Partition, what string, m adminMarker, want *kerr.Error) (refused bool) {
	r := t.tryAbortMarker(p, m)
	t.expect(r.code == want.Code, p, -1, "WriteTxnMarkers with a "+what+": "+want.Message, r.String())
	return !r.ok()
}

// nobody is a producer ID far above those that any cluster has given out in
// its order.
const nobody = int64(1) << 60

// foreignMarker writes a marker of a producer ID that nobody has.
func foreignMarker(t *trial) {
	p, w := t.partition(), t.producer()
	w.write(p, 1)
	w.commit()
	t.settle(p)
	var r reply
	id := nobody + t.rand.Int64N(1<<40)
	t.whileMarkerMayCome(p, id, func() { r = t.tryAbortMarker(p, adminMarker{producerID: id}) })
	t.witness(r.exchange != nil, "no answer")
	t.fact("%s: a marker of an unknown producer ID is answered with %s, and %d are in the log", t.level, r, t.markers(p, id))
	t.wantNothingOpen(p)
	t.wantEntries(t.shown(p, 0, 0))
	t.wantDelivered(p, 0, 0)
}
