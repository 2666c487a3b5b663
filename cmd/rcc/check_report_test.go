package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/conformance"
)

// madeReport is a report with something of everything.
func madeReport() *conformance.Report {
	exchanges := make([]string, 12)
	for i := range exchanges {
		exchanges[i] = fmt.Sprintf("12:00:%02d.000 Fetch v17 isolation 1 rcconf-692c00000000-a-02-tv2-0/0@%d: start 0 LSO 6 HW 6 list [] batches 0..1 committed pid 7/1", i, i)
	}
	fail := conformance.Finding{
		Subject: conformance.OfCluster, Outcome: conformance.Fail, Level: "TV2",
		Requirement: "an entry is listed at every fetch offset up to its abort marker, and at none after it",
		Consequence: "clients that begin inside a transaction hand out aborted records, or drop committed ones",
		Expected:    "fetch(isolation 1, offset 3): aborted [{pid 8, first 2}]", Observed: "aborted []",
		Topic: "rcconf-692c00000000-a-02-tv2-0", Offset: 3,
		Log:       "0..1 committed pid 7/1 | 2 aborted pid 8/1 | 3 plain | 4 abort pid 8/2 | 5 commit pid 7/2",
		Exchanges: exchanges, Repeated: 2,
	}
	client := conformance.Finding{
		Subject: conformance.OfClient("kgo"), Outcome: conformance.Fail, Requirement: "a client delivers what is committed",
		Consequence: "records are lost", Expected: "offsets 0..4", Observed: "offsets 0..3", Offset: -1,
	}
	warn := conformance.Finding{
		Subject: conformance.OfCluster, Outcome: conformance.Warn, Invariant: "U5", Level: "TV1", Requirement: "entries of a producer come in ascending order",
		Consequence: "none that is known", Expected: "ascending", Observed: "\x1b[31mdescending", Offset: -1, Exchanges: []string{"not shown"},
	}
	started := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	return &conformance.Report{
		Schema: conformance.ReportSchema, Suite: "0.1", RunID: "692c00000000", Profile: conformance.Standard, Seed: 7,
		Started: started, Duration: 41300 * time.Millisecond,
		Under:   conformance.Conditions{Slow: 1, Parallel: conformance.DefaultParallel, Clients: []string{"rcconsumer", "kgo"}},
		Cluster: conformance.Cluster{ID: "abc", Brokers: []int32{1, 2, 3}, Level: "TV2", Versions: map[string]conformance.Span{"Fetch": {Min: 4, Max: 17}}},
		Results: []conformance.Result{
			{ID: "L-01", Name: "open-pins-lso", Class: conformance.Must, Outcome: conformance.Pass, Duration: 1200 * time.Millisecond, Seed: 7},
			{ID: "L-02", Name: "min-of-open", Class: conformance.Must, Outcome: conformance.Warn, Duration: time.Second, Findings: []conformance.Finding{warn}, Seed: 7},
			{ID: "A-01", Name: "single-abort", Class: conformance.Must, Outcome: conformance.Inconclusive, Reason: "no witness: the log of x is 0..1 open", Duration: time.Second, Seed: 7},
			{ID: "A-02", Name: "start-offset-sweep", Class: conformance.Must, Outcome: conformance.Fail, Duration: 300 * time.Millisecond, Findings: []conformance.Finding{fail}, Seed: 7},
			{ID: "A-07", Name: "many-aborts", Class: conformance.Must, Outcome: conformance.Skip, Reason: conformance.ReasonMaxTime, Seed: 7},
			{ID: "C-01", Name: "three-way-compare", Class: conformance.Must, Outcome: conformance.Fail, Findings: []conformance.Finding{client}, Seed: 7},
		},
		Judged: map[string]int{"U1": 1204, "U2": 18, "U2b": 3, "U10": 99},
	}
}

func newMadeReport(terms conformance.Terms) *checkReport {
	a := newApp(nil, nil, nil)
	a.brokers = []string{"kafka-1:9092"}
	f := &checkRunFlags{checkFlags: newCheckFlags(), strict: terms.Strict, terms: terms}
	f.slow = 1
	return a.newCheckReport(madeReport(), f, false)
}

// golden compares with a file, or writes it with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "check", name)
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestCheckReportForms(t *testing.T) {
	r := newMadeReport(conformance.Terms{})
	require.Equal(t, exitFindings, r.ExitCode)
	golden(t, "report.txt", r.text(checkStyle{width: 100, tree: true}))
	golden(t, "report-color.txt", r.text(checkStyle{width: 100, tree: true, color: true}))
	golden(t, "report-no-tree.txt", r.text(checkStyle{width: plainWidth}))
	var b bytes.Buffer
	require.NoError(t, r.writeJSON(&b))
	golden(t, "report.json", b.String())
	b.Reset()
	require.NoError(t, r.writeJUnit(&b))
	golden(t, "report.xml", b.String())
}

func TestCheckReportOfKnownFailures(t *testing.T) {
	r := newMadeReport(conformance.Terms{KnownFailing: map[string]string{
		"A-02": "issue 12", "A-01": "", "A-07": "takes too long", "L-01": "fixed?",
	}})
	require.Equal(t, exitFindings, r.ExitCode) // L-01 passes
	golden(t, "known.txt", r.text(checkStyle{width: 100, tree: true}))
	var b bytes.Buffer
	require.NoError(t, r.writeJUnit(&b))
	golden(t, "known.xml", b.String())

	r = newMadeReport(conformance.Terms{KnownFailing: map[string]string{"A-02": "", "A-01": "", "A-07": ""}})
	require.Equal(t, exitOK, r.ExitCode, "%+v", r.Judgement)
	r = newMadeReport(conformance.Terms{KnownFailing: map[string]string{"A-02": "", "A-01": ""}})
	require.Equal(t, exitUndecided, r.ExitCode, "%+v", r.Judgement)
	r = newMadeReport(conformance.Terms{Strict: true, KnownFailing: map[string]string{"A-02": "", "A-01": "", "A-07": ""}})
	require.Equal(t, exitFindings, r.ExitCode, "%+v", r.Judgement)
	require.Equal(t, []string{"L-02"}, r.Judgement.Failed)
}

// Everything that was found in a scenario stays within its lines, whatever it is.
func TestFindingsAreShownInAFewLines(t *testing.T) {
	r := newMadeReport(conformance.Terms{})
	result := &r.Results[3]
	f := &result.Findings[0]
	f.Observed = strings.Repeat("many words ", 500)
	f.Requirement, f.Consequence, f.Expected = f.Observed, f.Observed, f.Observed
	f.Bytes = bytes.Repeat([]byte{1}, 4096)
	f.Exchanges = append(f.Exchanges, f.Exchanges...)
	f.Exchanges = append(f.Exchanges, f.Exchanges...)
	var batches []string
	for i := range 200 {
		batches = append(batches, fmt.Sprintf("%d committed pid 7/1", i))
	}
	f.Log, f.Offset = strings.Join(batches, " | "), 150
	for _, width := range []int{60, 80, 100, plainWidth} {
		text := r.findingText(result, f, checkStyle{width: width})
		require.LessOrEqual(t, strings.Count(text, "\n"), evidenceRows, "width %d", width)
		require.Contains(t, text, ">>150 committed pid 7/1<<")
		require.Contains(t, text, "rcc check run A-02 -b kafka-1:9092 --seed 7 --yes")
	}
}

// What a cluster says reaches no terminal raw.
func TestCheckReportIsPrintable(t *testing.T) {
	r := newMadeReport(conformance.Terms{})
	r.Results[2].Reason = "refused: \x1b]0;owned\x07\n"
	r.Cluster.ID = "\x1b[2J"
	r.decide(false)
	text := r.text(checkStyle{width: 100, tree: true})
	require.NotContains(t, text, "\x1b")
	require.NotContains(t, text, "\x07")
	var b bytes.Buffer
	require.NoError(t, r.writeJUnit(&b))
	require.NotContains(t, b.String(), "\x1b")
	require.NotContains(t, b.String(), "\uFFFD")
}

// Report files hold JSON that names its schema.
func TestCheckReportNamesItsSchema(t *testing.T) {
	r := newMadeReport(conformance.Terms{})
	file := filepath.Join(t.TempDir(), "report.json")
	require.NoError(t, r.save(file))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var got struct {
		Schema   string `json:"schema"`
		Suite    string `json:"suite_version"`
		Verdict  string `json:"verdict"`
		ExitCode int    `json:"exit_code"`
	}
	require.NoError(t, json.Unmarshal(text, &got))
	require.Equal(t, conformance.ReportSchema, got.Schema)
	require.Equal(t, "0.1", got.Suite)
	require.Equal(t, "failed", got.Verdict)
	require.Equal(t, exitFindings, got.ExitCode)
	left, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	require.Len(t, left, 1)
}

func TestKnownFailingFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "known.txt")
	require.NoError(t, os.WriteFile(file, []byte("# a broker\n\nA-01 # its list is empty # always\n l-02\nL-11? # now and then\n"), 0o600))
	known, mayPass, err := readKnownFailing(file)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"A-01": "its list is empty # always", "L-02": "", "L-11": "now and then"}, known)
	require.Equal(t, []string{"L-11"}, mayPass)
	require.NoError(t, os.WriteFile(file, []byte("A-01\nA-99\n"), 0o600))
	_, _, err = readKnownFailing(file)
	require.ErrorContains(t, err, `known.txt, line 2: "A-99" is no scenario`)
}

// The order of exit codes.
func TestCheckExitCodes(t *testing.T) {
	failed, undecided := conformance.Verdict{Failed: []string{"A-01"}, Undecided: []string{"A-02"}}, conformance.Verdict{Undecided: []string{"A-02"}}
	for _, tt := range []struct {
		name        string
		judgement   conformance.Verdict
		interrupted bool
		want        int
	}{
		{"interrupted before all else", failed, true, exitInterrupted},
		{"findings before what is not decided", failed, false, exitFindings},
		{"known to fail, and passed", conformance.Verdict{Passed: []string{"A-01"}}, false, exitFindings},
		{"not decided", undecided, false, exitUndecided},
		{"nothing run", conformance.Verdict{Nothing: true}, false, exitUndecided},
		{"all well", conformance.Verdict{}, false, exitOK},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &checkReport{Report: &conformance.Report{}, Judgement: tt.judgement}
			r.decide(tt.interrupted)
			require.Equal(t, tt.want, r.ExitCode)
			var errs bytes.Buffer
			a := newApp(nil, nil, &errs)
			require.Equal(t, tt.want, a.exit(t.Context(), r.outcome(a, nil)))
			if tt.want == exitOK {
				require.Equal(t, exitError, a.exit(t.Context(), r.outcome(a, os.ErrNotExist)))
			} else {
				require.Equal(t, tt.want, a.exit(t.Context(), r.outcome(a, os.ErrNotExist)))
				require.Contains(t, errs.String(), "not exist")
			}
		})
	}
}

func TestAgesAreShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		6 * time.Hour: "6h", 90 * time.Minute: "1h30m", 45 * time.Second: "45s", 5 * time.Minute: "5m", 0: "0s", 10*time.Hour + time.Second: "10h0m1s",
	} {
		require.Equal(t, want, shortAge(d))
	}
}

// What a scenario does depends on more than its ID: the command that repeats it
// says all of it.
func TestRepeatedUnderTheSameConditions(t *testing.T) {
	a := newApp(nil, nil, nil)
	a.brokers = []string{"kafka-1:9092"}
	f := &checkRunFlags{checkFlags: newCheckFlags()}
	f.profile.value, f.slow, f.topicConfig = string(conformance.Extended), 3, []string{"retention.ms=-1"}
	require.Equal(t, "rcc check run A-02 --profile extended -b kafka-1:9092 --slow 3 --topic-config retention.ms=-1 --seed 7 --yes",
		a.newCheckReport(madeReport(), f, false).Repeat["A-02"])
}
