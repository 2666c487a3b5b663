package main

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jstemmer/go-junit-report/v2/junit"

	"example.com/readcommitted/conformance"
	"example.com/readcommitted/internal/picture"
)

// unexpectedPass is the status of what passed though it was known to fail: the
// test case is a failure, of the list of what is known.
const unexpectedPass = "UNEXPECTED_PASS"

// writeJUnit writes the report as JUnit XML: a suite for each family. What is
// known to fail counts as skipped, and what passes against that as a failure.
func (r *checkReport) writeJUnit(w io.Writer) error {
	all := junit.Testsuites{Name: "rcc check", Time: junitSeconds(r.Duration)}
	var letters []string
	for i := range r.Results {
		letters = append(letters, r.Results[i].ID[:1])
	}
	for i, letter := range unique(letters) {
		suite := r.suite(letter)
		suite.ID = i
		all.AddSuite(suite)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	return all.WriteXML(w)
}

func (r *checkReport) suite(letter string) junit.Testsuite {
	suite := junit.Testsuite{Name: letter + " " + conformance.FamilyName(letter)}
	suite.SetTimestamp(r.Started)
	for _, p := range [][2]string{
		{"suite_version", r.Suite},
		{"profile", r.wholeProfile()},
		{"selected", strings.Join(r.Selected, " ")},
		{"run_id", r.RunID},
		{"seed", fmt.Sprint(r.Seed)},
		{"cluster_id", r.Cluster.ID},
		{"brokers", fmt.Sprint(len(r.Cluster.Brokers))},
		{"transaction_level", r.Cluster.Level},
		{"verdict", r.Verdict},
		{"conditions", strings.Join(r.conditions(), " ")},
	} {
		if p[1] == "" {
			continue
		}
		suite.AddProperty(p[0], picture.Printable(p[1]))
	}
	var took time.Duration
	for i := range r.Results {
		if result := &r.Results[i]; strings.HasPrefix(result.ID, letter) {
			suite.AddTestcase(r.testcase(result))
			took += result.Duration
		}
	}
	suite.Time = junitSeconds(took)
	return suite
}

func (r *checkReport) testcase(result *conformance.Result) junit.Testcase {
	tc := junit.Testcase{
		Name: result.ID + " " + result.Name, Classname: "conformance." + result.ID[:1],
		Time: junitSeconds(result.Duration), Status: string(result.Outcome),
	}
	evidence := r.junitEvidence(result)
	verdict := func(kind string) *junit.Result {
		return &junit.Result{Message: picture.Printable(cmp.Or(result.Why(), firstObserved(result), kind)), Type: string(result.Class), Data: evidence}
	}
	expected := r.expectation(result)
	switch {
	case expected != "" && result.Outcome == conformance.Pass:
		tc.Status = unexpectedPass
		tc.Failure = &junit.Result{Message: picture.Printable("passed, and " + expected + "; until then the run fails"), Type: string(result.Class)}
	case expected != "":
		tc.Skipped = &junit.Result{Message: picture.Printable(expected), Type: string(result.Outcome), Data: evidence}
	case result.Outcome == conformance.Fail, slices.Contains(r.Judgement.Failed, result.ID):
		tc.Failure = verdict("failed")
		if message := firstObserved(result); message != "" {
			tc.Failure.Message = picture.Printable(message)
		}
	case result.Outcome == conformance.Inconclusive:
		tc.Error = verdict("inconclusive")
	case result.Outcome == conformance.Skip:
		tc.Skipped = verdict("skipped")
	case evidence != "" || result.Reason != "":
		tc.SystemOut = &junit.Output{Data: picture.Printable(result.Why()) + evidence}
	}
	return tc
}

func firstObserved(result *conformance.Result) string {
	for i := range result.Findings {
		if f := &result.Findings[i]; f.Outcome == conformance.Fail || result.Outcome == conformance.Warn {
			return f.Requirement + ": observed " + f.Observed
		}
	}
	return ""
}

func (r *checkReport) junitEvidence(result *conformance.Result) string {
	var b strings.Builder
	r.evidence(&b, result, checkStyle{width: plainWidth})
	return b.String()
}

func junitSeconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }

// sortedInvariants puts U2 before U2b, and that before U10.
func sortedInvariants(names []string) []string {
	number := func(name string) int {
		n, _ := strconv.Atoi(strings.Trim(name, "Ub"))
		return n
	}
	return slices.SortedFunc(slices.Values(names), func(a, b string) int {
		return cmp.Or(cmp.Compare(number(a), number(b)), cmp.Compare(a, b))
	})
}
