package conformance

import (
	"fmt"
	"slices"
	"time"

	"example.com/readcommitted/conformance/internal/model"
)

// longestTimeout is for transactions that stay open while brokers restart. It
// is below the limit that brokers have by default, of 15 minutes.
const longestTimeout = 14 * time.Minute

// Sizes of R-03.
const (
	movedEnds   = 10 // transactions that end in one move
	movedTries  = 60 // IDs to try for as many that one broker coordinates
	movedWithin = 1500 * time.Millisecond
)

// coordinatorMoves ends transactions while their coordinator is stopped, and
// then while another one is killed.
func coordinatorMoves(t *trial) {
	t.expectOutages()
	ps := t.partitions(3)
	t.whole()
	var all []*deed
	for _, action := range []string{actStop, actKill} {
		all = append(all, t.endsDuringMove(ps, action)...)
	}
	acked := 0
	logs := map[model.Partition]*model.Log{}
	for _, p := range ps {
		t.rest(p)
		logs[p] = t.wantCommitted(p, 0)
	}
	for _, d := range all {
		if d.fate != model.Open {
			acked++
		}
		t.wantWholeDeed(d, logs)
	}
	t.fact("%d of %d ends were acknowledged", acked, len(all))
}

// endsDuringMove has several transactions of one coordinator end while that is
// taken away.
func (t *trial) endsDuringMove(ps []model.Partition, action string) []*deed {
	victim, crew := t.coordinated(movedEnds)
	deeds := make([]*deed, len(crew))
	for i, w := range crew {
		deeds[i] = t.deed(w)
		deeds[i].write(ps[i%3])
		deeds[i].write(ps[(i+1)%3])
	}
	var begun, over time.Time
	spans := make([]span, len(deeds))
	steps := []func(){func() {
		begun = time.Now()
		t.takeAway(action, victim)
		over = time.Now()
	}}
	for i, d := range deeds {
		commit, late := i%3 > 0, time.Duration(0) // with the hook; others anywhere after it
		if i%2 > 0 {
			late = time.Duration(t.rand.Int64N(int64(movedWithin)))
		}
		steps = append(steps, func() {
			t.pause(late, "a moment of the move")
			spans[i].begin = time.Now()
			d.end(commit)
			spans[i].end = time.Now()
		})
	}
	t.together(steps...)
	during := 0
	for _, s := range spans {
		if s.begin.Before(over) && s.end.After(begun) {
			during++
		}
	}
	t.witness(during > 0, "no end was on its way while broker %d went away", victim)
	t.fact("%d ends were on their way while their coordinator went away by %s", during, action)
	now := crew[0].coordinator()
	t.witness(now != victim, "broker %d still coordinates %s", now, crew[0].name)
	t.bringBack(victim)
	for _, d := range deeds {
		for _, p := range d.order {
			t.awaitMarker(p, d.gen.id, 1)
		}
	}
	return deeds
}

// coordinated are n producers that one broker coordinates.
func (t *trial) coordinated(n int) (broker int32, crew []*producer) {
	byBroker := map[int32][]string{}
	for range movedTries {
		name := t.newID()
		broker := t.idle(name, longestTimeout).coordinator()
		if byBroker[broker] = append(byBroker[broker], name); len(byBroker[broker]) < n {
			continue
		}
		for _, name := range byBroker[broker] {
			crew = append(crew, t.producerFor(name, longestTimeout))
		}
		return broker, crew
	}
	t.undecided("no broker coordinates %d of %d new transactional IDs", n, movedTries)
	return -1, nil
}

// killRounds is how often R-05 kills a leader.
const killRounds = 10

// killAfterAck kills a leader as soon as a commit is acknowledged.
func killAfterAck(t *trial) {
	t.expectOutages()
	ps, name := t.partitions(3), t.newID()
	for _, p := range ps {
		if n := len(t.holders(p)); n < 3 {
			t.fact("%s has %d replicas", p, n)
			t.skip(ReasonFewBrokers, fmt.Sprintf("%s has %d replicas, it needs 3", p, n))
		}
	}
	t.whole()
	var all []*deed
	for n := range killRounds {
		w := t.producerFor(name, longestTimeout) // a new epoch: late copies of older requests are refused
		d := t.deed(w)
		for _, p := range ps {
			d.write(p)
		}
		victim := t.leader(ps[n%len(ps)])
		before := map[model.Partition]int{}
		for _, p := range ps {
			before[p] = t.markers(p, d.gen.id)
		}
		d.end(true)
		t.takeAway(actKill, victim)
		if d.fate != model.Committed {
			t.undecided("the commit of round %d was not acknowledged", n)
		}
		// A coordinator without replicas writes its markers only when it is back.
		early := t.until(t.bound(settled), "the markers of a commit", func() bool {
			return !slices.ContainsFunc(ps, func(p model.Partition) bool { return t.markers(p, d.gen.id) <= before[p] })
		})
		if early {
			t.wantDone(d)
		} else {
			t.fact("round %d: the markers did not come while broker %d was away", n, victim)
		}
		t.bringBack(victim)
		for _, p := range ps {
			t.awaitMarker(p, d.gen.id, before[p]+1)
		}
		all = append(all, d)
	}
	for _, d := range all {
		t.wantDone(d)
	}
}
