package rcconsumer_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// pollHook notes the contexts of polls, and is other hooks of kgo's besides.
type pollHook struct {
	counter
	mu    sync.Mutex
	polls []context.Context
}

func (h *pollHook) OnPollStart(ctx context.Context) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.polls = append(h.polls, ctx)
}

func (h *pollHook) seen() []context.Context {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.polls
}

func TestPollStartHookFiresOncePerPollOfAGroupMember(t *testing.T) {
	for name, opts := range map[string][]kgo.Opt{"open": nil, "gated": {kgo.BlockRebalanceOnPoll()}} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				first, second := &pollHook{counter: counter{written: map[int16]int{}}}, &pollHook{counter: counter{written: map[int16]int{}}}
				plain := &counter{written: map[int16]int{}}
				c := w.consumer(inGroup(append(opts, kgo.WithHooks(first, plain), kgo.ClientID("x"), kgo.WithHooks(second))...)...)
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // many looks for errors
				defer cancel()
				c.PollFetches(ctx)
				w.produce(topic, 0, "a")
				c.PollFetches(t.Context())
				c.PollFetches(noWait)
				c.AllowRebalance()
				want := []context.Context{ctx, t.Context(), noWait}
				require.Equal(t, want, first.seen())
				require.Equal(t, want, second.seen())
				plain.locked(func() { require.Equal(t, len(want), plain.started) })
				c.Close()
				inner := c.Kgo()
				for _, h := range []*counter{&first.counter, plain, &second.counter} {
					h.locked(func() {
						require.Equal(t, []*kgo.Client{inner}, h.created, "other hooks go on to fire, once")
						require.Equal(t, []*kgo.Client{inner}, h.closed)
						require.Equal(t, 1, h.in)
						require.NotZero(t, h.written[int16(kmsg.Fetch)])
						require.NotZero(t, h.written[int16(kmsg.OffsetCommit)])
						require.Equal(t, plain.written[int16(kmsg.Fetch)], h.written[int16(kmsg.Fetch)])
					})
				}
			})
		})
	}
}
