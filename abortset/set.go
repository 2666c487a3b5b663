package abortset

// Set is the Java client's rule, one batch at a time. The zero value aborts
// nothing. A Set serves one partition of one response; call Reset for the next.
//
// Between responses it keeps memory for at most 4096 entries.
type Set struct {
	// pending holds the entries not reached yet. It is a min-heap by first
	// offset once ordered is set; the first batch does that, since it often
	// passes many entries at once and their order does not matter.
	pending []AbortedTransaction
	ordered bool

	active map[int64]struct{} // producer IDs
	peak   int                // most active at once since active was made
}

// Reset starts a new response with its list of aborted transactions. The list
// may be nil, in any order, and may hold duplicates; it is copied. The cost is
// linear in its length.
func (s *Set) Reset(list []AbortedTransaction) {
	if cap(s.pending) > retained && len(list) <= retained {
		s.pending = nil
	}
	s.pending = append(s.pending[:0], list...)
	s.ordered = false
	if s.peak > retained {
		s.active, s.peak = nil, 0 // clearing a map leaves it as large as it was
	}
	clear(s.active)
}

// Judge says what to do with the next batch. Batches come in offset order,
// every one of the response, those below the fetch offset included.
//
// The cost does not depend on the length of the list: each entry is paid for
// once, by the batch that reaches it, in the logarithm of those still ahead.
//
// Source: CompletedFetch.java, nextFetchedRecord, consumeAbortedTransactionsUpTo,
// containsAbortMarker, isBatchAborted.
func (s *Set) Judge(b Batch) Verdict {
	// The last offset, not the base: an abort marker must reach its own entry
	// even if all data of the transaction is gone.
	if len(s.pending) > 0 && (!s.ordered || s.pending[0].FirstOffset <= b.LastOffset) {
		s.activateUpTo(b.LastOffset)
	}
	if b.Kind == Abort {
		delete(s.active, b.ProducerID)
	}
	if b.Kind.isControl() {
		return Control
	}
	if b.Kind == Transactional && b.ProducerID >= 0 && len(s.active) > 0 {
		if _, aborted := s.active[b.ProducerID]; aborted {
			return Drop
		}
	}
	return Deliver
}

// activateUpTo activates the producers of all entries that begin at or below
// offset.
func (s *Set) activateUpTo(offset int64) {
	if !s.ordered {
		ahead := s.pending[:0]
		for _, t := range s.pending {
			if t.FirstOffset <= offset {
				s.activate(t.ProducerID)
			} else {
				ahead = append(ahead, t)
			}
		}
		s.pending, s.ordered = ahead, true
		for i := len(ahead)/2 - 1; i >= 0; i-- {
			siftDown(ahead, i)
		}
	}
	for len(s.pending) > 0 && s.pending[0].FirstOffset <= offset {
		s.activate(s.pending[0].ProducerID)
		end := len(s.pending) - 1
		s.pending[0] = s.pending[end]
		s.pending = s.pending[:end]
		siftDown(s.pending, 0)
	}
	if len(s.pending) == 0 && cap(s.pending) > retained {
		s.pending = nil
	}
}

func (s *Set) activate(producerID int64) {
	if s.active == nil {
		s.active = make(map[int64]struct{})
	}
	s.active[producerID] = struct{}{}
	s.peak = max(s.peak, len(s.active))
}

// siftDown restores the heap below i. container/heap would box every entry.
func siftDown(h []AbortedTransaction, i int) {
	for {
		least := 2*i + 1
		if least >= len(h) {
			return
		}
		if right := least + 1; right < len(h) && h[right].FirstOffset < h[least].FirstOffset {
			least = right
		}
		if h[i].FirstOffset <= h[least].FirstOffset {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}
