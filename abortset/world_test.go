package abortset_test

import "example.com/readcommitted/abortset"

// event is one thing in a small log. Its place in the log is its position.
type event uint8

const (
	plain event = iota
	data1
	data2
	commit1
	commit2
	abort1
	abort2
	events // how many there are
)

// producer is 1 or 2, and 0 for a plain batch.
func (e event) producer() int64 {
	if e == plain {
		return 0
	}
	return int64(e-data1)%2 + 1
}

func (e event) isData() bool   { return e <= data2 }
func (e event) isMarker() bool { return e >= commit1 }

func (e event) kind() abortset.Kind {
	switch e {
	case data1, data2:
		return abortset.Transactional
	case commit1, commit2:
		return abortset.Commit
	case abort1, abort2:
		return abortset.Abort
	default:
		return abortset.Plain
	}
}

// aborted is an aborted transaction of a small log, by positions.
type aborted struct {
	producer      int64
	first, marker int
}

// world is a small log and all that is true of it. Every batch has the same
// number of offsets.
type world struct {
	log     []event
	width   int64
	batches []abortset.Batch   // one for each event
	fate    []abortset.Verdict // what each event's own next marker says
	aborted []aborted          // in the order of their markers, as a broker lists them
	stable  int                // position of the last stable offset, exclusive
}

// newWorld works out what is true of a log. It keeps log.
func newWorld(log []event, width int64) *world {
	w := &world{
		log: log, width: width, stable: len(log),
		batches: make([]abortset.Batch, len(log)),
		fate:    make([]abortset.Verdict, len(log)),
	}
	open := [3]int{-1, -1, -1} // position of the first data batch, by producer
	for i, e := range log {
		base := int64(i) * width
		w.batches[i] = abortset.Batch{BaseOffset: base, LastOffset: base + width - 1, ProducerID: e.producer(), Kind: e.kind()}
		p := e.producer()
		switch e.kind() {
		case abortset.Transactional:
			if open[p] < 0 {
				open[p] = i
			}
		case abortset.Commit, abortset.Abort:
			w.fate[i] = abortset.Control
			w.end(e, i, open[p])
			open[p] = -1
		default: // in no transaction
		}
	}
	for _, first := range open[1:] {
		if first >= 0 {
			w.stable = min(w.stable, first)
		}
	}
	return w
}

// end closes the transaction that began at position first, -1 for none, with
// the marker at position i.
func (w *world) end(marker event, i, first int) {
	if first < 0 || marker.kind() != abortset.Abort {
		return
	}
	w.aborted = append(w.aborted, aborted{marker.producer(), first, i})
	for j := first; j < i; j++ {
		if w.log[j].isData() && w.log[j].producer() == marker.producer() {
			w.fate[j] = abortset.Drop
		}
	}
}

// list is what a correct broker sends for a fetch from position from, with an
// upper bound exclusive: transactions that end in or after the fetch and begin
// below the bound. It appends to into.
func (w *world) list(into []abortset.AbortedTransaction, from, bound int) []abortset.AbortedTransaction {
	for _, t := range w.aborted {
		if t.marker >= from && t.first < bound {
			into = append(into, abortset.AbortedTransaction{ProducerID: t.producer, FirstOffset: int64(t.first) * w.width})
		}
	}
	return into
}

// eachWorld calls visit with every log of the given length over two producers.
func eachWorld(length int, width int64, visit func(*world)) {
	log := make([]event, length)
	for {
		visit(newWorld(log, width))
		i := 0
		for ; i < length; i++ {
			if log[i]++; log[i] < events {
				break
			}
			log[i] = 0
		}
		if i == length {
			return
		}
	}
}

// eachWindow calls visit with every range of positions a fetch could return:
// from inclusive, to exclusive, below the last stable offset.
func (w *world) eachWindow(visit func(from, to int)) {
	for from := range w.stable {
		for to := from + 1; to <= w.stable; to++ {
			visit(from, to)
		}
	}
}
