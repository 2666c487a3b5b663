package model

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Fate is what a batch of the log came to.
type Fate int8

// The fates of a batch. A marker's own is Control.
const (
	Plain Fate = iota
	Committed
	Aborted
	Open
	Control
)

func (f Fate) String() string {
	return [...]string{"plain", "committed", "aborted", "open", "control"}[f]
}

// Run is what one producer wrote to the partition in one transaction.
type Run struct {
	ProducerID  int64
	Epoch       int16 // of the data; the highest, if a broker let it change
	First, Last int64 // offsets of the data, both inclusive
	Marker      int64 // offset of the marker, -1 while it is open
	MarkerEpoch int16
	Fate        Fate  // Committed, Aborted or Open
	Batches     []int // indexes into Log.Batches
}

// Log is what a partition holds, read at read_uncommitted.
type Log struct {
	Partition Partition
	Start     int64 // log start offset
	End       int64 // the high watermark up to which it was read, exclusive
	Batches   []Batch

	// Whole says that the log begins where the partition began, so that the
	// first batch of each transaction is known.
	Whole bool

	Runs    []Run           // in the order of their first offsets
	fates   []Fate          // by batch
	runOf   []int           // by batch, -1 for none
	markers map[int64][]int // commit and abort markers by producer ID, ascending
}

// NewLog works out what became of each transaction. The batches must come in
// offset order.
func NewLog(p Partition, start, end int64, batches []Batch) *Log {
	l := &Log{
		Partition: p, Start: start, End: end, Batches: batches, Whole: start == 0,
		fates: make([]Fate, len(batches)), runOf: make([]int, len(batches)), markers: map[int64][]int{},
	}
	open := map[int64]int{} // producer ID to run
	for i := range batches {
		l.runOf[i] = -1
		switch b := &batches[i]; {
		case b.Control():
			l.fates[i] = Control
			l.endRun(i, open)
		case b.Transactional():
			l.extendRun(i, open)
		}
	}
	return l
}

func (l *Log) extendRun(i int, open map[int64]int) {
	b := &l.Batches[i]
	at, ok := open[b.ProducerID]
	if !ok {
		at = len(l.Runs)
		open[b.ProducerID] = at
		l.Runs = append(l.Runs, Run{ProducerID: b.ProducerID, Epoch: b.Epoch, First: b.Base, Marker: -1, Fate: Open})
	}
	r := &l.Runs[at]
	r.Last, r.Epoch = b.Last, max(r.Epoch, b.Epoch)
	r.Batches = append(r.Batches, i)
	l.fates[i], l.runOf[i] = Open, at
}

func (l *Log) endRun(i int, open map[int64]int) {
	b := &l.Batches[i]
	if b.Kind != CommitMarker && b.Kind != AbortMarker {
		return
	}
	l.markers[b.ProducerID] = append(l.markers[b.ProducerID], i)
	at, ok := open[b.ProducerID]
	if !ok {
		return
	}
	delete(open, b.ProducerID)
	r := &l.Runs[at]
	r.Marker, r.MarkerEpoch, r.Fate = b.Base, b.Epoch, Committed
	if b.Kind == AbortMarker {
		r.Fate = Aborted
	}
	l.runOf[i] = at
	for _, k := range r.Batches {
		l.fates[k] = r.Fate
	}
}

// Fate is what became of batch i.
func (l *Log) Fate(i int) Fate { return l.fates[i] }

// Run is the run that batch i belongs to, or that it ended; nil for none.
func (l *Log) Run(i int) *Run {
	if l.runOf[i] < 0 {
		return nil
	}
	return &l.Runs[l.runOf[i]]
}

// At is the index of the batch that holds an offset, or else of the one after
// it; len(Batches) if there is none.
func (l *Log) At(offset int64) int {
	return sort.Search(len(l.Batches), func(i int) bool { return l.Batches[i].Last >= offset })
}

// Find is the index of the batch with this base offset.
func (l *Log) Find(base int64) (int, bool) {
	i := l.At(base)
	return i, i < len(l.Batches) && l.Batches[i].Base == base
}

// holding is the index of the batch that holds an offset.
func (l *Log) holding(offset int64) (int, bool) {
	i := l.At(offset)
	return i, i < len(l.Batches) && l.Batches[i].Base <= offset
}

// openRun is the run of a producer that no marker has ended, nil for none.
func (l *Log) openRun(producerID int64) *Run {
	for i := range l.Runs {
		if r := &l.Runs[i]; r.ProducerID == producerID && r.Fate == Open {
			return r
		}
	}
	return nil
}

// LSO is where the last stable offset must be once every marker is replicated:
// at the oldest open transaction, or at the end.
func (l *Log) LSO() int64 {
	for _, r := range l.Runs {
		if r.Fate == Open {
			return max(r.First, l.Start)
		}
	}
	return l.End
}

// Visible are the offsets in [from, to) that a reader at read_committed gets.
func (l *Log) Visible(from, to int64) ([]int64, error) {
	return l.collect(from, to, func(f Fate) bool { return f == Plain || f == Committed })
}

// Records are the offsets in [from, to) that a reader at read_uncommitted gets.
func (l *Log) Records(from, to int64) ([]int64, error) {
	return l.collect(from, to, func(f Fate) bool { return f != Control })
}

func (l *Log) collect(from, to int64, want func(Fate) bool) ([]int64, error) {
	var out []int64
	for i := l.At(from); i < len(l.Batches) && l.Batches[i].Base < to; i++ {
		if !want(l.fates[i]) {
			continue
		}
		offsets, err := l.Batches[i].Offsets()
		if err != nil {
			return out, fmt.Errorf("batch at %d: %w", l.Batches[i].Base, err)
		}
		for _, o := range offsets {
			if from <= o && o < to {
				out = append(out, o)
			}
		}
	}
	return out, nil
}

// Needed are the entries that an answer must have that shows all data in
// [from, to): one for each aborted transaction with a batch there whose marker
// does not lie below from.
func (l *Log) Needed(from, to int64) []Entry {
	return l.entries(from, func(r *Run) bool {
		k := sort.Search(len(r.Batches), func(k int) bool { return l.Batches[r.Batches[k]].Last >= from })
		return k < len(r.Batches) && l.Batches[r.Batches[k]].Base < to
	})
}

// NeededFor are the entries that an answer must have: one for each aborted
// transaction of which it shows a batch. A broker may leave aborted batches out.
func (l *Log) NeededFor(v *View) []Entry {
	var out []Entry
	seen := map[Entry]bool{}
	for i := range v.Batches {
		at, ok := l.Find(v.Batches[i].Base)
		if !ok || l.Fate(at) != Aborted || v.Batches[i].Last < v.FetchOffset {
			continue
		}
		if e := (Entry{l.Run(at).ProducerID, l.Run(at).First}); !seen[e] {
			seen[e] = true
			out = append(out, e)
		}
	}
	return out
}

// Allowed are the entries that an answer from an offset on may have: one for
// each aborted transaction whose marker does not lie below it, wherever its
// data is.
func (l *Log) Allowed(from int64) []Entry { return l.entries(from, func(*Run) bool { return true }) }

func (l *Log) entries(from int64, want func(*Run) bool) []Entry {
	var out []Entry
	for i := range l.Runs {
		if r := &l.Runs[i]; r.Fate == Aborted && r.Marker >= from && want(r) {
			out = append(out, Entry{r.ProducerID, r.First})
		}
	}
	return out
}

// Markers are the indexes of a producer's markers, commit and abort. The slice
// is the log's.
func (l *Log) Markers(producerID int64) []int { return l.markers[producerID] }

// nextMarker is the first marker of a producer above an offset.
func (l *Log) nextMarker(producerID, offset int64) (index int, ok bool) {
	all := l.markers[producerID]
	k := l.markersUpTo(producerID, offset)
	if k == len(all) {
		return 0, false
	}
	return all[k], true
}

// markersUpTo counts the markers of a producer at or below an offset.
func (l *Log) markersUpTo(producerID, offset int64) int {
	all := l.markers[producerID]
	return sort.Search(len(all), func(k int) bool { return l.Batches[all[k]].Base > offset })
}

// Over lays an older reading of the same log below this one: batches that have
// gone since are there again, so that answers given before can be judged.
func (l *Log) Over(older *Log) *Log {
	if older == nil || older.Start >= l.Start || older.End < l.Start {
		return l // nothing below, or something between that neither has
	}
	var below []Batch
	for _, b := range older.Batches {
		if b.Base < l.Start && (len(l.Batches) == 0 || b.Last < l.Batches[0].Base) {
			below = append(below, b)
		}
	}
	merged := NewLog(l.Partition, older.Start, l.End, slices.Concat(below, l.Batches))
	merged.Whole = older.Whole
	return merged
}

// String draws the log in one line: 0..2 D p7 | 3 A p7 | 4 plain.
func (l *Log) String() string { return l.Draw(0, len(l.Batches)) }

// Draw is String for the batches in [from, to).
func (l *Log) Draw(from, to int) string {
	parts := make([]string, 0, to-from)
	for i := max(from, 0); i < min(to, len(l.Batches)); i++ {
		parts = append(parts, l.drawBatch(i))
	}
	return strings.Join(parts, " | ")
}

func (l *Log) drawBatch(i int) string {
	b := &l.Batches[i]
	span := fmt.Sprint(b.Base)
	if b.Last > b.Base {
		span = fmt.Sprintf("%d..%d", b.Base, b.Last)
	}
	switch {
	case b.Control():
		return fmt.Sprintf("%s %s pid %d/%d", span, b.Kind, b.ProducerID, b.Epoch)
	case b.Transactional():
		return fmt.Sprintf("%s %s pid %d/%d", span, l.fates[i], b.ProducerID, b.Epoch)
	}
	return span + " plain"
}
