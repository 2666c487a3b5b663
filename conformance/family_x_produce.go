package conformance

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"example.com/readcommitted/conformance/internal/history"
	"example.com/readcommitted/conformance/internal/model"
)

// actor is a producer of a plan as it acts.
type actor struct {
	*producer
	x           *randomRun
	n           int // in the plan
	incarnation int
	number      int // of the newest transaction
	old         bool
}

func (x *randomRun) name(_ int, a history.Actor) string {
	if len(a.Txns) == 0 || a.Txns[0].Ending == history.Plain {
		return ""
	}
	return x.t.newID()
}

// begin is a new producer for an actor, which ends what an older one left open.
func (x *randomRun) begin(n int) *producer {
	w := x.t.idle(x.names[n], defaultTimeout)
	if x.plan.Actors[n].Old {
		w.level = TV1
	}
	w.init()
	return w
}

// produce carries out what the plan has for an actor, as far as time allows.
func (x *randomRun) produce(n int, plan history.Actor) {
	if len(plan.Txns) == 0 {
		return
	}
	a := &actor{producer: x.begin(n), x: x, n: n, old: plan.Old}
	for _, txn := range plan.Txns {
		if x.keepPace(); time.Now().After(x.limit) || x.broken() {
			return
		}
		a.carryOut(txn)
	}
}

// keepPace waits while readers are far behind: what is remembered for them is
// bounded.
func (x *randomRun) keepPace() {
	x.t.until(x.t.bound(stuck), "readers to follow", func() bool { return x.check.Lag() <= historyLag || x.broken() })
}

// carryOut does one transaction of the plan.
func (a *actor) carryOut(plan history.Txn) {
	a.number++
	tx := a.x.check.Begin(a.n, a.incarnation, a.number, plan)
	last := len(plan.Writes) - 1
	for i, w := range plan.Writes {
		if plan.Ending == history.Crash && i == last {
			a.crash(tx, w)
			break
		}
		a.writes(tx, w, plan.Ending == history.Plain)
		if w.Pause > 0 {
			a.t.pause(w.Pause, "the next step of a producer")
		}
	}
	a.finish(tx, plan)
}

// writes sends one batch, which has to be taken.
func (a *actor) writes(tx *history.Transaction, w history.Write, plain bool) {
	p := a.x.ps[w.Partition]
	if a.transactional() && a.level < TV2 && !a.part[p] {
		a.add(p)
	}
	values := tx.Values(w.Partition, w.Records, a.number%61)
	if plain {
		tx.Committing(time.Now())
	}
	switch r := a.trySend(p, a.batch(p, values)); {
	case r.ok():
		tx.Acknowledged(w.Partition, r.base)
	case r.in([]*kerr.Error{kerr.DuplicateSequenceNumber}): // it is there, and nobody says where
		a.sequence[p] += int32(w.Records)
	default:
		r.unusable(a.t, "Produce to "+p.String())
	}
	if plain {
		tx.Committed()
	}
}

// finish ends a transaction as its plan says.
func (a *actor) finish(tx *history.Transaction, plan history.Txn) {
	switch plan.Ending {
	case history.Commit:
		tx.Committing(time.Now())
		a.end(true)
		tx.Committed()
		a.x.committed.Add(1)
	case history.Abort:
		tx.Dead()
		a.end(false)
		a.x.aborted.Add(1)
	case history.Leave:
		tx.Committing(time.Now())
		a.leaveCommitting()
		a.replace()
	case history.Abandon, history.Crash:
		tx.Dead()
		a.replace()
	case history.Zombie:
		tx.Dead()
		before := *a
		before.producer = a.producer.twin()
		a.replace()
		a.number++
		before.writeOn(plan.Writes[0], a.number)
	}
}

// replace begins anew under the same ID.
func (a *actor) replace() {
	a.producer = a.x.begin(a.n)
	a.incarnation++
	a.x.replaced.Add(1)
}

// crash sends a batch from a connection that ends before the answer.
func (a *actor) crash(tx *history.Transaction, w history.Write) {
	t, p := a.t, a.x.ps[w.Partition]
	if a.level < TV2 && !a.part[p] {
		a.add(p)
	}
	raw, err := a.batch(p, tx.Values(w.Partition, w.Records, 0)).Encode()
	if err != nil {
		t.undecided("encoding a batch: %v", err)
	}
	a.starts()
	if a.level >= TV2 {
		a.joins(p)
	}
	t.writing(p)
	t.sendAndLeave(t.leader(p), a.produceRequest(p, raw))
	t.unknown(p)
	t.written(p, nil)
}

// writeOn is what a producer does that does not know that it was replaced. A
// cluster refuses it; one that does not is found out by what readers get.
func (a *actor) writeOn(w history.Write, number int) {
	p := a.x.ps[w.Partition]
	tx := a.x.check.Begin(a.n, a.incarnation, number, history.Txn{Ending: history.Zombie, Writes: []history.Write{w}})
	tx.Dead()
	if r := a.trySend(p, a.batch(p, tx.Values(w.Partition, w.Records, 0))); r.ok() {
		tx.Acknowledged(w.Partition, r.base)
	}
	if w.Records%2 == 0 {
		a.sendEnd(a.endRequest(true))
	}
}

// twin is a producer that knows the same and learns nothing of what the other
// one does.
func (w *producer) twin() *producer {
	other := *w
	other.sequence, other.part, other.wrote = map[model.Partition]int32{}, map[model.Partition]bool{}, map[model.Partition]bool{}
	for p, n := range w.sequence {
		other.sequence[p] = n
	}
	for p := range w.part {
		other.part[p] = true
	}
	other.side = " zombie"
	return &other
}
