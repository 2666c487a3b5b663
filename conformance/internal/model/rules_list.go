package model

import (
	"fmt"
	"slices"
	"sort"
)

// U5 judges the list by itself: no entry twice, and the entries of a producer
// in ascending order.
func U5(v *View) []Breach {
	var out []Breach
	seen := map[Entry]bool{}
	last := map[int64]int64{}
	for _, e := range v.List {
		before, ok := last[e.ProducerID]
		switch {
		case seen[e]:
			out = append(out, Breach{
				Invariant: "U5", Severity: Failure, Offset: e.FirstOffset,
				Requirement: "no entry of abortedTransactions comes twice",
				Consequence: "clients that keep entries in a queue drop the producer's next committed transaction (kgo does)",
				Expected:    "one entry " + e.String(),
				Observed:    ListString(v.List),
			})
		case ok && e.FirstOffset < before:
			out = append(out, Breach{
				Invariant: "U5", Severity: Warning, Offset: e.FirstOffset,
				Requirement: "the entries of one producer come in ascending order",
				Consequence: "clients that walk the list in its order may hand out aborted records",
				Expected:    "ascending first offsets of pid " + fmt.Sprint(e.ProducerID),
				Observed:    ListString(v.List),
			})
		}
		seen[e] = true
		last[e.ProducerID] = max(before, e.FirstOffset)
	}
	return out
}

// U6 judges that a reader who did not ask for the list gets none.
func U6(v *View) []Breach {
	if v.Isolation != ReadUncommitted || v.ListNull {
		return nil
	}
	b := Breach{
		Invariant: "U6", Severity: Fact, Offset: -1,
		Requirement: "an answer at read_uncommitted has no list",
		Consequence: "clients that apply the list whatever they asked for drop records (kgo did)",
		Expected:    "null",
		Observed:    ListString(v.List),
	}
	if len(v.List) > 0 {
		b.Severity = Failure
	}
	return []Breach{b}
}

// U3 judges that every aborted batch in view is covered by the list.
func U3(v *View, l *Log) []Breach {
	if v.Isolation != ReadCommitted {
		return nil
	}
	firsts := map[int64][]int64{}
	for _, e := range v.List {
		firsts[e.ProducerID] = append(firsts[e.ProducerID], e.FirstOffset)
	}
	for _, all := range firsts {
		slices.Sort(all)
	}
	var out []Breach
	for i := range v.Batches {
		b := &v.Batches[i]
		at, ok := l.holding(b.Base)
		if !ok || l.Fate(at) != Aborted || b.Last < v.FetchOffset || covered(firsts[b.ProducerID], b, l) {
			continue
		}
		run := l.Run(at)
		out = append(out, Breach{
			Invariant: "U3", Severity: Failure, Offset: b.Base,
			Requirement: "every aborted batch in an answer is covered by an entry of abortedTransactions",
			Consequence: "clients hand out records of an aborted transaction",
			Expected:    fmt.Sprintf("fetch at %d: an entry %s", v.FetchOffset, Entry{run.ProducerID, run.First}),
			Observed:    fmt.Sprintf("%s, with the aborted batch %d..%d in view", listOrNull(v), b.Base, b.Last),
		})
	}
	return out
}

// covered reports whether an entry is in force at a batch: it begins at or
// before the batch's last offset, and after the producer's abort marker before.
// firsts are the first offsets of the producer's entries, ascending.
func covered(firsts []int64, b *Batch, l *Log) bool {
	before := int64(-1)
	markers := l.Markers(b.ProducerID)
	for k := l.markersUpTo(b.ProducerID, b.Base) - 1; k >= 0; k-- {
		if m := &l.Batches[markers[k]]; m.Kind == AbortMarker {
			before = m.Base
			break
		}
	}
	k := sort.Search(len(firsts), func(k int) bool { return firsts[k] > before })
	return k < len(firsts) && firsts[k] <= b.Last
}

// U4 judges that every entry stands for an aborted transaction that matters to
// this answer.
func U4(v *View, l *Log) []Breach {
	if v.Isolation != ReadCommitted {
		return nil
	}
	var out []Breach
	for _, e := range v.List {
		if e.FirstOffset >= l.End {
			continue // beyond what was read: nothing to hold it against
		}
		want, ok := rightEntry(v, l, e)
		if ok {
			continue
		}
		out = append(out, Breach{
			Invariant: "U4", Severity: Failure, Offset: e.FirstOffset,
			Requirement: "an abortedTransactions entry belongs to a transaction whose abort marker is at or after the fetch offset",
			Consequence: "clients drop committed records of that producer until its next abort marker",
			Expected:    fmt.Sprintf("fetch at %d: %s", v.FetchOffset, want),
			Observed:    e.String() + " in " + ListString(v.List),
		})
	}
	return out
}

// rightEntry looks for the aborted transaction that an entry stands for: the
// one that the producer's next marker ended.
func rightEntry(v *View, l *Log, e Entry) (want string, ok bool) {
	none := fmt.Sprintf("no entry of pid %d", e.ProducerID)
	below := e.FirstOffset < l.Start // where it began has been deleted
	if at, isBatch := l.Find(e.FirstOffset); below && l.Whole || isBatch && l.Batches[at].Control() {
		return none, false
	}
	if below && v.FetchOffset < l.Start {
		return "", true // its marker may have been deleted since: nothing to hold it against
	}
	m, ok := l.nextMarker(e.ProducerID, max(e.FirstOffset, l.Start-1))
	if !ok {
		// The marker may have been in the broker's log, and not yet below the
		// high watermark up to which this log was read.
		run := l.openRun(e.ProducerID)
		return none, !v.Quiet && run != nil && (below || run.First == e.FirstOffset)
	}
	if l.Batches[m].Kind != AbortMarker || l.Batches[m].Base < v.FetchOffset {
		return none, false
	}
	run := l.Run(m)
	switch {
	case below, run != nil && run.First == e.FirstOffset:
		return "", true
	case run == nil:
		return none, false // a marker of a transaction without data here
	}
	return Entry{e.ProducerID, run.First}.String(), false
}

func listOrNull(v *View) string {
	if v.ListNull {
		return "no list"
	}
	return ListString(v.List)
}
