package model

import (
	"fmt"
	"slices"
)

// U9 judges the markers of a log.
func U9(l *Log) []Breach {
	var out []Breach
	for _, r := range l.Runs {
		if r.Marker < 0 || r.MarkerEpoch >= r.Epoch {
			continue
		}
		out = append(out, Breach{
			Invariant: "U9", Severity: Failure, Offset: r.Marker,
			Requirement: "a marker's producer epoch is not below that of the data which it ends",
			Consequence: "a coordinator's late marker ended a newer transaction: committed data is lost or aborted data shown",
			Expected:    fmt.Sprintf("epoch >= %d for pid %d", r.Epoch, r.ProducerID),
			Observed:    fmt.Sprintf("a marker at %d with epoch %d", r.Marker, r.MarkerEpoch),
		})
	}
	return out
}

// U13 runs a client's rule over an answer with the answer's own list, and
// holds what it delivers against what the log says.
func U13(v *View, l *Log) []Breach {
	if v.Isolation != ReadCommitted || len(v.Batches) == 0 || v.Problem != nil || v.FetchOffset < l.Start {
		return nil
	}
	end := min(v.End(), l.End)
	got, err := Deliver(v.List, v.Batches, v.FetchOffset)
	want, wantErr := l.Visible(v.FetchOffset, end)
	if err != nil || wantErr != nil {
		return nil // U7 and U11 say what is wrong with such bytes
	}
	got = slices.DeleteFunc(got, func(o int64) bool { return o >= end })
	if slices.Equal(got, want) {
		return nil
	}
	extra, lost := Difference(got, want)
	b := Breach{
		Invariant: "U13", Severity: Failure, Offset: firstOf(extra, lost),
		Requirement: "a client that follows the list delivers exactly the committed records",
		Consequence: "records of aborted transactions are handed out, or committed ones vanish",
		Expected:    fmt.Sprintf("fetch at %d: offsets %s", v.FetchOffset, Spans(want)),
		Observed:    fmt.Sprintf("offsets %s by %s", Spans(got), listOrNull(v)),
	}
	if len(extra) > 0 {
		b.Observed += "; not committed: " + Spans(extra)
	}
	if len(lost) > 0 {
		b.Observed += "; lost: " + Spans(lost)
	}
	return []Breach{b}
}

// Difference is what only one of two ascending lists has.
func Difference(a, b []int64) (onlyA, onlyB []int64) {
	i, k := 0, 0
	for i < len(a) || k < len(b) {
		switch {
		case k == len(b) || i < len(a) && a[i] < b[k]:
			onlyA = append(onlyA, a[i])
			i++
		case i == len(a) || b[k] < a[i]:
			onlyB = append(onlyB, b[k])
			k++
		default:
			i, k = i+1, k+1
		}
	}
	return onlyA, onlyB
}

// spansShown bounds how many spans a line of evidence has.
const spansShown = 12

// Spans is a list of ascending offsets as text: 0..2 5 7..9.
func Spans(offsets []int64) string {
	if len(offsets) == 0 {
		return "none"
	}
	var out []byte
	shown := 0
	for i := 0; i < len(offsets); {
		k := i
		for k+1 < len(offsets) && offsets[k+1] == offsets[k]+1 {
			k++
		}
		if shown == spansShown {
			return string(fmt.Appendf(out, " and %d more", len(offsets)-i))
		}
		if shown > 0 {
			out = append(out, ' ')
		}
		out = fmt.Append(out, offsets[i])
		if k > i {
			out = fmt.Appendf(out, "..%d", offsets[k])
		}
		shown++
		i = k + 1
	}
	return string(out)
}

func firstOf(a, b []int64) int64 {
	switch {
	case len(a) == 0 && len(b) == 0:
		return -1
	case len(a) == 0:
		return b[0]
	case len(b) == 0:
		return a[0]
	}
	return min(a[0], b[0])
}
