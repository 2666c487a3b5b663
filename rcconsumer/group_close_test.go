package rcconsumer_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/rcconsumer"
)

// logLines is a slog handler that keeps messages.
type logLines struct {
	slog.Handler
	mu    sync.Mutex
	lines []string
}

func (*logLines) Enabled(context.Context, slog.Level) bool { return true }

func (l *logLines) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, r.Message)
	return nil
}

func (l *logLines) have(part string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.lines, func(s string) bool { return strings.Contains(s, part) })
}

func TestCloseWithoutAllowRebalanceEndsAfterTheRebalanceTimeout(t *testing.T) {
	inGroups(t, 1, func(t *testing.T, w *world, opts []kgo.Opt) {
		lines := &logLines{}
		w.produce(topic, 0, "a")
		opts = append(opts, kgo.BlockRebalanceOnPoll(), kgo.RebalanceTimeout(7*time.Second))
		c := w.consumer(inGroup(append(opts, rcconsumer.WithSlog(slog.New(lines)))...)...)
		require.Len(t, c.PollFetches(t.Context()).Records(), 1)
		began := time.Now()
		c.Close()
		require.InDelta(t, 7, time.Since(began).Seconds(), 0.5)
		require.True(t, lines.have("closing waited for AllowRebalance"))
		require.EqualValues(t, -1, w.committed(0), "nobody said that it was worked on")

		d := w.consumer(inGroup(opts...)...)
		require.Len(t, d.PollFetches(t.Context()).Records(), 1)
		began = time.Now()
		d.CloseAllowingRebalance()
		require.Less(t, time.Since(began), time.Second)
		require.Empty(t, w.GroupInfo("g").Members)
	}, "range", "KIP-848")
}

func TestCloseOfAMemberEndsWhateverIsGoingOn(t *testing.T) {
	slow := func(context.Context, *rcconsumer.Consumer, map[string][]int32) { time.Sleep(5 * time.Second) }
	joining := func(*testing.T, *world, *rcconsumer.Consumer, *cutNet) {}
	for name, tt := range map[string]struct {
		opts   []kgo.Opt
		before func(*testing.T, *world, *rcconsumer.Consumer, *cutNet)
		limit  time.Duration
	}{
		"reading":              {before: func(t *testing.T, _ *world, c *rcconsumer.Consumer, _ *cutNet) { readOffsets(t, c, 1) }, limit: time.Second},
		"during the join":      {before: joining, limit: 10 * time.Second},
		"during an assignment": {opts: []kgo.Opt{rcconsumer.OnPartitionsAssigned(slow)}, before: assigning, limit: 10 * time.Second},
		"during a revocation": {opts: []kgo.Opt{rcconsumer.OnPartitionsRevoked(slow)}, limit: 15 * time.Second, before: func(t *testing.T, w *world, c *rcconsumer.Consumer, _ *cutNet) {
			readOffsets(t, c, 1)
			w.joins(nil)
			time.Sleep(4 * time.Second)
		}},
		"cluster gone": {limit: time.Minute, before: func(t *testing.T, _ *world, c *rcconsumer.Consumer, net *cutNet) {
			readOffsets(t, c, 1)
			net.cut()
			time.Sleep(time.Second)
		}},
		"cluster never there": {limit: 10 * time.Second, opts: []kgo.Opt{kgo.Dialer(func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("refused") })}, before: joining},
		"left before":         {limit: time.Second, before: func(t *testing.T, _ *world, c *rcconsumer.Consumer, _ *cutNet) { readOffsets(t, c, 1); c.LeaveGroup() }},
		"leaving": {limit: 5 * time.Second, before: func(t *testing.T, _ *world, c *rcconsumer.Consumer, _ *cutNet) {
			readOffsets(t, c, 1)
			require.NoError(t, c.LeaveGroupContext(noWait))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inGroups(t, 1, func(t *testing.T, w *world, opts []kgo.Opt) {
				w.produce(topic, 0, "a")
				net := &cutNet{dial: w.net.DialContext}
				c := w.consumer(inGroup(append(append(opts, kgo.Dialer(net.DialContext), kgo.RetryTimeout(20*time.Second)), tt.opts...)...)...)
				tt.before(t, w, c, net)
				poll := make(chan kgo.Fetches)
				go func() {
					for {
						if fs := c.PollFetches(context.Background()); fs.IsClientClosed() {
							poll <- fs
							return
						}
					}
				}()
				began := time.Now()
				var all sync.WaitGroup
				for range 3 {
					all.Go(c.Close)
				}
				all.Wait()
				require.LessOrEqual(t, time.Since(began), tt.limit)
				require.True(t, (<-poll).IsClientClosed())
				c.Close()
			}, "range", "cooperative", "KIP-848")
		})
	}
}

func assigning(t *testing.T, _ *world, c *rcconsumer.Consumer, _ *cutNet) {
	eventually(t, "the assignment", func() bool { return len(reads(c)) == 1 })
}

func TestParentContextThatEndsEndsAMember(t *testing.T) {
	inGroups(t, 1, func(t *testing.T, w *world, opts []kgo.Opt) {
		w.produce(topic, 0, "a")
		ctx, cancel := context.WithCancel(t.Context())
		c := w.consumer(inGroup(append(opts, kgo.WithContext(ctx), kgo.BlockRebalanceOnPoll())...)...)
		require.Len(t, c.PollFetches(t.Context()).Records(), 1)
		cancel()
		require.True(t, c.PollFetches(t.Context()).IsClientClosed())
		began := time.Now()
		c.CloseAllowingRebalance()
		require.Less(t, time.Since(began), 5*time.Second)
	}, "range", "cooperative", "KIP-848")
}

func TestCloseDoesNotWaitForEverForAllowRebalanceAfterItsContextHasEnded(t *testing.T) {
	inGroups(t, 1, func(t *testing.T, w *world, opts []kgo.Opt) {
		w.produce(topic, 0, "a")
		ctx, cancel := context.WithCancel(t.Context())
		c := w.consumer(inGroup(append(opts, kgo.WithContext(ctx), kgo.BlockRebalanceOnPoll(), kgo.RebalanceTimeout(20*time.Second))...)...)
		require.Len(t, c.PollFetches(t.Context()).Records(), 1)
		cancel()
		began := time.Now()
		closed := make(chan struct{})
		go func() { defer close(closed); c.Close() }()
		select {
		case <-closed:
		case <-time.After(time.Minute):
			c.AllowRebalance()
			require.FailNow(t, "Close hangs")
		}
		require.InDelta(t, 20*time.Second, time.Since(began), float64(time.Second))
	}, "range", "cooperative", "KIP-848")
}

func TestLeavingAGroup(t *testing.T) {
	inGroups(t, 2, func(t *testing.T, w *world, opts []kgo.Opt) {
		var log callbackLog
		w.produce(topic, 0, "a")
		c := w.consumer(inGroup(append(append(opts, log.options()...), kgo.DisableAutoCommit())...)...)
		readOffsets(t, c, 1)
		require.NoError(t, c.LeaveGroupContext(noWait))
		eventually(t, "the end", func() bool { return len(w.GroupInfo("g").Members) == 0 })
		c.LeaveGroup()
		require.NoError(t, c.LeaveGroupContext(t.Context()))
		require.Equal(t, []string{"assigned", "revoked"}, log.whats())
		require.Empty(t, reads(c))
		w.produce(topic, 0, "b")
		silent(t, c, 10*time.Second) // polls go on waiting
		c.ForceRebalance()
		silent(t, c, 10*time.Second)
		require.Empty(t, w.GroupInfo("g").Members)
	})
}

// A coordinator that hangs need not hold up a process that ends.
func TestCloseIsQuickAfterLeavingWithAContextThatHasEnded(t *testing.T) {
	for name, between := range map[string]time.Duration{"at once": 0, "later": 5 * time.Second} {
		t.Run(name, func(t *testing.T) {
			inGroups(t, 1, func(t *testing.T, w *world, opts []kgo.Opt) {
				w.produce(topic, 0, "a")
				c := w.consumer(inGroup(opts...)...)
				readOffsets(t, c, 1)
				w.silence(kmsg.LeaveGroup, kmsg.ConsumerGroupHeartbeat)
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				require.ErrorIs(t, c.LeaveGroupContext(ctx), context.Canceled)
				time.Sleep(between)
				began := time.Now()
				c.Close()
				require.Less(t, time.Since(began), time.Second)
			}, "range", "cooperative", "KIP-848")
		})
	}
}

// silence makes requests of some kinds wait for an answer that does not come.
func (w *world) silence(keys ...kmsg.Key) {
	for _, key := range keys {
		w.ControlKey(int16(key), func(kmsg.Request) (kmsg.Response, error, bool) {
			w.KeepControl()
			w.SleepControl(func() { <-w.over })
			return nil, errors.New("the test is over"), true
		})
	}
}

// A member that leaves while the group takes a partition back is told of the
// rest only. Nothing may be read on all the same.
func TestNothingIsReadAfterLeavingInTheMiddleOfARebalance(t *testing.T) {
	inGroups(t, 4, func(t *testing.T, w *world, opts []kgo.Opt) {
		var busy atomic.Bool
		c := w.consumer(inGroup(append(opts, rcconsumer.OnPartitionsRevoked(func(context.Context, *rcconsumer.Consumer, map[string][]int32) {
			busy.Store(true)
			time.Sleep(3 * time.Second)
		}))...)...)
		eventually(t, "the assignment", func() bool { return len(reads(c)) == 4 })
		other := w.joins(nil, opts...)
		eventually(t, "the callback", busy.Load)
		require.NoError(t, c.LeaveGroupContext(t.Context()))
		eventually(t, "the end", func() bool { return len(reads(c)) == 0 })
		shared(t, 4, other.Consumer)
		w.producesNumbers(4, 1, 8)
		silent(t, c, 5*time.Second)
		got(t, numbers(1, 8), other)
	})
}

// answersOf calls everything that answers without waiting for long.
func answersOf(c api) []any {
	id, gen := c.GroupMetadata()
	c.AllowRebalance()
	c.ForceRebalance()
	c.ResumeFetchTopics(topic)
	c.SetOffsets(map[string]map[int32]kgo.EpochOffset{topic: {0: {Offset: 1}}})
	c.MarkCommitRecords(&kgo.Record{Topic: topic})
	return []any{
		id, gen, c.CommittedOffsets(), c.UncommittedOffsets(), c.MarkedOffsets(), c.PauseFetchTopics(topic),
		c.CommitUncommittedOffsets(context.Background()) == nil, c.CommitMarkedOffsets(context.Background()) == nil,
		c.CommitRecords(context.Background()) == nil,
		c.LeaveGroupContext(noWait),
	}
}

// api is what a consumer and a client have in common here.
type api interface {
	poller
	GroupMetadata() (string, int32)
	AllowRebalance()
	ForceRebalance()
	ResumeFetchTopics(...string)
	SetOffsets(map[string]map[int32]kgo.EpochOffset)
	MarkCommitRecords(...*kgo.Record)
	CommittedOffsets() map[string]map[int32]kgo.EpochOffset
	UncommittedOffsets() map[string]map[int32]kgo.EpochOffset
	MarkedOffsets() map[string]map[int32]kgo.EpochOffset
	PauseFetchTopics(...string) []string
	PauseFetchPartitions(map[string][]int32) map[string][]int32
	ResumeFetchPartitions(map[string][]int32)
	PollRecords(context.Context, int) kgo.Fetches
	CloseAllowingRebalance()
	CommitUncommittedOffsets(context.Context) error
	CommitMarkedOffsets(context.Context) error
	CommitRecords(context.Context, ...*kgo.Record) error
	LeaveGroupContext(context.Context) error
}

func TestMethodsAnswerAsKgosBeforeTheAssignmentAndAfterClose(t *testing.T) {
	for name, opts := range map[string][]kgo.Opt{
		"auto": nil, "marks": {kgo.AutoCommitMarks()}, "manual": {kgo.DisableAutoCommit()},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				w.ControlKey(int16(kmsg.JoinGroup), func(kmsg.Request) (kmsg.Response, error, bool) {
					w.KeepControl()
					return nil, errors.New("not now"), true
				})
				opts := inGroup(opts...)
				ours, theirs := w.consumer(opts...), w.client(opts...)
				for range 2 {
					require.Equal(t, answersOf(theirs), answersOf(ours))
					require.Empty(t, ours.PollFetches(noWait).Records())
					time.Sleep(time.Second)
				}
				ours.Close()
				theirs.Close()
				require.Equal(t, answersOf(theirs), answersOf(ours))
				require.Equal(t, errorsOf(theirs.PollFetches(t.Context())), errorsOf(ours.PollFetches(t.Context())))
			})
		})
	}
}

func errorsOf(fs kgo.Fetches) (all []string) {
	for _, e := range fs.Errors() {
		all = append(all, e.Topic+" "+e.Err.Error())
	}
	return all
}
