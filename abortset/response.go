package abortset

import (
	"cmp"
	"slices"
)

// Response judges all batches of one partition of one response, by the rule of
// [Set] and by the markers in view. The zero value is ready; using it again
// reuses its memory.
//
// Between calls it keeps memory for at most 4096 entries of the list and as
// many producers. Memory for more than 4096 batches is given back by the first
// response that needs less than a quarter of it.
type Response struct {
	verdicts  []Verdict
	anomalies []Anomaly
	places    []place         // for each batch
	index     map[int64]int32 // producer ID to its index in producers
	producers []producer      // those in view
	entries   []entry         // what of the list matters here
}

// place ties a batch to its producer and to the marker that speaks for it: an
// index in producers and one in the batches, none for nothing.
type place struct{ producer, marker int32 }

const none = -1

// producer is the state of one producer in view. Marker and stretch belong to
// the backwards pass, what follows them to the forwards pass.
type producer struct {
	id       int64
	marker   int32 // latest one met, an index in the batches
	stretch  int32 // the stretch without holes that the marker lies in, or none
	active   bool
	first    int64 // of the entry that made it active
	reported int32 // marker of the transaction last reported
}

// entry is an AbortedTransaction with the producer's index for its ID.
type entry struct {
	first    int64
	producer int32
}

// Judge returns a verdict for each batch, and what is wrong with the list:
// duplicates first, by first offset, then the others in offset order. Both
// slices are valid until the next call. The arguments are not kept or changed.
//
// Batches come in offset order, every one of the response, those below the
// fetch offset included. The list may be nil, in any order, and may hold
// duplicates; of entries that begin after the last batch, or whose producer has
// no batch here, nothing is reported.
//
// A marker speaks for a data batch of its producer if it is the producer's next
// marker, every batch on the way follows its predecessor without an offset
// hole, and no empty control batch of the producer lies between: only then
// it is certain that compaction has not removed another marker before it.
//
// The cost is linear in the batches and in the list, and k log k in those k
// entries that begin in or before the view and belong to a producer in it.
func (r *Response) Judge(batches []Batch, list []AbortedTransaction) ([]Verdict, []Anomaly) {
	if cap(r.anomalies) > retained {
		r.anomalies = nil
	}
	r.anomalies = r.anomalies[:0]
	r.verdicts = resized(r.verdicts, len(batches))

	last, aborts := r.classify(batches)
	if !aborts && !anyBegins(list, last) {
		return r.verdicts, r.anomalies // nothing here can drop a batch
	}
	r.findProducers(batches)
	r.findMarkers(batches)
	r.seed(list, last)
	r.decide(batches)
	r.release()
	return r.verdicts, r.anomalies
}

// anyBegins reports whether an entry begins at or below offset.
func anyBegins(list []AbortedTransaction, offset int64) bool {
	for i := range list {
		if list[i].FirstOffset <= offset {
			return true
		}
	}
	return false
}

// classify tells control batches from data, which is all there is to know if
// nothing was aborted. It returns the highest offset in view and whether there
// is an abort marker.
func (r *Response) classify(batches []Batch) (last int64, aborts bool) {
	last = -1
	for i := range batches {
		b := &batches[i]
		last = max(last, b.LastOffset)
		r.verdicts[i] = Deliver
		if b.Kind.isControl() {
			r.verdicts[i] = Control
			aborts = aborts || b.Kind == Abort
		}
	}
	return last, aborts
}

// findProducers collects the producers in view and gives each batch its own.
// Runs of one producer, the usual case, cost one look-up.
func (r *Response) findProducers(batches []Batch) {
	r.places = resized(r.places, len(batches))
	r.producers = r.producers[:0]
	if r.index == nil {
		r.index = make(map[int64]int32)
	}
	clear(r.index)
	latest, latestID := int32(none), int64(none)
	for i := range batches {
		b := &batches[i]
		r.places[i] = place{none, none}
		if b.ProducerID < 0 || b.Kind == Plain || b.Kind == OtherControl {
			continue
		}
		if b.ProducerID != latestID {
			latest, latestID = r.producerOf(b.ProducerID), b.ProducerID
		}
		r.places[i].producer = latest
	}
}

func (r *Response) producerOf(id int64) int32 {
	p, known := r.index[id]
	if !known {
		p = int32(len(r.producers))
		r.index[id] = p
		r.producers = append(r.producers, producer{id: id, stretch: none, reported: none})
	}
	return p
}

// findMarkers finds, from the last batch to the first, the marker that speaks for
// each data batch. A hole begins a new stretch, which silences all markers
// behind it at once.
func (r *Response) findMarkers(batches []Batch) {
	stretch := int32(0)
	for i := len(batches) - 1; i >= 0; i-- {
		if i+1 < len(batches) && !follows(&batches[i], &batches[i+1]) {
			stretch++
		}
		at := &r.places[i]
		if at.producer == none {
			continue
		}
		p := &r.producers[at.producer]
		switch batches[i].Kind {
		case Commit, Abort:
			p.marker, p.stretch = int32(i), stretch
		case EmptyControl: // may have been a marker of either kind
			p.stretch = none
		case Transactional:
			if p.stretch == stretch {
				at.marker = p.marker
			}
		case Plain, OtherControl: // have no place
		}
	}
}

// follows reports whether next begins right after b, without a hole.
func follows(b, next *Batch) bool {
	return b.LastOffset < next.BaseOffset && b.LastOffset+1 == next.BaseOffset
}

// seed takes from the list what can matter up to the last offset in view, in
// the order of first offsets, and reports duplicates.
func (r *Response) seed(list []AbortedTransaction, last int64) {
	r.entries = r.entries[:0]
	for _, t := range list {
		if t.FirstOffset > last {
			continue
		}
		if p, inView := r.index[t.ProducerID]; inView {
			r.entries = append(r.entries, entry{t.FirstOffset, p})
		}
	}
	slices.SortFunc(r.entries, func(a, b entry) int {
		if c := cmp.Compare(a.first, b.first); c != 0 {
			return c
		}
		return cmp.Compare(a.producer, b.producer)
	})
	for i := 1; i < len(r.entries); i++ {
		e := r.entries[i]
		if e == r.entries[i-1] && (i == 1 || e != r.entries[i-2]) {
			r.anomalies = append(r.anomalies, Anomaly{Duplicate, r.producers[e.producer].id, e.first, e.first, none})
		}
	}
}

// decide goes through the batches in order: the rule of Set, then the word of
// the marker, if one speaks.
func (r *Response) decide(batches []Batch) {
	ahead := r.entries
	for i := range batches {
		b := &batches[i]
		for len(ahead) > 0 && ahead[0].first <= b.LastOffset {
			if p := &r.producers[ahead[0].producer]; !p.active {
				p.active, p.first = true, ahead[0].first
			}
			ahead = ahead[1:]
		}
		at := r.places[i]
		if at.producer == none {
			continue
		}
		p := &r.producers[at.producer]
		switch b.Kind {
		case Abort:
			p.active = false
		case Transactional:
			aborted := p.active
			if at.marker != none {
				aborted = batches[at.marker].Kind == Abort
				if aborted != p.active && p.reported != at.marker {
					p.reported = at.marker
					r.report(p, b.BaseOffset, i)
				}
			}
			if aborted {
				r.verdicts[i] = Drop
			}
		case Plain, Commit, EmptyControl, OtherControl: // change nothing
		}
	}
}

// report notes that the marker of a transaction contradicts the list, seen
// first at batch i.
func (r *Response) report(p *producer, offset int64, i int) {
	a := Anomaly{Missing, p.id, offset, none, i}
	if p.active {
		a.Kind, a.FirstOffset = Contradicted, p.first
	}
	r.anomalies = append(r.anomalies, a)
}

// release gives back what only a very long list, or very many producers, needed.
func (r *Response) release() {
	if cap(r.entries) > retained {
		r.entries = nil
	}
	if cap(r.producers) > retained {
		r.producers, r.index = nil, nil // clearing a map leaves it as large as it was
	}
}

// resized returns a slice of length n, s if its memory will do: if it is large
// enough, and not much too large.
func resized[T any](s []T, n int) []T {
	if cap(s) < n || cap(s) > retained && n < cap(s)/4 {
		return make([]T, n)
	}
	return s[:n]
}
