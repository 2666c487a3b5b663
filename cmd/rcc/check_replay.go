package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"example.com/readcommitted/conformance"
	"example.com/readcommitted/internal/picture"
)

// checkReplaySchema names the JSON form of a replay.
const checkReplaySchema = "readcommitted.check-replay/1"

// maxReport bounds a report file, in bytes.
const maxReport = 1 << 30

const checkReplayHelp = `Judge the findings of a saved report (--report FILE.json) again with this version,
without a cluster: from the answers and logs that the report kept.

Only the invariants U1 to U13 can be judged again; what a scenario asserts of its
own takes another run. A finding STANDS if its invariant finds the same answer
wrong, and is GONE if it does not.

Exit codes: 3 a failure stands; 4 none does, but some could not be judged; 0 all
are gone, or stand as warnings only, or there are none.`

func newCheckReplayCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "replay FILE",
		Short:   "judge the findings of a saved report again, without a cluster",
		Long:    checkReplayHelp,
		Example: `  rcc check replay check.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &usageError{err: fmt.Errorf("%d files: want one report", len(args)), hint: "rcc check run --report FILE.json writes one"}
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			report, err := readReport(args[0])
			if err != nil {
				return err
			}
			return a.checkReplay(report)
		},
	}
}

// readReport reads a JSON report of a run.
func readReport(file string) (*checkReport, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, &usageError{err: err}
	}
	defer f.Close() //nolint:errcheck // nothing was written
	report := &checkReport{}
	err = json.NewDecoder(io.LimitReader(f, maxReport)).Decode(report)
	if err != nil || report.Report == nil || report.Schema != conformance.ReportSchema {
		return nil, &usageError{err: fmt.Errorf("%s is no report of this kind (%s)", file, conformance.ReportSchema), hint: "rcc check run --report FILE.json writes one"}
	}
	return report, nil
}

// replayedFinding is a finding as a replay lists it.
type replayedFinding struct {
	ID        string              `json:"id"`
	Name      string              `json:"name"`
	Invariant string              `json:"invariant,omitempty"`
	Was       conformance.Outcome `json:"was"`
	Verdict   string              `json:"verdict"` // stands, gone, not judged
	Outcome   conformance.Outcome `json:"outcome"`
	Place     string              `json:"place,omitempty"`
	Observed  string              `json:"observed,omitempty"`
	Reason    string              `json:"reason,omitempty"`
}

// checkReplayed is what a replay found.
type checkReplayed struct {
	Schema   string            `json:"schema"`
	Suite    string            `json:"suite_version"`
	Of       string            `json:"report_suite_version"`
	RunID    string            `json:"run_id"`
	Findings []replayedFinding `json:"findings"`
	ExitCode int               `json:"exit_code"`

	stand, gone, open int
}

func (a *app) checkReplay(report *checkReport) error {
	r := newCheckReplayed(report)
	err := a.write(func(w io.Writer) error {
		if a.wantJSON() {
			return json.NewEncoder(w).Encode(r)
		}
		return r.text(w)
	})
	if err != nil || r.ExitCode == exitOK {
		return err
	}
	return &verdictError{r.ExitCode}
}

func newCheckReplayed(report *checkReport) *checkReplayed {
	r := &checkReplayed{
		Schema: checkReplaySchema, Suite: conformance.SuiteVersion, Of: report.Suite, RunID: report.RunID, Findings: []replayedFinding{},
	}
	for _, again := range report.Replay() {
		f := replayedFinding{
			ID: again.Result.ID, Name: again.Result.Name, Invariant: again.Finding.Invariant, Was: again.Finding.Outcome, Outcome: again.Outcome,
			Place: placeOf(again.Finding), Observed: again.Observed, Reason: again.Reason,
		}
		switch again.Outcome {
		case conformance.Pass:
			f.Verdict = "gone"
			r.gone++
		case conformance.Skip:
			f.Verdict = "not judged"
			r.open++
		default:
			f.Verdict = "stands"
			r.stand++
		}
		if again.Outcome == conformance.Fail {
			r.ExitCode = exitFindings
		}
		r.Findings = append(r.Findings, f)
	}
	if r.ExitCode == exitOK && r.open > 0 {
		r.ExitCode = exitUndecided
	}
	return r
}

func (r *checkReplayed) text(w io.Writer) error {
	verdicts := map[string]string{"stands": "STANDS", "gone": "GONE", "not judged": "NOT JUDGED"}
	for _, f := range r.Findings {
		line := fmt.Sprintf("%-10s  %s %s %s", verdicts[f.Verdict], f.Was, f.ID, f.Name)
		for _, more := range []string{f.Invariant, f.Place, f.Observed, f.Reason} {
			if more != "" {
				line += "  " + oneLine(more)
			}
		}
		if _, err := fmt.Fprintln(w, picture.Printable(line)); err != nil {
			return err
		}
	}
	found := "no findings in it"
	if len(r.Findings) > 0 {
		found = fmt.Sprintf("%d stand, %d gone, %d not judged", r.stand, r.gone, r.open)
	}
	_, err := fmt.Fprintf(w, "\nrcc check replay, suite %s, run %s of suite %s: %s\n", r.Suite, picture.Printable(r.RunID), picture.Printable(r.Of), found)
	return err
}
