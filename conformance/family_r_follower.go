package conformance

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/conformance/internal/wire"
)

// followerRead reads from a follower while a transaction is open, and after it.
func followerRead(t *trial) {
	b := t.book()
	w, other := b.author(), b.author()
	w.run(true, 2)
	other.run(false, 2)
	b.loose(1)
	t.rest(b.p)
	spec := t.nearFollower(b.p)
	first := w.write(1)
	b.loose(1)
	a := t.caughtUp(b.p, spec, first)
	t.expect(a.LastStableOffset == first && a.End() == first, b.p, first,
		fmt.Sprintf("%s at the follower: LSO %d and batches up to there", a.about(), first), fmt.Sprintf("LSO %d, batches up to %d", a.LastStableOffset, a.End()))
	b.wantAnswer(a, t.oracle(b.p))
	w.commit()
	t.rest(b.p)
	l := b.logged()
	t.caughtUp(b.p, spec, l.End)
	for _, a := range b.wantWalk(l, 0, spec) {
		t.witness(a.Broker == spec.broker-1, "%s was answered by broker %d", a.about(), a.Broker)
	}
	b.wantDelivered(0, spec)
}

// nearFollower is a Fetch as clients send it that the leader sent to a follower.
// Without one the scenario is skipped.
func (t *trial) nearFollower(p model.Partition) fetchSpec {
	racks := t.racks()
	replicas := t.replicas(p)
	for _, b := range replicas[1:] {
		rack := racks[b]
		if rack == "" || rack == racks[replicas[0]] {
			continue
		}
		named := int32(-1)
		t.until(t.bound(follow), "a replica near a reader", func() bool {
			named = t.preferredReplica(p, rack)
			return named >= 0
		})
		if named >= 0 && named != replicas[0] {
			return fetchSpec{isolation: model.ReadCommitted, broker: named + 1, rack: rack, lane: "follower", maxWait: longWait}
		}
	}
	t.skip(ReasonNoFollower, "no broker was named as nearer to a reader of a rack than the leader of "+p.String())
	return fetchSpec{}
}

// racks are those of the brokers that have one.
func (t *trial) racks() map[int32]string {
	e := t.unthrottled(wire.Bootstrap, "metadata", t.run.features.askBrokers())
	out := map[int32]string{}
	for _, b := range e.Response.(*kmsg.MetadataResponse).Brokers {
		if b.Rack != nil {
			out[b.NodeID] = *b.Rack
		}
	}
	return out
}

// preferredReplica is who the leader sends a reader in a rack to, -1 for nobody
// (KIP-392).
func (t *trial) preferredReplica(p model.Partition, rack string) int32 {
	req := t.fetchRequest(p, 0, fetchSpec{isolation: model.ReadCommitted, rack: rack})
	e := t.unthrottled(t.leader(p), "fetch", req)
	rp := partitionIn(e.Response.(*kmsg.FetchResponse), p.Index)
	switch {
	case rp == nil || rp.ErrorCode != 0 && !passes(rp.ErrorCode):
		t.undecided("fetch of %s with a rack: %s", p, whyNone(rp, e.Response.(*kmsg.FetchResponse).ErrorCode))
	case rp.ErrorCode != 0:
		t.refresh(p)
	default:
		return rp.PreferredReadReplica
	}
	return -1
}

// caughtUp waits until a follower's last stable offset is where the leader has
// it. Its answer is from the beginning of the partition. A follower may be slow,
// or throttled; one that has the records has to let readers have them.
func (t *trial) caughtUp(p model.Partition, spec fetchSpec, lso int64) answer {
	var a answer
	if !t.until(t.bound(settled), "a follower of "+p.String(), func() bool {
		a = t.fetch(p, 0, spec)
		t.wantReadable(a)
		return a.LastStableOffset >= lso
	}) {
		if a.HighW < lso {
			t.undecided("broker %d follows %s to %d within %s, where the leader is at %d: replicas may be slow", a.Broker, p, a.HighW, t.bound(settled), lso)
		}
		t.reportAs(Live, p, a.LastStableOffset, fmt.Sprintf("LSO %d at the follower within %s", lso, t.bound(settled)), fmt.Sprintf("LSO %d", a.LastStableOffset))
		t.stop(Inconclusive, "the follower does not follow")
	}
	t.witness(len(a.Batches) > 0, "the follower of %s answers without batches", p)
	return a
}
