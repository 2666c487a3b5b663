package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/readcommitted/conformance"
)

// checkPlanSchema names the JSON form of [checkPlan].
const checkPlanSchema = "readcommitted.check-plan/1"

// checkPlan is what a run would do.
type checkPlan struct {
	Schema     string                    `json:"schema"`
	Suite      string                    `json:"suite_version"`
	Profile    string                    `json:"profile"`
	Cluster    *conformance.Cluster      `json:"cluster,omitempty"` // absent: none was asked
	Scenarios  []string                  `json:"scenarios"`
	Skipped    map[string]string         `json:"skipped"` // reasons by ID
	Time       time.Duration             `json:"time_ns"`
	Makes      conformance.Footprint     `json:"makes"`
	Unmeasured []string                  `json:"not_counted"`                  // of them it is not known what they make
	TakesAway  []string                  `json:"takes_brokers_away,omitempty"` // scenarios that do, through the hook
	Prefix     string                    `json:"prefix"`
	Rights     []conformance.RightNeeded `json:"rights"`
	ACLs       []string                  `json:"acls"`

	named   bool // IDs were given
	keep    bool
	reuse   bool
	brokers string
	command string
	user    string
}

func newCheckPlanCommand(a *app) *cobra.Command {
	f := newCheckFlags()
	cmd := &cobra.Command{
		Use:   "plan [ID...]",
		Short: "print what a run would do, and touch nothing",
		Long: `Print what a run would do: the scenarios, the time, what it makes on the cluster
and what stays behind, the rights that it takes and what is skipped without each.
Nothing is written. Without an address it is not known what this cluster would
skip.`,
		Example: `  rcc check plan -b kafka-1:9092
  rcc check plan A L-07`,
		Args: checkArgs(f),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.checkPlan(cmd.Context(), f) },
	}
	f.register(cmd.Flags())
	return cmd
}

func (a *app) checkPlan(ctx context.Context, f *checkFlags) error {
	examination, seeds, err := a.examine(ctx, f)
	if err != nil {
		return err
	}
	a.tellNotes()
	plan := a.newCheckPlan(examination, f, seeds)
	return a.write(func(w io.Writer) error {
		if a.wantJSON() {
			return json.NewEncoder(w).Encode(plan)
		}
		_, err := io.WriteString(w, plan.text())
		return err
	})
}

func (a *app) newCheckPlan(e *conformance.Examination, f *checkFlags, seeds []string) *checkPlan {
	p := &checkPlan{
		Schema: checkPlanSchema, Suite: conformance.SuiteVersion, Profile: f.profile.value,
		Cluster: e.Cluster, Scenarios: []string{}, Skipped: map[string]string{}, Unmeasured: []string{},
		Time: e.Time(), Prefix: conformance.NamePrefix, Rights: e.Rights(),
		named: len(f.ids) > 0, reuse: f.reuseTopics, brokers: "HOST:PORT", user: a.config.User,
	}
	if len(seeds) > 0 {
		p.brokers = strings.Join(seeds, ",")
	}
	if p.user == "" {
		p.user = "NAME"
	}
	for _, x := range e.Scenarios {
		if x.Skipped != "" {
			p.Skipped[x.ID] = x.Skipped
			continue
		}
		p.Scenarios = append(p.Scenarios, x.ID)
		if x.TakesBrokersAway() {
			p.TakesAway = append(p.TakesAway, x.ID)
		}
	}
	makes, unmeasured := e.Makes()
	makes.Requests = nil
	p.Makes = makes
	p.Unmeasured = append(p.Unmeasured, unmeasured...)
	p.ACLs = p.acls()
	p.command = a.checkCommand(f, strings.Join(f.ids, " "), false, "--yes")
	return p
}

// acls are the rights as commands of Kafka's own tool, one for each kind of
// resource.
func (p *checkPlan) acls() []string {
	lines := []string{}
	for _, kind := range []string{"topic", "group", "transactional-id", "cluster"} {
		var operations []string
		for _, r := range p.Rights {
			if r.Resource == kind {
				operations = append(operations, "--operation "+r.Operation)
			}
		}
		if len(operations) == 0 {
			continue
		}
		resource := "--" + kind + " " + p.Prefix + " --resource-pattern-type prefixed"
		if kind == "cluster" {
			resource = "--cluster"
		}
		lines = append(lines, fmt.Sprintf("kafka-acls --bootstrap-server %s --add --allow-principal User:%s %s %s",
			p.brokers, p.user, resource, strings.Join(operations, " ")))
	}
	return lines
}

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
	row("time", "about %s, on a cluster nearby", roughly(p.Time))
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
	row("names", "all begin with %s<run ID>-; nothing else is written, changed or removed", p.Prefix)
	if p.keep {
		row("leaves", "everything: --keep")
	} else {
		if p.lacks("DeleteTopics") {
			row("leaves", "the topics: the cluster cannot delete any")
		}
		row("leaves", "the transactional IDs, with no transaction open: no client can delete them,")
		row("", "and brokers forget them after transactional.id.expiration.ms (7 days)")
	}
	b.WriteString("\nrights that it takes, where the cluster asks for any\n")
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
