package main

import (
	"fmt"
	"io"
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
	// plainWidth is the width of what goes to no terminal.
	plainWidth = 160
)

// checkStyle says how a report is written.
type checkStyle struct {
	width int
	color bool
	tree  bool // with the line of each scenario; else they are out already
}

// printCheck writes the report to stdout.
func (a *app) printCheck(r *checkReport, progress *checkProgress) error {
	if a.wantJSON() {
		return a.write(r.writeJSON)
	}
	style := checkStyle{width: plainWidth, color: a.colored(a.stdout), tree: !progress.plain()}
	if isTerminal(a.stdout) {
		style.width = max(60, terminalWidth(a.stdout))
	}
	return a.write(func(w io.Writer) error {
		_, err := io.WriteString(w, r.text(style))
		return err
	})
}

// text is the report for people: the scenarios by family, the evidence, and one
// line to quote.
func (r *checkReport) text(style checkStyle) string {
	var b strings.Builder
	if style.tree {
		r.tree(&b, style)
	}
	for i := range r.Results {
		r.evidence(&b, &r.Results[i], style)
	}
	r.invariants(&b, style)
	b.WriteString("\n" + picture.Printable(r.Summary) + "\n")
	return b.String()
}

func (r *checkReport) tree(b *strings.Builder, style checkStyle) {
	family := ""
	for i := range r.Results {
		result := &r.Results[i]
		if letter := result.ID[:1]; letter != family {
			family = letter
			fmt.Fprintf(b, "%s  %s\n", family, conformance.FamilyName(family))
		}
		b.WriteString(resultLine(result, r.expectation(result), style) + "\n")
	}
}

// expectation says what was known of a scenario before, "" for nothing.
func (r *checkReport) expectation(result *conformance.Result) string {
	reason, known := r.KnownReason[result.ID]
	return expectation(known, reason, result)
}

func expectation(known bool, reason string, result *conformance.Result) string {
	switch {
	case !known:
		return ""
	case result.Outcome == conformance.Pass:
		return "was known to fail: take it off the list"
	case reason == "":
		return "known to fail"
	}
	return "known to fail: " + reason
}

// resultLine is one scenario: outcome, name, class, time, reason.
func resultLine(r *conformance.Result, expected string, style checkStyle) string {
	outcome := fmt.Sprintf("%-12s", r.Outcome)
	if style.color {
		outcome = outcomeColors[r.Outcome] + outcome + colorOff
	}
	took := seconds(r.Duration)
	if r.Outcome == conformance.Skip && r.Duration == 0 {
		took = "-"
	}
	line := fmt.Sprintf("   %s  %-4s %-28s %-6s %6s", outcome, r.ID, r.Name, r.Class, took)
	notes := []string{}
	for _, note := range []string{expected, r.Reason, subjects(r)} {
		if note != "" {
			notes = append(notes, oneLine(note))
		}
	}
	if len(notes) > 0 {
		line += "  " + picture.Printable(strings.Join(notes, "; "))
	}
	return line
}

// subjects names who failed, if that is not the cluster.
func subjects(r *conformance.Result) string {
	if r.Outcome != conformance.Fail && r.Outcome != conformance.Warn {
		return ""
	}
	var names []string
	for i := range r.Findings {
		names = append(names, string(r.Findings[i].Subject))
	}
	names = unique(names)
	if len(names) == 0 || len(names) == 1 && names[0] == string(conformance.OfCluster) {
		return ""
	}
	return "about " + strings.Join(names, ", ")
}

const colorOff = "\x1b[0m"

var outcomeColors = map[conformance.Outcome]string{
	conformance.Pass:         "\x1b[32m",
	conformance.Fail:         "\x1b[31m",
	conformance.Warn:         "\x1b[33m",
	conformance.Inconclusive: "\x1b[35m",
	conformance.Skip:         "\x1b[2m",
}

// evidence writes what was found in a scenario, each kind once.
func (r *checkReport) evidence(b *strings.Builder, result *conformance.Result, style checkStyle) {
	told, more := 0, 0
	seen := map[string]bool{}
	for i := range result.Findings {
		f := &result.Findings[i]
		kind := string(f.Outcome) + f.Invariant + f.Requirement + string(f.Subject)
		if seen[kind] || told == findingsTold {
			more += 1 + f.Repeated
			continue
		}
		seen[kind] = true
		told++
		more += f.Repeated
		b.WriteString("\n" + r.findingText(result, f, style))
	}
	if more > 0 {
		fmt.Fprintf(b, "  %s in this scenario: see --report FILE.json\n", plural(int64(more), "more finding"))
	}
}

// findingText is one finding in at most [evidenceRows] lines.
func (r *checkReport) findingText(result *conformance.Result, f *conformance.Finding, style checkStyle) string {
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
	out := &block{width: style.width}
	out.line(head)
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

// invariants tells how many answers each was held against.
func (r *checkReport) invariants(b *strings.Builder, style checkStyle) {
	if len(r.Judged) == 0 {
		return
	}
	var words []string
	for _, name := range sortedInvariants(r.Invariants()) {
		words = append(words, fmt.Sprintf("%s %s", name, thousands(r.Judged[name])))
	}
	out := &block{width: style.width}
	out.field("answers", strings.Join(words, ", "), 0)
	b.WriteString("\n" + out.String())
}
