package conformance

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/conformance/internal/netfault"
	"example.com/readcommitted/conformance/internal/wire"
)

// run is one run of the checker.
type run struct {
	config   Config
	wire     wire.Config
	client   *wire.Client // for the probe and for cleaning up
	features *features
	made     *made
	shared   shared
	refused  refusedDefaults
	longest  atomic.Int64 // transaction timeout that is allowed, in nanoseconds, if it is below one that was asked for
}

// Run judges the cluster. The report is there, as far as it got, even with an
// error, which says why the cluster could not be judged at all: unreachable, or
// without what a judgement needs. A context that ends stops the run; what it
// made is removed all the same.
func Run(ctx context.Context, config Config) (*Report, error) {
	r, err := newRun(ctx, config)
	if err != nil {
		return nil, err
	}
	defer r.client.Close()
	return r.judge(ctx, r.config.selected()), nil
}

// judge runs scenarios and removes what they made.
func (r *run) judge(ctx context.Context, scenarios []*Scenario) *Report {
	report := r.newReport()
	if slices.ContainsFunc(scenarios, func(s *Scenario) bool { return r.missing(s) == "" }) {
		r.warmUp(ctx)
	}
	report.Results = r.all(ctx, scenarios)
	if !r.config.Keep {
		report.Left = r.cleanUp(context.WithoutCancel(ctx))
	}
	report.Left = append(report.Left, r.made.brokers...)
	report.finish()
	return report
}

// answerLimit bounds an exchange, beside what its request lets the broker wait.
const answerLimit = 15 * time.Second

func newRun(ctx context.Context, config Config) (*run, error) {
	config = config.withDefaults()
	if err := config.validate(); err != nil {
		return nil, err
	}
	how, err := wire.FromKgo(config.Options...)
	if err != nil {
		return nil, err
	}
	how.Timeout = time.Duration(float64(answerLimit) * max(config.Slow, 1))
	r := &run{config: config, wire: how, made: newMade(config.Prefix())}
	r.client = wire.New(how, nil)
	if r.features, err = probe(ctx, r.client); err != nil {
		r.client.Close()
		return nil, err
	}
	return r, nil
}

// all runs scenarios, several at a time, and those that measure time alone
// after the others.
func (r *run) all(ctx context.Context, scenarios []*Scenario) []Result {
	results := make([]Result, len(scenarios))
	begin := time.Now()
	var observing sync.Mutex
	observe := func(e Event) {
		observing.Lock()
		defer observing.Unlock()
		r.config.Observe(e)
	}
	one := func(i int) {
		observe(Event{Scenario: scenarios[i]})
		results[i] = r.one(ctx, scenarios[i], begin)
		observe(Event{Scenario: scenarios[i], Result: &results[i]})
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, r.config.Parallel)
	for i, s := range scenarios {
		if s.alone {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			one(i)
		})
	}
	wg.Wait()
	for i, s := range scenarios {
		if s.alone {
			one(i)
		}
	}
	return results
}

// interrupted is the reason of what was not decided before the run was stopped.
const interrupted = "interrupted"

// one decides a scenario: at each level that it has, and once more with double
// bounds if only time was missed.
func (r *run) one(ctx context.Context, s *Scenario, begin time.Time) Result {
	result := Result{ID: s.ID, Name: s.Name, Class: s.Class, Seed: r.config.Seed}
	switch reason, what := r.lacks(s); {
	case reason != "":
		result.Outcome, result.Reason, result.Detail = Skip, reason, what
		return result
	case ctx.Err() != nil:
		result.Outcome, result.Reason = Inconclusive, interrupted
		return result
	case r.config.MaxTime > 0 && time.Since(begin) > r.config.MaxTime:
		result.Outcome, result.Reason = Skip, ReasonMaxTime
		return result
	}
	for _, level := range s.levels.of(r.features.newest) {
		result.merge(level, r.retried(ctx, s, level))
	}
	if ctx.Err() != nil && result.Outcome == Inconclusive {
		result.Reason, result.Detail = interrupted, ""
	}
	return result
}

// retried gives a scenario that failed for its bounds on time alone a second
// chance, with the bounds doubled: a busy machine misses bounds too. What is
// skipped then has not had it. What was missed after a bound was over, and was
// no matter of time itself, is not made up for by it.
func (r *run) retried(ctx context.Context, s *Scenario, level Level) Result {
	first := r.trial(ctx, s, level, 1)
	missed := first.missedInTime()
	if missed == "" || ctx.Err() != nil {
		return first
	}
	second := r.trial(ctx, s, level, 2)
	second.Duration += first.Duration
	second.Made.add(*first.Made)
	second.Facts = append(second.Facts, "at first: "+missed)
	second.Flaky = first.Of(OfCluster, Fail) && !second.Of(OfCluster, Fail)
	doubtful := first.doubtful()
	switch {
	case second.Outcome == Fail:
		return second
	case second.Outcome == Skip:
		second.Outcome, second.Reason = Inconclusive, "missed its bounds, and could not be tried again: "+second.Reason
	case second.Outcome == Inconclusive:
	case len(doubtful) > 0:
		second.Outcome, second.Reason, second.Detail = Inconclusive, "missed after a bound was over, and not again with its bounds doubled", ""
	default:
		second.Outcome, second.Reason, second.Detail = Warn, "flaky: passed with its bounds doubled", ""
	}
	second.Findings = append(second.Findings, doubtful...)
	return second
}

// missing is the reason for which a scenario cannot run here, "" if it can.
func (r *run) missing(s *Scenario) string {
	reason, _ := r.lacks(s)
	return reason
}

// lacks is missing, with what it is that the cluster does not have; what the run
// does not have, its reason says.
func (r *run) lacks(s *Scenario) (reason, what string) {
	if s.levels == onlyTV2 && r.features.newest < TV2 {
		return ReasonNoLevel, ""
	}
	for _, n := range s.needs {
		switch reason := n.missing(r.features, &r.config); {
		case isOfConfig(reason):
			return reason, ""
		case reason != "":
			return reason, "it needs " + n.what
		}
	}
	return "", ""
}

// trial runs a scenario once.
func (r *run) trial(ctx context.Context, s *Scenario, level Level, attempt int) Result {
	limit := s.Limit
	if limit == 0 {
		limit = defaultLimit
	}
	patience := float64(attempt) * r.config.Slow
	ctx, cancel := context.WithTimeout(ctx, time.Duration(float64(limit)*patience))
	defer cancel()
	t := &trial{
		ctx: ctx, run: r, scenario: s, level: level, attempt: attempt, patience: patience,
		rand:   rand.New(rand.NewPCG(r.config.Seed, seedOf(s.ID, level))),
		places: map[model.Partition]*place{},
	}
	steps := newSteps()
	how := r.wire
	if s.faulty {
		t.network = netfault.New(how.Dial)
		how.Dial = t.network.Dial
		defer t.network.Wait()
	}
	t.client = wire.New(how, func(e *wire.Exchange) {
		steps.watch(e)
		r.made.watch(e)
	})
	defer t.client.Close()
	t.play()
	footprint := steps.footprint()
	t.result.Made = &footprint
	return t.result
}

// seedOf gives each scenario random numbers of its own, whatever else runs.
func seedOf(id string, level Level) uint64 {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s %d", id, level)
	return h.Sum64()
}

// merge adds what became of one level.
func (r *Result) merge(level Level, of Result) {
	switch {
	case len(r.Levels) == 0, r.Outcome != of.Outcome && worse(r.Outcome, of.Outcome) == of.Outcome:
		r.skippedAt(r.Levels)
		r.Outcome, r.Reason, r.Detail = of.Outcome, of.Reason, of.Detail
	case r.Reason == "" && of.Outcome == r.Outcome:
		r.Reason, r.Detail = of.Reason, of.Detail
	case of.Outcome != r.Outcome:
		of.skippedAt([]string{level.String()})
	}
	r.Levels = append(r.Levels, level.String())
	r.Flaky = r.Flaky || of.Flaky
	r.Duration += of.Duration
	r.Throttled += of.Throttled
	if of.Made != nil {
		if r.Made == nil {
			r.Made = &Footprint{}
		}
		r.Made.add(*of.Made)
	}
	for _, f := range of.Facts {
		if !slices.Contains(r.Facts, f) {
			r.Facts = append(r.Facts, f)
		}
	}
	r.Findings = append(r.Findings, of.Findings...)
	r.Logs = append(r.Logs, of.Logs...)
	if r.Judged == nil {
		r.Judged = map[string]int{}
	}
	for k, n := range of.Judged {
		r.Judged[k] += n
	}
}

// skippedAt keeps, as a fact, why levels were skipped where another one was not.
func (r *Result) skippedAt(levels []string) {
	if r.Outcome == Skip && len(levels) > 0 {
		r.Facts = append(r.Facts, fmt.Sprintf("skipped at %s: %s", strings.Join(levels, " and "), r.Why()))
	}
}

// IsUnreachable reports whether an error of Run says that the cluster did not
// answer, rather than that it cannot be judged.
func IsUnreachable(err error) bool {
	return errors.Is(err, wire.ErrUnreachable) || errors.Is(err, wire.ErrTimeout) || errors.Is(err, wire.ErrCut)
}

// IsUnreadable reports whether an error of Run says that what answered is no
// Kafka broker.
func IsUnreadable(err error) bool { return errors.Is(err, wire.ErrGarbage) }
