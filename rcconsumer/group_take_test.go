package rcconsumer_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rcconsumer"
)

// What a poll has taken counts as handed out, so that OnPartitionsRevoked may
// commit it. By then the caller must have it: a poll that decodes for long must
// not return it after that.
func TestRevokeWaitsForPollsThatTakeRecords(t *testing.T) {
	inWorld(t, 1, 2, func(t *testing.T, w *world) {
		var revoked time.Time
		c := w.consumer(inGroup(kgo.Balancers(kgo.RangeBalancer()), kgo.DisableAutoCommit(), kgo.WithDecompressor(slowCodec{}),
			rcconsumer.OnPartitionsRevoked(func(ctx context.Context, c *rcconsumer.Consumer, _ map[string][]int32) {
				revoked = time.Now()
				_ = c.CommitUncommittedOffsets(ctx)
			}))...)
		values := make([]string, 100) // enough to be worth compressing
		for i := range values {
			values[i] = "the same again and again"
		}
		for p := range int32(2) {
			w.produce(topic, p, values...)
			eventually(t, "the records", func() bool { return c.BufferedFetchRecords() == int64(p+1)*100 })
		}
		time.AfterFunc(3*time.Second, c.ForceRebalance) // while the second batch is decoded
		fs := c.PollFetches(t.Context())
		returned := time.Now()
		require.NotEmpty(t, fs.Records())
		eventually(t, "the rebalance", func() bool { return w.committed(0) >= 0 })
		require.False(t, revoked.Before(returned), "revoked %v before", returned.Sub(revoked))
	})
}
