package rcconsumer

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// onPoll runs when the client underneath is polled.
type onPoll struct{ run func(context.Context) }

func (h *onPoll) OnPollStart(ctx context.Context) { h.run(ctx) }

// A poll that takes nothing leaves the gate while another one looks for errors:
// the other one has to let go for both.
func TestGateIsOpenOnceTheLastPollThatReturnsNothingHasLeft(t *testing.T) {
	hook := &onPoll{run: func(context.Context) {}}
	cl, err := kgo.NewClient(kgo.SeedBrokers("127.0.0.1:1"), kgo.ConsumerGroup("g"), kgo.ConsumeTopics("t"),
		kgo.BlockRebalanceOnPoll(), kgo.WithHooks(hook))
	require.NoError(t, err)
	defer cl.CloseAllowingRebalance()
	c := &Consumer{cl: cl, cfg: config{blockOnPoll: true}}
	g := &gate{c: c}
	g.enter()
	hook.run = func(context.Context) { g.leave(false) }
	require.Empty(t, g.drain())
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	require.NoError(t, cl.LeaveGroupContext(ctx), "leaving waits for the gate")
}
