package conformance

import (
	"fmt"
	"slices"
	"sync/atomic"
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
		deeds[i].write(ps[i%3], 1)
		deeds[i].write(ps[(i+1)%3], 1)
	}
	var begun, over time.Time
	spans := make([]span, len(deeds))
	steps := []func(){func() {
		begun = time.Now()
		t.takeAway(action, victim)
		over = time.Now()
	}}
	for i, d := range deeds {
		commit, late := i%3 > 0, time.Duration(t.rand.Int64N(int64(movedWithin)))
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
	now := t.coordinator(crew[0].name, ofTransaction)
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
		broker := t.coordinator(name, ofTransaction)
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

// restartWhileOpen restarts every broker while two transactions are open.
func restartWhileOpen(t *trial) {
	t.expectOutages()
	ps := t.partitions(3)
	var deeds []*deed
	first := map[model.Partition]int64{}
	for _, p := range ps {
		t.plain(p, 1)
	}
	for range 2 {
		d := t.deed(t.producerFor(t.newID(), longestTimeout))
		for _, p := range ps {
			at := d.write(p, 1)
			if _, known := first[p]; !known {
				first[p] = at
			}
		}
		deeds = append(deeds, d)
	}
	for _, p := range ps {
		t.plain(p, 1)
		t.wantStable(p, first[p])
	}
	t.whole()
	for _, broker := range t.run.features.brokers {
		t.takeAway(actStop, broker)
		t.wantStillOpen(deeds, first, len(t.run.features.brokers) > 2)
		t.bringBack(broker)
		t.wantStillOpen(deeds, first, true)
	}
	for i, d := range deeds {
		d.write(ps[0], 1)
		d.end(i == 0)
		for _, p := range ps {
			t.awaitMarker(p, d.gen.id, 1)
		}
	}
	for _, p := range ps {
		t.rest(p)
	}
	for _, d := range deeds {
		t.wantDone(d)
	}
}

// wantStillOpen asserts that transactions hold their partitions back. Where
// nobody else could take over from a broker that is gone, nobody is asked.
func (t *trial) wantStillOpen(deeds []*deed, first map[model.Partition]int64, answered bool) {
	if !answered {
		return
	}
	for p, at := range first {
		t.wantStable(p, at)
		a := t.committed(p, 0)
		t.wantHeldBack(a)
		t.expectAs(Must, a.End() <= at, p, at, fmt.Sprintf("%s: nothing from %d on, where a transaction is open", a.about(), at),
			fmt.Sprintf("batches up to %d", a.End()))
	}
	for _, d := range deeds {
		age := time.Since(d.began)
		t.witness(age < d.timeout, "a transaction was %v old, at a timeout of %v", age.Round(time.Second), d.timeout)
	}
}

// killRounds is how often R-05 kills a leader.
const killRounds = 10

// killAfterAck kills a leader as soon as a commit is acknowledged.
func killAfterAck(t *trial) {
	t.expectOutages()
	ps, name := t.partitions(3), t.newID()
	t.whole()
	var all []*deed
	for n := range killRounds {
		w := t.producerFor(name, longestTimeout) // a new epoch: late copies of older requests are refused
		d := t.deed(w)
		for _, p := range ps {
			d.write(p, 1)
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
		for _, p := range ps {
			t.awaitMarker(p, d.gen.id, before[p]+1)
		}
		t.wantDone(d)
		t.bringBack(victim)
		all = append(all, d)
	}
	for _, d := range all {
		t.wantDone(d)
	}
}

// restartEmptyOpen restarts brokers that know of transactions without a record.
func restartEmptyOpen(t *trial) {
	t.expectOutages()
	p := t.partition()
	used, unused := t.producerFor(t.newID(), longestTimeout), t.producerFor(t.newID(), longestTimeout)
	used.add(p)
	unused.add(p)
	t.whole()
	concerned := []int32{t.leader(p), t.coordinator(used.name, ofTransaction), t.coordinator(unused.name, ofTransaction)}
	slices.Sort(concerned)
	for _, broker := range slices.Compact(concerned) {
		t.takeAway(actStop, broker)
		t.bringBack(broker)
	}
	at, id := used.write(p, 1), used.id
	used.end(true)
	t.awaitMarker(p, id, 1)
	unused.end(false)
	t.awaitMarker(p, unused.id, 1)
	t.expect(t.settle(p), p, -1, "the last stable offset at the high watermark with nothing open", fmt.Sprintf("LSO %d, HW %d", t.lso(p), t.highWatermark(p)))
	t.wantDelivered(p, 0, at)
	last := t.producer()
	end := last.write(p, 1)
	last.commit()
	t.wantAllStable(p)
	t.wantDelivered(p, 0, at, end)
}

// Of R-07: how long a leader stands still, and how soon everything has to go on
// after that.
const (
	standStill = 20 * time.Second
	goesOn     = time.Minute
)

// pausedLeader has producers and readers at work while a leader stands still.
func pausedLeader(t *trial) {
	within := t.bound(goesOn)
	t.expectOutages()
	ps := t.partitions(3)
	t.whole()
	load := t.newTraffic(ps)
	var resumed time.Time
	var stop atomic.Bool
	steps := []func(){func() {
		defer stop.Store(true)
		victim := t.leader(ps[0])
		t.pause(time.Second, "producers and readers at work")
		t.takeAway(actPause, victim)
		t.pause(standStill, "a leader that stands still")
		t.witness(t.run.answersNow(t.ctx, victim) != nil, "broker %d answered while it was paused", victim)
		t.fact("%d transactions ended before and while broker %d stood still", load.ended(), victim)
		t.act(actResume, victim)
		resumed = time.Now()
		load.awaitProgress(resumed, within)
	}}
	for _, w := range load.writers {
		steps = append(steps, func() { w.work(&stop) })
	}
	for _, r := range load.readers {
		steps = append(steps, func() { r.follow(&stop) })
	}
	t.together(steps...)
	t.whole()
	load.wantSafe()
}
