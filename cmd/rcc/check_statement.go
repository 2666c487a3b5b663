package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"example.com/readcommitted/conformance"
)

// checkStatementSchema names the form of a statement.
const checkStatementSchema = "readcommitted.check-statement/1"

const checkStatementHelp = `Make a statement about an implementation, in YAML, from the report of a run
(--report FILE.json): for a vendor to publish. Name and version are the
submitter's words.

It says "conformant: true" only if the report is that of a whole profile, standard
or a larger one, nothing of class MUST or LIVE failed, and each of them was decided: not skipped, whatever
the reason, and not inconclusive. Only what there is no such thing as before
version 2 of the transaction protocol may be missing, on a cluster that has none:
the statement names the version that it is about. The run must have been one
without --topic-config, and with --slow 4 at most. What else was not the usual is
named, as flags.

Exit codes: 0 conformant; 3 something failed; 4 something was not decided.`

// statementFlags are the submitter's words.
type statementFlags struct {
	name, version, organization, url, contact string
}

func newCheckStatementCommand(a *app) *cobra.Command {
	f := &statementFlags{}
	cmd := &cobra.Command{
		Use:     "statement FILE --name NAME --version VERSION",
		Short:   "make a conformance statement from a report",
		Long:    checkStatementHelp,
		Example: `  rcc check statement check.json --name "My broker" --version 1.2.3 --url https://broker.example`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) != 1:
				return &usageError{err: fmt.Errorf("%d files: want one report", len(args)), hint: "rcc check run --report FILE.json writes one"}
			case f.name == "" || f.version == "":
				return &usageError{err: fmt.Errorf("a statement is about something"), hint: "give --name and --version of the implementation"}
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			report, err := readReport(args[0])
			if err != nil {
				return err
			}
			return a.checkStatement(newStatement(report, f))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "`NAME` of the implementation")
	flags.StringVar(&f.version, "version", "", "`VERSION` of the implementation")
	flags.StringVar(&f.organization, "organization", "", "`WHO` makes it")
	flags.StringVar(&f.url, "url", "", "`URL` of its page")
	flags.StringVar(&f.contact, "contact", "", "`ADDRESS` for questions")
	return cmd
}

// statementCounts are the scenarios of some classes, by outcome.
type statementCounts struct {
	Passed       int `json:"passed"`
	Failed       int `json:"failed"`
	Warned       int `json:"warned"`
	Skipped      int `json:"skipped"`
	Inconclusive int `json:"inconclusive"`
}

func (c *statementCounts) add(o conformance.Outcome) {
	switch o {
	case conformance.Pass:
		c.Passed++
	case conformance.Fail:
		c.Failed++
	case conformance.Warn:
		c.Warned++
	case conformance.Skip:
		c.Skipped++
	default:
		c.Inconclusive++
	}
}

// statement is what is said about an implementation.
type statement struct {
	flags    *statementFlags
	report   *checkReport
	core     statementCounts // MUST and LIVE
	extended statementCounts // SHOULD and INFO
	open     []string        // why it cannot be called conformant: what was not decided
	failed   []string        // IDs, and what is wrong
	skipped  []string        // ID: reason
}

func newStatement(report *checkReport, f *statementFlags) *statement {
	s := &statement{flags: f, report: report}
	if report.Verdict == "interrupted" {
		s.open = append(s.open, "the run was interrupted")
	}
	if report.Suite != conformance.SuiteVersion {
		s.open = append(s.open, fmt.Sprintf("the report is of suite %s, and this is %s", report.Suite, conformance.SuiteVersion))
	}
	s.open = append(s.open, report.unfit()...)
	seen := map[string]bool{}
	for i := range report.Results {
		seen[report.Results[i].ID] = true
		s.take(&report.Results[i])
	}
	if len(report.Selected) > 0 {
		s.open = append(s.open, "only what was named was run, and no whole profile: "+firstOf(report.Selected))
		return s
	}
	for _, profile := range unique([]string{string(report.Profile), string(conformance.Standard)}) {
		if missing := missingOf(conformance.Profile(profile), seen); len(missing) > 0 {
			s.open = append(s.open, "not the whole profile "+profile+" was run: "+firstOf(missing)+" missing")
		}
	}
	return s
}

// missingOf are the scenarios of a profile that a report does not have, and that
// have to be decided.
func missingOf(profile conformance.Profile, seen map[string]bool) []string {
	var missing []string
	for _, scenario := range conformance.OfProfile(profile) {
		if !seen[scenario.ID] && scenario.Class.Required() {
			missing = append(missing, scenario.ID)
		}
	}
	return missing
}

// take counts a result. What was known to fail fails all the same.
func (s *statement) take(r *conformance.Result) {
	counts := &s.extended
	if r.Class.Required() {
		counts = &s.core
	}
	counts.add(r.Outcome)
	if r.Outcome == conformance.Skip {
		s.skipped = append(s.skipped, r.ID+": "+r.Why())
	}
	switch {
	case r.Of(conformance.OfCluster, conformance.Fail):
		s.failed = append(s.failed, r.ID+": "+firstObserved(r))
	case !r.Class.Required() || r.Decided(): // what failed is a client
	case r.Outcome == conformance.Skip && (r.Reason == conformance.ReasonNoLevel || r.Reason == conformance.ReasonNotBuilt):
	default:
		s.open = append(s.open, fmt.Sprintf("%s was not decided (%s): %s", r.ID, r.Outcome, r.Why()))
	}
}

func (s *statement) exitCode() int {
	switch {
	case len(s.failed) > 0:
		return exitFindings
	case len(s.open) > 0:
		return exitUndecided
	}
	return exitOK
}

func (a *app) checkStatement(s *statement) error {
	if err := a.write(func(w io.Writer) error {
		_, err := io.WriteString(w, s.yaml())
		return err
	}); err != nil {
		return err
	}
	if code := s.exitCode(); code != exitOK {
		a.warn("not conformant: %d failed, %d not decided", len(s.failed), len(s.open))
		return &verdictError{code}
	}
	return nil
}

// yaml writes the statement. Strings are JSON's, which YAML has too.
func (s *statement) yaml() string {
	var b strings.Builder
	line := func(indent int, key string, value any) {
		text, err := json.Marshal(value)
		if err != nil { // strings, numbers and booleans only
			panic(err)
		}
		fmt.Fprintf(&b, "%s%s: %s\n", strings.Repeat("  ", indent), key, text)
	}
	list := func(key string, items []string) {
		if len(items) == 0 {
			return
		}
		b.WriteString(key + ":\n")
		for _, item := range items {
			text, _ := json.Marshal(oneLine(item)) // of a string, never fails
			fmt.Fprintf(&b, "  - %s\n", text)
		}
	}
	line(0, "schema", checkStatementSchema)
	b.WriteString("implementation:\n")
	for _, word := range [][2]string{
		{"name", s.flags.name}, {"version", s.flags.version}, {"organization", s.flags.organization}, {"url", s.flags.url}, {"contact", s.flags.contact},
	} {
		if word[1] != "" {
			line(1, word[0], word[1])
		}
	}
	line(0, "suite_version", s.report.Suite)
	line(0, "profile", s.report.Profile)
	if len(s.report.Selected) > 0 {
		line(0, "selected", strings.Join(s.report.Selected, " "))
	}
	line(0, "date", s.report.Started.Format("2006-01-02"))
	line(0, "run_id", s.report.RunID)
	line(0, "brokers", len(s.report.Cluster.Brokers))
	line(0, "transaction_level", s.report.Cluster.Level)
	line(0, "conformant", s.exitCode() == exitOK)
	b.WriteString("scenarios:\n")
	line(1, "decided", s.decided())
	line(1, "in_report", len(s.report.Results))
	line(1, "in_suite", len(conformance.Scenarios()))
	for _, group := range []struct {
		name   string
		counts statementCounts
	}{{"core", s.core}, {"extended", s.extended}} {
		b.WriteString(group.name + ":\n")
		line(1, "passed", group.counts.Passed)
		line(1, "failed", group.counts.Failed)
		line(1, "warned", group.counts.Warned)
		line(1, "skipped", group.counts.Skipped)
		line(1, "inconclusive", group.counts.Inconclusive)
	}
	list("conditions", s.report.conditions())
	list("judged_clients", s.report.Under.Clients)
	list("failed", s.failed)
	list("not_decided", s.open)
	list("skipped", s.skipped)
	list("known_failing", s.known())
	return b.String()
}

// decided counts what the report says something about.
func (s *statement) decided() int {
	n := 0
	for i := range s.report.Results {
		if s.report.Results[i].Decided() {
			n++
		}
	}
	return n
}

// known are the scenarios that were known to fail, with the reasons.
func (s *statement) known() []string {
	var out []string
	for _, id := range s.report.Judgement.Expected {
		out = append(out, id+": "+s.report.KnownReason[id])
	}
	return out
}
