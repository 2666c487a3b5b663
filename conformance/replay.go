package conformance

import (
	"errors"
	"fmt"
	"slices"

	"example.com/readcommitted/conformance/internal/model"
)

// Replayed is a finding of a saved report that was judged again, without a
// cluster.
type Replayed struct {
	Result  *Result
	Finding *Finding

	// Outcome is FAIL or WARN if the finding stands, PASS if this version finds
	// nothing wrong with the same answer, and SKIP, with the reason, if it cannot
	// be judged from the report.
	Outcome  Outcome
	Reason   string
	Observed string // by this version, if it stands
}

// errNotThere says that evidence lacks what the finding is about.
var errNotThere = errors.New("the partition is not in the answer that was kept")

// Replay judges the findings of a saved report about the cluster again, from the
// answers and logs that it kept. Only invariants can be: what a scenario asserts
// of its own takes another run.
func (r *Report) Replay() []Replayed {
	var out []Replayed
	for i := range r.Results {
		result := &r.Results[i]
		for k := range result.Findings {
			f := &result.Findings[k]
			if f.Subject != OfCluster || f.Outcome != Fail && f.Outcome != Warn {
				continue
			}
			again := Replayed{Result: result, Finding: f, Outcome: Pass}
			breaches, err := result.again(f)
			if err != nil {
				again.Outcome, again.Reason = Skip, err.Error()
			}
			for _, b := range breaches {
				if outcome, bad := outcomeOf(b.Severity); bad && b.Invariant == f.Invariant && worse(again.Outcome, outcome) != again.Outcome {
					again.Outcome, again.Observed = outcome, b.Observed
				}
			}
			out = append(out, again)
		}
	}
	return out
}

// again applies the invariant of a finding to its evidence.
func (r *Result) again(f *Finding) ([]model.Breach, error) {
	if f.Invariant == "" {
		return nil, errors.New("an assertion of the scenario: only another run can tell")
	}
	l, err := r.keptLog(f)
	if err != nil {
		return nil, err
	}
	if f.Invariant == "U9" {
		if l == nil {
			return nil, errors.New("the log was not kept")
		}
		return model.U9(l), nil
	}
	views, err := f.keptViews()
	switch {
	case err != nil:
		return nil, err
	case len(views) == 0:
		return nil, errors.New("no answer was kept")
	}
	now := views[len(views)-1]
	switch {
	case f.Ends != nil:
		return model.U12(model.Ends{Listed: f.Ends.Uncommitted, ListedCommitted: f.Ends.Committed, High: now.HighW, Stable: now.LastStableOffset}), nil
	case len(views) > 1:
		var h model.History
		h.Next(views[0])
		breaches, _ := h.Next(now)
		return breaches, nil
	}
	return byRule(f.Invariant, now, l)
}

// byRule applies a rule over single answers.
func byRule(name string, v *model.View, l *model.Log) ([]model.Breach, error) {
	i := slices.IndexFunc(model.Rules, func(rule model.Rule) bool { return rule.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("this version has no invariant %s", name)
	}
	switch rule := model.Rules[i]; {
	case rule.NeedsLog && l == nil:
		return nil, errors.New("the log was not kept")
	case !rule.Applies(v):
		return nil, nil
	default:
		return rule.Judge(v, l), nil
	}
}

func (f *Finding) keptViews() ([]*model.View, error) {
	var out []*model.View
	for i := range f.Answers {
		if f.Answers[i].Body == nil {
			return nil, errors.New("an answer was not kept: it was too large, or one of very many")
		}
		v, err := f.Answers[i].view(model.Partition{Topic: f.Topic, Index: f.Partition})
		if err != nil {
			return nil, fmt.Errorf("the answer that was kept: %w", err)
		}
		out = append(out, v)
	}
	return out, nil
}

// keptLog is the log of a finding's partition, nil if none was kept.
func (r *Result) keptLog(f *Finding) (*model.Log, error) {
	kept := r.log(model.Partition{Topic: f.Topic, Index: f.Partition})
	if kept == nil || kept.Batches == nil {
		return nil, nil
	}
	l, err := kept.model()
	if err != nil {
		return nil, fmt.Errorf("the log that was kept: %w", err)
	}
	return l, nil
}

// outcomeOf is what a breach comes to; bad is false for one that is only a fact.
func outcomeOf(s model.Severity) (outcome Outcome, bad bool) {
	switch s {
	case model.Failure:
		return Fail, true
	case model.Warning:
		return Warn, true
	case model.Fact:
	}
	return Pass, false
}
