package conformance

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/mutant"
	"example.com/readcommitted/internal/kafkatest"
)

// Why a cluster cannot be judged at all is told apart.
func TestClustersThatCannotBeJudged(t *testing.T) {
	run := func(ctx context.Context, addrs ...string) error {
		_, err := Run(ctx, Config{Options: []kgo.Opt{kgo.SeedBrokers(addrs...)}, RunID: newRunID(t)})
		return err
	}
	t.Run("nobody there", func(t *testing.T) {
		require.True(t, IsUnreachable(run(t.Context(), "127.0.0.1:1")))
	})
	t.Run("interrupted", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := run(ctx, kafkatest.Fake(t, kafkatest.Config{}).Addrs()...)
		require.ErrorIs(t, err, context.Canceled)
		require.False(t, IsUnreachable(err))
	})
	t.Run("without transactions", func(t *testing.T) {
		c := kafkatest.Fake(t, kafkatest.Config{})
		proxy, err := mutant.New(t.Context(), c.Addrs(), without(kmsg.EndTxn))
		require.NoError(t, err)
		t.Cleanup(proxy.Close)
		err = run(t.Context(), proxy.Addrs()...)
		require.ErrorContains(t, err, "cannot be judged: it has no EndTxn v0")
		require.False(t, IsUnreachable(err))
	})
	t.Run("a run ID that is none", func(t *testing.T) {
		_, err := Run(t.Context(), Config{Options: []kgo.Opt{kgo.SeedBrokers("127.0.0.1:1")}, RunID: "X"})
		require.ErrorContains(t, err, "run ID")
	})
	t.Run("a scenario that is none", func(t *testing.T) {
		_, err := Run(t.Context(), Config{Options: []kgo.Opt{kgo.SeedBrokers("127.0.0.1:1")}, RunID: newRunID(t), Select: []string{"Q-1"}})
		require.ErrorContains(t, err, `"Q-1" is neither a scenario nor a family`)
	})
}

// without is a cluster that does not announce some requests.
func without(keys ...kmsg.Key) mutant.Damage {
	return mutant.Damage{Keys: []kmsg.Key{kmsg.ApiVersions}, Response: func(c *mutant.Call) {
		resp := c.Response.(*kmsg.ApiVersionsResponse)
		resp.ApiKeys = slices.DeleteFunc(resp.ApiKeys, func(k kmsg.ApiVersionsResponseApiKey) bool {
			return slices.Contains(keys, kmsg.Key(k.ApiKey))
		})
	}}
}
