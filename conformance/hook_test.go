package conformance

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/internal/kafkatest"
)

// fakeHook takes brokers of a fake cluster away and brings them back, and keeps
// note of what it was asked for.
type fakeHook struct {
	c     *kafkatest.Cluster
	ports map[int32]int

	mu    sync.Mutex
	calls []string
	fails string // an action and a broker that it cannot do
}

func newFakeHook(t *testing.T, c *kafkatest.Cluster) *fakeHook {
	t.Helper()
	h := &fakeHook{c: c, ports: map[int32]int{}}
	brokers, err := c.Admin().ListBrokers(t.Context())
	require.NoError(t, err)
	for _, b := range brokers {
		h.ports[b.NodeID] = int(b.Port)
	}
	return h
}

func (h *fakeHook) do(ctx context.Context, action string, broker int32) error {
	call := fmt.Sprintf("%s %d", action, broker)
	h.mu.Lock()
	h.calls = append(h.calls, call)
	fails := h.fails == call
	h.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case fails:
		return errors.New("exit status 1: no such machine")
	case action == actKill, action == actStop:
		return h.c.Fake().RemoveNode(broker)
	case action == actStart:
		_, _, err := h.c.Fake().AddNode(broker, h.ports[broker])
		return err
	}
	return errors.New("a broker in this process cannot stand still")
}

func (h *fakeHook) wantAllRunning(t *testing.T) {
	t.Helper()
	for broker, port := range h.ports {
		conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		require.NoError(t, err, "broker %d", broker)
		require.NoError(t, conn.Close())
	}
}

// Whatever ends a script, the brokers that it took away run again.
func TestBrokersRunAgainHoweverAScriptEnds(t *testing.T) {
	for name, k := range map[string]struct {
		after func(*trial)
		want  Outcome
	}{
		"to its end":  {func(t *trial) { t.witness(true, "") }, Pass},
		"undecided":   {func(t *trial) { t.undecided("no") }, Inconclusive},
		"skipped":     {func(t *trial) { t.skip(ReasonRefused) }, Skip},
		"by a panic":  {func(*trial) { panic("oh") }, Inconclusive},
		"interrupted": {func(t *trial) { t.pause(time.Minute, "the end") }, Inconclusive},
		"side by side": {func(t *trial) {
			t.together(func() { t.takeAway(actStop, 2) }, func() { t.undecided("no") })
		}, Inconclusive},
	} {
		t.Run(name, func(t *testing.T) {
			c := kafkatest.Fake(t, kafkatest.Config{Nodes: 3})
			h := newFakeHook(t, c)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			report := judgedBy(ctx, t, c, func(c *Config) { c.Hook = h.do }, scenario(func(t *trial) {
				t.takeAway(actKill, 1)
				if name == "interrupted" {
					cancel()
				}
				k.after(t)
			}))
			require.Equal(t, k.want, report.Results[0].Outcome, report.Results[0].Reason)
			require.Empty(t, report.Left)
			require.Contains(t, h.calls, "start 1")
			h.wantAllRunning(t)
		})
	}
}

func TestScenariosWhoseHookFailsAreUndecided(t *testing.T) {
	for name, k := range map[string]struct{ fails, reason, left string }{
		"taking away": {"kill 1", "the hook could not kill broker 1: exit status 1: no such machine", "broker 1, after the kill of T-01: the hook could not start broker 1: node 1 already exists"},
		"bringing back": {"start 1", "the hook could not start broker 1: exit status 1: no such machine",
			"broker 1, after the kill of T-01: the hook could not start broker 1: exit status 1: no such machine"},
	} {
		t.Run(name, func(t *testing.T) {
			c := kafkatest.Fake(t, kafkatest.Config{Nodes: 3})
			h := newFakeHook(t, c)
			h.fails = k.fails
			report := judgedBy(t.Context(), t, c, func(c *Config) { c.Hook = h.do }, scenario(func(t *trial) {
				t.takeAway(actKill, 1)
				t.bringBack(1)
				t.witness(true, "")
			}))
			require.Equal(t, Inconclusive, report.Results[0].Outcome)
			require.Equal(t, k.reason, report.Results[0].Reason)
			require.Equal(t, []string{k.left}, report.Left)
		})
	}
}

// A hook that does nothing proves nothing.
func TestHooksThatDoNothingDecideNothing(t *testing.T) {
	c := kafkatest.Fake(t, kafkatest.Config{Nodes: 3})
	for _, s := range brokersGone {
		t.Run(s.ID, func(t *testing.T) {
			t.Parallel()
			report := judgedBy(t.Context(), t, c, func(c *Config) {
				c.Hook = func(context.Context, string, int32) error { return nil }
				c.Slow = 0.1
			}, s)
			r := report.Results[0]
			require.Equal(t, Inconclusive, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
			require.Contains(t, r.Reason, "of the hook")
			require.Empty(t, report.Left)
		})
	}
}

// A cluster in this process loses and gets brokers too.
func TestScenariosWithAHookOnAFakeCluster(t *testing.T) {
	for _, id := range []string{"R-03", "R-04", "R-05", "R-08"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			c := kafkatest.Fake(t, kafkatest.Config{Nodes: 3})
			h := newFakeHook(t, c)
			r := judgedBy(t.Context(), t, c, func(c *Config) { c.Hook = h.do }, Find(id)).Results[0]
			require.Equal(t, Pass, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
			h.wantAllRunning(t)
		})
	}
}
