package conformance

import (
	"fmt"

	"example.com/readcommitted/conformance/internal/model"
)

// pending is an offset of a group in an open transaction.
type pending struct {
	*producer
	g      *group
	p      model.Partition
	before groupOffset // what the group had, as it was read back
	value  int64
}

// Offsets of groups: committed outside a transaction, and in one.
const (
	plainOffset   int64 = 42
	pendingOffset int64 = 77
)

// pendingAfter makes a group with an offset, noOffset for none, and then
// another one in an open transaction.
func (t *trial) pendingAfter(plain int64) *pending {
	o := t.pendingSoon(plain, t.producer())
	o.commitOffset(o.g, o.p, o.value)
	return o
}

// pendingSoon is pendingAfter up to the point where the transaction begins.
func (t *trial) pendingSoon(plain int64, w *producer) *pending {
	o := &pending{producer: w, g: t.group(), p: t.partition(), before: groupOffset{offset: noOffset}, value: pendingOffset}
	if plain != noOffset {
		o.g.commit(o.p, plain)
		o.before = o.g.offset(o.p, false)
	}
	return o
}

// wantInvisible asserts an answer that was not to wait for a stable offset:
// what the group had before.
func (o *pending) wantInvisible(class Class, got groupOffset) {
	expected := fmt.Sprintf("OffsetFetch while %d is pending: %s", o.value, o.before)
	switch {
	case got.is(o.value):
		o.t.reportAs(Must, o.p, -1, expected, got.String())
	case got.code != 0: // it gives nothing away, and keeps nobody from asking for stable offsets
		o.t.expectAs(Should, false, o.p, -1, expected, got.String())
	default:
		o.t.expectAs(class, got == o.before, o.p, -1, expected, got.String())
	}
}

// wantUnstable asserts an answer to who wants stable offsets only. Errors of
// another kind keep a consumer from going on, and no more.
func (o *pending) wantUnstable(got groupOffset) {
	expected := fmt.Sprintf("OffsetFetch for stable offsets while %d is pending: UNSTABLE_OFFSET_COMMIT, offset -1", o.value)
	class := Should
	if got.code == 0 {
		class = o.t.scenario.Class
	}
	o.t.expectAs(class, got.unstable() && got.offset == noOffset, o.p, -1, expected, got.String())
}

// finish ends the transaction, and asserts the offset that the group comes to
// have.
func (o *pending) finish(commit bool) bool {
	want, end := o.before.offset, "an abort"
	if commit {
		want, end = o.value, "a commit"
	}
	open := o.openStill()
	o.end(commit)
	o.t.witness(open, "the transaction's timeout of %v was over before its end", o.timeout)
	return o.g.wantOffset(o.p, o.before.offset, want, fmt.Sprintf("%s of a transaction with %d", end, o.value))
}

// wantOffset asserts the offset that a group comes to have after the end of a
// transaction. Until the end has taken effect, the group may have the one that
// it had before, and who asks for stable offsets is told that it is pending.
func (g *group) wantOffset(p model.Partition, before, want int64, after string) bool {
	t := g.t
	var got groupOffset
	wrong := false
	t.until(t.bound(settled), "an offset of "+g.name, func() bool {
		got = g.offset(p, true)
		wrong = got.code == 0 && got.offset != before && got.offset != want
		return wrong || got.is(want)
	})
	expected := fmt.Sprintf("OffsetFetch after %s: %s", after, groupOffset{offset: want})
	if wrong || got.is(want) || got.code == 0 && t.pendingShown() {
		return t.expect(got.is(want), p, -1, expected, got.String())
	}
	t.reportAs(t.lateness(), p, -1, fmt.Sprintf("%s, within %v", expected, t.bound(settled)), got.String())
	return false
}

// lateness is how much it weighs that something does not come in time.
func (t *trial) lateness() Class {
	if t.scenario.Class.Required() {
		return Live
	}
	return Should
}

// settledOffset waits until no offset of a partition is pending, and returns
// the group's.
func (g *group) settledOffset(p model.Partition) groupOffset {
	t := g.t
	var got groupOffset
	if !t.until(t.bound(settled), "a stable offset of "+g.name, func() bool {
		got = g.offset(p, true)
		return !got.unstable()
	}) {
		t.reportAs(t.lateness(), p, -1, fmt.Sprintf("a stable offset within %v of the end of the transaction", t.bound(settled)), got.String())
		t.stop(Inconclusive, "the offsets of "+g.name+" stay unstable")
	}
	return got
}
