package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"example.com/readcommitted/conformance"
	"example.com/readcommitted/internal/picture"
)

const (
	// evidenceRows bounds what is shown of one finding, its head included.
	evidenceRows = 25
	// findingsTold bounds the findings of one scenario that are shown.
	findingsTold = 3
)

// evidence writes what was found in a scenario, each kind once.
func (r *checkReport) evidence(b *strings.Builder, result *conformance.Result, style checkStyle) {
	told, rest := 0, untold{kinds: map[string]bool{}}
	seen := map[string]bool{}
	for i := range result.Findings {
		f := &result.Findings[i]
		kind := string(f.Outcome) + f.Invariant + f.Requirement + string(f.Subject)
		if seen[kind] || told == findingsTold {
			rest.add(kind, 1, f.Repeated)
			continue
		}
		seen[kind] = true
		told++
		rest.add(kind, 0, f.Repeated)
		b.WriteString("\n" + r.findingText(result, f, style))
	}
	b.WriteString(rest.text())
}

// untold counts the findings of one scenario that are not shown. Reports keep
// some of each kind, and how many more there were.
type untold struct {
	kinds         map[string]bool
	kept, counted int
}

func (u *untold) add(kind string, kept, counted int) {
	if kept+counted > 0 {
		u.kinds[kind] = true
	}
	u.kept, u.counted = u.kept+kept, u.counted+counted
}

func (u *untold) text() string {
	if u.kept+u.counted == 0 {
		return ""
	}
	where := "only counted"
	switch {
	case u.counted == 0:
		where = "see --report FILE.json"
	case u.kept > 0:
		where = fmt.Sprintf("%d of them in --report FILE.json, the others only counted", u.kept)
	}
	return fmt.Sprintf("  %s of %s in this scenario: %s\n", plural(int64(u.kept+u.counted), "more finding"), plural(int64(len(u.kinds)), "kind"), where)
}

// findingHead names the scenario and whatever is not the usual about a finding.
func findingHead(result *conformance.Result, f *conformance.Finding) string {
	head := fmt.Sprintf("%s %s %s  %s", f.Outcome, result.ID, result.Name, result.Class)
	if f.Invariant != "" {
		head += "  invariant " + f.Invariant
	}
	if f.Level != "" {
		head += "  " + f.Level
	}
	if f.Subject != conformance.OfCluster {
		head += "  about " + string(f.Subject)
	}
	return head
}

// findingText is one finding in at most [evidenceRows] lines.
func (r *checkReport) findingText(result *conformance.Result, f *conformance.Finding, style checkStyle) string {
	out := &block{width: style.width}
	out.line(findingHead(result, f))
	out.field("requirement", f.Requirement, 2)
	out.field("consequence", f.Consequence, 2)
	out.field("expected", f.Expected, 3)
	out.field("observed", f.Observed, 3)
	out.field("place", placeOf(f), 1)
	if f.Outcome == conformance.Fail {
		out.log(drawnLog(f.Log, f.Offset, 4*(style.width-nameWidth)), 5)
		out.field("bytes", shortBytes(f.Bytes), 2)
	}
	if f.Outcome == conformance.Fail {
		out.exchanges(f, evidenceRows-1)
	}
	out.rows("repeat", []string{r.repeat(result.ID)}, 0) // to copy: never broken
	if style.color {
		out.lines[0] = outcomeColors[f.Outcome] + out.lines[0] + colorOff
	}
	return out.String()
}

func placeOf(f *conformance.Finding) string {
	switch {
	case f.Topic == "":
		return ""
	case f.Offset < 0:
		return fmt.Sprintf("%s/%d", f.Topic, f.Partition)
	}
	return fmt.Sprintf("%s/%d@%d", f.Topic, f.Partition, f.Offset)
}

// exchangeRows bounds the lines of one exchange.
const exchangeRows = 3

// exchanges adds the newest answers, as many as there is room for. The topic's
// name stands above already.
func (b *block) exchanges(f *conformance.Finding, most int) {
	var rows []string
	for i := len(f.Exchanges) - 1; i >= 0; i-- {
		text := picture.Printable(f.Exchanges[i])
		if f.Topic != "" {
			text = strings.ReplaceAll(text, f.Topic+"/", "partition ")
		}
		one := wrap(strings.Fields(text), " ", b.room())
		if len(one) > exchangeRows {
			one = one[:exchangeRows]
			one[exchangeRows-1] += " ..."
		}
		if len(b.lines)+len(rows)+len(one) > most {
			break
		}
		rows = append(one, rows...)
	}
	b.rows("exchanges", rows, 0)
}

// cut shortens a text to a width.
func cut(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:max(0, width-4)]) + " ..."
}

// shortBytes shows the beginning of an answer that nobody can read.
func shortBytes(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	return fmt.Sprintf("%d, beginning with %x", len(b), b[:min(len(b), 32)])
}

// drawnLog cuts the drawing of a log to a size, so that the batch with the
// offending offset stays in, marked.
func drawnLog(log string, offset int64, most int) string {
	if log == "" {
		return ""
	}
	batches := strings.Split(log, " | ")
	at := 0
	for i, batch := range batches {
		if first, last := span(batch); offset >= first && offset <= last {
			at = i
			batches[i] = ">>" + batch + "<<"
		}
	}
	from, to := at, at+1
	length := len(batches[at])
	for grown := true; grown; {
		grown = false
		if from > 0 && length+len(batches[from-1])+3 <= most {
			from--
			length += len(batches[from]) + 3
			grown = true
		}
		if to < len(batches) && length+len(batches[to])+3 <= most {
			length += len(batches[to]) + 3
			to++
			grown = true
		}
	}
	return strings.Join(batches[from:to], " | ")
}

// span are the first and the last offset of a drawn batch.
func span(batch string) (first, last int64) {
	word, _, _ := strings.Cut(batch, " ")
	a, b, two := strings.Cut(word, "..")
	first, err := strconv.ParseInt(a, 10, 64)
	if err != nil {
		return -2, -2
	}
	if !two {
		return first, first
	}
	if last, err = strconv.ParseInt(b, 10, 64); err != nil {
		return -2, -2
	}
	return first, last
}
