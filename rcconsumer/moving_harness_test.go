package rcconsumer_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rcconsumer"
)

// mover is what kgo's client and ours have in common for changing what is read.
type mover interface {
	poller
	AddConsumeTopics(topics ...string)
	AddConsumePartitions(partitions map[string]map[int32]kgo.Offset)
	RemoveConsumePartitions(partitions map[string][]int32)
	PurgeTopicsFromConsuming(topics ...string)
	PurgeTopicsFromClient(topics ...string)
	GetConsumeTopics() []string
	SetOffsets(offsets map[string]map[int32]kgo.EpochOffset)
	PauseFetchPartitions(partitions map[string][]int32) map[string][]int32
	ResumeFetchPartitions(partitions map[string][]int32)
	PauseFetchTopics(topics ...string) []string
	ResumeFetchTopics(topics ...string)
	UpdateFetchMaxBytes(maxBytes, maxPartBytes int32)
	BufferedFetchRecords() int64
	BufferedFetchBytes() int64
	Close()
}

var (
	_ mover = (*kgo.Client)(nil)
	_ mover = (*rcconsumer.Consumer)(nil)
)

// beside runs the same script for kgo's client and for ours: what it expects of
// one it expects of the other. The world has [topic] with 3 partitions and
// "other" with 2, each with 4 records "topic/partition/offset".
func beside(t *testing.T, script func(t *testing.T, w *world, start func(...kgo.Opt) mover)) {
	t.Helper()
	t.Parallel()
	for _, kind := range []string{"kgo", "ours"} {
		t.Run(kind, func(t *testing.T) {
			inWorld(t, 2, 3, func(t *testing.T, w *world) {
				require.NoError(t, w.CreateTopic("other", 2, nil))
				for p := range int32(3) {
					w.fill(topic, p, 0, 4)
				}
				for p := range int32(2) {
					w.fill("other", p, 0, 4)
				}
				script(t, w, func(opts ...kgo.Opt) mover {
					opts = append([]kgo.Opt{kgo.MetadataMaxAge(time.Second)}, opts...)
					if kind == "ours" {
						return w.consumer(opts...)
					}
					return w.client(append([]kgo.Opt{
						kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(500 * time.Millisecond),
					}, opts...)...)
				})
			})
		})
	}
}

// fill writes records named by their place at offsets [from, to) of a partition.
func (w *world) fill(to string, partition int32, from, end int) {
	w.t.Helper()
	var values []string
	for o := from; o < end; o++ {
		values = append(values, fmt.Sprintf("%s/%d/%d", to, partition, o))
	}
	w.produce(to, partition, values...)
}

// addPartitions gives a topic more partitions, count in all.
func (w *world) addPartitions(of string, count int) {
	w.t.Helper()
	cl := w.client()
	defer cl.Close()
	_, err := kadm.NewClient(cl).UpdatePartitions(w.t.Context(), count, of)
	require.NoError(w.t, err)
}

// places are where records from offset first on are in a partition of 4.
func places(in string, partition int32, first int) (all []string) {
	for o := first; o < 4; o++ {
		all = append(all, fmt.Sprintf("%s/%d/%d", in, partition, o))
	}
	return all
}

// settled polls until nothing comes for a while, and returns what came, sorted:
// the records' values, and errors by their text.
func settled(c poller) []string {
	var got []string
	for {
		fs := poll(c, 5*time.Second)
		if timedOut(fs) {
			slices.Sort(got)
			return got
		}
		fs.EachRecord(func(r *kgo.Record) { got = append(got, string(r.Value)) })
		fs.EachError(func(topic string, partition int32, err error) {
			got = append(got, fmt.Sprintf("%s %d: %v", topic, partition, err))
		})
	}
}

func at0(o kgo.Offset) map[string]map[int32]kgo.Offset {
	return map[string]map[int32]kgo.Offset{topic: {0: o}}
}

func sorted(lists ...[]string) []string {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return all
}

func exactly(offset int64) kgo.Offset { return kgo.NewOffset().At(offset) }
