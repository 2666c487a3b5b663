package programs

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/kafkatest"
)

// written returns the committed records of a topic that a program wrote, without
// their offsets and in a stable order. The topic must not end in an aborted
// transaction, of which a reader would see nothing.
func written(t testing.TB, cluster *kafkatest.Cluster, topic string) (records []string) {
	t.Helper()
	left := map[int32]int64{} // ends of partitions that are not read yet
	for partition := range int32(partitionCount) {
		end, err := cluster.LSO(t.Context(), topic, partition)
		require.NoError(t, err)
		if end > 0 {
			left[partition] = end
		}
	}
	client := cluster.Client(t, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords())
	ctx, cancel := context.WithTimeout(t.Context(), kafkatest.Limit)
	defer cancel()
	for len(left) > 0 {
		fetches := client.PollFetches(ctx)
		require.NoError(t, fetches.Err(), "%s: these ends were not reached: %v", topic, left)
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset+1 >= left[r.Partition] {
				delete(left, r.Partition)
			}
			if !r.Attrs.IsControl() {
				records = append(records, fmt.Sprintf("%d %s %s", r.Partition, r.Key, r.Value))
			}
		})
	}
	slices.Sort(records)
	return records
}
