package conformance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/conformance/internal/netfault"
	"example.com/readcommitted/conformance/internal/wire"
)

// trial is one scenario as it runs, at one protocol level: what its script
// calls. Methods that cannot go on end the script, as those of testing.T do, so
// that a script reads straight down; see [trial.stop].
//
// A script may use several goroutines through [trial.together] only.
type trial struct {
	ctx      context.Context //nolint:containedctx // the life of one script
	run      *run
	scenario *Scenario
	level    Level
	client   *wire.Client
	rand     *rand.Rand
	attempt  int               // 1, or 2 for a second chance with new names and bounds doubled
	patience float64           // scales bounds on time
	network  *netfault.Network // of a scenario that is faulty, nil for others

	rough atomic.Bool  // brokers come and go: see [trial.act]
	turns atomic.Int32 // of brokers that are asked what any of them knows

	mu        sync.Mutex
	result    Result
	witnessed bool
	missing   string               // what a witness did not see
	unjudged  string               // why a reader was not judged
	names     int                  // of transactional IDs so far
	values    int                  // written so far
	endings   map[string]time.Time // by transactional ID, when something was last sent that may end its transaction
	topics    []string
	places    map[model.Partition]*place
	order     []model.Partition // of places
	views     []*model.View
	trace     trace
	cleaned   bool             // the log is compacted: answers are not held against it
	late      bool             // see beLate
	unpinned  bool             // what was sent to begin a transaction may come late, and end another one
	down      map[int32]string // brokers that the hook took away, and how
}

// stopped ends a script from within. It never leaves the package.
type stopped struct {
	outcome Outcome
	reason  string
	detail  string // see [Result.Detail]
	crashed bool   // by a panic of the checker's own
}

// stop ends the script with an outcome, on top of what was found so far.
func (t *trial) stop(outcome Outcome, reason string) {
	panic(stopped{outcome: outcome, reason: reason})
}

// skip ends the script: the cluster cannot do, or refuses, what it needs.
func (t *trial) skip(reason, detail string) {
	panic(stopped{outcome: Skip, reason: reason, detail: detail})
}

// undecided ends the script: what it needs did not work.
func (t *trial) undecided(format string, args ...any) {
	t.stop(Inconclusive, fmt.Sprintf(format, args...))
}

// broken ends the script for an exchange that had no answer.
func (t *trial) broken(what string, e *wire.Exchange) {
	if errors.Is(e.Err, wire.ErrGarbage) && t.ctx.Err() == nil {
		t.report(Finding{
			Outcome: Fail, Offset: -1,
			Requirement: "every answer is a Kafka answer",
			Consequence: "no client can use the cluster",
			Expected:    "an answer to " + what,
			Observed:    e.Err.Error(), Bytes: e.Bytes[:min(len(e.Bytes), evidenceBytes)],
		})
	}
	t.undecided("%s: %v", what, e.Err)
}

// evidenceBytes bounds the bytes of one answer in a report.
const evidenceBytes = 4096

// refused ends the script for an error code that it has no use for. A cluster
// that announces a request and then refuses it has not said that it has no such
// thing: nothing is decided. What it does not announce no script asks for. req
// is the request that was refused, nil if that is not known.
func (t *trial) refused(what string, req kmsg.Request, code int16) {
	if refusal(code) == ReasonNotAuthorized {
		t.skip(ReasonNotAuthorized, what+": "+codeName(code)+rightMissed(req, code))
	}
	t.undecided("%s: %v", what, kerr.ErrorForCode(code))
}

// declined is refused for what clusters announce and may decline all the same:
// administrators' requests, and settings of a scenario's own topics. Whether
// they do shows only when it is tried.
func (t *trial) declined(what string, req kmsg.Request, code int16) {
	if reason := refusal(code); reason != "" {
		t.skip(reason, what+": "+codeName(code)+rightMissed(req, code))
	}
	t.refused(what, req, code)
}

// fact records something that is legal and worth knowing.
func (t *trial) fact(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.result.Facts = append(t.result.Facts, fmt.Sprintf(format, args...))
}

// witness says what proves that the scenario's situation existed, and whether
// it was seen. Every script has to call it.
func (t *trial) witness(ok bool, format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.witnessed = true
	if !ok && t.missing == "" {
		t.missing = fmt.Sprintf(format, args...)
	}
}

// unread says why a reader was not judged. What was found about the cluster
// stands all the same.
func (t *trial) unread(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.unjudged == "" {
		t.unjudged = fmt.Sprintf(format, args...)
	}
}

// bound is a bound on time, scaled for slow clusters, for second attempts, and
// while brokers come and go.
func (t *trial) bound(d time.Duration) time.Duration {
	patience := t.patience
	if t.rough.Load() {
		patience *= roughPatience
	}
	return time.Duration(float64(d) * patience)
}

// together runs functions side by side and returns when all have ended. If one
// stops the script, the others' context ends, so that their next step stops them
// too; the first cause counts. It must not be called within itself.
func (t *trial) together(functions ...func()) {
	whole := t.ctx
	ctx, cancel := context.WithCancel(whole)
	defer cancel()
	t.ctx = ctx
	var wg sync.WaitGroup
	var mu sync.Mutex
	var cause any
	for _, f := range functions {
		wg.Go(func() {
			defer func() {
				end := recover()
				if end == nil {
					return
				}
				if _, ok := end.(stopped); !ok {
					end = crash{end, debug.Stack()}
				}
				mu.Lock()
				defer mu.Unlock()
				if cause == nil {
					cause = end
				}
				cancel()
			}()
			f()
		})
	}
	wg.Wait()
	t.ctx = whole
	if cause != nil {
		panic(cause)
	}
}

// crash is a panic of another goroutine, with where it happened.
type crash struct {
	cause any
	stack []byte
}

func (c crash) String() string { return fmt.Sprintf("%v\n%s", c.cause, c.stack) }

// beLate notes that a bound on time was over: what the script misses from here
// on may be for that alone.
func (t *trial) beLate() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.late = true
}

func (t *trial) isLate() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.late
}

// play runs the script and everything that is judged after it.
func (t *trial) play() {
	begin := time.Now()
	defer func() { t.result.Duration = time.Since(begin) }()
	end := t.guarded(func() { t.scenario.run(t) })
	t.outlived()
	t.restore()
	if judging := t.guarded(t.judge); end == nil {
		end = judging
	}
	t.conclude(end)
}

// guarded runs a part of the trial and returns how it was stopped, nil if it
// ran to its end.
func (t *trial) guarded(part func()) (end *stopped) {
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case stopped:
			end = &cause
		default:
			t.report(Finding{
				Subject: OfChecker, Outcome: Warn, Offset: -1,
				Requirement: "the checker does not fail",
				Expected:    "a verdict", Observed: fmt.Sprintf("panic: %v\n%s", cause, debug.Stack()),
			})
			end = &stopped{outcome: Inconclusive, reason: fmt.Sprintf("the checker failed: %v", cause), crashed: true}
		}
	}()
	part()
	return nil
}

// conclude works out the outcome.
func (t *trial) conclude(end *stopped) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := &t.result
	r.Outcome = Pass
	switch {
	case end != nil:
		r.Outcome, r.Reason, r.Detail = end.outcome, end.reason, end.detail
	case t.missing != "":
		r.Outcome, r.Reason = Inconclusive, "no witness: "+t.missing
	case !t.witnessed:
		r.Outcome, r.Reason = Inconclusive, "no witness"
	case t.unjudged != "":
		r.Outcome, r.Reason = Inconclusive, t.unjudged
	}
	if t.missing != "" {
		r.unwitnessed()
	}
	if r.Outcome == Inconclusive && errors.Is(t.ctx.Err(), context.DeadlineExceeded) {
		r.Reason = "out of time: " + r.Reason
	}
	r.settle()
}

// report keeps a finding.
func (t *trial) report(f Finding) {
	if f.Subject == "" {
		f.Subject = OfCluster
	}
	f.Level = t.level.String()
	t.mu.Lock()
	defer t.mu.Unlock()
	if f.Exchanges == nil {
		f.Exchanges = t.trace.last(evidenceLines, model.Partition{Topic: f.Topic, Index: f.Partition})
	}
	t.result.add(f)
}
