package conformance

import (
	"maps"

	"example.com/readcommitted/conformance/internal/history"
)

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
		if r := a.tryAdd(p); !r.ok() {
			a.lost(r, "AddPartitionsToTxn")
			return // without a write: it is gone all the same
		}
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
	other.sequence, other.part, other.wrote = maps.Clone(w.sequence), maps.Clone(w.part), maps.Clone(w.wrote)
	other.side = " zombie"
	return &other
}
