package rcconsumer_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/rcconsumer"
)

// diary notes what happens, in order.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *diary) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.lines)
}

// Hooks that write a diary: kgo's, ours, and one that is both.
type (
	author struct {
		*diary
		name string
	}
	kgoAuthor  struct{ author }
	ourAuthor  struct{ author }
	bothAuthor struct{ ourAuthor }
)

func (a kgoAuthor) OnNewClient(*kgo.Client)             { a.note("%s new", a.name) }
func (a kgoAuthor) OnClientClosed(*kgo.Client)          { a.note("%s closed", a.name) }
func (a ourAuthor) OnNewClient(*rcconsumer.Consumer)    { a.note("%s new", a.name) }
func (a ourAuthor) OnClientClosed(*rcconsumer.Consumer) { a.note("%s closed", a.name) }
func (a ourAuthor) OnOffsetReset(string, int32, int64, int64) {
	a.note("%s reset", a.name)
}
func (a bothAuthor) OnFetchRecordBuffered(*kgo.Record) { a.note("%s buffered", a.name) }

func TestHooksOfAnyKindGoInOneListAndFireOnceInTheOrderGiven(t *testing.T) {
	for name, inOne := range map[string]func(...rcconsumer.Hook) []kgo.Opt{
		"one option":   func(hooks ...rcconsumer.Hook) []kgo.Opt { return []kgo.Opt{rcconsumer.WithHooks(hooks...)} },
		"nested lists": func(hooks ...rcconsumer.Hook) []kgo.Opt { return []kgo.Opt{rcconsumer.WithHooks(hooks[0], hooks[1:])} },
		"several options": func(hooks ...rcconsumer.Hook) (opts []kgo.Opt) {
			for _, h := range hooks {
				opts = append(opts, rcconsumer.WithHooks(h))
			}
			return opts
		},
		"kgo's option for kgo's": func(hooks ...rcconsumer.Hook) []kgo.Opt {
			return []kgo.Opt{kgo.WithHooks(hooks[0]), rcconsumer.WithHooks(hooks[1]), kgo.WithHooks(hooks[2], hooks[3]), rcconsumer.WithHooks(hooks[4])}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				f := forgeRange(w) // asked for what is gone, it resets
				var d diary
				c := w.consumer(append(inOne(
					kgoAuthor{author{&d, "kgo 1"}}, ourAuthor{author{&d, "our 1"}}, bothAuthor{ourAuthor{author{&d, "both"}}},
					kgoAuthor{author{&d, "kgo 2"}}, ourAuthor{author{&d, "our 2"}},
				), startAt(f.start-1))...)
				readOffsets(t, c, 30)
				c.Close()
				c.Close()
				lines := slices.DeleteFunc(d.read(), func(line string) bool { return line == "both buffered" })
				require.Equal(t, 30, len(d.read())-len(lines))
				require.Equal(t, []string{
					"kgo 1 new", "kgo 2 new", // the client underneath comes first
					"our 1 new", "both new", "our 2 new",
					"our 1 reset", "both reset", "our 2 reset",
					"kgo 1 closed", "kgo 2 closed", // and ends first
					"our 1 closed", "both closed", "our 2 closed",
				}, lines)
			})
		})
	}
}

func TestValueThatIsNoHookIsRefusedByItsType(t *testing.T) {
	type mistake struct{ OnNewClient func(*rcconsumer.Consumer) }
	for _, hooks := range [][]rcconsumer.Hook{
		{mistake{}}, {ourAuthor{}, mistake{}}, {kgoAuthor{}, mistake{}}, {[]rcconsumer.Hook{kgoAuthor{}, mistake{}}},
	} {
		_, err := rcconsumer.New(rcconsumer.WithHooks(hooks...))
		require.ErrorContains(t, err, "WithHooks: rcconsumer_test.mistake implements no hook")
		require.ErrorContains(t, rcconsumer.CheckKgoOptions(rcconsumer.WithHooks(hooks...)), "rcconsumer_test.mistake")
	}
	_, err := rcconsumer.New(rcconsumer.WithHooks(nil))
	require.ErrorContains(t, err, "<nil> implements no hook")
	_, err = rcconsumer.New(nil)
	require.ErrorContains(t, err, "option 1 of 1 is nil")
}

// hookFuncs are the client hooks as functions.
type hookFuncs struct{ made, closed func(*rcconsumer.Consumer) }

func (h hookFuncs) OnNewClient(c *rcconsumer.Consumer)    { h.made(c) }
func (h hookFuncs) OnClientClosed(c *rcconsumer.Consumer) { h.closed(c) }

func noHook(*rcconsumer.Consumer) {}

func TestNewClientHookMayUseTheConsumerAndNothingIsFetchedBefore(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 4))
		var given *rcconsumer.Consumer
		c := w.consumer(rcconsumer.WithHooks(hookFuncs{func(c *rcconsumer.Consumer) {
			given = c
			c.AddConsumeTopics(topic)
			require.NoError(t, c.Ping(t.Context()))
			require.Empty(t, c.PollFetches(noWait))
			time.Sleep(10 * time.Second)
			require.Zero(t, w.count())
			require.Zero(t, w.metadata-1, "but for that of Ping")
		}, noHook}))
		require.Same(t, c, given)
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
	})
}

func TestGroupCallbacksWaitForTheNewClientHook(t *testing.T) {
	inGroups(t, 1, func(t *testing.T, w *world, opts []kgo.Opt) {
		w.forge(0, batchtest.Data(0, 4))
		var d diary
		c := w.consumer(inGroup(append(opts, notePartitions(&d), rcconsumer.WithHooks(hookFuncs{func(*rcconsumer.Consumer) {
			time.Sleep(30 * time.Second)
			d.note("made")
		}, func(c *rcconsumer.Consumer) {
			d.note("closed: %v", c.PollFetches(noWait).IsClientClosed())
		}}))...)...)
		readOffsets(t, c, 5)
		c.Close()
		require.Equal(t, []string{"made", "assigned", "closed: true"}, d.read())
	}, "range", "KIP-848")
}

// Callbacks wait for the hook, and with kgo.BlockRebalanceOnPoll polls wait for
// callbacks.
func TestPollsOfTheNewClientHookEndWithTheirContext(t *testing.T) {
	inGroups(t, 1, func(t *testing.T, w *world, opts []kgo.Opt) {
		w.forge(0, batchtest.Data(0, 4))
		asked := make(chan struct{})
		made := make(chan *rcconsumer.Consumer, 1)
		go func() {
			made <- w.consumer(inGroup(append(opts, kgo.BlockRebalanceOnPoll(), rcconsumer.WithHooks(hookFuncs{func(c *rcconsumer.Consumer) {
				time.Sleep(20 * time.Second) // by then the group has assigned something
				c.PollFetches(noWait)
				poll(c, 5*time.Second)
				for _, err := range c.Records(noWait) {
					_ = err // there is nothing, or an end that is told
				}
				close(asked)
			}, noHook}))...)...)
		}()
		select {
		case <-asked:
		case <-time.After(time.Hour):
			require.FailNow(t, "a poll hangs, and so does New")
		}
		require.Equal(t, span(0, 4), readOffsets(t, <-made, 5))
	}, "range", "KIP-848")
}

// notePartitions writes down the first assignment.
func notePartitions(d *diary) kgo.Opt {
	var once sync.Once
	return rcconsumer.OnPartitionsAssigned(func(context.Context, *rcconsumer.Consumer, map[string][]int32) {
		once.Do(func() { d.note("assigned") })
	})
}

func TestClosedHookFiresOnceHoweverManyClose(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		var d diary
		c := w.consumer(startAt(0), rcconsumer.WithHooks(hookFuncs{noHook, func(*rcconsumer.Consumer) {
			time.Sleep(time.Second)
			d.note("closed")
		}}))
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				c.Close()
				require.Equal(t, []string{"closed"}, d.read(), "Close has waited for the hook")
			})
		}
		wg.Wait()
	})
}
