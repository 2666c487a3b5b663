package rcconsumer

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// kgo drops everything with a loss, so that a partition that it does not name,
// because the group was taking it back, must not be read on.
func TestLossEndsAllPartitionsWhateverItNames(t *testing.T) {
	var named map[string][]int32
	cfg := config{group: "g", rebalanceTimeout: 1}
	cfg.lost = func(_ context.Context, _ *Consumer, ids map[string][]int32) { named = ids }
	c := newConsumer(cfg)
	close(c.group.ready)
	for id := range int32(3) {
		c.ensure("t", id, offsetSpec{at: atAssigned})
	}
	gone := map[string][]int32{"t": {1}}
	c.group.lost(context.Background(), nil, gone)
	require.Empty(t, c.allPartitions())
	require.Equal(t, gone, named, "the user is told what kgo tells")
}
