package conformance

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// recreateTopic is S-09 with one of the two ends of the old transaction.
func recreateTopic(t *trial, commit bool) {
	p, w := t.partition(), t.producer()
	w.write(p, 2)
	t.appears(p, 2)
	held := t.committed(p, 0)
	t.witness(held.LastStableOffset == 0 && held.HighW == 2, "%s: LSO %d, HW %d", held.about(), held.LastStableOffset, held.HighW)
	t.recreate(p)
	t.plain(p, 1)
	other := t.producer()
	other.write(p, 1)
	t.appears(p, 2)
	if !t.wantStable(p, 1) {
		return
	}
	id, r := w.id, reply{}
	t.whileMarkerMayCome(p, id, func() { r = w.tryEnd(commit) })
	if r.err != nil {
		r.unusable(t, "EndTxn")
	}
	t.expectAs(Should, r.ok() || r.in(fencedEnd), p, -1, "EndTxn of a transaction whose topic was deleted: NONE, or that there is none", r.String())
	t.fact("the end of a transaction whose topic was deleted is answered with %s, and %d markers of it are in the new topic", r, t.markers(p, id))
	if !t.wantStable(p, 1) {
		return
	}
	t.wantHeldBack(t.committed(p, 0))
	other.commit()
	w.init() // the partition knows nothing of the sequence so far
	last := w.write(p, 1)
	w.commit()
	if !t.wantAllStable(p) {
		return
	}
	t.wantEntries(t.shown(p, 0, 0))
	t.wantDelivered(p, 0, 0, 1, last)
}

// recreate deletes a partition's topic and makes it anew under the same name.
func (t *trial) recreate(p model.Partition) {
	before := t.topicID(p)
	t.deleteTopic(p.Topic)
	t.bury(p)
	t.createAs(p.Topic, 1, nil, true)
	t.refresh(p)
	after := t.topicID(p)
	t.witness(before == [16]byte{} || after != before, "topic %s has its ID of before", p.Topic)
	if t.run.features.has(kmsg.Metadata, 10) {
		t.knownEverywhere(p.Topic, after)
	}
	high := t.highWatermark(p)
	t.witness(high == 0, "the new topic %s ends at %d", p.Topic, high)
}

// deleteTopic deletes a topic and waits until its name is free.
func (t *trial) deleteTopic(name string) {
	req := t.run.features.deleteTopics(name)
	t.version(kmsg.DeleteTopics, 5)
	broker := t.controller()
	r := t.retried("DeleteTopics", func() reply {
		e := t.do(broker, "admin", req)
		if e.Err != nil {
			return reply{exchange: e, err: e.Err}
		}
		resp := e.Response.(*kmsg.DeleteTopicsResponse)
		if len(resp.Topics) != 1 {
			t.undecided("delete topic: an answer with %d topics", len(resp.Topics))
		}
		switch code := resp.Topics[0].ErrorCode; code {
		case kerr.UnknownTopicOrPartition.Code: // an attempt before was carried out
			return reply{exchange: e}
		case kerr.NotController.Code:
			broker = t.controller()
			return reply{exchange: e, code: kerr.RequestTimedOut.Code} // try again
		default:
			return reply{exchange: e, code: code}
		}
	})
	if !r.ok() {
		r.declined(t, "DeleteTopics of "+name)
	}
	if !t.until(t.bound(settled), "the end of topic "+name, func() bool {
		return t.describe(name).ErrorCode == kerr.UnknownTopicOrPartition.Code
	}) {
		t.undecided("topic %s is still there after it was deleted", name)
	}
}

// bury puts what is known of a partition aside: its topic is gone, and one of
// the same name may come.
func (t *trial) bury(p model.Partition) {
	t.mu.Lock()
	defer t.mu.Unlock()
	grave := model.Partition{Topic: p.Topic + " (deleted)", Index: p.Index}
	for i := range t.order {
		if t.order[i] == p {
			t.order[i] = grave
		}
	}
	t.places[grave] = t.places[p]
	t.places[grave].gone = true
	delete(t.places, p)
	for _, v := range t.views {
		if v.Partition == p {
			v.Partition = grave
		}
	}
}

// knownEverywhere waits until every broker names a topic's ID: one that is late
// would still take records for an older topic of that name.
func (t *trial) knownEverywhere(topic string, id [16]byte) {
	for _, broker := range t.run.features.brokers {
		if !t.until(t.bound(settled), fmt.Sprintf("broker %d to know topic %s", broker, topic), func() bool {
			return t.describeAt(broker, topic).TopicID == id
		}) {
			t.undecided("broker %d does not name the new topic %s", broker, topic)
		}
	}
}
