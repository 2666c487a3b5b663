package conformance

import (
	"fmt"
	"slices"
	"strings"
	"time"

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
	unread := ""
	for _, p := range t.judgeable() {
		l, end := t.finalLog(p)
		if end == nil {
			logs[p] = l
		} else {
			unread = orElse(unread, end.reason)
			t.guarded(func() { t.begins(p, t.list(p, model.ReadUncommitted, earliest)) })
		}
		t.kept(p)
	}
	if !t.run.config.assertionsOnly {
		if unsure := t.judgeViews(logs); unread == "" {
			unread = unsure
		}
	}
	t.illustrate(logs)
	if unread != "" && !t.run.config.assertionsOnly {
		t.undecided("its answers could not be judged: %s", unread)
	}
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

// finalLog reads a partition as it is at the end of the trial. If that does not
// work, only rules that need no log are applied.
func (t *trial) finalLog(p model.Partition) (l *model.Log, end *stopped) {
	end = t.guarded(func() {
		told := t.toldEnd(p)
		t.until(t.bound(follow), "the high watermark of "+p.String(), func() bool { return t.highWatermark(p) >= told })
		l = t.oracle(p)
	})
	return l, end
}

// toldEnd is the highest end that an answer told of. The high watermark of a
// new leader may be lower for a moment.
func (t *trial) toldEnd(p model.Partition) (end int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, v := range t.views {
		if v.Partition == p && v.ErrorCode == 0 {
			end = max(end, endTold(v))
		}
	}
	return end
}

func endTold(v *model.View) int64 {
	if v.Isolation == model.ReadCommitted {
		return max(v.End(), v.HighW, v.LastStableOffset)
	}
	return max(v.End(), v.HighW)
}

// judgeViews returns what cannot be judged for not knowing who led, "" for
// nothing.
func (t *trial) judgeViews(logs map[model.Partition]*model.Log) (unsure string) {
	t.mu.Lock()
	views := slices.Clone(t.views)
	t.mu.Unlock()
	views = inOrder(views)
	var history model.History
	for _, v := range views {
		if v.Throttled {
			continue
		}
		before := history.Before(v)
		breaches, compared := history.Next(v)
		if len(breaches) > 0 && !t.oneLeader(before, v) {
			unsure = unsureOf(v.Partition, breaches[0])
			breaches, compared = nil, false
		}
		if compared {
			t.count("U10")
		}
		for _, b := range breaches {
			t.breach(v.Partition, b, nil, before, v)
		}
		if v.ErrorCode != 0 || v.Shed {
			continue
		}
		for _, b := range t.rules(v, logs[v.Partition]) {
			t.breach(v.Partition, b, nil, v)
		}
	}
	for p, l := range logs {
		if len(l.Runs) > 0 {
			t.count("U9")
		}
		for _, b := range model.U9(l) {
			t.breach(p, b, nil)
		}
		t.guarded(func() {
			if why := t.judgeEnds(p); why != "" {
				unsure = why
			}
		})
	}
	return unsure
}

// judgeAlone applies the rules over single answers that need no log.
func (t *trial) judgeAlone(v *model.View) {
	if t.run.config.assertionsOnly || v.Throttled || v.ErrorCode != 0 {
		return
	}
	for _, b := range t.rules(v, nil) {
		t.breach(v.Partition, b, nil, v)
	}
}

// inOrder are views in the order in which they came: those who read on one
// connection side by side may have kept them in another.
func inOrder(views []*model.View) []*model.View {
	return slices.SortedStableFunc(slices.Values(views), func(a, b *model.View) int { return a.Received.Compare(b.Received) })
}

// judgeEnds holds ListOffsets against Fetch, if the partition is quiet. It
// returns what cannot be judged for not knowing who led.
func (t *trial) judgeEnds(p model.Partition) (unsure string) {
	before, quietBefore := t.quietNow(p)
	ends := model.Ends{Listed: t.highWatermark(p), ListedCommitted: t.list(p, model.ReadCommitted, latest)}
	a := t.fetch(p, ends.Listed, fetchSpec{isolation: model.ReadCommitted, maxWait: time.Millisecond})
	ends.High, ends.Stable = a.HighW, a.LastStableOffset
	if after, quiet := t.quietNow(p); !quietBefore || !quiet || before != after || a.ErrorCode != 0 {
		return ""
	}
	breaches := model.U12(ends)
	if len(breaches) > 0 && !t.oneLeader(a.View, a.View) {
		return unsureOf(p, breaches[0])
	}
	t.count("U12")
	for _, b := range breaches {
		t.breach(p, b, &ListedEnds{ends.Listed, ends.ListedCommitted}, a.View)
	}
	return ""
}

// unsureOf says of a breach that another leader may be behind it.
func unsureOf(p model.Partition, b model.Breach) string {
	return fmt.Sprintf("%s: expected %s, observed %s, perhaps of another leader in between", p, b.Expected, b.Observed)
}

// rules applies the rules over single answers; only those that need no log, if
// the log was cleaned since or does not reach as far as the answer.
func (t *trial) rules(v *model.View, l *model.Log) []model.Breach {
	var out []model.Breach
	for _, rule := range model.Rules {
		if !rule.Applies(v) || rule.NeedsLog && (l == nil || t.cleaned || endTold(v) > l.End) {
			continue
		}
		out = append(out, rule.Judge(v, l)...)
		t.count(rule.Name)
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

// breach turns a breach into a finding. views are the answers that it rests on,
// the one that is wrong last; none: the log alone is.
func (t *trial) breach(p model.Partition, b model.Breach, ends *ListedEnds, views ...*model.View) {
	outcome, bad := outcomeOf(b.Severity)
	if !bad {
		t.factOnce(b.Invariant + ": " + b.Requirement + "; observed " + b.Observed)
		return
	}
	f := Finding{
		Invariant: b.Invariant, Requirement: b.Requirement, Consequence: b.Consequence, Outcome: outcome,
		Expected: b.Expected, Observed: b.Observed, Topic: p.Topic, Partition: p.Index, Offset: b.Offset,
		Ends: ends, views: views,
	}
	if ends == nil && len(views) > 0 {
		f.Exchanges = t.decidedBefore(p, views)
	}
	t.report(f)
}

// decidedBefore are lines of what decided over a partition before answers came,
// and of the answers.
func (t *trial) decidedBefore(p model.Partition, views []*model.View) []string {
	t.mu.Lock()
	out := lines(t.trace.decided(p, views[len(views)-1].Received))
	t.mu.Unlock()
	for _, v := range views {
		out = append(out, describeView(v))
	}
	return out
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

// illustrate draws the log around each finding, and keeps what it rests on.
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
	}
	t.result.keepEvidence(logs)
}
