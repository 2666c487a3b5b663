package conformance

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// How many rounds of a race there are at most, and how long they may take all
// together.
const (
	raceRounds = 50
	raceEnough = 10               // of each outcome
	raceTime   = 20 * time.Second // twice that, where one of the two never comes first

	raceLate  = 2 * time.Millisecond // of either side, at most
	raceLater = 4                    // times later for the side that always came first
)

var familyFInit = []*Scenario{
	{
		ID: "F-04", Name: "reinit-during-prepare-commit", Class: Must, Profile: Standard, Typical: 10 * time.Second, Limit: 2 * time.Minute,
		Requirement: "a transaction is whole whoever takes over its ID while it ends, and committed if that was acknowledged",
		Consequence: "acknowledged records vanish, or half of a transaction is visible",
		Witness:     "EndTxn and InitProducerId of the same ID were on their way at the same time, and each of them came first once",
		Log:         "two partitions, in each round: a record in both | a marker in both",
		run:         reinitDuringEnd,
	},
	{
		ID: "F-05", Name: "kip360-bump", Class: Must, Profile: Standard, Typical: time.Second,
		Requirement: "a producer that names its producer ID and epoch gets a higher epoch, is refused if another has got one since, and leaves no transaction open",
		Consequence: "a producer that was fenced comes back, or its old records are committed with its new ones",
		Witness:     "each step's epoch, as the cluster gave it, and a record of each epoch in the log",
		Log:         "0 old epoch | 1 abort | 2 new epoch | 3 commit",
		needs:       []need{needAPI(kmsg.InitProducerID, 3)},
		run: func(t *trial) {
			staleBump(t)
			bumpInTransaction(t)
		},
	},
}

// round is one round of a race between an EndTxn and an InitProducerId.
type round struct {
	gen    generation
	value  [2]int64 // offsets, as they were acknowledged
	answer reply    // to EndTxn
}

func reinitDuringEnd(t *trial) {
	ps, w := t.partitions(2), t.producer()
	var rounds []round
	overlapped, taken, begin := 0, 0, time.Now()
	late := headStarts{raceLate, raceLate}
	for range raceRounds {
		r, heir, overlap := endAgainstTakeover(t, ps, w, len(rounds), late)
		rounds = append(rounds, r)
		if overlap {
			overlapped++
		}
		if r.answer.ok() {
			taken++
		}
		rarer := min(taken, len(rounds)-taken)
		if ran := time.Since(begin); rarer >= raceEnough || rarer > 0 && ran > t.bound(raceTime) || ran > 2*t.bound(raceTime) {
			break
		}
		late = late.next(taken, len(rounds))
		w = heir
	}
	t.fact("%d of %d commits were acknowledged while the ID was taken over", taken, len(rounds))
	t.witness(overlapped > 0, "in none of %d rounds did the two requests overlap", len(rounds))
	var logs [2]*model.Log
	for k, p := range ps {
		if t.expectAs(Live, t.settle(p), p, -1, "a marker of every transaction", "the last stable offset stays below the high watermark") {
			t.passed(p, rounds[0].gen.id)
		}
		logs[k] = t.wantCommitted(p, 0)
	}
	whole := true
	for _, r := range rounds {
		whole = t.wantWhole(ps, logs, r) && whole
	}
	// A transaction that is torn needs no more to be so.
	t.witness(!whole || taken > 0 && taken < len(rounds), "%d of %d commits were acknowledged, the last was answered with %s",
		taken, len(rounds), rounds[len(rounds)-1].answer)
}

// headStarts is how late each side of a race may be, at most.
type headStarts struct{ end, takeover time.Duration }

// next has a side come later and later which was always the first, so that the
// other one is too.
func (h headStarts) next(taken, rounds int) headStarts {
	out := headStarts{raceLate, raceLate}
	if taken == rounds {
		out.end = min(raceLater*h.end, 2*time.Second)
	}
	if taken == 0 {
		out.takeover = min(raceLater*h.takeover, 2*time.Second)
	}
	return out
}

// endAgainstTakeover writes a record to two partitions and then commits and takes over the ID
// at the same time.
func endAgainstTakeover(t *trial, ps []model.Partition, w *producer, n int, late headStarts) (r round, heir *producer, overlap bool) {
	r = round{gen: w.generation()}
	for k, p := range ps {
		r.value[k] = w.write(p, 1)
	}
	heir = t.idle(w.name, defaultTimeout)
	heir.side = fmt.Sprintf(" %d", n%2) // beside the old one's connections
	var ending, taking span
	t.together(
		func() { ending = t.raced(n, late.end, func() { r.answer = w.tryEnd(true) }) },
		func() { taking = t.raced(n, late.takeover, heir.init) },
	)
	return r, heir, ending.begin.Before(taking.end) && taking.begin.Before(ending.end)
}

type span struct{ begin, end time.Time }

// raced does one side of a race, a random moment late in two of three rounds.
func (t *trial) raced(n int, atMost time.Duration, do func()) span {
	if n%3 > 0 {
		t.mu.Lock()
		late := time.Duration(t.rand.Int64N(int64(atMost)))
		t.mu.Unlock()
		t.pause(late, "a moment of the race")
	}
	begin := time.Now()
	do()
	return span{begin, time.Now()}
}

// wantWhole asserts that a transaction has one outcome, and the acknowledged one.
func (t *trial) wantWhole(ps []model.Partition, logs [2]*model.Log, r round) (whole bool) {
	var fates [2]model.Fate
	for k, l := range logs {
		at, ok := l.Find(r.value[k])
		if !t.expectSafe(t.safety(), ok, ps[k], r.value[k], "the acknowledged record of "+r.gen.String(), "none at its offset") {
			return false
		}
		fates[k] = l.Fate(at)
	}
	open := fates[0] == model.Open || fates[1] == model.Open
	whole = t.expectEnd(t.safety(), open, fates[0] == fates[1], ps[0], r.value[0],
		fmt.Sprintf("%s with one outcome in both partitions", r.gen), fmt.Sprintf("%s, and %s at %d of %s", fates[0], fates[1], r.value[1], ps[1]))
	for k := range ps {
		whole = t.expect(!r.answer.ok() || fates[k] == model.Committed, ps[k], r.value[k],
			r.gen.String()+" committed, as acknowledged", fates[k].String()) && whole
	}
	return whole
}

// fencedInit is how a cluster may refuse an epoch that is not the newest.
var fencedInit = []*kerr.Error{kerr.ProducerFenced, kerr.InvalidProducerEpoch, kerr.InvalidProducerIDMapping}

// staleBump bumps an epoch twice, and then once more from where it began.
func staleBump(t *trial) {
	p, w := t.partition(), t.producer()
	w.write(p, 1)
	w.commit()
	oldest := w.generation()
	for range 2 {
		before := w.generation()
		if r := w.tryInitAs(before.id, before.epoch); !r.ok() {
			r.unusable(t, "InitProducerId with the current epoch")
		}
		t.expect(w.id != before.id || w.epoch > before.epoch, p, -1, "an epoch above "+before.String(), w.generation().String())
	}
	t.witness(w.id != oldest.id || w.epoch >= oldest.epoch+2, "%s after two bumps of %s", w.generation(), oldest)
	zombie := t.idle(w.name, defaultTimeout)
	if !t.wantRefused(p, fmt.Sprintf("InitProducerId as %s, which is %s by now", oldest, w.generation()), zombie.tryInitAs(oldest.id, oldest.epoch), fencedInit) {
		return
	}
	at := w.write(p, 1)
	w.commit()
	t.settle(p)
	t.wantDelivered(p, 0, 0, at)
}

// bumpInTransaction bumps an epoch while a transaction of it is open. Brokers
// differ in whether they give a new one then; none may leave it open.
func bumpInTransaction(t *trial) {
	p, old := t.partition(), t.producer()
	first := old.write(p, 1)
	heir := t.idle(old.name, defaultTimeout)
	r := heir.tryInitAs(old.id, old.epoch)
	switch {
	case r.in(fencedInit):
		t.fact("InitProducerId with the epoch of an open transaction: %s", r)
		heir.init()
	case !r.ok():
		r.unusable(t, "InitProducerId with the epoch of an open transaction")
	}
	written := heir.write(p, 1)
	heirs := heir.generation()
	heir.end(true)
	l := t.awaitSuccession(p, old.generation(), heirs)
	t.witness(len(dataOf(l, heirs)) == 1, "the log of %s is %s", p, l)
	if t.wantAbortedBefore(l, old.generation(), heirs) {
		t.settle(p)
		t.wantEntries(t.shown(p, 0, written), model.Entry{ProducerID: old.id, FirstOffset: first})
		t.wantDelivered(p, 0, written)
	}
}
