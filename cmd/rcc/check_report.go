package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"example.com/readcommitted/conformance"
)

// checkReport is a run's report with what it comes to.
type checkReport struct {
	*conformance.Report
	Verdict     string              `json:"verdict"` // passed, failed, not judged, interrupted
	ExitCode    int                 `json:"exit_code"`
	Summary     string              `json:"summary"`
	Strict      bool                `json:"strict"`
	Judgement   conformance.Verdict `json:"judgement"`
	KnownReason map[string]string   `json:"known_failing_reasons,omitempty"`
	MayPass     []string            `json:"known_failing_may_pass,omitempty"`
	Repeat      map[string]string   `json:"repeat,omitempty"`   // by ID, the command that repeats what was found
	Selected    []string            `json:"selected,omitempty"` // IDs and families that were named
	Rate        float64             `json:"rate_mb_per_s,omitempty"`

	repeat func(id string) string
}

func (a *app) newCheckReport(report *conformance.Report, f *checkRunFlags, interrupted bool) *checkReport {
	r := &checkReport{
		Report: report, Strict: f.strict, Judgement: report.Judge(f.terms), KnownReason: f.terms.KnownFailing, MayPass: f.terms.MayPass, Selected: f.ids, Rate: f.rate,
		repeat: func(id string) string {
			more := []string{"--seed", fmt.Sprint(report.Seed)}
			if f.local != "" {
				more = append(more, "--local", f.local)
				if f.localNodes != 1 {
					more = append(more, "--local-nodes", fmt.Sprint(f.localNodes))
				}
			} else {
				more = append(more, "--yes")
			}
			return a.checkCommand(f.checkFlags, id, f.local != "", more...)
		},
	}
	r.Repeat = map[string]string{}
	for i := range report.Results {
		if len(report.Results[i].Findings) > 0 {
			r.Repeat[report.Results[i].ID] = r.repeat(report.Results[i].ID)
		}
	}
	r.decide(interrupted)
	return r
}

// decide works out the verdict and the exit code.
func (r *checkReport) decide(interrupted bool) {
	switch {
	case interrupted:
		r.Verdict, r.ExitCode = "interrupted", exitInterrupted
	case r.Judgement.Findings():
		r.Verdict, r.ExitCode = "failed", exitFindings
	case !r.Judgement.Judged():
		r.Verdict, r.ExitCode = "not judged", exitUndecided
	default:
		r.Verdict, r.ExitCode = "passed", exitOK
	}
	r.Summary = r.quote()
}

// quote is the one line to quote.
func (r *checkReport) quote() string {
	answers := 0
	for _, n := range r.Judged {
		answers += n
	}
	chosen := "profile " + string(r.Profile)
	if len(r.Selected) > 0 {
		chosen = firstOf(r.Selected)
		if r.Profile != conformance.Standard {
			chosen += " --profile " + string(r.Profile)
		}
	}
	chosen = strings.Join(append([]string{chosen}, r.conditions()...), " ")
	return fmt.Sprintf("rcc check, suite %s, %s: %s; %d pass, %d fail, %d warn, %d skip, %d inconclusive; %s answers held against invariants; cluster %s, %s; run %s, seed %d, %s",
		r.Suite, chosen, r.verdictWords(),
		r.Count(conformance.Pass), r.Count(conformance.Fail), r.Count(conformance.Warn), r.Count(conformance.Skip), r.Count(conformance.Inconclusive),
		thousands(answers), r.Cluster.ID, describeCluster(&r.Cluster), r.RunID, r.Seed, seconds(r.Duration))
}

// namesQuoted bounds the IDs in the line to quote.
const namesQuoted = 8

func (r *checkReport) verdictWords() string {
	words := []string{strings.ToUpper(r.Verdict)}
	for _, list := range []struct {
		what string
		ids  []string
	}{
		{"failed", r.Judgement.Failed},
		{"known to fail, but passed", r.Judgement.Passed},
		{"not decided", r.Judgement.Undecided},
		{"known to fail", r.Judgement.Expected},
	} {
		if len(list.ids) == 0 {
			continue
		}
		words = append(words, firstOf(list.ids)+" "+list.what)
	}
	if r.Judgement.Nothing {
		words = append(words, r.nothingWords())
	}
	return strings.Join(words, ", ")
}

// nothingWords says what was not decided where nothing was that counts.
func (r *checkReport) nothingWords() string {
	for i := range r.Results {
		if r.Results[i].Decided() {
			return "no scenario of class MUST or LIVE was decided"
		}
	}
	return "no scenario was decided"
}

// firstOf names some of many.
func firstOf(ids []string) string {
	words := strings.Join(ids[:min(namesQuoted, len(ids))], " ")
	if more := len(ids) - namesQuoted; more > 0 {
		words += fmt.Sprintf(" and %d more", more)
	}
	return words
}

// save writes the report to a file, in the form that its name asks for. A file
// that is there is replaced in one step.
func (r *checkReport) save(file string) error {
	temporary, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temporary.Name()) }() // gone already, if all went well
	write := r.writeJSON
	if filepath.Ext(file) == ".xml" {
		write = r.writeJUnit
	}
	if err := write(temporary); err != nil {
		_ = temporary.Close()
		return err
	}
	if err := temporary.Chmod(0o644); err != nil {
		_ = temporary.Close()
		return err
	}
	if err := temporary.Close(); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), file)
}

func (r *checkReport) writeJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

// seconds writes a time as reports have it.
func seconds(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }

// thousands writes a number with commas.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
