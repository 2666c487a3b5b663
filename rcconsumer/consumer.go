package rcconsumer

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Consumer reads topics at read_committed (or read_uncommitted, see
// [ReadUncommitted]). All methods may be called from several goroutines.
type Consumer struct {
	cfg    config
	cl     *kgo.Client
	ctx    context.Context // ends with Close; of the consumer's own goroutines
	cancel context.CancelFunc
	wg     sync.WaitGroup
	aside  sync.WaitGroup // of short goroutines that call hooks
	last   sync.WaitGroup // of goroutines that end with the client underneath
	ended  chan struct{}  // closed when Close is done

	group   *group // nil without one
	watch   *watch
	report  *reporter
	budget  *budget
	limits  limits
	pauses  pauses
	meta    *metadata
	resets  *resetter
	listing throttles // of questions to ListOffsets
	ends    *sampler
	fetch   fetchFunc
	slots   chan struct{} // kgo.MaxConcurrentFetches; nil if not limited

	mu       sync.Mutex
	sub      subscription
	parts    map[string]map[int32]*partition
	brokers  map[int32]*broker
	known    map[int32]bool // brokers that the newest metadata names
	opened   bool           // New is done with hooks
	running  bool           // there is, or was, something to read
	closed   bool
	closedAt time.Time // when Close was called

	polls     atomic.Int32 // polls in progress
	pollEnded moment       // when the last one returned
	stirred   atomic.Bool  // a loop over Records took a record since that was noted

	out    handOut
	stable bell // rings when a last stable offset changed
}

// New returns a consumer for the partitions of kgo.ConsumePartitions and the
// topics of kgo.ConsumeTopics, or for a member of kgo.ConsumerGroup. It takes
// kgo's options and those of this package in one list, and starts to fetch at
// once. Topics are read from their log
// start unless kgo.ConsumeStartOffset or kgo.ConsumeResetOffset says otherwise,
// as with kgo. Without partitions or topics there is nothing to read until
// [Consumer.AddConsumeTopics] or [Consumer.AddConsumePartitions] names some:
// polls wait for that, or for their context. Until then there is no goroutine
// and no request of the consumer's own, so that it may as well be used for
// producing or administration alone.
//
// With kgo.Rack a partition is read from the follower that its leader prefers
// (KIP-392): for kgo.RecheckPreferredReplicaInterval, or until the follower fails
// or brings nothing for a minute. What a follower says is no error: the leader
// decides.
//
// kgo.MaxConcurrentFetches bounds how many Fetch requests are in flight, and
// [BufferBytes] what waits to be handed out. kgo.MetadataMinAge bounds requests
// of the client underneath only: where something failed the consumer asks anew
// at once, at most ten times a second. With kgo.TransactionalID nothing is
// committed without being asked for, as with kgo.
//
// Defaults that differ from kgo's: the isolation level is read_committed, and
// FetchMaxWait is 500 ms; one above 5 s counts as 5 s. Invalid options are
// reported as kgo.NewClient does; options that this consumer cannot honour are
// refused by name.
func New(opts ...kgo.Opt) (*Consumer, error) {
	cfg, err := readConfig(opts)
	if err != nil {
		return nil, err
	}
	c := newConsumer(cfg)
	cl, err := kgo.NewClient(append(append(defaults(), cfg.innerOptions()...), c.neutral()...)...)
	if err != nil {
		return nil, err
	}
	c.open(cl)
	return c, nil
}

func newConsumer(cfg config) *Consumer {
	c := &Consumer{
		cfg:     cfg,
		parts:   make(map[string]map[int32]*partition),
		brokers: make(map[int32]*broker),
		ended:   make(chan struct{}),
	}
	c.watch = newWatch(c.brokerLost)
	c.limits.set(cfg.maxBytes, cfg.maxPartBytes)
	c.sub = newSubscription(&c.cfg)
	c.group = newGroup(c)
	c.report = newReporter(&c.cfg)
	c.budget = newBudget(cfg.bufferBytes, c.pokeBrokers)
	c.meta = newMetadata(c)
	c.resets = newResetter(c)
	c.ends = newSampler(c)
	c.fetch = c.fetchThroughKgo
	c.out.init()
	if cfg.maxConcurrent > 0 {
		c.slots = make(chan struct{}, cfg.maxConcurrent)
	}
	return c
}

// open makes the consumer usable, and starts it if there is something to read.
func (c *Consumer) open(cl *kgo.Client) {
	c.cl = cl
	c.ctx, c.cancel = context.WithCancel(cl.Context())
	context.AfterFunc(c.ctx, func() { c.watch.over.set(c.watch.began, time.Now()) })
	each(c.cfg.hooks, func(h HookNewClient) { h.OnNewClient(c) })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened = true
	c.startLocked()
	if c.group != nil {
		close(c.group.ready)
	}
}

// startLocked starts to read when there is something to read for the first time.
func (c *Consumer) startLocked() {
	if c.running || c.closed || !c.opened || c.sub.empty() {
		return
	}
	c.running = true
	c.spawn(c.meta.run)
	c.spawn(c.resets.run)
	c.spawn(c.ends.run)
	if c.group != nil {
		c.spawn(c.group.commits.run)
		if c.group.guard.limit > 0 {
			c.spawn(c.group.guard.run)
		}
	}
}

// spawn runs fn until Close, which waits for it.
func (c *Consumer) spawn(fn func(context.Context)) {
	c.wg.Add(1)
	go func() {
		defer c.wg.Done()
		fn(c.ctx)
	}()
}

// spawnOpen is spawn for callers that are no goroutine of the consumer's own; it
// reports false, and runs nothing, if the consumer is closed.
func (c *Consumer) spawnOpen(fn func(context.Context)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.spawn(fn)
	return true
}

// Kgo returns the client underneath, for producing and admin requests. Do not
// poll it, mark or commit through it: it consumes nothing, and knows nothing of
// what was handed out here.
func (c *Consumer) Kgo() *kgo.Client { return c.cl }

// Ping reports whether any broker can be reached, as kgo.Client.Ping does. A nil
// context is the client's own.
func (c *Consumer) Ping(ctx context.Context) error {
	if ctx == nil {
		ctx = c.cl.Context()
	}
	return c.cl.Ping(ctx)
}

// Close leaves the group, if there is one, with a last call of
// [OnPartitionsRevoked] or its commit; then it ends all fetching, waits for the
// consumer's goroutines and closes the client underneath. Polls return
// kgo.ErrClientClosed from then on. It may be called more than once, but not
// from a hook or from a callback of the group, which it would wait for.
//
// Leaving takes a while if the coordinator does not answer: a minute and more
// for a broker that hangs, as in kgo. Under kgo.BlockRebalanceOnPoll it waits
// for AllowRebalance, but not for longer than kgo.RebalanceTimeout: see
// [Consumer.CloseAllowingRebalance]. Commits of [Consumer.CommitOffsets] that
// have not been sent by then are refused.
func (c *Consumer) Close() {
	c.mu.Lock()
	again := c.closed
	if !again {
		c.closed, c.closedAt = true, time.Now()
	}
	c.mu.Unlock()
	if again {
		<-c.ended
		return
	}
	defer close(c.ended)
	if c.group != nil {
		defer c.group.bound()()
		c.group.close()
	}
	c.cancel()
	c.wg.Wait()
	for _, p := range c.allPartitions() {
		p.mu.Lock()
		p.dropLocked()
		p.restLocked()
		p.mu.Unlock()
	}
	c.aside.Wait()
	c.cl.Close()
	c.last.Wait()
	each(c.cfg.hooks, func(h HookClientClosed) { h.OnClientClosed(c) })
}

// CloseAllowingRebalance is AllowRebalance and Close.
func (c *Consumer) CloseAllowingRebalance() {
	c.AllowRebalance()
	c.Close()
}

// begin waits for a slot of kgo.MaxConcurrentFetches.
func (c *Consumer) begin(ctx context.Context) bool {
	if c.slots == nil {
		return true
	}
	select {
	case c.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (c *Consumer) end() {
	if c.slots != nil {
		<-c.slots
	}
}
