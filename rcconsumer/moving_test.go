package rcconsumer_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rcconsumer"
)

func TestConsumerOfNothingReadsWhatIsAdded(t *testing.T) {
	beside(t, func(t *testing.T, w *world, start func(...kgo.Opt) mover) {
		c := start(kgo.MetadataMaxAge(time.Hour))
		require.Empty(t, c.GetConsumeTopics())
		require.NotNil(t, c.GetConsumeTopics())
		require.Empty(t, settled(c))
		c.AddConsumePartitions(at0(exactly(1)))
		require.Equal(t, places(topic, 0, 1), settled(c))
		c.AddConsumeTopics("other")
		require.Equal(t, sorted(places("other", 0, 0), places("other", 1, 0)), settled(c))
		require.ElementsMatch(t, []string{topic, "other"}, c.GetConsumeTopics())
	})
}

func TestAddingNothingChangesNothing(t *testing.T) {
	beside(t, func(t *testing.T, w *world, start func(...kgo.Opt) mover) {
		c := start(kgo.ConsumeTopics(topic))
		require.Len(t, settled(c), 12)
		c.AddConsumeTopics()
		c.AddConsumePartitions(nil)
		c.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: {}, "other": nil})
		c.RemoveConsumePartitions(nil)
		c.RemoveConsumePartitions(map[string][]int32{topic: {}, "other": nil})
		c.RemoveConsumePartitions(map[string][]int32{"unknown": {1}})
		c.PurgeTopicsFromConsuming()
		c.PurgeTopicsFromClient("unknown", "other")
		require.Equal(t, []string{topic}, c.GetConsumeTopics())
		w.fill(topic, 2, 4, 5)
		require.Equal(t, []string{"t/2/4"}, settled(c))
	})
}

func TestPartitionThatIsReadIsNotAddedAgain(t *testing.T) {
	beside(t, func(t *testing.T, w *world, start func(...kgo.Opt) mover) {
		c := start(kgo.ConsumePartitions(at0(exactly(2))))
		require.Equal(t, places(topic, 0, 2), settled(c))
		c.AddConsumePartitions(at0(exactly(0)))
		c.AddConsumeTopics(topic) // not the other partitions either
		require.Empty(t, settled(c))
		require.Equal(t, []string{topic}, c.GetConsumeTopics())
	})
}

func TestRemovedPartitionAddedAgainStartsAtTheOffsetGiven(t *testing.T) {
	beside(t, func(t *testing.T, w *world, start func(...kgo.Opt) mover) {
		c := start(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: exactly(0), 1: exactly(3)}}))
		require.Equal(t, sorted(places(topic, 0, 0), places(topic, 1, 3)), settled(c))
		c.RemoveConsumePartitions(map[string][]int32{topic: {0, 1, 7}})
		w.fill(topic, 0, 4, 6)
		require.Empty(t, settled(c))
		require.Equal(t, []string{topic}, c.GetConsumeTopics(), "it stays known")
		c.AddConsumePartitions(at0(exactly(5)))
		require.Equal(t, []string{"t/0/5"}, settled(c))
		c.RemoveConsumePartitions(map[string][]int32{topic: {0}})
		c.AddConsumePartitions(at0(exactly(4)))
		require.Equal(t, []string{"t/0/4", "t/0/5"}, settled(c))
		c.RemoveConsumePartitions(map[string][]int32{topic: {0}})
		c.AddConsumeTopics(topic) // now it is read whole
		require.Len(t, settled(c), 14)
	})
}

// Of a topic that is read whole the others are read on, and later ones are not
// taken up.
func TestRemovedPartitionOfAWholeTopicIsNotTakenUpAgain(t *testing.T) {
	beside(t, func(t *testing.T, w *world, start func(...kgo.Opt) mover) {
		c := start(kgo.ConsumeTopics(topic))
		require.Len(t, settled(c), 12)
		c.RemoveConsumePartitions(map[string][]int32{topic: {1}})
		require.Empty(t, settled(c))
		w.addPartitions(topic, 4)
		for p := range int32(4) {
			w.fill(topic, p, 4, 5)
		}
		require.Equal(t, []string{"t/0/4", "t/2/4"}, settled(c))
		c.AddConsumeTopics(topic) // whole again
		require.Equal(t, sorted(places(topic, 1, 0), []string{"t/1/4", "t/3/4"}), settled(c))
	})
}

// Whatever partition is removed: the topic is not read whole any more.
func TestRemovalOfAnyPartitionEndsThatATopicIsReadWhole(t *testing.T) {
	beside(t, func(t *testing.T, w *world, start func(...kgo.Opt) mover) {
		c := start(kgo.ConsumeTopics(topic))
		require.Len(t, settled(c), 12)
		c.RemoveConsumePartitions(map[string][]int32{topic: {9}})
		w.addPartitions(topic, 4)
		w.fill(topic, 3, 0, 1)
		w.fill(topic, 0, 4, 5)
		require.Equal(t, []string{"t/0/4"}, settled(c))
	})
}

func TestPinnedPartitionsOfAWholeTopicExcludeLaterOnes(t *testing.T) {
	beside(t, func(t *testing.T, w *world, start func(...kgo.Opt) mover) {
		c := start(kgo.ConsumeTopics(topic))
		require.Len(t, settled(c), 12)
		c.AddConsumePartitions(at0(exactly(0)))
		w.addPartitions(topic, 4)
		w.fill(topic, 3, 0, 1)
		w.fill(topic, 2, 4, 5)
		require.Equal(t, []string{"t/2/4"}, settled(c))
		c.PurgeTopicsFromConsuming(topic)
		c.AddConsumeTopics(topic)
		require.Len(t, settled(c), 14)
	})
}

func TestPurgedTopicAddedAgainIsReadFromTheStartOption(t *testing.T) {
	for name, purge := range map[string]func(mover, ...string){
		"consuming": mover.PurgeTopicsFromConsuming, "client": mover.PurgeTopicsFromClient,
	} {
		t.Run(name, func(t *testing.T) {
			beside(t, func(t *testing.T, w *world, start func(...kgo.Opt) mover) {
				c := start(kgo.ConsumeTopics(topic, "other"), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart().Relative(2)))
				require.Len(t, settled(c), 10)
				topics := []string{topic, "gone"}
				purge(c, topics...)
				require.Equal(t, []string{"other"}, c.GetConsumeTopics())
				w.fill(topic, 0, 4, 5)
				w.fill("other", 0, 4, 5)
				require.Equal(t, []string{"other/0/4"}, settled(c))
				c.AddConsumeTopics(topic)
				want := sorted(places(topic, 0, 2), []string{"t/0/4"}, places(topic, 1, 2), places(topic, 2, 2))
				require.Equal(t, want, settled(c))
			})
		})
	}
}

func TestPurgedTopicOfAPatternIsFoundAgain(t *testing.T) {
	beside(t, func(t *testing.T, w *world, start func(...kgo.Opt) mover) {
		c := start(kgo.ConsumeRegex(), kgo.ConsumeTopics("^t$"))
		require.Len(t, settled(c), 12)
		c.AddConsumeTopics("other")
		c.AddConsumePartitions(map[string]map[int32]kgo.Offset{"other": {0: exactly(0)}})
		c.RemoveConsumePartitions(map[string][]int32{topic: {0, 1, 2}})
		require.Empty(t, settled(c))
		require.Equal(t, []string{topic}, c.GetConsumeTopics())
		w.fill(topic, 1, 4, 5)
		require.Equal(t, []string{"t/1/4"}, settled(c))
		c.PurgeTopicsFromConsuming(topic)
		require.Len(t, settled(c), 13, "it is there and matches")
	})
}

func TestPauseOutlivesRemoval(t *testing.T) {
	beside(t, func(t *testing.T, w *world, start func(...kgo.Opt) mover) {
		c := start(kgo.ConsumePartitions(at0(exactly(0))))
		require.Len(t, settled(c), 4)
		c.PauseFetchPartitions(map[string][]int32{topic: {0}})
		c.RemoveConsumePartitions(map[string][]int32{topic: {0}})
		c.AddConsumePartitions(at0(exactly(1)))
		require.Empty(t, settled(c))
		c.ResumeFetchPartitions(map[string][]int32{topic: {0}})
		require.Equal(t, places(topic, 0, 1), settled(c))
	})
}

func TestTopicsAndPartitionsThatDoNotExistYetAreReadOnceTheyDo(t *testing.T) {
	beside(t, func(t *testing.T, w *world, start func(...kgo.Opt) mover) {
		c := start()
		c.AddConsumeTopics("later")
		c.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: {3: exactly(0)}, "pinned": {1: exactly(1)}})
		require.Empty(t, settled(c))
		require.ElementsMatch(t, []string{"later", "pinned", topic}, c.GetConsumeTopics())
		for _, name := range []string{"later", "pinned"} {
			require.NoError(t, w.CreateTopic(name, 2, nil))
			w.fill(name, 0, 0, 2)
			w.fill(name, 1, 0, 2)
		}
		require.Equal(t, []string{"later/0/0", "later/0/1", "later/1/0", "later/1/1", "pinned/1/1"}, settled(c))
		w.addPartitions(topic, 4)
		w.addPartitions("later", 3)
		w.fill(topic, 3, 0, 1)
		w.fill("later", 2, 0, 1)
		require.Equal(t, []string{"later/2/0", "t/3/0"}, settled(c))
	})
}

func TestNothingIsReadOfWhatIsRemovedBeforeItExists(t *testing.T) {
	beside(t, func(t *testing.T, w *world, start func(...kgo.Opt) mover) {
		c := start(kgo.ConsumePartitions(at0(exactly(0))))
		c.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: {3: exactly(0)}})
		c.AddConsumeTopics("later")
		require.Len(t, settled(c), 4)
		c.RemoveConsumePartitions(map[string][]int32{topic: {3}})
		c.PurgeTopicsFromConsuming("later")
		w.addPartitions(topic, 4)
		w.fill(topic, 3, 0, 1)
		require.NoError(t, w.CreateTopic("later", 1, nil))
		w.fill("later", 0, 0, 1)
		require.Empty(t, settled(c))
	})
}

func TestCallsAfterCloseHaveNoEffect(t *testing.T) {
	beside(t, func(t *testing.T, w *world, start func(...kgo.Opt) mover) {
		c := start(kgo.ConsumeTopics(topic))
		require.Len(t, settled(c), 12)
		c.Close()
		before := w.count()
		c.AddConsumeTopics("other")
		c.AddConsumePartitions(map[string]map[int32]kgo.Offset{"other": {0: exactly(0)}})
		c.RemoveConsumePartitions(map[string][]int32{topic: {0}})
		c.PurgeTopicsFromConsuming(topic)
		c.PurgeTopicsFromClient(topic)
		c.UpdateFetchMaxBytes(1, 1)
		c.SetOffsets(map[string]map[int32]kgo.EpochOffset{topic: {1: {Offset: 0, Epoch: -1}}})
		topics := c.GetConsumeTopics()
		if _, ours := c.(*rcconsumer.Consumer); ours { // kgo's list changes, with no effect
			require.Equal(t, []string{topic}, topics)
		}
		require.Zero(t, c.BufferedFetchBytes())
		require.Zero(t, c.BufferedFetchRecords())
		time.Sleep(time.Minute)
		require.Equal(t, before, w.count())
		require.True(t, c.PollFetches(t.Context()).IsClientClosed())
	})
}

func TestUpdatedFetchSizesAreAskedFor(t *testing.T) {
	beside(t, func(t *testing.T, w *world, start func(...kgo.Opt) mover) {
		c := start(kgo.ConsumePartitions(at0(exactly(4))), kgo.FetchMaxBytes(5000), kgo.FetchMaxPartitionBytes(4000), kgo.DisableFetchSessions())
		sizes := func() [2]int32 {
			w.mu.Lock()
			defer w.mu.Unlock()
			if len(w.fetches) == 0 || len(w.fetches[len(w.fetches)-1].req.Topics) == 0 {
				return [2]int32{}
			}
			req := w.fetches[len(w.fetches)-1].req
			return [2]int32{req.MaxBytes, req.Topics[0].Partitions[0].PartitionMaxBytes}
		}
		eventually(t, "the sizes given", func() bool { return sizes() == [2]int32{5000, 4000} })
		c.UpdateFetchMaxBytes(700, 600)
		w.fill(topic, 0, 4, 6)
		require.Equal(t, []string{"t/0/4", "t/0/5"}, settled(c))
		eventually(t, "the new sizes", func() bool { return sizes() == [2]int32{700, 600} })
	})
}

func TestBufferedRecordsAreCounted(t *testing.T) {
	beside(t, func(t *testing.T, w *world, start func(...kgo.Opt) mover) {
		c := start(kgo.ConsumeTopics(topic))
		// kgo buffers one answer: what comes later waits until that is polled.
		eventually(t, "some records", func() bool { return c.BufferedFetchRecords() > 0 && c.BufferedFetchBytes() > 0 })
		c.RemoveConsumePartitions(map[string][]int32{topic: {1}})
		eventually(t, "none of the removed", func() bool { n := c.BufferedFetchRecords(); return n == 0 || n == 4 || n == 8 })
		require.Len(t, settled(c), 8)
		require.Zero(t, c.BufferedFetchRecords())
		require.Zero(t, c.BufferedFetchBytes())
	})
}

func TestCommittedOffsetWithoutAGroupIsAnError(t *testing.T) {
	beside(t, func(t *testing.T, w *world, start func(...kgo.Opt) mover) {
		c := start()
		c.AddConsumePartitions(at0(kgo.NewOffset().AtCommitted()))
		got := settled(c)
		require.Len(t, got, 1)
		require.Contains(t, got[0], "no prior committed offset")
	})
}
