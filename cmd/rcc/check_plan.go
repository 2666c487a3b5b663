package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/readcommitted/conformance"
)

// checkPlanSchema names the JSON form of [checkPlan].
const checkPlanSchema = "readcommitted.check-plan/1"

// unnamedUser stands for a user whose name is not known.
const unnamedUser = "NAME"

// checkPlan is what a run would do.
type checkPlan struct {
	Schema     string                    `json:"schema"`
	Suite      string                    `json:"suite_version"`
	Profile    string                    `json:"profile"`
	Cluster    *conformance.Cluster      `json:"cluster,omitempty"` // absent: none was asked
	Scenarios  []string                  `json:"scenarios"`
	Skipped    map[string]string         `json:"skipped"`               // reasons by ID
	Time       time.Duration             `json:"time_ns"`               // of all of them, without a bound
	MaxTime    time.Duration             `json:"max_time_ns,omitempty"` // what has not begun by then is not judged
	Reads      int64                     `json:"reads_bytes,omitempty"` // where --rate bounds them
	Makes      conformance.Footprint     `json:"makes"`
	Unmeasured []string                  `json:"not_counted"`                  // of them it is not known what they make
	TakesAway  []string                  `json:"takes_brokers_away,omitempty"` // scenarios that do, through the hook
	Prefix     string                    `json:"prefix"`
	Leaves     []string                  `json:"leaves"` // what stays behind
	Rights     []conformance.RightNeeded `json:"rights"`
	ACLs       []string                  `json:"acls"`

	named   bool // IDs were given
	reuse   bool
	rate    float64
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
	plan := a.newCheckPlan(examination, f, seeds, false)
	return a.write(func(w io.Writer) error {
		if a.wantJSON() {
			return json.NewEncoder(w).Encode(plan)
		}
		_, err := io.WriteString(w, plan.text())
		return err
	})
}

// newCheckPlan is what a run would do, which may keep its topics and groups.
func (a *app) newCheckPlan(e *conformance.Examination, f *checkFlags, seeds []string, keep bool) *checkPlan {
	p := &checkPlan{
		Schema: checkPlanSchema, Suite: conformance.SuiteVersion, Profile: f.profile.value,
		Cluster: e.Cluster, Scenarios: []string{}, Skipped: map[string]string{}, Unmeasured: []string{},
		Time: e.Time(), MaxTime: f.maxTime, rate: f.rate, Prefix: conformance.NamePrefix, Rights: e.Rights(),
		named: len(f.ids) > 0, reuse: f.reuseTopics, brokers: "HOST:PORT", user: a.config.User,
	}
	if len(seeds) > 0 {
		p.brokers = strings.Join(seeds, ",")
	}
	if p.user == "" {
		p.user = unnamedUser
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
	p.slowDown()
	p.ACLs = p.acls()
	p.Leaves = p.leaves(keep)
	p.command = a.checkCommand(f, strings.Join(f.ids, " "), false, append(f.planOnly(), "--yes")...)
	return p
}

// readsOfBytes is about how often what a run writes is read: a whole run of
// profile standard wrote 52 MB and read 320 MB.
const readsOfBytes = 6

// slowDown counts in how long reading takes with --rate.
func (p *checkPlan) slowDown() {
	if p.rate > 0 {
		p.Reads = readsOfBytes * p.Makes.Bytes
		p.Time = max(p.Time, time.Duration(float64(p.Reads)/(p.rate*1e6)*float64(time.Second)))
	}
}

// planOnly are the options of a run that a command line needs which is to do the
// same, and not only to repeat a finding.
func (f *checkFlags) planOnly() []string {
	var words []string
	for _, id := range f.require {
		words = append(words, "--require", id)
	}
	if f.parallel != conformance.DefaultParallel {
		words = append(words, "--parallel", fmt.Sprint(f.parallel))
	}
	if f.maxTime > 0 {
		words = append(words, "--max-time", shortAge(f.maxTime))
	}
	return words
}

// leaves says what stays behind after a run.
func (p *checkPlan) leaves(keep bool) []string {
	lines := []string{}
	switch {
	case len(p.Scenarios) == 0:
		return lines
	case keep:
		lines = append(lines, "everything: --keep")
	default:
		if p.lacks("DeleteTopics") {
			lines = append(lines, "the topics: the cluster cannot delete any")
		}
		lines = append(lines, "the transactional IDs, with no transaction open: no client can delete them, "+
			"and brokers forget them after transactional.id.expiration.ms (7 days)")
	}
	return append(lines, "the topics __transaction_state and __consumer_offsets, with some records: a cluster that has none yet makes them")
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
