package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"example.com/readcommitted/conformance"
	"example.com/readcommitted/internal/picture"
)

// plainWidth is the width of what goes to no terminal.
const plainWidth = 160

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
	return expectation(conformance.Terms{KnownFailing: r.KnownReason, MayPass: r.MayPass}, result)
}

func expectation(terms conformance.Terms, result *conformance.Result) string {
	reason, known := terms.KnownFailing[result.ID]
	switch {
	case !known, result.Outcome == conformance.Pass && slices.Contains(terms.MayPass, result.ID):
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
	for _, note := range []string{expected, r.Why(), subjects(r)} {
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
