package rcconsumer

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// drainEvery is how often a waiting poll asks kgo for errors of the group:
// nothing tells when there are any.
const drainEvery = 250 * time.Millisecond

// gate is kgo's own gate between polls and rebalances
// (kgo.BlockRebalanceOnPoll), so that AllowRebalance,
// OnPartitionsCallbackBlocked and Close mean here what they mean there. Only a
// poll of the client underneath passes it: a poll waits while a rebalance wants
// to run or runs, and a rebalance waits for polls that hold the gate.
type gate struct {
	c *Consumer

	mu      sync.Mutex
	passing int  // polls that have asked to pass and have not decided yet
	held    bool // a poll returned records since AllowRebalance
}

// ended is a context that has ended: with it kgo's poll takes the gate and
// nothing else.
var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// enter waits until no rebalance wants to run, and keeps the next one waiting.
func (g *gate) enter() {
	if !g.c.cfg.blockOnPoll {
		return
	}
	g.pass()
	g.c.cl.PollFetches(ended)
}

// pass begins a passage, which leave ends.
func (g *gate) pass() {
	if !g.c.cfg.blockOnPoll {
		return
	}
	g.mu.Lock()
	g.passing++
	g.mu.Unlock()
}

// leave ends a passage. keep is for a poll that returns records: rebalances wait
// for AllowRebalance. An error alone holds nothing up. The last one to leave
// lets go of the gate for all: kgo cannot let go for one of several.
func (g *gate) leave(keep bool) {
	if !g.c.cfg.blockOnPoll {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.passing--
	g.held = g.held || keep
	if g.passing == 0 && !g.held {
		g.c.cl.AllowRebalance()
	}
}

// holds reports whether rebalances wait for AllowRebalance.
func (g *gate) holds() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.held
}

// allow ends the hold of all polls.
func (g *gate) allow() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held = false
	g.c.cl.AllowRebalance()
}

// drain returns errors that kgo has for the caller: of the group's session, of
// committed offsets that could not be fetched, of metadata.
func (g *gate) drain() kgo.Fetches {
	g.pass()
	var none context.Context
	fetches := g.c.cl.PollFetches(none)
	g.leave(false) // kgo's own poll keeps the gate for an error
	return fetches
}
