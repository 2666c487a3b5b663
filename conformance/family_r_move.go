package conformance

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"example.com/readcommitted/conformance/internal/model"
)

// movedWhileOpen moves the leader of one of a transaction's two partitions
// before it goes on there, and again before it ends.
func movedWhileOpen(t *trial, commit bool) {
	ps, w := t.partitions(2), t.producer()
	replicas := t.replicas(ps[0])
	t.plain(ps[0], 1)
	d := t.deed(w)
	first := d.write(ps[0])
	d.write(ps[1])
	t.moveOpen(ps[0], replicas[1], first)
	if r := d.tryWrite(ps[0]); !r.ok() {
		d.cutShort("Produce to "+ps[0].String()+" after its leader moved", r)
	} else {
		t.moveOpen(ps[0], replicas[len(replicas)-1], first)
		t.moveOpen(ps[0], replicas[0], first)
		d.end(commit)
	}
	for _, p := range ps {
		t.awaitMarker(p, d.gen.id, 1)
	}
	t.wantDone(d)
}

// moveOpen moves a partition's leader, and asserts that a transaction holds the
// partition back from its first record on.
func (t *trial) moveOpen(p model.Partition, to int32, first int64) {
	end := t.highWatermark(p)
	t.moveLeader(p, to)
	t.appears(p, end)
	t.wantStable(p, first)
	a := t.committed(p, 0)
	t.wantHeldBack(a)
	t.expectAs(Must, a.End() <= first, p, first, fmt.Sprintf("%s at broker %d: nothing from %d on, where a transaction is open", a.about(), to, first),
		fmt.Sprintf("batches up to %d", a.End()))
	t.witness(a.Broker == to, "%s was answered by broker %d, not by %d", a.about(), a.Broker, to)
}

// Sizes of R-02.
const (
	movedWriters = 4
	movedEach    = 50 // aborted transactions of each writer
)

// movedAfterAborts reads the same log from each replica as it leads.
func movedAfterAborts(t *trial) {
	b := t.book()
	replicas := t.replicas(b.p)
	p1, p2 := b.author(), b.author()
	p1.write(2)
	p2.write(1)
	b.loose(1)
	p2.abort()
	p1.commit()
	var all []func()
	for _, w := range b.authors(movedWriters) {
		all = append(all, func() {
			for range movedEach {
				w.write(1)
				w.leave(false)
			}
			w.await()
		})
	}
	t.together(all...)
	p1.run(true, 1)
	t.rest(b.p)
	l := b.logged()
	for _, to := range append(replicas[1:], replicas[0]) {
		t.moveLeader(b.p, to)
		t.appears(b.p, l.End)
		b.wantSame(l, to)
	}
}

// wantSame asserts that a new leader gives what the log was before.
func (b *book) wantSame(l *model.Log, leader int32) {
	t := b.t
	if !t.wantStable(b.p, l.End) {
		return
	}
	wide := fetchSpec{isolation: model.ReadUncommitted}
	raw := t.answers(b.p, 0, l.End, wide)
	t.wantBatches(l, l.End, model.ReadUncommitted, fmt.Sprintf("broker %d", leader), batchesOf(raw))
	t.wantSameRecords(l, raw)
	listed := b.wantWalk(l, 0, fetchSpec{})
	b.wantWalk(l, l.End/2, fetchSpec{partitionMaxBytes: movedWindow})
	b.wantDelivered(0, fetchSpec{})
	for _, a := range append(raw, listed...) {
		t.witness(a.Broker == leader, "%s was answered by broker %d, not by %d", a.about(), a.Broker, leader)
	}
	t.fact("broker %d lists %d aborted transactions", leader, len(entriesOf(listed)))
}

// movedWindow makes a reader take many answers for the log of R-02, in bytes.
const movedWindow = 2 << 10

// wantSameRecords asserts that answers hold what the log did.
func (t *trial) wantSameRecords(l *model.Log, answers []answer) {
	for _, a := range answers {
		for _, b := range model.U11(a.View, l) {
			if b.Severity == model.Failure {
				t.expect(false, l.Partition, b.Offset, fmt.Sprintf("%s at broker %d: %s", a.about(), a.Broker, b.Expected), b.Observed)
				return
			}
		}
	}
}

// deed is a transaction over several partitions as its producer knows it.
type deed struct {
	*producer
	gen   generation
	order []model.Partition
	bases map[model.Partition][]int64 // of the batches that were acknowledged
	fate  model.Fate                  // as it was acknowledged; Open: nobody knows
}

// deed begins a producer's next transaction.
func (t *trial) deed(w *producer) *deed {
	return &deed{producer: w, gen: w.generation(), bases: map[model.Partition][]int64{}, fate: model.Open}
}

// write is [producer.write] of one record, with a note of it.
func (d *deed) write(p model.Partition) int64 {
	base := d.producer.write(p, 1)
	d.note(p, base)
	return base
}

// tryWrite is write, for answers that a script wants to see.
func (d *deed) tryWrite(p model.Partition) reply {
	r := d.producer.tryWrite(p, 1)
	if r.ok() {
		d.note(p, r.base)
	}
	return r
}

func (d *deed) note(p model.Partition, base int64) {
	if d.bases[p] == nil {
		d.order = append(d.order, p)
	}
	d.bases[p] = append(d.bases[p], base)
}

// end ends the transaction. If that is refused, whoever takes over the ID finds
// out what became of it.
func (d *deed) end(commit bool) {
	r := d.tryEnd(commit)
	switch {
	case !r.ok():
		d.cutShort("EndTxn", r)
	case commit:
		d.fate = model.Committed
	default:
		d.fate = model.Aborted
	}
}

// cutShort ends what its producer was refused to go on with: clean failures are
// legal where leaders move. Other errors end the script.
func (d *deed) cutShort(what string, r reply) {
	if !r.in(fencedProduce) && !r.in(fencedEnd) && r.code != kerr.UnknownProducerID.Code {
		r.unusable(d.t, what)
	}
	d.t.fact("%s: %s", what, r)
	d.heir()
}

// wantDone asserts that a transaction is whole: every acknowledged batch is
// there, with one outcome, which is the acknowledged one, and readers get what
// the logs say from there on.
func (t *trial) wantDone(d *deed) {
	logs := map[model.Partition]*model.Log{}
	for _, p := range d.order {
		logs[p] = t.wantCommitted(p, d.bases[p][0])
	}
	t.wantWholeDeed(d, logs)
}

// wantWholeDeed is wantDone for logs that were read already.
func (t *trial) wantWholeDeed(d *deed, logs map[model.Partition]*model.Log) {
	want := d.fate
	for _, p := range d.order {
		l := logs[p]
		for _, base := range d.bases[p] {
			at, ok := l.Find(base)
			if !t.expectSafe(Must, ok && l.Batches[at].ProducerID == d.gen.id && !l.Batches[at].Control(), p, base,
				fmt.Sprintf("the acknowledged batch of %s", d.gen), l.String()) {
				return
			}
			fate := l.Fate(at)
			if want == model.Open {
				want = fate // whatever it is, it is the same everywhere
			}
			open := fate == model.Open || want == model.Open
			if !t.expectEnd(Must, open, fate == want && fate != model.Open, p, base, fmt.Sprintf("%s is %s as a whole", d.gen, want),
				fmt.Sprintf("%s at %d of %s", fate, base, p)) {
				return
			}
		}
	}
}
