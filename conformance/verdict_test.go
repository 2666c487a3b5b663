package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// finding is one about a subject.
func finding(subject Subject, outcome Outcome) []Finding {
	return []Finding{{Subject: subject, Outcome: outcome, Offset: -1}}
}

func TestVerdictFollowsFromResults(t *testing.T) {
	passed := Result{ID: "A-01", Class: Must, Outcome: Pass}
	for _, tt := range []struct {
		name     string
		result   Result
		terms    Terms
		want     Verdict
		findings bool
		judged   bool
	}{
		{name: "pass", result: Result{ID: "L-01", Class: Must, Outcome: Pass}, judged: true},
		{
			name:   "failure of the cluster",
			result: Result{ID: "L-01", Class: Must, Outcome: Fail, Findings: finding(OfCluster, Fail)},
			want:   Verdict{Failed: []string{"L-01"}}, findings: true, judged: true,
		},
		{
			name:   "an invariant's failure in a scenario that only should",
			result: Result{ID: "P-03", Class: Should, Outcome: Fail, Findings: finding(OfCluster, Fail)},
			want:   Verdict{Failed: []string{"P-03"}}, findings: true, judged: true,
		},
		{name: "failure of a client", result: Result{ID: "C-01", Class: Must, Outcome: Fail, Findings: finding(OfClient("kgo"), Fail)}, judged: true},
		{
			name:   "failure of the checker",
			result: Result{ID: "L-01", Class: Must, Outcome: Inconclusive, Findings: finding(OfChecker, Warn)},
			want:   Verdict{Undecided: []string{"L-01"}},
		},
		{name: "warning", result: Result{ID: "P-03", Class: Should, Outcome: Warn, Findings: finding(OfCluster, Warn)}, judged: true},
		{
			name:   "warning, strictly",
			result: Result{ID: "P-03", Class: Should, Outcome: Warn, Findings: finding(OfCluster, Warn)},
			terms:  Terms{Strict: true}, want: Verdict{Failed: []string{"P-03"}}, findings: true, judged: true,
		},
		{
			name:   "flaky, strictly",
			result: Result{ID: "L-04", Class: Live, Outcome: Warn, Reason: "flaky", Flaky: true},
			terms:  Terms{Strict: true}, want: Verdict{Failed: []string{"L-04"}}, findings: true, judged: true,
		},
		{
			name:   "warning about a client, strictly",
			result: Result{ID: "C-04", Class: Should, Outcome: Warn, Findings: finding(OfClient("kgo"), Warn)},
			terms:  Terms{Strict: true}, judged: true,
		},
		{
			name:   "required, not decided",
			result: Result{ID: "L-01", Class: Must, Outcome: Inconclusive},
			want:   Verdict{Undecided: []string{"L-01"}},
		},
		{name: "not required, not decided", result: Result{ID: "P-03", Class: Should, Outcome: Inconclusive}, judged: true},
		{
			name:   "a failure beside what was not decided",
			result: Result{ID: "L-01", Class: Must, Outcome: Fail, Reason: "a step did not work", Findings: finding(OfCluster, Fail)},
			want:   Verdict{Failed: []string{"L-01"}}, findings: true, judged: true,
		},
		{name: "the cluster has no such thing", result: Result{ID: "V-04", Class: Must, Outcome: Skip, Reason: ReasonNoLevel}, judged: true},
		{
			name:   "a right is missing",
			result: Result{ID: "L-01", Class: Must, Outcome: Skip, Reason: ReasonNotAuthorized},
			want:   Verdict{Undecided: []string{"L-01"}},
		},
		{
			name:   "out of time",
			result: Result{ID: "L-01", Class: Must, Outcome: Skip, Reason: ReasonMaxTime},
			want:   Verdict{Undecided: []string{"L-01"}},
		},
		{
			name:   "asked for, and skipped",
			result: Result{ID: "P-03", Class: Should, Outcome: Skip, Reason: ReasonAbsent},
			terms:  Terms{Require: []string{"p-03"}}, want: Verdict{Undecided: []string{"P-03"}},
		},
		{
			name:   "its family is asked for",
			result: Result{ID: "P-03", Class: Info, Outcome: Inconclusive},
			terms:  Terms{Require: []string{"P"}}, want: Verdict{Undecided: []string{"P-03"}},
		},
		{
			name:   "known to fail, and fails",
			result: Result{ID: "L-01", Class: Must, Outcome: Fail, Findings: finding(OfCluster, Fail)},
			terms:  Terms{KnownFailing: map[string]string{"L-01": ""}}, want: Verdict{Expected: []string{"L-01"}}, judged: true,
		},
		{
			name:   "known to fail, and cannot be decided",
			result: Result{ID: "L-01", Class: Must, Outcome: Inconclusive},
			terms:  Terms{KnownFailing: map[string]string{"L-01": ""}}, want: Verdict{Expected: []string{"L-01"}}, judged: true,
		},
		{
			name:   "known to fail, and passes",
			result: Result{ID: "L-01", Class: Must, Outcome: Pass},
			terms:  Terms{KnownFailing: map[string]string{"L-01": ""}}, want: Verdict{Passed: []string{"L-01"}}, findings: true, judged: true,
		},
		{
			name:   "known to fail, and passes now and then",
			result: Result{ID: "L-01", Class: Must, Outcome: Pass},
			terms:  Terms{KnownFailing: map[string]string{"L-01": ""}, MayPass: []string{"L-01"}}, judged: true,
		},
		{
			name:   "known to fail, and not part of the run",
			result: Result{ID: "L-01", Class: Must, Outcome: Pass},
			terms:  Terms{KnownFailing: map[string]string{"L-02": ""}}, judged: true,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			report := &Report{Results: []Result{passed, tt.result}}
			got := report.Judge(tt.terms)
			require.ElementsMatch(t, tt.want.Failed, got.Failed)
			require.ElementsMatch(t, tt.want.Expected, got.Expected)
			require.ElementsMatch(t, tt.want.Passed, got.Passed)
			require.ElementsMatch(t, tt.want.Undecided, got.Undecided)
			require.Equal(t, tt.findings, got.Findings())
			require.Equal(t, tt.judged, got.Judged())
		})
	}
}

// What the cluster does not have excuses scenarios, but not all of those that
// weigh: facts alone are no pass. Who asks for facts gets them.
func TestFactsAloneAreNoPass(t *testing.T) {
	fact, absent := Result{ID: "P-01", Class: Info, Outcome: Pass}, Result{ID: "V-04", Class: Must, Outcome: Skip, Reason: ReasonNoLevel}
	require.True(t, (&Report{Results: []Result{fact}}).Judge(Terms{}).Judged())
	verdict := (&Report{Results: []Result{fact, absent}}).Judge(Terms{})
	require.Empty(t, verdict.Undecided)
	require.True(t, verdict.Nothing)
	require.False(t, verdict.Judged())
	in := Result{ID: "L-04", Class: Live, Outcome: Warn}
	require.True(t, (&Report{Results: []Result{fact, absent, in}}).Judge(Terms{}).Judged())
}

// A run that decided nothing says nothing, whatever was known before.
func TestNothingDecidedIsNoPass(t *testing.T) {
	report := &Report{Results: []Result{
		{ID: "R-04", Class: Must, Outcome: Skip, Reason: ReasonNoHook},
		{ID: "L-01", Class: Must, Outcome: Inconclusive},
	}}
	verdict := report.Judge(Terms{KnownFailing: map[string]string{"L-01": ""}})
	require.True(t, verdict.Nothing)
	require.False(t, verdict.Judged())
	require.False(t, (&Report{}).Judge(Terms{}).Judged())
}
