package rcconsumer_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// inGroup are the options of a member of the group of these tests.
func inGroup(opts ...kgo.Opt) []kgo.Opt {
	return append([]kgo.Opt{kgo.ConsumerGroup("g"), kgo.ConsumeTopics(topic)}, opts...)
}

// committed is what the cluster holds for the group, -1 if it holds nothing.
func (w *world) committed(partition int32) int64 {
	if g := w.GroupInfo("g"); g != nil {
		if c, ok := g.Commits[topic][partition]; ok {
			return c.Offset
		}
	}
	return -1
}

func TestGroupCommitsThroughMarkers(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.begin(topic, 0, "a", "b")(true)
		c := w.consumer(inGroup()...)
		require.Equal(t, []int64{0, 1}, readOffsets(t, c, 2))
		silent(t, c, 10*time.Second)
		require.EqualValues(t, 3, position(c).Committed)
		require.EqualValues(t, 3, w.committed(0))
	})
}
