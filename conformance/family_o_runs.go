package conformance

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

func pendingInvisible(t *trial) {
	o := t.pendingAfter(plainOffset)
	loose := o.g.offset(o.p, false)
	var stable groupOffset
	if t.pendingShown() {
		stable = o.g.offset(o.p, true)
	} else {
		t.fact("the cluster cannot be asked for stable offsets only: it has no OffsetFetch v%d", stableLeast)
	}
	t.witness(o.before.is(plainOffset), "the group's offset was read back as %s", o.before)
	t.witness(o.openStill(), "the transaction's timeout of %v was over", o.timeout)
	o.wantInvisible(Must, loose)
	if t.pendingShown() {
		o.wantUnstable(stable)
	}
	o.end(false)
}

func firstPending(t *trial) {
	o := t.pendingAfter(noOffset)
	loose, stable := o.g.offset(o.p, false), o.g.offset(o.p, true)
	o.wantInvisible(Should, loose)
	o.wantUnstable(stable)
	o.finish(false)
}

func otherStable(t *trial) {
	ps, g, w := t.partitions(2), t.group(), t.producer()
	g.commit(ps[0], plainOffset)
	g.commit(ps[1], plainOffset+1)
	w.commitOffset(g, ps[0], pendingOffset)
	got := g.offsets(true, ps...)
	t.witness(got[0].unstable(), "the partition with the pending offset: %s", got[0])
	t.expect(got[1].is(plainOffset+1), ps[1], -1,
		fmt.Sprintf("OffsetFetch for stable offsets while one of another partition is pending: offset %d", plainOffset+1), got[1].String())
	w.end(false)
}

func pendingTimesOut(t *trial) {
	o := t.pendingBriefly(t.bound(shortTimeout))
	if o == nil {
		return
	}
	var got groupOffset
	late := t.untilTimeout(o.producer, o.began, func() bool {
		got = o.g.offset(o.p, true)
		return !got.unstable()
	})
	age := time.Since(o.began)
	if !t.expect(late == "", o.p, -1, "a stable offset by "+late,
		fmt.Sprintf("%s after %v", got, age.Round(time.Millisecond))) {
		return
	}
	t.witness(age >= o.timeout, "the offset was stable %v after the transaction began, at a timeout of %v", age, o.timeout)
	t.fact("the offset was stable %v after the transaction began, at a timeout of %v", age.Round(100*time.Millisecond), o.timeout)
	t.expectAs(Must, got.is(plainOffset), o.p, -1, fmt.Sprintf("OffsetFetch after the timeout of a transaction with %d: offset %d", o.value, plainOffset), got.String())
}

// pendingBriefly makes an offset pending in a transaction with a timeout, or a
// longer one where a machine is too slow to see it so before the timeout is
// over; nil if the cluster does not show it, which leaves the script without
// its witness.
func (t *trial) pendingBriefly(timeout time.Duration) *pending {
	for ; ; timeout *= 4 {
		o := t.pendingSoon(plainOffset, t.producerFor(t.newID(), timeout))
		if r := o.tryCommitOffset(o.g, o.p, o.value, nil); !r.ok() {
			o.tooLate("TxnOffsetCommit", r)
			continue
		}
		seen := o.g.offset(o.p, true)
		if seen.unstable() {
			t.witness(true, "")
			return o
		}
		if time.Since(o.began) < o.timeout {
			t.witness(false, "the offset was not pending before the timeout: %s", seen)
			return nil
		}
	}
}

func offsetsByEnd(t *trial) {
	for _, commit := range []bool{true, false} {
		o := t.pendingAfter(plainOffset)
		t.witness(o.before.is(plainOffset), "the group's offset was read back as %s", o.before)
		o.finish(commit)
	}
}

// firstOffset is the first one of the groups of O-09.
const firstOffset int64 = 7

func firstOffsets(t *trial) {
	p, w, other := t.partition(), t.producer(), t.producer()
	for i, beside := range []func(){
		func() {},
		func() { w.write(p, 1) }, // as loops that copy records do it
		func() { // while somebody else's transaction is open in the same partition
			other.write(p, 1)
			w.write(p, 1)
		},
		func() { // which ends in between
			w.write(p, 1)
			other.end(true)
		},
	} {
		o := t.pendingSoon(noOffset, w)
		o.value = firstOffset
		beside()
		o.commitOffset(o.g, o.p, o.value)
		if !o.finish(true) {
			return
		}
		if i == 0 {
			o.next() // whatever comes of it, the other groups are worth a look
		}
	}
}

// next has the producer go on in its group, as loops do: another transaction
// with the offset after the one that the group has.
func (o *pending) next() {
	o.before = groupOffset{offset: o.value}
	o.value++
	o.commitOffset(o.g, o.p, o.value)
	o.finish(true)
}

// Offsets of O-06.
const (
	orderPending int64 = 50
	orderPlain   int64 = 60
)

func plainAfterPending(t *trial) {
	g, p, w := t.group(), t.partition(), t.producer()
	w.commitOffset(g, p, orderPending)
	g.commit(p, orderPlain)
	open := w.openStill()
	w.end(true)
	got := g.settledOffset(p)
	t.witness(open, "the transaction's timeout of %v was over before its end", w.timeout)
	if !t.expectAs(Must, got.is(orderPending) || got.is(orderPlain), p, -1,
		fmt.Sprintf("OffsetFetch after %d was pending, %d committed outside, and the transaction committed: one of them", orderPending, orderPlain), got.String()) {
		return
	}
	for range 3 {
		for _, stable := range []bool{true, false} {
			again, class := g.offset(p, stable), Must
			if again.code != 0 {
				class = Should
			}
			t.expectAs(class, again == got, p, -1, fmt.Sprintf("OffsetFetch, asked again: %s", got), again.String())
		}
	}
	t.fact("of an offset committed outside a transaction while one was pending, and that one, %s stays after the commit", which(got.offset))
}

func which(offset int64) string {
	if offset == orderPlain {
		return "the one from outside"
	}
	return "the one of the transaction"
}

// staleMember are the errors with which a cluster may refuse the offsets of who
// is not in the group.
var staleMember = []*kerr.Error{kerr.IllegalGeneration, kerr.UnknownMemberID, kerr.FencedInstanceID}

func staleMembers(t *trial) {
	p, g, w := t.partition(), t.group(), t.producer()
	const instance = "a"
	m := g.joinAs(instance, p)
	defer func() { m.leave() }()
	right := w.tryCommitOffset(g, p, pendingOffset, m)
	if !right.ok() {
		right.unusable(t, "TxnOffsetCommit of a member of "+g.name)
	}
	t.witness(true, "")
	refused := func(what string, by *member) {
		t.wantRefused(p, "TxnOffsetCommit of "+what, w.tryCommitOffset(g, p, pendingOffset+1, by), staleMember)
	}
	refused("another generation", &member{g, m.id, m.generation + 1, m.instance})
	refused("a member that the group does not have", &member{g, "nobody", m.generation, nil})
	old := m
	m = g.joinAs(instance, p)
	if old.id == m.id {
		t.fact("a static member that joins anew keeps its member ID")
	} else {
		refused("a member that was replaced", old)
	}
	w.end(false)
}
