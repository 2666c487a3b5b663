package conformance

import (
	"slices"
	"strings"
	"sync"

	"example.com/readcommitted/conformance/internal/wire"
)

// Terms say what a report is held against.
type Terms struct {
	Require []string // IDs or families that have to be decided, beside what has to be anyway
	Strict  bool     // a warning counts as a failure

	// KnownFailing are scenarios that are expected not to pass, by ID, with the
	// reason. One that passes is a failure too: then the list is out of date.
	KnownFailing map[string]string
	// MayPass are IDs of KnownFailing that pass now and then, which is no failure.
	MayPass []string
}

// Verdict is what a report comes to. The lists are IDs, in the order of the
// catalogue.
type Verdict struct {
	Failed    []string `json:"failed"`          // with findings about the cluster that nobody expected
	Expected  []string `json:"known_failing"`   // known to fail, and did not pass
	Passed    []string `json:"unexpected_pass"` // known to fail, and passed
	Undecided []string `json:"undecided"`       // required, and not decided
	Nothing   bool     `json:"nothing_decided"` // no scenario was, or none of those that weigh
}

// Findings reports whether the cluster, or the list of what is known of it, is
// not as it should be.
func (v Verdict) Findings() bool { return len(v.Failed)+len(v.Passed) > 0 }

// Judged reports whether everything was decided that had to be.
func (v Verdict) Judged() bool { return !v.Nothing && len(v.Undecided) == 0 }

// Judge holds a report against terms.
func (r *Report) Judge(terms Terms) Verdict {
	v := Verdict{Failed: []string{}, Expected: []string{}, Passed: []string{}, Undecided: []string{}, Nothing: r.nothing()}
	for i := range r.Results {
		result := &r.Results[i]
		_, known := terms.KnownFailing[result.ID]
		switch {
		case known && result.Outcome == Pass && slices.Contains(terms.MayPass, result.ID):
		case known && result.Outcome == Pass:
			v.Passed = append(v.Passed, result.ID)
		case known:
			v.Expected = append(v.Expected, result.ID)
		case result.failed(terms.Strict):
			v.Failed = append(v.Failed, result.ID)
		case result.undecided(terms.Require):
			v.Undecided = append(v.Undecided, result.ID)
		}
	}
	return v
}

// nothing reports whether no scenario was decided that says something about the
// cluster: facts and warnings are no verdict where scenarios of more weight
// were to be run.
func (r *Report) nothing() bool {
	weighs := slices.ContainsFunc(r.Results, func(result Result) bool { return result.Class.Required() })
	return !slices.ContainsFunc(r.Results, func(result Result) bool {
		return result.Decided() && (result.Class.Required() || !weighs)
	})
}

// Decided reports whether the scenario said something about the cluster.
func (r *Result) Decided() bool { return r.Outcome != Skip && r.Outcome != Inconclusive }

// unanswered are words of reasons that a cluster without answers gives: they are
// those of the errors that pass, and of waiting for what did not come.
var unanswered = sync.OnceValue(func() []string {
	words := []string{
		"out of time", "no answer", "has no leader", "has no coordinator", "was not created in time", "connection cut",
		wire.ErrUnreachable.Error(), wire.ErrTimeout.Error(), wire.ErrCut.Error(),
	}
	for _, code := range passing {
		words = append(words, codeName(code))
	}
	return words
})

// Unanswered reports whether nothing was decided for want of answers: the cluster
// was too slow, or not there.
func (r *Result) Unanswered() bool {
	return r.Outcome == Inconclusive && slices.ContainsFunc(unanswered(), func(word string) bool { return strings.Contains(r.Reason, word) })
}

// failed reports whether the result speaks against the cluster. What was found
// about clients and about the checker itself does not.
func (r *Result) failed(strict bool) bool {
	if r.Of(OfCluster, Fail) {
		return true
	}
	return strict && (r.Of(OfCluster, Warn) || r.Flaky)
}

// undecided reports whether the result leaves open what has to be decided: by
// its class, unless the cluster's features or the profile rule it out, or
// because somebody asks for it.
func (r *Result) undecided(require []string) bool {
	if r.Decided() {
		return false
	}
	if slices.ContainsFunc(require, (&Scenario{ID: r.ID}).matches) {
		return true
	}
	return r.Class.Required() && (r.Outcome != Skip || !excused(r.Reason))
}

// excused reports whether a reason to skip says that the cluster or the run has
// no such thing, rather than that the run was kept from looking.
func excused(reason string) bool {
	return reason != ReasonNotAuthorized && reason != ReasonMaxTime
}
