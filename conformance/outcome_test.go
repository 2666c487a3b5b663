package conformance

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/internal/kafkatest"
)

// judgedBy runs scenarios of a test's own as a whole run.
func judgedBy(ctx context.Context, t *testing.T, c *kafkatest.Cluster, change func(*Config), scenarios ...*Scenario) *Report {
	t.Helper()
	config := Config{Options: []kgo.Opt{kgo.SeedBrokers(c.Addrs()...)}, RunID: newRunID(t)}
	if change != nil {
		change(&config)
	}
	r, err := newRun(t.Context(), config)
	require.NoError(t, err)
	defer r.client.Close()
	return r.judge(ctx, scenarios)
}

// scenario is a MUST scenario with a script, at one level.
func scenario(script func(*trial)) *Scenario {
	return &Scenario{ID: "T-01", Name: "test", Class: Must, Requirement: "r", Consequence: "c", levels: onlyTV1, run: script}
}

func as(class Class, s *Scenario) *Scenario { s.Class = class; return s }

// resultOf runs one scenario on a cluster and returns its result.
func resultOf(t *testing.T, c *kafkatest.Cluster, s *Scenario) Result {
	t.Helper()
	report := judgedBy(t.Context(), t, c, nil, s)
	require.Empty(t, report.Left)
	return report.Results[0]
}

var nowhere = model.Partition{}

func TestOutcomesOfScripts(t *testing.T) {
	c := kafkatest.Fake(t, kafkatest.Config{})
	seen := func(t *trial) { t.witness(true, "") }
	miss := func(class Class) func(*trial) {
		return func(t *trial) { seen(t); t.expectAs(class, false, nowhere, -1, "e", "o") }
	}
	for _, k := range []struct {
		name   string
		s      *Scenario
		want   Outcome
		reason string
	}{
		{"nothing missed", scenario(seen), Pass, ""},
		{"no witness called", scenario(func(*trial) {}), Inconclusive, "no witness"},
		{"no witness seen", scenario(func(t *trial) { t.witness(false, "the log is %s", "empty") }), Inconclusive, "no witness: the log is empty"},
		{"one of two witnesses not seen", scenario(func(t *trial) { t.witness(false, "x"); t.witness(true, "") }), Inconclusive, "no witness: x"},
		{"a miss without a witness", scenario(func(t *trial) { t.expect(false, nowhere, -1, "e", "o"); t.witness(false, "x") }), Inconclusive, "no witness: x"},
		{"MUST missed", scenario(miss(Must)), Fail, ""},
		{"SHOULD missed", scenario(miss(Should)), Warn, ""},
		{"INFO missed", scenario(miss(Info)), Pass, ""},
		{"SHOULD missed by its class", as(Should, scenario(func(t *trial) { seen(t); t.expect(false, nowhere, -1, "e", "o") })), Warn, ""},
		{"skipped", scenario(func(t *trial) { t.skip(ReasonRefused, "x") }), Skip, ReasonRefused},
		{"skipped after a miss", scenario(func(t *trial) { miss(Must)(t); t.skip(ReasonRefused, "x") }), Fail, ReasonRefused},
		{"undecided", scenario(func(t *trial) { t.undecided("it is %d", 7) }), Inconclusive, "it is 7"},
		{"undecided after a miss", scenario(func(t *trial) { miss(Must)(t); t.undecided("x") }), Fail, "x"},
		{"a reader that is not judged", scenario(func(t *trial) { seen(t); t.unread("client %s", "x") }), Inconclusive, "client x"},
		{"a miss of the cluster, and a reader that is not judged", scenario(func(t *trial) { miss(Must)(t); t.unread("client x") }), Fail, "client x"},
		{"undecided after a warning", scenario(func(t *trial) { miss(Should)(t); t.undecided("x") }), Inconclusive, "x"},
		{"not allowed", scenario(func(t *trial) { t.refused("create topic", nil, kerr.TopicAuthorizationFailed.Code) }), Skip, ReasonNotAuthorized},
		{"declined by a policy", scenario(func(t *trial) { t.declined("create topic", nil, kerr.PolicyViolation.Code) }), Skip, ReasonRefused},
		{"declined without a right", scenario(func(t *trial) { t.declined("x", nil, kerr.ClusterAuthorizationFailed.Code) }), Skip, ReasonNotAuthorized},
		{"declined for something else", scenario(func(t *trial) { t.declined("x", nil, kerr.UnknownServerError.Code) }), Inconclusive, "x: UNKNOWN_SERVER_ERROR"},
		{"refused by a policy", scenario(func(t *trial) { t.refused("create topic", nil, kerr.PolicyViolation.Code) }), Inconclusive, "create topic: POLICY_VIOLATION"},
		{"refused although it is announced", scenario(func(t *trial) { t.refused("x", nil, kerr.UnsupportedVersion.Code) }), Inconclusive, "x: UNSUPPORTED_VERSION"},
		{"refused for something else", scenario(func(t *trial) { t.refused("x", nil, kerr.UnknownServerError.Code) }), Inconclusive, "x: UNKNOWN_SERVER_ERROR"},
		{"a request that the cluster does not have", scenario(func(t *trial) { t.version(kmsg.Fetch, 0) }), Skip, ReasonAbsent},
	} {
		t.Run(k.name, func(t *testing.T) {
			r := resultOf(t, c, k.s)
			require.Equal(t, k.want, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
			require.Contains(t, r.Reason, k.reason)
			require.Equal(t, k.reason == "", r.Reason == "")
		})
	}
}

func TestPanicsAreTheCheckersOwn(t *testing.T) {
	c := kafkatest.Fake(t, kafkatest.Config{})
	for name, script := range map[string]func(*trial){
		"in the script":        func(*trial) { panic("oh") },
		"in one of several":    func(t *trial) { t.together(func() { panic("oh") }, func() { t.pause(time.Minute, "the end") }) },
		"after the assertions": func(t *trial) { t.witness(true, ""); t.views = append(t.views, nil, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			r := resultOf(t, c, scenario(script))
			require.Equal(t, Inconclusive, r.Outcome)
			require.Len(t, r.Findings, 1)
			require.Equal(t, OfChecker, r.Findings[0].Subject)
			require.False(t, r.Of(OfCluster, Fail))
			require.Contains(t, r.Findings[0].Observed, "conformance/", "the stack says where")
		})
	}
}

func TestDeadlines(t *testing.T) {
	t.Parallel()
	c := kafkatest.Fake(t, kafkatest.Config{})
	s := scenario(func(t *trial) { t.witness(true, ""); t.pause(time.Minute, "the end") })
	s.Limit = 100 * time.Millisecond
	r := resultOf(t, c, s)
	require.Equal(t, Inconclusive, r.Outcome)
	require.Contains(t, r.Reason, "out of time: waiting for the end")
	require.Less(t, r.Duration, 30*time.Second)
}

func TestFindingsOfOneKindAreCounted(t *testing.T) {
	r := resultOf(t, kafkatest.Fake(t, kafkatest.Config{}), scenario(func(t *trial) {
		t.witness(true, "")
		for range 10 {
			t.expect(false, nowhere, -1, "e", "o")
			t.expectAs(Should, false, nowhere, -1, "e", "o")
		}
	}))
	require.Len(t, r.Findings, 6)
	count := map[Outcome]int{}
	for _, f := range r.Findings {
		count[f.Outcome] += 1 + f.Repeated
	}
	require.Equal(t, map[Outcome]int{Fail: 10, Warn: 10}, count)
}

// What only missed its bounds is tried again with the bounds doubled. What is
// unsafe is not.
func TestSecondChances(t *testing.T) {
	t.Parallel()
	c := kafkatest.Fake(t, kafkatest.Config{})
	for _, k := range []struct {
		name   string
		class  Class
		script func(t *trial, first bool)
		runs   int
		want   Outcome
		reason string
	}{
		{"LIVE, in time the second time", Live, func(t *trial, first bool) { t.expect(!first, nowhere, -1, "e", "late") }, 2, Warn, "flaky"},
		{"LIVE, late both times", Live, func(t *trial, _ bool) { t.expect(false, nowhere, -1, "e", "late") }, 2, Fail, ""},
		{"LIVE, undecided the second time", Live, func(t *trial, first bool) {
			t.expect(!first, nowhere, -1, "e", "late")
			if !first {
				t.undecided("x")
			}
		}, 2, Inconclusive, "x"},
		{"LIVE, skipped the second time", Live, func(t *trial, first bool) {
			t.expect(!first, nowhere, -1, "e", "late")
			if !first {
				t.skip(ReasonRefused, "x")
			}
		}, 2, Inconclusive, "could not be tried again: config-refused"},
		{"LIVE, in time", Live, func(*trial, bool) {}, 1, Pass, ""},
		{"LIVE, unsafe once", Live, func(t *trial, first bool) { t.expectAs(Must, !first, nowhere, -1, "e", "unsafe") }, 1, Fail, ""},
		{"LIVE, something delivered once that was not to be", Live, func(t *trial, first bool) {
			p := t.partition()
			t.plain(p, 1)
			if first {
				t.wantDelivered(p, 0)
			}
		}, 1, Fail, ""},
		{"LIVE, an entry missing once", Live, func(t *trial, first bool) {
			p, w := t.partition(), t.producer()
			w.write(p, 1)
			w.commit()
			if first {
				t.wantEntries(t.committed(p, 0), model.Entry{ProducerID: w.id})
			}
		}, 1, Fail, ""},
		{"LIVE, ended the other way once", Live, func(t *trial, first bool) {
			p, w := t.partition(), t.producer()
			w.write(p, 1)
			gen := w.generation()
			w.commit()
			if first {
				t.wantFate(t.oracle(p), gen, model.Aborted)
			}
		}, 1, Fail, ""},
		{"LIVE, late and unsafe once", Live, func(t *trial, first bool) {
			t.expect(!first, nowhere, -1, "e", "late")
			t.expectAs(Must, !first, nowhere, -1, "e", "unsafe")
		}, 1, Fail, ""},
		{"LIVE, an invariant broken once", Live, func(t *trial, first bool) {
			t.expect(!first, nowhere, -1, "e", "late")
			if first {
				t.breach(nowhere, model.Breach{Invariant: "U3", Severity: model.Failure}, nil)
			}
		}, 1, Fail, ""},
		{"MUST, unsafe once", Must, func(t *trial, first bool) { t.expect(!first, nowhere, -1, "e", "unsafe") }, 1, Fail, ""},
		{"MUST, a part about time late once", Must, func(t *trial, first bool) { t.expectAs(Live, !first, nowhere, -1, "e", "late") }, 2, Warn, "flaky"},
		{"MUST, missed after a bound was over", Must, func(t *trial, first bool) {
			if first {
				t.beLate()
			}
			t.expect(!first, nowhere, -1, "e", "o")
		}, 2, Inconclusive, "not again with its bounds doubled"},
		{"MUST, missed after a bound was over, and skipped the second time", Must, func(t *trial, first bool) {
			if !first {
				t.skip(ReasonRefused, "x")
			}
			t.beLate()
			t.expect(false, nowhere, -1, "e", "o")
		}, 2, Inconclusive, "could not be tried again: config-refused"},
		{"MUST, unsafe after a bound was over", Must, func(t *trial, first bool) {
			t.beLate()
			t.expectSafe(Must, !first, nowhere, -1, "e", "o")
		}, 1, Fail, ""},
		{"MUST, something given out after a bound was over that was not to be", Must, func(t *trial, first bool) {
			p := t.partition()
			t.plain(p, 1)
			t.beLate()
			if first {
				t.wantDelivered(p, 0)
			}
		}, 1, Fail, ""},
		{"MUST, something not given out after a bound was over", Must, func(t *trial, first bool) {
			p := t.partition()
			t.plain(p, 2)
			if first {
				t.beLate()
				t.wantOffsets(p, "delivered", []int64{1}, []int64{0, 1})
			}
		}, 2, Inconclusive, "not again with its bounds doubled"},
		{"MUST, nothing more given out from an offset on after a bound was over", Must, func(t *trial, first bool) {
			p := t.partition()
			t.plain(p, 1)
			if first {
				t.beLate()
				t.wantDelivered(p, 0, 0, 1)
			}
		}, 2, Warn, "flaky"},
		{"MUST, the last stable offset too low after a bound was over", Must, func(t *trial, first bool) {
			p := t.partition()
			t.plain(p, 1)
			if first {
				t.beLate()
				t.wantLSO(t.committed(p, 0), 2)
			}
		}, 2, Warn, "flaky"},
		{"MUST, the last stable offset too high after a bound was over", Must, func(t *trial, first bool) {
			p := t.partition()
			t.plain(p, 2)
			if first {
				t.beLate()
				t.wantLSO(t.committed(p, 0), 1)
			}
		}, 2, Inconclusive, "not again with its bounds doubled"},
	} {
		t.Run(k.name, func(t *testing.T) {
			runs := 0
			var bounds []time.Duration
			r := resultOf(t, c, as(k.class, scenario(func(t *trial) {
				runs++
				bounds = append(bounds, t.bound(time.Second))
				t.witness(true, "")
				k.script(t, runs == 1)
			})))
			require.Equal(t, k.want, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
			require.Contains(t, r.Reason, k.reason)
			require.Equal(t, []time.Duration{time.Second, 2 * time.Second}[:k.runs], bounds)
			if k.want == Warn {
				require.Empty(t, r.Findings)
				require.True(t, strings.HasPrefix(r.Facts[0], "at first: "), r.Facts)
			}
			require.Equal(t, k.runs == 2 && k.want != Fail, r.Flaky)
			if strings.Contains(k.name, "after a bound was over") && k.want == Inconclusive {
				require.Len(t, r.Findings, 1, "the evidence stays")
				require.Equal(t, Inconclusive, r.Findings[0].Outcome)
			}
		})
	}
}

func TestLevelsAreMerged(t *testing.T) {
	pass, fail := Result{Outcome: Pass}, Result{Outcome: Fail, Findings: []Finding{{Outcome: Fail}}}
	skip := Result{Outcome: Skip, Reason: ReasonRefused}
	undecided, flaky := Result{Outcome: Inconclusive, Reason: "cut"}, Result{Outcome: Warn, Reason: "flaky"}
	for _, k := range []struct {
		name        string
		first, then Result
		want        Outcome
		reason      string
		fact        string
	}{
		{"both pass", pass, pass, Pass, "", ""},
		{"the first fails", fail, pass, Fail, "", ""},
		{"the second fails", pass, fail, Fail, "", ""},
		{"a failure outweighs what is undecided", undecided, fail, Fail, "", ""},
		{"the other way round", fail, undecided, Fail, "", ""},
		{"undecided is not a pass", pass, undecided, Inconclusive, "cut", ""},
		{"undecided outweighs a warning", undecided, flaky, Inconclusive, "cut", ""},
		{"both skipped", skip, skip, Skip, ReasonRefused, ""},
		{"the first skipped", skip, pass, Pass, "", "skipped at TV1: config-refused"},
		{"the second skipped", pass, skip, Pass, "", "skipped at TV2: config-refused"},
		{"flaky", pass, flaky, Warn, "flaky", ""},
	} {
		t.Run(k.name, func(t *testing.T) {
			var r Result
			r.merge(TV1, k.first)
			r.merge(TV2, k.then)
			require.Equal(t, k.want, r.Outcome)
			require.Equal(t, k.reason, r.Reason)
			require.Equal(t, []string{"TV1", "TV2"}, r.Levels)
			require.Equal(t, k.fact, strings.Join(r.Facts, ","))
		})
	}
}

func TestReasonsForWhichNothingRuns(t *testing.T) {
	c := kafkatest.Fake(t, kafkatest.Config{})
	never := func(*trial) { panic("it must not run") }
	with := func(n need) *Scenario { s := scenario(never); s.needs = []need{n}; return s }
	for _, k := range []struct {
		name   string
		change func(*Config)
		s      *Scenario
		want   string
	}{
		{"no such request", nil, with(needAPI(kmsg.Fetch, 99)), ReasonAbsent},
		{"too few brokers", nil, with(needBrokers(2)), ReasonFewBrokers},
		{"no hook", nil, with(needHook), ReasonNoHook},
		{"no leave", nil, with(needAdmin), ReasonNoAdmin},
		{"no client", nil, with(needClient), ReasonNoClient},
		{"no time left", func(c *Config) { c.MaxTime = time.Nanosecond }, scenario(never), ReasonMaxTime},
	} {
		t.Run(k.name, func(t *testing.T) {
			r := judgedBy(t.Context(), t, c, k.change, k.s).Results[0]
			require.Equal(t, Skip, r.Outcome)
			require.Equal(t, k.want, r.Reason)
		})
	}
	t.Run("interrupted", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r := judgedBy(ctx, t, c, nil, scenario(never)).Results[0]
		require.Equal(t, Inconclusive, r.Outcome)
		require.Equal(t, "interrupted", r.Reason)
	})
}
