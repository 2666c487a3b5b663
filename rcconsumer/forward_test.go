package rcconsumer_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A program may write and ask with the client that it reads with.
func TestOneClientReadsAndWrites(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		c := w.consumer(kgo.ConsumeTopics(topic), kgo.DefaultProduceTopic(topic))
		require.NoError(t, c.ProduceSync(t.Context(), kgo.StringRecord("a")).FirstErr())
		failed := make(chan error, 1)
		c.Produce(t.Context(), kgo.StringRecord("b"), func(_ *kgo.Record, err error) { failed <- err })
		require.NoError(t, c.Flush(t.Context()))
		require.NoError(t, <-failed)
		require.Equal(t, []int64{0, 1}, readOffsets(t, c, 2))
		resp, err := c.Request(t.Context(), kmsg.NewPtrMetadataRequest())
		require.NoError(t, err)
		require.Len(t, resp.(*kmsg.MetadataResponse).Topics, 1)
	})
}

func TestLeadersOfWhatIsReadAreKnown(t *testing.T) {
	inWorld(t, 2, 2, func(t *testing.T, w *world) {
		c := w.consumer(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {1: kgo.NewOffset().AtStart()}}), kgo.DefaultProduceTopic(topic))
		w.produce(topic, 1, "a")
		read(t, c, 1)
		leader, epoch, err := c.PartitionLeader(topic, 1)
		require.NoError(t, err)
		require.Equal(t, int32(1), leader)
		require.NoError(t, w.MoveTopicPartition(topic, 1, 0))
		c.ForceMetadataRefresh()
		eventually(t, "the new leader", func() bool {
			moved, newer, err := c.PartitionLeader(topic, 1)
			return err == nil && moved == 0 && newer > epoch
		})
		leader, epoch, err = c.PartitionLeader(topic, 0)
		require.NoError(t, err)
		require.Equal(t, []int32{-1, -1}, []int32{leader, epoch}, "nobody reads it")
		require.NoError(t, c.ProduceSync(t.Context(), kgo.StringRecord("b")).FirstErr())
		leader, _, err = c.PartitionLeader(topic, 0)
		require.NoError(t, err)
		require.Zero(t, leader, "known from producing")
	})
}
