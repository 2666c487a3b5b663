package rcconsumer_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rcconsumer"
)

// The same cluster read by kgo itself is the reference.
func TestTransactionsAreReadAsByKgo(t *testing.T) {
	inWorld(t, 2, 3, func(t *testing.T, w *world) {
		for i := range 12 {
			end := w.begin(topic, int32(i%3), fmt.Sprintf("%d-0", i), fmt.Sprintf("%d-1", i))
			w.produce(topic, int32(i%3), fmt.Sprintf("%d-plain", i))
			end(i%2 == 0)
		}
		values := func(c poller) map[int32][]string {
			got := make(map[int32][]string)
			for total := 0; total < 24; {
				fs := c.PollFetches(t.Context())
				require.NoError(t, fs.Err())
				fs.EachRecord(func(r *kgo.Record) {
					got[r.Partition] = append(got[r.Partition], fmt.Sprintf("%d %s", r.Offset, r.Value))
					total++
				})
			}
			return got
		}
		theirs := values(w.client(kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted())))
		c := w.consumer(kgo.ConsumeTopics(topic))
		require.Equal(t, theirs, values(c))
		for p := range int32(3) {
			var pos rcconsumer.Position
			eventually(t, "the end", func() bool { pos, _ = c.Position(topic, p); return pos.CaughtUp() })
			require.Equal(t, int64(16), pos.Next, "markers are passed")
			stats := c.Stats()[topic][p]
			require.Equal(t, []int64{8, 2, 4, 4, 0}, []int64{
				stats.DeliveredRecords, stats.AbortedBatches, stats.AbortedRecords, stats.ControlBatches, stats.Anomalies,
			})
		}
	})
}
