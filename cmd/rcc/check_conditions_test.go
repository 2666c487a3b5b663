package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/conformance"
)

// passedReport is that of a run of the standard profile in which all passed.
func passedReport(under conformance.Conditions, rate float64) *checkReport {
	report := madeReport()
	report.Suite, report.Under, report.Results = conformance.SuiteVersion, under, nil
	for _, s := range conformance.OfProfile(conformance.Standard) {
		report.Results = append(report.Results, conformance.Result{ID: s.ID, Name: s.Name, Class: s.Class, Outcome: conformance.Pass})
	}
	f := &checkRunFlags{checkFlags: newCheckFlags()}
	f.rate = rate
	return newApp(nil, nil, nil).newCheckReport(report, f, false)
}

// What a verdict is worth depends on the conditions: the line to quote and the
// statement name those that are not the usual, and some allow no statement.
func TestConditionsAreTold(t *testing.T) {
	config := map[string]string{"segment.bytes": "1048576", "retention.ms": "-1"}
	for _, c := range []struct {
		name        string
		under       conformance.Conditions
		rate        float64
		told        []string
		notDecided  []string
		wantSummary string
	}{
		{"the usual", conformance.Conditions{Slow: 1, Parallel: 8}, 0, nil, nil, "profile standard: PASSED"},
		{
			"scaled as far as may be",
			conformance.Conditions{Slow: 4, Parallel: 2},
			5,
			[]string{"--slow 4", "--parallel 2", "--rate 5"},
			nil,
			"profile standard --slow 4 --parallel 2 --rate 5: PASSED",
		},
		{
			"scaled too far",
			conformance.Conditions{Slow: 1000, Parallel: 8, ReuseTopics: true},
			0,
			[]string{"--slow 1000", "--reuse-topics"},
			[]string{"bounds on time were scaled by 1000, where 4 is the most"},
			"profile standard --slow 1000 --reuse-topics: PASSED",
		},
		{
			"settings",
			conformance.Conditions{Slow: 1, Parallel: 8, TopicConfig: config},
			0,
			[]string{"--topic-config retention.ms=-1", "--topic-config segment.bytes=1048576"},
			[]string{"topics had settings of --topic-config: retention.ms segment.bytes"},
			"profile standard --topic-config retention.ms=-1 --topic-config segment.bytes=1048576: PASSED",
		},
		{"not told", conformance.Conditions{}, 0, nil, []string{"the report does not say how its bounds on time were scaled"}, "profile standard: PASSED"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := passedReport(c.under, c.rate)
			require.Contains(t, r.Summary, ", "+c.wantSummary)
			s := newStatement(r, &statementFlags{name: "a", version: "1"})
			require.Equal(t, c.notDecided, s.open)
			if c.notDecided == nil {
				require.Equal(t, exitOK, s.exitCode())
				require.Contains(t, s.yaml(), "conformant: true\n")
			} else {
				require.Equal(t, exitUndecided, s.exitCode())
				require.Contains(t, s.yaml(), "conformant: false\n")
			}
			for _, word := range c.told {
				require.Contains(t, s.yaml(), `  - "`+word+"\"\n")
			}
			var xml bytes.Buffer
			require.NoError(t, r.writeJUnit(&xml))
			require.Equal(t, len(c.told) > 0, bytes.Contains(xml.Bytes(), []byte(`"conditions"`)))
		})
	}
}

// A part of a larger profile is no part of the standard one.
func TestSummaryNamesTheProfileOfAPart(t *testing.T) {
	r := newMadeReport(conformance.Terms{})
	r.Selected, r.Profile = []string{"O-08"}, conformance.Extended
	require.Contains(t, r.quote(), ", O-08 --profile extended: ")
}
