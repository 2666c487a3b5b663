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
