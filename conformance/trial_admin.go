package conformance

import (
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// activeProducer is a producer as DescribeProducers gives it.
type activeProducer = kmsg.DescribeProducersResponseTopicPartitionActiveProducer

// activeProducers are the producers that a partition's leader knows.
func (t *trial) activeProducers(p model.Partition) []activeProducer {
	req := kmsg.NewPtrDescribeProducersRequest()
	req.Version = t.version(kmsg.DescribeProducers, 0)
	topic := kmsg.NewDescribeProducersRequestTopic()
	topic.Topic, topic.Partitions = p.Topic, []int32{p.Index}
	req.Topics = append(req.Topics, topic)
	var out []activeProducer
	r := t.retried("DescribeProducers", func() reply {
		e := t.do(t.leader(p), "admin", req)
		if e.Err != nil {
			return reply{exchange: e, err: e.Err}
		}
		resp := e.Response.(*kmsg.DescribeProducersResponse)
		if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
			t.undecided("describe producers of %s: an answer without the partition", p)
		}
		rp := resp.Topics[0].Partitions[0]
		if passes(rp.ErrorCode) {
			t.refresh(p)
		}
		out = rp.ActiveProducers
		return reply{exchange: e, code: rp.ErrorCode}
	})
	if !r.ok() {
		r.declined(t, "DescribeProducers of "+p.String())
	}
	return out
}

// activeProducer is one of them; nil if the leader does not know it.
func (t *trial) activeProducer(p model.Partition, id int64) *activeProducer {
	for _, a := range t.activeProducers(p) {
		if a.ProducerID == id {
			return &a
		}
	}
	return nil
}

// adminMarker is a marker that an administrator writes.
type adminMarker struct {
	producerID  int64
	epoch       int16
	coordinator int32 // epoch of the coordinator
}

// markerVersion is the newest WriteTxnMarkers that says nothing of the
// transaction's protocol: with that of v2, brokers want an epoch above the
// data's (KIP-1228).
const markerVersion = 1

// tryAbortMarker writes an ABORT marker into a partition. Whether the
// transaction is over then, the caller has to find out.
func (t *trial) tryAbortMarker(p model.Partition, m adminMarker) reply {
	req := kmsg.NewPtrWriteTxnMarkersRequest()
	req.Version = t.version(kmsg.WriteTxnMarkers, markerVersion)
	marker := kmsg.NewWriteTxnMarkersRequestMarker()
	marker.ProducerID, marker.ProducerEpoch, marker.CoordinatorEpoch = m.producerID, m.epoch, m.coordinator
	topic := kmsg.NewWriteTxnMarkersRequestMarkerTopic()
	topic.Topic, topic.Partitions = p.Topic, []int32{p.Index}
	marker.Topics = append(marker.Topics, topic)
	req.Markers = append(req.Markers, marker)
	t.ending(p, m.producerID)
	t.writing(p)
	r := t.retried("WriteTxnMarkers", func() reply { return t.writeMarker(p, req) })
	t.written(p, r.err)
	if reason := refusal(r.code); r.err == nil && reason != "" {
		t.skip(reason, "WriteTxnMarkers to "+p.String()+": "+codeName(r.code)+rightMissed(req, r.code))
	}
	if r.err != nil {
		t.broken("WriteTxnMarkers", r.exchange)
	}
	return r
}

func (t *trial) writeMarker(p model.Partition, req *kmsg.WriteTxnMarkersRequest) reply {
	e := t.do(t.leader(p), "admin", req)
	if e.Err != nil {
		return reply{exchange: e, err: e.Err}
	}
	resp := e.Response.(*kmsg.WriteTxnMarkersResponse)
	if len(resp.Markers) != 1 || len(resp.Markers[0].Topics) != 1 || len(resp.Markers[0].Topics[0].Partitions) != 1 {
		t.undecided("write a marker to %s: an answer without the partition", p)
	}
	rp := resp.Markers[0].Topics[0].Partitions[0]
	if passes(rp.ErrorCode) {
		t.refresh(p)
	}
	return reply{exchange: e, code: rp.ErrorCode}
}

// ending notes that something goes out which may end a producer's transaction
// in one partition.
func (t *trial) ending(p model.Partition, producerID int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.placeLocked(p)
	for _, pin := range at.pins {
		if pin.producerID == producerID && !pin.marked && pin.ended.IsZero() {
			pin.ended = time.Now()
			at.changes++
			at.unended++
		}
	}
}

// errMaybeLater says that something may still be written to a partition, which
// therefore is never quiet again.
var errMaybeLater = errors.New("something may still be written")

// whileMarkerMayCome does something after which the coordinator may, or may
// not, write another marker of a producer into a partition where nothing of it
// is open, and gives that marker a moment to come.
func (t *trial) whileMarkerMayCome(p model.Partition, producerID int64, do func()) {
	before := t.markers(p, producerID)
	t.writing(p)
	do()
	came := t.until(t.bound(follow), "another marker in "+p.String(), func() bool {
		return t.markers(p, producerID) > before && t.followed(p)
	})
	if came {
		t.written(p, nil)
		return
	}
	t.written(p, errMaybeLater)
}
