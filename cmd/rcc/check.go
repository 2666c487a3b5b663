package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/readcommitted/conformance"
)

const checkHelp = `Judge whether a cluster honours read_committed.

Scenarios make situations with producers of their own (a transaction left open,
an abort in the middle of others, a zombie that writes on) and compare every
answer with the partition's whole log. Alone, this command prints the plan of a
run and touches nothing: what would be made, the rights that it takes, and what
stays behind. "rcc check run" carries it out.

Everything that a run makes has a name that begins with rcconf- and the run's ID,
and is removed at its end, also after an interrupt.

Exit codes of run, the first that applies: 130 interrupted, with a partial
report; 2 wrong command line; 3 the cluster failed, or something passed that was
known to fail; 4 could not judge: a scenario that is required was not decided, or
none was, or no cluster answers; 1 error; 0 otherwise. Required are the chosen
scenarios of class MUST and LIVE, less those that the cluster's features rule out,
and those of --require.`

// checkFlags choose and shape a run.
type checkFlags struct {
	profile     choice
	ids         []string // arguments: scenarios or families
	require     []string
	parallel    int
	slow        float64
	maxTime     time.Duration
	rate        float64
	topicConfig []string
	reuseTopics bool
	allowAdmin  bool
	hook        string
}

func newCheckFlags() *checkFlags {
	words := make([]string, len(conformance.Profiles))
	for i, p := range conformance.Profiles {
		words[i] = string(p)
	}
	return &checkFlags{profile: choice{words: words, value: string(conformance.Standard)}}
}

func (f *checkFlags) register(flags *pflag.FlagSet) {
	flags.Var(&f.profile, "profile", "scenarios to choose where no IDs are given")
	flags.StringSliceVar(&f.require, "require", nil, "`ID`s or families that have to be decided too")
	flags.IntVar(&f.parallel, "parallel", conformance.DefaultParallel, "scenarios at once; `N`")
	flags.Float64Var(&f.slow, "slow", 1, "multiply all bounds on time by `N`")
	flags.DurationVar(&f.maxTime, "max-time", 0, "begin no scenario after this `TIME`, such as 2m")
	flags.Float64Var(&f.rate, "rate", 0, "read no more than `MB/s` from the cluster, all connections together; bounds on time stay, see --slow")
	flags.StringArrayVar(&f.topicConfig, "topic-config", nil, "configuration of the topics, `KEY=VALUE`; may be repeated")
	flags.BoolVar(&f.reuseTopics, "reuse-topics", false, "let scenarios share few topics with many partitions; not those that need one with settings of its own")
	flags.BoolVar(&f.allowAdmin, "allow-admin", false, "run scenarios that need rights on the whole cluster")
	flags.StringVar(&f.hook, "hook", "", "shell `COMMAND` that does {action} (kill, stop, start, pause, resume) to broker {broker}")
}

// profileIgnored reports whether a profile was given that means nothing: where IDs
// are given it chooses none, and only the larger ones have some scenarios do more.
func (f *checkFlags) profileIgnored() bool {
	return len(f.ids) > 0 && (f.profile.value == string(conformance.Smoke) || f.profile.value == string(conformance.Destructive))
}

// within is a time with the bound of --max-time.
func (f *checkFlags) within(d time.Duration) time.Duration {
	if f.maxTime > 0 {
		return min(d, f.maxTime)
	}
	return d
}

const hookHint = "such as --hook 'ssh broker-{broker} kafka-ctl {action}'"

// check finds what is wrong before anything is dialed, and takes the arguments.
func (f *checkFlags) check(args []string) error {
	for _, word := range args {
		if err := strayProperty(word); err != nil {
			return err
		}
	}
	f.ids = args
	switch {
	case f.parallel < 1:
		return &usageError{err: fmt.Errorf("parallel %d: want 1 or more", f.parallel)}
	case f.slow < 0.1:
		return &usageError{err: fmt.Errorf("slow %g: want 0.1 or more", f.slow)}
	case f.rate < 0:
		return &usageError{err: fmt.Errorf("rate %g: want MB/s above zero", f.rate)}
	case f.maxTime < 0:
		return &usageError{err: fmt.Errorf("max-time %s: want a time above zero", f.maxTime)}
	case f.hook != "" && !strings.Contains(f.hook, "{broker}"):
		return &usageError{err: fmt.Errorf("hook without {broker}"), hint: hookHint}
	case f.hook != "" && !strings.Contains(f.hook, "{action}"):
		return &usageError{err: fmt.Errorf("hook without {action}"), hint: hookHint}
	}
	for _, c := range f.topicConfig {
		if key, _, ok := strings.Cut(c, "="); !ok || key == "" {
			return &usageError{err: fmt.Errorf("topic-config %q: want KEY=VALUE", c)}
		}
	}
	for _, selector := range append(append([]string{}, args...), f.require...) {
		if err := knownSelector(selector); err != nil {
			return err
		}
	}
	return nil
}

// knownSelector refuses what is neither a scenario nor a family.
func knownSelector(word string) error {
	var ids []string
	for _, s := range conformance.Scenarios() {
		if strings.EqualFold(s.ID, word) || strings.EqualFold(s.Family(), word) {
			return nil
		}
		ids = append(ids, s.ID)
	}
	return &usageError{err: fmt.Errorf("%q is neither a scenario nor a family", word), hint: didYouMean(nearestID(word, ids))}
}

// nearestID is nearest for words in capitals.
func nearestID(word string, ids []string) string {
	lower := make([]string, len(ids))
	for i, id := range ids {
		lower[i] = strings.ToLower(id)
	}
	return strings.ToUpper(nearest(word, lower))
}

// config is the run that the flags describe, without a cluster.
func (f *checkFlags) config(runID string) conformance.Config {
	c := conformance.Config{
		RunID: runID, Profile: conformance.Profile(f.profile.value), Select: f.ids, Require: f.require,
		Seed: rand.Uint64N(1 << 32), Slow: f.slow, Parallel: f.parallel, MaxTime: f.maxTime, AllowAdmin: f.allowAdmin,
		ReuseTopics: f.reuseTopics, TopicConfig: map[string]string{},
	}
	for _, word := range f.topicConfig {
		key, value, _ := strings.Cut(word, "=")
		c.TopicConfig[key] = value
	}
	if f.hook != "" {
		c.Hook = shellHook(f.hook)
	}
	return c
}

func newCheckCommand(a *app) *cobra.Command {
	a.checkID = conformance.NewRunID()
	f := newCheckFlags()
	cmd := &cobra.Command{
		Use:   "check",
		Short: "judge whether a cluster honours read_committed",
		Long:  checkHelp,
		Example: `  rcc check -b kafka-1:9092
  rcc check run -b kafka-1:9092 --yes
  rcc check run --local 4.4.0
  rcc check run A L-07 -b kafka-1:9092 --yes --report check.json --report check.xml
  rcc check about A-02`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCheck(cmd, args[0])
			}
			if err := f.check(nil); err != nil {
				return err
			}
			return a.checkPlan(cmd.Context(), f)
		},
	}
	f.register(cmd.Flags())
	cmd.AddCommand(newCheckRunCommand(a), newCheckPlanCommand(a), newCheckListCommand(a), newCheckAboutCommand(a),
		newCheckReplayCommand(a), newCheckMatrixCommand(a), newCheckStatementCommand(a), newCheckCleanupCommand(a))
	return cmd
}

// unknownCheck is what a first word that is no command gives.
func unknownCheck(cmd *cobra.Command, word string) error {
	if knownSelector(word) == nil {
		return &usageError{err: fmt.Errorf("unknown command %q", word), hint: "did you mean rcc check run " + word + "?"}
	}
	return unknownCommand(cmd, word)
}

// checkArgs is the check of a command's flags and arguments.
func checkArgs(f *checkFlags) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error { return f.check(args) }
}

// checkTarget is the cluster that -b and the properties name, ready for a run.
func (a *app) checkTarget(config *conformance.Config, rate float64) ([]string, error) {
	seeds, err := a.seeds()
	if err != nil {
		return nil, err
	}
	if err := checkSeeds(seeds); err != nil {
		return nil, err
	}
	return seeds, a.aim(config, seeds, rate)
}

// aim points a run at a cluster. A rate above 0 bounds what is read of it.
func (a *app) aim(config *conformance.Config, seeds []string, rate float64) (err error) {
	a.runID = config.RunID // the name in the brokers' logs and those of the topics are one
	config.Options = a.clientOptions("check", seeds)
	if rate > 0 {
		config.Options, err = slowed(config.Options, rate)
	}
	config.Clients = checkClients(config.Options)
	return err
}

// hasTarget reports whether somebody named a cluster.
func (a *app) hasTarget() bool {
	seeds, err := a.seeds()
	return err == nil && len(seeds) > 0
}

// examine asks the cluster that is named what it can do; without one it goes by
// the flags alone.
func (a *app) examine(ctx context.Context, f *checkFlags) (*conformance.Examination, []string, error) {
	if err := a.configure(); err != nil {
		return nil, nil, err
	}
	config := f.config(a.checkID)
	if !a.hasTarget() {
		config.Clients = checkClients(nil)
		outline, err := conformance.Outline(config)
		return outline, nil, err
	}
	seeds, err := a.checkTarget(&config, f.rate)
	if err != nil {
		return nil, nil, err
	}
	examination, err := conformance.Examine(ctx, config)
	return examination, seeds, a.notJudged(ctx, seeds, err)
}

// notJudged is the error of a cluster about which nothing can be said.
func (a *app) notJudged(ctx context.Context, seeds []string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return errInterrupted
	case isOneBroker(err): // the others answer
	case conformance.IsUnreadable(err):
		err = noKafka(seeds, err)
	case conformance.IsUnreachable(err), isLogin(err), isTLS(err):
		err = a.connectError(seeds, err)
	}
	return &undecidedError{err}
}

func isOneBroker(err error) bool {
	_, ok := errors.AsType[*conformance.BrokerError](err)
	return ok
}
