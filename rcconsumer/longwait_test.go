package rcconsumer_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/batchtest"
)

// A partition above the last stable offset, as after an unclean election, is
// answered at once and not waited for; FetchMaxWait says nothing about it.
func TestLongFetchMaxWaitDelaysNoPartitionThatIsNotWaitedFor(t *testing.T) {
	for name, partitions := range map[string]int32{"alone": 1, "beside an idle one": 2} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, partitions, func(t *testing.T, w *world) {
				stable := int64(3)
				f := w.forge(0, batchtest.Data(0, 4), batchtest.Data(5, 9))
				f.script = func(ask) *kmsg.FetchResponseTopicPartition {
					if stable < 10 {
						return nothing(stable, 10)
					}
					return nil
				}
				if partitions > 1 {
					w.forge(1)
				}
				c := w.consumer(kgo.FetchMaxWait(time.Hour), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{
					topic: {0: kgo.NewOffset().At(5), 1: kgo.NewOffset().At(0)},
				}))
				time.Sleep(10 * time.Minute)
				require.LessOrEqual(t, w.during(10*time.Second), 50)
				w.change(func() { stable = 10 })
				began := time.Now()
				require.Equal(t, span(5, 9), readOffsets(t, c, 5))
				require.LessOrEqual(t, time.Since(began), 2*time.Second)
			})
		})
	}
}
