package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/readcommitted/conformance"
)

const checkRunHelp = `Judge a cluster. Without --yes the plan is shown and a terminal asked; --local
needs no confirmation, it starts brokers of its own, and allows what --allow-admin
does.

Arguments are IDs (A-02) or families (A); without any the profile's scenarios
run. The report goes to stdout, with -J as JSON; --report writes it to files too.

smoke     some seconds: the scenarios that find most
standard  all that need neither a second broker, nor a hook, nor --allow-admin
extended  and those about storage, moving leaders and faults of the network
destructive  those that kill and pause brokers; needs --hook or --local VERSION
soak      those that take hours

The command of --hook runs in a shell, once for each thing that is done to a
broker, and has two minutes. What a scenario took away runs again when it ends,
also after an interrupt: the hook is called with start or resume for it.

A file of --known-failing has one ID on a line, and behind # the reason. What it
lists may do anything but pass; with a question mark behind the ID, that too.`

// checkRunFlags are those of a run beside the ones of its plan.
type checkRunFlags struct {
	*checkFlags
	yes        bool
	strict     bool
	keep       bool
	seed       uint64
	known      string
	local      string
	localNodes int
	reports    []string

	seeded bool
	terms  conformance.Terms
}

func newCheckRunCommand(a *app) *cobra.Command {
	f := &checkRunFlags{checkFlags: newCheckFlags()}
	cmd := &cobra.Command{
		Use:   "run [ID...]",
		Short: "judge a cluster: make the situations, compare the answers",
		Long:  checkRunHelp,
		Example: `  rcc check run -b kafka-1:9092 --yes
  rcc check run --local 4.4.0 --local-nodes 3 --profile extended
  rcc check run -b kafka-1:9092 --yes --known-failing known.txt --report check.xml
  rcc check run R --hook './broker.sh {action} {broker}' -b kafka-1:9092 --yes`,
		Args: func(cmd *cobra.Command, args []string) error {
			f.seeded = cmd.Flags().Changed("seed")
			if err := f.check(args); err != nil {
				return err
			}
			if f.local != "" && !cmd.Flags().Changed("allow-admin") {
				f.allowAdmin = true // nobody else's cluster
			}
			return f.checkRun(cmd.Flags().Changed("local-nodes"), a)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return a.checkRun(cmd.Context(), f) },
	}
	f.register(cmd.Flags())
	flags := cmd.Flags()
	flags.BoolVar(&f.yes, "yes", false, "do not ask")
	flags.BoolVar(&f.strict, "strict", false, "let warnings count as failures")
	flags.BoolVar(&f.keep, "keep", false, "leave topics and groups on the cluster")
	flags.Uint64Var(&f.seed, "seed", 0, "repeat what is random with this `NUMBER`; the default is a new one")
	flags.StringVar(&f.known, "known-failing", "", "`FILE` of scenarios that are known not to pass")
	flags.StringVar(&f.local, "local", "", "judge brokers started for it: a `VERSION` of Apache Kafka, or kfake")
	flags.IntVar(&f.localNodes, "local-nodes", 1, "with --local: `N` brokers")
	flags.StringArrayVar(&f.reports, "report", nil, "write the report to `FILE` too: .json, or .xml for JUnit; may be repeated")
	return cmd
}

// checkRun finds what is wrong with the flags of a run.
func (f *checkRunFlags) checkRun(nodes bool, a *app) error {
	switch {
	case f.local == "" && nodes:
		return &usageError{err: fmt.Errorf("local-nodes without --local")}
	case f.local != "" && len(a.brokers) > 0:
		return &usageError{err: fmt.Errorf("brokers and local exclude each other"), hint: "leave out -b or --local"}
	case f.local != "" && len(a.properties)+len(a.files) > 0:
		return &usageError{err: fmt.Errorf("properties and local exclude each other"), hint: "leave out -X and -F: brokers of --local take no login"}
	case f.local != "" && f.local != inProcess && !localVersions.MatchString(f.local):
		return &usageError{err: fmt.Errorf("local %q: want a version of Apache Kafka such as 4.4.0, or %s", f.local, inProcess)}
	case f.localNodes < 1 || f.localNodes > 9:
		return &usageError{err: fmt.Errorf("local-nodes %d: want 1 to 9", f.localNodes)}
	case f.profile.value == string(conformance.Destructive) && len(f.ids) == 0 && f.hook == "" && (f.local == "" || f.local == inProcess):
		return &usageError{err: fmt.Errorf("profile destructive without a hook"), hint: "give --hook 'COMMAND {action} {broker}', or --local VERSION"}
	}
	for _, file := range f.reports {
		if err := checkReportFile(file); err != nil {
			return err
		}
	}
	f.terms = conformance.Terms{Require: f.require, Strict: f.strict}
	if f.known == "" {
		return nil
	}
	var err error
	f.terms.KnownFailing, f.terms.MayPass, err = readKnownFailing(f.known)
	return err
}

// checkReportFile refuses a file that could not be written after the run.
func checkReportFile(file string) error {
	if ext := filepath.Ext(file); ext != ".json" && ext != ".xml" {
		return &usageError{err: fmt.Errorf("report %s: want a name that ends in .json or .xml", file)}
	}
	if info, err := os.Stat(filepath.Dir(file)); err != nil || !info.IsDir() {
		return &usageError{err: fmt.Errorf("report %s: there is no such directory", file)}
	}
	return nil
}

func (a *app) checkRun(ctx context.Context, f *checkRunFlags) error {
	if err := a.configure(); err != nil {
		return err
	}
	config := f.config(a.checkID)
	config.Keep = f.keep
	if f.seeded {
		config.Seed = f.seed
	}
	seeds, end, err := a.openTarget(ctx, f, &config)
	if err != nil {
		return err
	}
	defer end()
	outline, err := conformance.Examine(ctx, config)
	if err != nil {
		return a.notJudged(ctx, seeds, err)
	}
	plan := a.newCheckPlan(outline, f.checkFlags, seeds, f.keep)
	if f.local == "" && !f.yes {
		if err := a.confirmRun(ctx, plan); err != nil {
			return err
		}
	}
	a.begin("checking %s: %s, about %s; run %s, seed %d", strings.Join(seeds, ","),
		plural(int64(len(plan.Scenarios)), "scenario"), roughly(f.within(plan.Time)), config.RunID, config.Seed)
	return a.judge(ctx, f, config, outline, seeds)
}

// openTarget points the run at its cluster, which is started for it with --local.
func (a *app) openTarget(ctx context.Context, f *checkRunFlags, config *conformance.Config) (seeds []string, end func(), err error) {
	if f.local == "" {
		seeds, err = a.checkTarget(config, f.rate)
		return seeds, func() {}, err
	}
	cluster, err := a.openLocal(ctx, f.local, f.localNodes)
	if err != nil {
		return nil, nil, err
	}
	if config.Hook == nil {
		config.Hook = cluster.hook
	}
	end = func() { _ = cluster.close() }
	if err := a.aim(config, cluster.addrs, f.rate); err != nil {
		end()
		return nil, nil, err
	}
	return cluster.addrs, end, nil
}

// judge runs the scenarios and reports.
func (a *app) judge(ctx context.Context, f *checkRunFlags, config conformance.Config, outline *conformance.Examination, seeds []string) error {
	if f.profileIgnored() {
		a.say("--profile %s chooses nothing where IDs are given", f.profile.value)
	}
	begin := time.Now()
	progress := a.newCheckProgress(outline, f.terms)
	config.Observe = progress.observe
	progress.start()
	stop := context.AfterFunc(ctx, progress.interrupted)
	report, err := conformance.Run(ctx, config)
	stop()
	progress.close()
	if err != nil {
		return a.notJudged(ctx, seeds, err)
	}
	r := a.newCheckReport(report, f, ctx.Err() != nil)
	for _, file := range f.reports {
		if saving := r.save(file); saving != nil {
			err = errors.Join(err, fmt.Errorf("report: %w", saving))
		}
	}
	if printing := a.printCheck(r, progress); err == nil {
		err = printing
	}
	a.tellLeft(report.Left)
	ours := func(what string) bool { return !strings.HasPrefix(what, "broker ") } // no clean-up starts these
	if f.local == "" && slices.ContainsFunc(report.Left, ours) {
		a.warn("to remove it later: %s", a.cleanupCommand(time.Since(begin)))
	}
	if f.keep {
		a.say("topics and groups are kept: their names begin with %s", config.Prefix())
	}
	return r.outcome(a, err)
}

// outcome is what the command ends with, once the report is out. What it found
// says more than an error on the way.
func (r *checkReport) outcome(a *app, err error) error {
	if err != nil && r.ExitCode != exitOK {
		a.fail(err)
	}
	switch r.ExitCode {
	case exitOK:
		return err
	case exitInterrupted:
		return errInterrupted
	}
	return &verdictError{r.ExitCode}
}
