package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance"
)

// What was refused is told beside the code of the reason, in all forms.
func TestSkippedIsTold(t *testing.T) {
	cluster := newKfake(t)
	cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.CreateTopics}, Err: kerr.TopicAuthorizationFailed, Count: -1})
	_, stdout, _ := checkRun(t.Context(), "run", "A-01", "--yes", "-b", cluster.ListenAddrs()[0])
	require.Regexp(t, `(?m)^SKIP +A-01 .* not-authorised: create topic rcconf-[0-9a-f]{12}-a-01-tv1-0: TOPIC_AUTHORIZATION_FAILED, needs Create on the topic$`, stdout)

	r := newMadeReport(conformance.Terms{})
	r.Results[4].Detail = "create topic x: INVALID_CONFIG: no such key"
	var b bytes.Buffer
	require.NoError(t, r.writeJUnit(&b))
	require.Contains(t, b.String(), `<skipped message="max-time: create topic x: INVALID_CONFIG: no such key"`)
	require.NoError(t, r.writeJSON(&b))
	require.Contains(t, b.String(), `"detail": "create topic x: INVALID_CONFIG: no such key"`)
	require.Contains(t, newStatement(r, &statementFlags{}).skipped, "A-07: max-time: create topic x: INVALID_CONFIG: no such key")
}

// Where much was not decided for want of answers, the line to quote says what to
// do.
func TestSummaryTellsOfWantOfAnswers(t *testing.T) {
	r := newMadeReport(conformance.Terms{})
	require.NotContains(t, r.quote(), "want of answers")
	r.Results[2].Reason = "EndTxn: no answer in time"
	require.Contains(t, r.quote(), "1 inconclusive (1 of 6 for want of answers: --slow 3, or look at the brokers); ")
	r.Under.Slow = 2
	require.Contains(t, r.quote(), "--slow 6")
	for range 5 {
		r.Results = append(r.Results, r.Results[0])
	}
	require.NotContains(t, r.quote(), "want of answers")
}

// What is not shown is counted as it is: kept in the report, or only counted.
func TestFindingsThatAreNotShownAreCounted(t *testing.T) {
	for _, tt := range []struct {
		name  string
		again []int // Repeated of findings, of two kinds by turns
		want  string
	}{
		{"none", []int{0, 0}, ""},
		{"kept", []int{0, 0, 0}, "1 more finding of 1 kind in this scenario: see --report FILE.json"},
		{"counted", []int{7, 0}, "7 more findings of 1 kind in this scenario: only counted"},
		{"both", []int{7, 5, 0, 0}, "14 more findings of 2 kinds in this scenario: 2 of them in --report FILE.json, the others only counted"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newMadeReport(conformance.Terms{})
			result := conformance.Result{ID: "A-02"}
			for i, n := range tt.again {
				result.Findings = append(result.Findings, conformance.Finding{Outcome: conformance.Fail, Requirement: fmt.Sprint(i % 2), Repeated: n, Offset: -1})
			}
			var b strings.Builder
			r.evidence(&b, &result, checkStyle{width: plainWidth})
			require.Equal(t, tt.want != "", strings.Contains(b.String(), "in this scenario"))
			require.Contains(t, b.String(), tt.want)
		})
	}
}

// A part of the suite is not the whole of it, however well it went.
func TestStatementWantsAWholeProfile(t *testing.T) {
	whole := func() *checkReport { return passedReport(conformance.Conditions{Slow: 1}, 0) }
	s := newStatement(whole(), &statementFlags{})
	require.Empty(t, s.open)
	require.Contains(t, s.yaml(), fmt.Sprintf("conformant: true\nscenarios:\n  decided: %d\n  in_report: %[1]d\n  in_suite: %d\n",
		len(conformance.OfProfile(conformance.Standard)), len(conformance.Scenarios())))

	named := whole()
	named.Selected = []string{"P", "L"}
	require.Equal(t, []string{"only what was named was run, and no whole profile: P L"}, newStatement(named, &statementFlags{}).open)

	for _, profile := range []conformance.Profile{conformance.Smoke, conformance.Destructive} {
		part := whole()
		part.Profile, part.Results = profile, nil
		for _, s := range conformance.OfProfile(profile) {
			part.Results = append(part.Results, conformance.Result{ID: s.ID, Class: s.Class, Outcome: conformance.Pass})
		}
		open := newStatement(part, &statementFlags{}).open
		require.Len(t, open, 1)
		require.Contains(t, open[0], "not the whole profile standard was run: ")
	}
	unbuilt := whole()
	unbuilt.Profile, unbuilt.Results = conformance.Extended, nil
	for _, s := range conformance.OfProfile(conformance.Extended) {
		r := conformance.Result{ID: s.ID, Class: s.Class, Outcome: conformance.Pass}
		if !s.Built() {
			r.Outcome, r.Reason = conformance.Skip, conformance.ReasonNotBuilt
		}
		unbuilt.Results = append(unbuilt.Results, r)
	}
	s = newStatement(unbuilt, &statementFlags{})
	require.Empty(t, s.open, "what this checker does not have is no fault of the cluster's")
	require.Contains(t, s.skipped, "S-08: not-built")

	larger := whole()
	larger.Profile = conformance.Extended
	require.Contains(t, newStatement(larger, &statementFlags{}).open[0], "not the whole profile extended was run: ")
}

// Brokers of --local allow what --allow-admin does: the command that repeats a
// finding has no word of it.
func TestRepeatedWithoutWhatLocalImplies(t *testing.T) {
	a := newApp(nil, nil, nil)
	f := &checkRunFlags{checkFlags: newCheckFlags(), local: "kfake", localNodes: 1}
	f.slow = 1
	f.allowAdmin = true
	require.Equal(t, "rcc check run A-02 --seed 7 --local kfake", a.newCheckReport(madeReport(), f, false).Repeat["A-02"])
	f.allowAdmin = false
	require.Equal(t, "rcc check run A-02 --allow-admin=false --seed 7 --local kfake", a.newCheckReport(madeReport(), f, false).Repeat["A-02"])
}

// Where there is no terminal a line tells now and then how far the run is.
func TestCheckProgressInALog(t *testing.T) {
	outline, err := conformance.Outline(conformance.Config{Select: []string{"A-01", "A-02"}})
	require.NoError(t, err)
	told := lines{got: make(chan string, 1)}
	p := newApp(nil, nil, told).newCheckProgress(outline, conformance.Terms{})
	require.Equal(t, time.Minute, p.every)
	p.every = time.Millisecond
	p.start()
	require.Regexp(t, `^rcc: 0 of 2 scenarios, \d+\.\ds\n$`, <-told.got)
	go func() { // what is told while it closes
		for range told.got {
		}
	}()
	p.close()
	close(told.got)

	quiet := newApp(nil, nil, told)
	quiet.quiet = true
	require.Nil(t, quiet.newCheckProgress(outline, conformance.Terms{}).tell)
}

// lines hands on what is written.
type lines struct{ got chan string }

func (l lines) Write(p []byte) (int, error) {
	l.got <- string(p)
	return len(p), nil
}
