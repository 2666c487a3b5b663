package conformance

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"example.com/readcommitted/conformance/internal/history"
)

// actor is a producer of a plan as it acts.
type actor struct {
	*producer
	x           *randomRun
	n           int // in the plan
	incarnation int
	number      int // of the newest transaction
}

// name is a transactional ID for an actor, "" if it needs none.
func (x *randomRun) name(a history.Actor) string {
	if len(a.Txns) == 0 || a.Txns[0].Ending == history.Plain {
		return ""
	}
	return x.t.newID()
}

// begins is how often a producer asks for its ID while the network fails.
const begins = 5

// begin is a new producer for an actor, which ends what an older one left open.
func (x *randomRun) begin(n int) *producer {
	w := x.t.idle(x.names[n], defaultTimeout)
	if x.plan.Actors[n].Old {
		w.level = TV1
	}
	for range begins {
		if !x.wild || w.tryInit().ok() {
			break
		}
	}
	if w.id < 0 {
		w.init()
	}
	return w
}

// produce carries out what the plan has for an actor, as far as time allows.
func (x *randomRun) produce(n int, plan history.Actor) {
	if len(plan.Txns) == 0 {
		return
	}
	a := &actor{producer: x.begin(n), x: x, n: n}
	for _, txn := range plan.Txns {
		if x.keepPace(); !x.goesOn() {
			return
		}
		x.did[n].Add(1)
		if x.t.rough.Load() {
			txn = gentle(txn)
		}
		if a.carryOut(txn); x.t.rough.Load() && a.transactional() {
			a.replace() // what was sent again may come late, and has an older epoch then
		}
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
	a.arm(plan, history.OnAdd)
	defer a.disarm()
	for i, w := range plan.Writes {
		if i == last {
			a.arm(plan, history.OnWrite)
		}
		if plan.Ending == history.Crash && i == last {
			a.crash(tx, w)
			break
		}
		if !a.writes(tx, w, plan.Ending == history.Plain) {
			tx.Dead()
			a.replace()
			return
		}
		if w.Pause > 0 {
			a.t.pause(w.Pause, "the next step of a producer")
		}
	}
	a.arm(plan, history.OnEnd)
	a.arm(plan, history.OnBegin)
	a.finish(tx, plan)
}

// writes sends one batch, and reports whether it was taken. It has to be, where
// the network works.
func (a *actor) writes(tx *history.Transaction, w history.Write, plain bool) bool {
	p := a.x.ps[w.Partition]
	if a.transactional() && a.level < TV2 && !a.part[p] {
		if r := a.tryAdd(p); !r.ok() {
			return a.lost(r, "AddPartitionsToTxn")
		}
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
		return a.lost(r, "Produce to "+p.String())
	}
	if plain {
		tx.Committed()
	}
	return true
}

// lost is what a request comes to that did not work: nobody knows, where the
// network fails.
func (a *actor) lost(r reply, what string) bool {
	if !a.x.wild || !a.transactional() {
		r.unusable(a.t, what)
	}
	return false
}

// ends ends the transaction, and reports whether that is known to have worked.
func (a *actor) ends(commit bool) bool {
	if r := a.tryEnd(commit); !r.ok() {
		a.lost(r, "EndTxn")
		a.replace()
		return false
	}
	return true
}

// finish ends a transaction as its plan says.
func (a *actor) finish(tx *history.Transaction, plan history.Txn) {
	switch plan.Ending {
	case history.Plain: // it counts as it is
	case history.Commit:
		tx.Committing(time.Now())
		if a.ends(true) {
			tx.Committed()
			a.x.committed.Add(1)
		}
	case history.Abort:
		tx.Dead()
		if a.ends(false) {
			a.x.aborted.Add(1)
		}
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
		before.producer = a.twin()
		a.replace()
		a.number++
		before.writeOn(plan.Writes[0], a.number)
	}
}
