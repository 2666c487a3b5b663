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
	Selected    []string            `json:"selected,omitempty"` // IDs and families that were named, instead of the profile
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
	chosen := strings.Join(append([]string{r.chosen()}, r.conditions()...), " ")
	return fmt.Sprintf("rcc check, suite %s, %s: %s; %d pass, %d fail, %d warn, %d skip, %d inconclusive%s; %s answers held against invariants; cluster %s, %s; run %s, seed %d, %s",
		r.Suite, chosen, r.verdictWords(),
		r.Count(conformance.Pass), r.Count(conformance.Fail), r.Count(conformance.Warn), r.Count(conformance.Skip), r.Count(conformance.Inconclusive), r.unanswered(),
		thousands(answers), r.Cluster.ID, describeCluster(&r.Cluster), r.RunID, r.Seed, seconds(r.Duration))
}

// wholeProfile is the profile that chose the scenarios, "" where they were named.
func (r *checkReport) wholeProfile() string {
	if len(r.Selected) > 0 {
		return ""
	}
	return string(r.Profile)
}

// chosen says which scenarios the report is about. A profile beside IDs chooses
// nothing, but some scenarios do more in a larger one.
func (r *checkReport) chosen() string {
	switch {
	case len(r.Selected) == 0:
		return "profile " + string(r.Profile)
	case r.Profile == conformance.Extended, r.Profile == conformance.Soak:
		return firstOf(r.Selected) + " --profile " + string(r.Profile)
	}
	return firstOf(r.Selected)
}

// unanswered says what to do if many scenarios, one in ten, were not decided for
// want of answers.
func (r *checkReport) unanswered() string {
	n := 0
	for i := range r.Results {
		if r.Results[i].Unanswered() {
			n++
		}
	}
	if n == 0 || 10*n < len(r.Results) {
		return ""
	}
	slower := 3.0
	if r.Under.Slow > 1 {
		slower *= r.Under.Slow
	}
	return fmt.Sprintf(" (%d of %d for want of answers: --slow %g, or look at the brokers)", n, len(r.Results), slower)
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
		{"passed though known to fail", r.Judgement.Passed},
		{"not decided", r.Judgement.Undecided},
	} {
		if len(list.ids) == 0 {
			continue
		}
		words = append(words, firstOf(list.ids)+" "+list.what)
	}
	if r.Judgement.Nothing {
		words = append(words, r.nothingWords())
	}
	said := strings.Join(words, ", ")
	if len(r.Judgement.Expected) > 0 {
		said += "; as known: " + firstOf(r.Judgement.Expected)
	}
	return said
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
