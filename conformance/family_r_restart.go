package conformance

import (
	"fmt"
	"slices"
	"time"

	"example.com/readcommitted/conformance/internal/model"
)

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
	answered := len(t.run.features.brokers) > 2 && !slices.ContainsFunc(ps, func(p model.Partition) bool { return len(t.holders(p)) < 2 })
	for _, broker := range t.run.features.brokers {
		t.takeAway(actStop, broker)
		t.wantStillOpen(deeds, first, answered)
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
