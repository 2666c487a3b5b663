package conformance

import (
	"strings"

	"example.com/readcommitted/conformance/internal/model"
)

// evidenceLines is how many exchanges stand below a finding.
const evidenceLines = 12

// drawnAround is how many batches are drawn before and after the offending one.
const drawnAround = 12

// judge holds every answer of the trial against the invariants, and adds the
// evidence to what was found.
func (t *trial) judge() {
	logs := map[model.Partition]*model.Log{}
	for _, p := range t.judgeable() {
		if l := t.finalLog(p); l != nil {
			logs[p] = l
		}
	}
	if !t.run.config.assertionsOnly {
		t.judgeViews(logs)
	}
	t.illustrate(logs)
}

// judgeable are the partitions that still exist.
func (t *trial) judgeable() []model.Partition {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []model.Partition
	for _, p := range t.order {
		if !t.places[p].gone && t.places[p].leader >= 0 {
			out = append(out, p)
		}
	}
	return out
}

// finalLog reads a partition as it is at the end of the trial; nil if that does
// not work, so that only rules that need no log are applied.
func (t *trial) finalLog(p model.Partition) (l *model.Log) {
	t.guarded(func() { l = t.oracle(p) })
	return l
}

func (t *trial) judgeViews(logs map[model.Partition]*model.Log) {
	t.mu.Lock()
	views := t.views
	t.mu.Unlock()
	var history model.History
	for _, v := range views {
		if v.Throttled {
			continue
		}
		breaches := history.Next(v)
		t.count("U10")
		if v.ErrorCode == 0 {
			breaches = append(breaches, t.alone(v)...)
			if l := logs[v.Partition]; l != nil && !t.cleaned {
				breaches = append(breaches, t.against(v, l)...)
			}
		}
		for _, b := range breaches {
			t.breach(v.Partition, b)
		}
	}
	for p, l := range logs {
		t.count("U9")
		for _, b := range model.U9(l) {
			t.breach(p, b)
		}
	}
}

// alone applies the rules that need nothing but the answer.
func (t *trial) alone(v *model.View) []model.Breach {
	var out []model.Breach
	for _, rule := range []struct {
		name  string
		apply func(*model.View) []model.Breach
	}{
		{"U1", model.U1}, {"U2", model.U2}, {"U2b", model.U2b}, {"U5", model.U5}, {"U6", model.U6}, {"U7", model.U7}, {"U8", model.U8},
	} {
		out = append(out, rule.apply(v)...)
		if quietOnly := rule.name == "U1" || rule.name == "U2"; !quietOnly || v.Quiet {
			t.count(rule.name)
		}
	}
	return out
}

// against applies the rules that hold an answer against the log.
func (t *trial) against(v *model.View, l *model.Log) []model.Breach {
	var out []model.Breach
	for _, rule := range []struct {
		name  string
		apply func(*model.View, *model.Log) []model.Breach
	}{{"U3", model.U3}, {"U4", model.U4}, {"U11", model.U11}, {"U13", model.U13}} {
		out = append(out, rule.apply(v, l)...)
		t.count(rule.name)
	}
	return out
}

func (t *trial) count(invariant string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.result.Judged == nil {
		t.result.Judged = map[string]int{}
	}
	t.result.Judged[invariant]++
}

// breach turns a breach into a finding.
func (t *trial) breach(p model.Partition, b model.Breach) {
	f := Finding{
		Invariant: b.Invariant, Requirement: b.Requirement, Consequence: b.Consequence,
		Expected: b.Expected, Observed: b.Observed, Topic: p.Topic, Partition: p.Index, Offset: b.Offset,
	}
	switch b.Severity {
	case model.Failure:
		f.Outcome = Fail
	case model.Warning:
		f.Outcome = Warn
	case model.Fact:
		t.factOnce(b.Invariant + ": " + b.Requirement + "; observed " + b.Observed)
		return
	}
	t.report(f)
}

// factOnce records a fact that many answers may show.
func (t *trial) factOnce(fact string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, known := range t.result.Facts {
		if strings.HasPrefix(known, fact[:min(len(fact), len(known))]) {
			return
		}
	}
	t.result.Facts = append(t.result.Facts, fact)
}

// illustrate draws the log around each finding and adds the exchanges.
func (t *trial) illustrate(logs map[model.Partition]*model.Log) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.result.Findings {
		f := &t.result.Findings[i]
		p := model.Partition{Topic: f.Topic, Index: f.Partition}
		if l := logs[p]; l != nil {
			at := 0
			if f.Offset >= 0 {
				at = l.At(f.Offset)
			}
			f.Log = l.Draw(at-drawnAround, at+drawnAround)
		}
		if len(f.Exchanges) == 0 {
			f.Exchanges = t.trace.last(evidenceLines, p)
		}
	}
}
