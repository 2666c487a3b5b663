package abortset

// audited bounds the producers that one Audit watches. A correct broker has as
// many as there are transactions open at once in one partition.
const audited = 1 << 14

// Audit watches one partition across responses: for each producer, whether
// transactional data was handed out or dropped since its last marker. A marker
// of the other kind then proves that the verdict was wrong, too late to repair
// it. The zero value is ready.
//
// It believes nothing across an offset hole, where compaction may have removed
// a marker: it notices the hole and begins anew. The caller calls Clear for
// what cannot be seen in the batches.
//
// It watches at most 16384 producers and begins anew if there are more, which
// can hide a wrong verdict and never invents one.
type Audit struct {
	next    int64 // the offset that continues what was observed, 0 at first
	watched map[int64]watch
	peak    int // most producers at once since watched was made
}

// watch holds base offsets of a producer's first batches since its last marker,
// -1 for none.
type watch struct{ delivered, dropped int64 }

// Observe takes the next batch with the verdict that was acted upon, and
// reports whether it proves an earlier verdict wrong: [Leaked] for an abort
// marker after data handed out, [Contradicted] for a commit marker after data
// dropped. The anomaly's Offset is the base offset of the first such data; its
// FirstOffset and Batch are -1.
//
// Where a [Response] saw marker and data together there is nothing left for
// Observe to find; of a transaction it reports what was handed out or dropped
// before.
func (a *Audit) Observe(b Batch, v Verdict) (Anomaly, bool) {
	if b.BaseOffset != a.next {
		a.Clear()
	}
	a.next = b.LastOffset + 1
	if b.ProducerID < 0 {
		return Anomaly{}, false
	}
	switch b.Kind {
	case Transactional:
		a.note(b, v)
	case Commit, Abort:
		w, watched := a.watched[b.ProducerID]
		delete(a.watched, b.ProducerID)
		if watched {
			return w.judge(b)
		}
	case EmptyControl: // may have been a marker of either kind
		delete(a.watched, b.ProducerID)
	case Plain, OtherControl: // say nothing about a transaction
	}
	return Anomaly{}, false
}

// Clear forgets everything observed. For a seek, a reset, a jump to the log
// start, truncation, a new assignment and a new topic ID.
func (a *Audit) Clear() {
	if a.peak > retained {
		a.watched, a.peak = nil, 0 // clearing a map leaves it as large as it was
	}
	clear(a.watched)
}

// note remembers a data batch of an open transaction.
func (a *Audit) note(b Batch, v Verdict) {
	w, watched := a.watched[b.ProducerID]
	if !watched {
		if len(a.watched) >= audited {
			a.Clear()
		}
		if a.watched == nil {
			a.watched = make(map[int64]watch)
		}
		w = watch{delivered: -1, dropped: -1}
	}
	first := &w.delivered
	if v != Deliver {
		first = &w.dropped
	}
	if *first >= 0 {
		return
	}
	*first = b.BaseOffset
	a.watched[b.ProducerID] = w
	a.peak = max(a.peak, len(a.watched))
}

// judge holds what was done with a transaction's data against its marker.
func (w watch) judge(marker Batch) (Anomaly, bool) {
	kind, first := Leaked, w.delivered
	if marker.Kind == Commit {
		kind, first = Contradicted, w.dropped
	}
	if first < 0 {
		return Anomaly{}, false
	}
	return Anomaly{Kind: kind, ProducerID: marker.ProducerID, Offset: first, FirstOffset: -1, Batch: -1}, true
}
