package conformance

import (
	"fmt"
	"slices"

	"example.com/readcommitted/conformance/internal/model"
)

// markerShape looks at one marker of each type. The producer has an epoch above
// 0, so that a marker can be below it.
func markerShape(t *trial) {
	p, w := t.partition(), t.producer()
	w.init()
	w.write(p, 1)
	w.commit()
	w.write(p, 1)
	w.abort()
	l := t.oracle(p)
	t.witness(len(l.Runs) == 2 && l.Runs[0].Marker >= 0 && l.Runs[1].Marker >= 0, "the log of %s is %s", p, l)
	for k, want := range []model.Fate{model.Committed, model.Aborted} {
		if k < len(l.Runs) && l.Runs[k].Marker >= 0 {
			t.expectAs(Must, l.Runs[k].Fate == want, p, l.Runs[k].Marker, "a marker of the "+want.String()+" transaction", l.Runs[k].Fate.String())
			t.wantMarkerShape(l, &l.Runs[k])
		}
	}
}

// wantMarkerShape asserts everything that a marker's batch and its record say. A
// broker that stamps what is appended does so with markers too, a moment after
// these were made.
func (t *trial) wantMarkerShape(l *model.Log, run *model.Run) {
	i, _ := l.Find(run.Marker)
	b := &l.Batches[i]
	for _, c := range []struct {
		class    Class
		ok       bool
		expected string
		observed any
	}{
		{Must, b.CRCValid, "a valid CRC", "another one"},
		{Must, b.Transactional(), "the transactional bit", fmt.Sprintf("attributes %#x", b.Attributes)},
		{Must, b.Count == 1 && b.Last == b.Base, "one record in one offset", fmt.Sprintf("%d records in %d..%d", b.Count, b.Base, b.Last)},
		{Must, b.BaseSequence == -1, "base sequence -1", b.BaseSequence},
		{Must, b.Epoch >= run.Epoch, fmt.Sprintf("epoch >= %d, which the data has", run.Epoch), b.Epoch},
		{Should, b.Codec() == 0, "no compression", b.Codec()},
		{Should, b.Marker.KeyVersion == 0, "key version 0", b.Marker.KeyVersion},
		{Should, b.Marker.ValueLength >= 6, "a value of 6 bytes", b.Marker.ValueLength},
		{Should, b.Marker.ValueVersion == 0, "value version 0", b.Marker.ValueVersion},
		{Should, b.BaseTimestamp > 0 && (b.AppendTime() || b.BaseTimestamp == b.MaxTimestamp), "one timestamp", fmt.Sprintf("%d to %d", b.BaseTimestamp, b.MaxTimestamp)},
	} {
		t.expectAs(c.class, c.ok, l.Partition, b.Base, fmt.Sprintf("%s at %d: %s", b.Kind, b.Base, c.expected), fmt.Sprint(c.observed))
	}
	t.factOnce(fmt.Sprintf("%s: a marker's epoch is the data's + %d", t.level, b.Epoch-run.Epoch))
}

// universalMarkers ends three transactions over the same partitions.
func universalMarkers(t *trial) {
	inside, outside := split(t.partitions(12))
	w, bases := t.producer(), map[model.Partition][]int64{}
	id := w.id
	for _, commit := range []bool{true, false, true} {
		for _, p := range inside {
			bases[p] = append(bases[p], w.write(p, 1))
		}
		w.finish(commit)
	}
	for _, p := range inside {
		t.settle(p)
		t.wantRuns(p, id, model.Committed, model.Aborted, model.Committed)
		t.wantDelivered(p, 0, bases[p][0], bases[p][2])
	}
	for _, p := range outside {
		l := t.oracle(p)
		t.expect(len(l.Batches) == 0, p, 0, "nothing in a partition that no transaction touched", l.String())
	}
}

// split leaves four partitions out, not all of one leader where leaders take
// turns.
func split(ps []model.Partition) (inside, outside []model.Partition) {
	for i, p := range ps {
		if slices.Contains([]int{2, 4, 7, 9}, i) {
			outside = append(outside, p)
		} else {
			inside = append(inside, p)
		}
	}
	return inside, outside
}

func fateOf(commit bool) model.Fate {
	if commit {
		return model.Committed
	}
	return model.Aborted
}

// wantRuns asserts how the transactions of a producer ended in a partition, and
// that no marker says otherwise. A marker that repeats the one before is legal:
// coordinators write again what they had no answer to.
func (t *trial) wantRuns(p model.Partition, id int64, want ...model.Fate) {
	l := t.oracle(p)
	got := []model.Fate{}
	for _, r := range l.Runs {
		if r.ProducerID == id {
			got = append(got, r.Fate)
		}
	}
	t.witness(len(got) == len(want), "the log of %s is %s", p, l)
	t.expect(fmt.Sprint(got) == fmt.Sprint(want), p, -1, fmt.Sprintf("transactions that ended as %v", want), fmt.Sprint(got))
	var last model.Kind
	for _, i := range l.Markers(id) {
		b := &l.Batches[i]
		if l.Run(i) == nil {
			t.expect(b.Kind == last, p, b.Base, fmt.Sprintf("no other marker after a %s", last), b.Kind.String())
			t.factOnce("a marker came twice in one partition")
		}
		last = b.Kind
	}
}

// markerOffsets writes after markers. A broker whose markers take no offset is
// none that clients cannot live with.
func markerOffsets(t *trial) {
	p, w := t.partition(), t.producer()
	for _, commit := range []bool{true, false} {
		w.write(p, 2)
		id, before := w.id, t.markers(p, w.id)
		w.end(commit)
		if !t.settle(p) {
			t.undecided("a transaction that was ended stays open in %s", p)
		}
		if t.markers(p, id) == before {
			t.witness(true, "")
			t.expectAs(Should, false, p, -1, "a marker in the log", "a transaction that ended without one")
			return
		}
		t.awaitMarker(p, id, before+1)
		marker := t.lastMarker(p, id)
		base := w.write(p, 1)
		t.wantNextTo(p, marker, base)
		w.commit()
	}
}

// lastMarker is the offset of a producer's newest marker.
func (t *trial) lastMarker(p model.Partition, id int64) int64 {
	l := t.oracle(p)
	all := l.Markers(id)
	t.witness(len(all) > 0, "the log of %s is %s", p, l)
	if len(all) == 0 {
		t.undecided("the marker in %s is gone", p)
	}
	return l.Batches[all[len(all)-1]].Base
}

// wantNextTo asserts that an acknowledged batch begins right after a marker, or
// after others that repeat it.
func (t *trial) wantNextTo(p model.Partition, marker, base int64) {
	next := marker + 1
	if base > next {
		l := t.oracle(p)
		for i := l.At(next); i < len(l.Batches) && l.Batches[i].Control() && l.Batches[i].Base < base; i++ {
			next = l.Batches[i].Last + 1
		}
	}
	t.expect(base == next, p, base, fmt.Sprintf("a batch after the marker at %d acknowledged at %d", marker, next), fmt.Sprintf("acknowledged at %d", base))
}

// markerDelivery records if readers at read_committed are sent the markers.
func markerDelivery(t *trial) {
	l := t.interleaved()
	var got []int64
	for from := int64(0); from < 6; {
		a := t.committed(l.p, from)
		for _, b := range a.Batches {
			if b.Control() {
				got = append(got, b.Base)
			}
		}
		if a.End() <= from {
			break // the rest are markers that it does not show
		}
		from = a.End()
	}
	if t.expect(slices.Equal(got, []int64{4, 5}), l.p, -1, "the markers at 4 and 5 at read_committed", "those at "+model.Spans(got)) {
		t.fact("answers at read_committed hold the markers")
	}
}
