package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/readcommitted/conformance"
)

// text writes the plan for people.
func (p *checkPlan) text() string {
	var b strings.Builder
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s  %s\n", name, fmt.Sprintf(format, args...))
	}
	row("cluster", "%s", p.clusterLine())
	row("scenarios", "%s", p.scenariosLine())
	for i, line := range skippedLines(p.Skipped) {
		row([]string{"skipped", ""}[min(i, 1)], "%s", line)
	}
	if len(p.Scenarios) == 0 {
		fmt.Fprintf(&b, "\nnothing would run: %s\n", p.lacking())
		return b.String()
	}
	row("time", "about %s, on a cluster nearby", roughly(p.Time))
	for _, line := range p.slower() {
		row("", "%s", line)
	}
	row("makes", "%s", p.makesLine())
	if len(p.Unmeasured) > 0 {
		row("", "not counted: %s", strings.Join(p.Unmeasured, " "))
	}
	if len(p.TakesAway) > 0 {
		row("brokers", "stopped, killed and paused by %s, through the hook;", strings.Join(p.TakesAway, " "))
		row("", "each scenario has all of them running again when it ends")
	}
	if p.reuse {
		row("", "fewer topics, with %d partitions: --reuse-topics", conformance.SharedPartitions)
	}
	row("names", "all begin with %s<run ID>-; no other topic, group or transactional ID of yours", p.Prefix)
	row("", "is written, changed or removed")
	for i, what := range p.Leaves {
		for j, line := range wrap(strings.Fields(what), " ", planWidth) {
			row([]string{"leaves", ""}[min(i+j, 1)], "%s", line)
		}
	}
	fmt.Fprintf(&b, "\nrights that it takes, where the cluster asks for any; whether %s has them was not looked at\n", p.who())
	for _, line := range p.ACLs {
		b.WriteString("  " + line + "\n")
	}
	b.WriteString("\nwithout\n")
	for _, r := range p.Rights {
		fmt.Fprintf(&b, "  %-15s  %-19s  %s\n", r.Operation, "on "+r.Resource, p.loss(r))
	}
	fmt.Fprintf(&b, "\nrun it  %s\n", p.command)
	return b.String()
}

// planWidth is that of sentences in a plan.
const planWidth = 78

func (p *checkPlan) who() string {
	if p.user == unnamedUser {
		return "your user"
	}
	return p.user
}

// slower says what options do to the time.
func (p *checkPlan) slower() []string {
	var lines []string
	if p.rate > 0 {
		lines = append(lines, fmt.Sprintf("--rate %g: it reads about %s", p.rate, size(p.Reads)))
	}
	if p.MaxTime > 0 {
		line := fmt.Sprintf("--max-time %s: what has not begun by then is not judged", shortAge(p.MaxTime))
		if p.Time > p.MaxTime {
			line += ", and not all of it fits"
		}
		lines = append(lines, line)
	}
	return lines
}

// lacking says what to give so that anything runs.
func (p *checkPlan) lacking() string {
	reasons := map[string]bool{}
	for _, reason := range p.Skipped {
		reasons[reason] = true
	}
	var words []string
	if reasons[conformance.ReasonNoHook] {
		words = append(words, "give --hook 'COMMAND {action} {broker}'")
	}
	if reasons[conformance.ReasonNoAdmin] {
		words = append(words, "give --allow-admin")
	}
	if reasons[conformance.ReasonNotBuilt] {
		words = append(words, "what is not built is only listed")
	}
	if len(words) == 0 {
		return "the cluster has not what the scenarios need; see: rcc check list --help"
	}
	return strings.Join(words, "; ")
}

func (p *checkPlan) clusterLine() string {
	if p.Cluster == nil {
		return "none asked: give -b HOST:PORT to see what yours would skip"
	}
	return fmt.Sprintf("%s at %s, %s", p.Cluster.ID, p.brokers, describeCluster(p.Cluster))
}

// describeCluster says what decides about scenarios.
func describeCluster(c *conformance.Cluster) string {
	return fmt.Sprintf("%s, %s", plural(int64(len(c.Brokers)), "broker"), c.Level)
}

func (p *checkPlan) scenariosLine() string {
	chosen := "profile " + p.Profile
	if p.named {
		chosen = "as named"
	}
	return fmt.Sprintf("%d run, %d are skipped (%s, suite %s)", len(p.Scenarios), len(p.Skipped), chosen, p.Suite)
}

func (p *checkPlan) makesLine() string {
	return fmt.Sprintf("up to %s with %s, %s, %s; %s of records",
		plural(int64(p.Makes.Topics), "topic"), plural(int64(p.Makes.Partitions), "partition"),
		plural(int64(p.Makes.TransactionalIDs), "transactional ID"), plural(int64(p.Makes.Groups), "group"), size(p.Makes.Bytes))
}

// loss says what is lost without a right.
func (p *checkPlan) loss(r conformance.RightNeeded) string {
	var words []string
	switch {
	case len(r.Without) == 0:
	case len(r.Without) == len(p.Scenarios):
		words = append(words, "every scenario is skipped")
	case 2*len(r.Without) > len(p.Scenarios):
		rest := slices.DeleteFunc(slices.Clone(p.Scenarios), func(id string) bool { return slices.Contains(r.Without, id) })
		words = append(words, "every scenario is skipped but "+strings.Join(rest, " "))
	default:
		words = append(words, "skipped: "+strings.Join(r.Without, " "))
	}
	if r.Or != "" {
		words = append(words, "from Kafka 3.8 on "+r.Or+" does as well")
	}
	if r.Operation == "Delete" {
		words = append(words, r.Resource+"s stay behind")
	}
	if len(words) == 0 {
		return "less is told"
	}
	return strings.Join(words, "; ")
}

// skippedLines gather skipped scenarios by their reason.
func skippedLines(skipped map[string]string) []string {
	var lines, reasons []string
	ids := map[string][]string{}
	for _, s := range conformance.Scenarios() {
		reason := skipped[s.ID]
		if reason == "" {
			continue
		}
		if ids[reason] == nil {
			reasons = append(reasons, reason)
		}
		ids[reason] = append(ids[reason], s.ID)
	}
	for _, reason := range reasons {
		lines = append(lines, reason+": "+strings.Join(ids[reason], " "))
	}
	return lines
}

// roughly rounds a time as an estimate deserves.
func roughly(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", max(1, int(d.Round(time.Second).Seconds())))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Round(time.Minute).Minutes()))
	}
	return fmt.Sprintf("%d h", int(d.Round(time.Hour).Hours()))
}

// lacks reports whether the cluster was asked, and has no such request.
func (p *checkPlan) lacks(request string) bool {
	if p.Cluster == nil {
		return false
	}
	_, ok := p.Cluster.Versions[request]
	return !ok
}
