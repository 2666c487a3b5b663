package rcconsumer

import (
	"context"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// In a group the client underneath is polled besides, as often as it takes to
// learn of errors and to pass kgo's gate. Nobody wants to hear of these polls:
// a kgo.HookPollStart fires once for each poll of the consumer.

// innerOptions are the options that the client underneath gets: the user's,
// where need be with the hooks in a wrapping that keeps OnPollStart to itself.
func (c *config) innerOptions() []kgo.Opt {
	if c.group == "" || !implements[kgo.HookPollStart](c.kgoHooks) {
		return c.theirs
	}
	opts := make([]kgo.Opt, 0, len(c.theirs))
	for _, opt := range c.theirs {
		if !setsHooks(opt) { // hooks add up: they cannot be taken back
			opts = append(opts, opt)
		}
	}
	return append(opts, kgo.WithHooks(quietHooks(c.kgoHooks)...))
}

// setsHooks reports whether an option of kgo's is WithHooks with hooks in it.
func setsHooks(opt kgo.Opt) bool {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	hooks := 0
	read := probe{func(cl *kgo.Client) { hooks = len(value[[]kgo.Hook](cl, kgo.WithHooks)) }}
	// An option that is not valid alone leads to an error before the probe
	// is asked. WithHooks is valid alone.
	_ = construct([]kgo.Opt{kgo.WithHooks(read), opt, kgo.WithContext(ctx)})
	return hooks > 1
}

// quietHooks wraps the hooks that would hear of polls.
func quietHooks(hooks []kgo.Hook) []kgo.Hook {
	quiet := make([]kgo.Hook, len(hooks))
	for i, h := range hooks {
		quiet[i] = h
		if _, ok := h.(kgo.HookPollStart); ok {
			quiet[i] = quietHook{h}
		}
	}
	return quiet
}

// quietHook passes everything on but OnPollStart. What kgo tells of records that
// it fetches itself is left out too: there are none.
type quietHook struct{ hook kgo.Hook }

// tell calls fn if the hook implements T.
func tell[T any](q quietHook, fn func(T)) {
	if h, ok := q.hook.(T); ok {
		fn(h)
	}
}

func (q quietHook) OnNewClient(cl *kgo.Client) {
	tell(q, func(h kgo.HookNewClient) { h.OnNewClient(cl) })
}

func (q quietHook) OnClientClosed(cl *kgo.Client) {
	tell(q, func(h kgo.HookClientClosed) { h.OnClientClosed(cl) })
}

func (q quietHook) OnBrokerConnect(m kgo.BrokerMetadata, d time.Duration, conn net.Conn, err error) {
	tell(q, func(h kgo.HookBrokerConnect) { h.OnBrokerConnect(m, d, conn, err) })
}

func (q quietHook) OnBrokerDisconnect(m kgo.BrokerMetadata, conn net.Conn) {
	tell(q, func(h kgo.HookBrokerDisconnect) { h.OnBrokerDisconnect(m, conn) })
}

func (q quietHook) OnBrokerWrite(m kgo.BrokerMetadata, k int16, n int, wait, write time.Duration, err error) {
	tell(q, func(h kgo.HookBrokerWrite) { h.OnBrokerWrite(m, k, n, wait, write, err) })
}

func (q quietHook) OnBrokerRead(m kgo.BrokerMetadata, k int16, n int, wait, read time.Duration, err error) {
	tell(q, func(h kgo.HookBrokerRead) { h.OnBrokerRead(m, k, n, wait, read, err) })
}

func (q quietHook) OnBrokerE2E(m kgo.BrokerMetadata, k int16, e kgo.BrokerE2E) {
	tell(q, func(h kgo.HookBrokerE2E) { h.OnBrokerE2E(m, k, e) })
}

func (q quietHook) OnBrokerThrottle(m kgo.BrokerMetadata, d time.Duration, after bool) {
	tell(q, func(h kgo.HookBrokerThrottle) { h.OnBrokerThrottle(m, d, after) })
}

func (q quietHook) OnGroupManageError(err error) {
	tell(q, func(h kgo.HookGroupManageError) { h.OnGroupManageError(err) })
}

func (q quietHook) OnProduceBatchWritten(m kgo.BrokerMetadata, topic string, partition int32, b kgo.ProduceBatchMetrics) {
	tell(q, func(h kgo.HookProduceBatchWritten) { h.OnProduceBatchWritten(m, topic, partition, b) })
}

func (q quietHook) OnProduceRecordBuffered(r *kgo.Record) {
	tell(q, func(h kgo.HookProduceRecordBuffered) { h.OnProduceRecordBuffered(r) })
}

func (q quietHook) OnProduceRecordPartitioned(r *kgo.Record, leader int32) {
	tell(q, func(h kgo.HookProduceRecordPartitioned) { h.OnProduceRecordPartitioned(r, leader) })
}

func (q quietHook) OnProduceRecordUnbuffered(r *kgo.Record, err error) {
	tell(q, func(h kgo.HookProduceRecordUnbuffered) { h.OnProduceRecordUnbuffered(r, err) })
}
