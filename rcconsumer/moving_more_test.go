package rcconsumer_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/rcconsumer"
)

// kgo sorts and thins out what it is given; a caller's list may be a constant.
func TestArgumentsAreNotChanged(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		c := w.consumer()
		topics := []string{"z", "t", "a"}
		c.AddConsumeTopics(topics...)
		c.PurgeTopicsFromConsuming(topics...)
		c.PurgeTopicsFromClient(topics...)
		require.Equal(t, []string{"z", "t", "a"}, topics)
		starts := map[string]map[int32]kgo.Offset{topic: {}}
		c.AddConsumePartitions(starts)
		require.Len(t, starts, 1)
		lists := map[string][]int32{topic: {}}
		c.RemoveConsumePartitions(lists)
		require.Len(t, lists, 1)
	})
}

func TestFetchSizesBelowOneStillReadBatchByBatch(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 4), batchtest.Data(5, 9))
		c := w.consumer()
		c.UpdateFetchMaxBytes(0, -5)
		c.AddConsumePartitions(at0(exactly(0)))
		require.Equal(t, span(0, 9), readOffsets(t, c, 10))
		w.see(func() {
			for _, f := range w.fetches {
				require.Equal(t, int32(1), f.req.MaxBytes)
				require.Equal(t, int32(1), f.req.Topics[0].Partitions[0].PartitionMaxBytes)
			}
		})
	})
}

func TestRoomThatAnUpdateGivesIsUsedAtOnce(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, singles(0, 99)...).batches = 1
		c := w.consumer(startAt(0), kgo.FetchMaxPartitionBytes(1))
		time.Sleep(time.Minute)
		require.Less(t, c.BufferedFetchRecords(), int64(5), "nobody polls")
		c.UpdateFetchMaxBytes(1<<20, 1<<20)
		eventually(t, "the rest", func() bool { return c.BufferedFetchRecords() == 100 })
	})
}

func TestBufferedMessagesOfOldFormatsCount(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, batchtest.MessageV1(0, 0), batchtest.MessageV1(1, 1), batchtest.Data(2, 4))
		c := w.consumer(startAt(0))
		eventually(t, "the fetch", func() bool { return c.BufferedFetchRecords() == 2+3 })
		require.Equal(t, span(0, 0), offsets(c.PollRecords(t.Context(), 1)))
		require.Equal(t, int64(4), c.BufferedFetchRecords())
		require.Equal(t, span(1, 2), offsets(c.PollRecords(t.Context(), 2)))
		require.Equal(t, int64(2), c.BufferedFetchRecords(), "of a decoded batch what is left")
		held := c.BufferedFetchBytes()
		require.Positive(t, held)
		require.Equal(t, span(3, 4), readOffsets(t, c, 2))
		require.Zero(t, c.BufferedFetchBytes())
	})
}

func TestAbortedDataDoesNotCountAsBuffered(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 4).Txn(1), batchtest.Abort(5, 1)).aborted = batchtest.Aborted(1, 0)
		c := w.consumer(startAt(0))
		eventually(t, "the fetch", func() bool { return position(c).CaughtUp() })
		require.Zero(t, c.BufferedFetchRecords())
		require.Zero(t, c.BufferedFetchBytes())
	})
}

// An error that waits for a poll goes with the partition it is about.
func TestErrorOfARemovedPartitionIsNotHandedOut(t *testing.T) {
	inWorld(t, 1, 2, func(t *testing.T, w *world) {
		w.answerMetadata(func(req *kmsg.MetadataRequest, _ int) *kmsg.MetadataResponse {
			return w.metadataOf(req, w.id, [2]int32{-1, 0}, [2]int32{-1, 0})
		})
		var told errorHook
		c := w.consumer(startsAt(2), kgo.KeepRetryableFetchErrors(), rcconsumer.WithHooks(&told))
		eventually(t, "both errors", func() bool { return told.count() == 2 })
		time.Sleep(time.Second)
		remove(c)
		e := failed(t, c)
		require.Equal(t, int32(1), e.Partition)
		require.ErrorIs(t, e.Err, kerr.LeaderNotAvailable)
		silent(t, c, time.Minute)
	})
}

func (h *errorHook) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.all)
}

// A broker that has just started knows few partitions: one it does not mention
// is read on, and told.
func TestPartitionThatMetadataDoesNotMentionIsReadOn(t *testing.T) {
	inWorld(t, 1, 2, func(t *testing.T, w *world) {
		f := w.forge(1, batchtest.Data(0, 4))
		w.forge(0)
		var forgetful atomic.Bool
		w.answerMetadata(func(req *kmsg.MetadataRequest, _ int) *kmsg.MetadataResponse {
			if forgetful.Load() {
				return w.metadataOf(req, w.id, [2]int32{0, 0})
			}
			return w.metadataOf(req, w.id, [2]int32{0, 0}, [2]int32{0, 0})
		})
		var told errorHook
		c := w.consumer(kgo.ConsumeTopics(topic), kgo.MetadataMaxAge(time.Second), rcconsumer.WithHooks(&told))
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
		forgetful.Store(true)
		eventually(t, "the error", func() bool { return told.count() == 1 })
		require.True(t, told.saw(kerr.UnknownTopicOrPartition))
		w.change(func() { f.log = append(f.log, batchtest.Data(5, 9)); f.lso, f.hw = 10, 10 })
		require.Equal(t, span(5, 9), readOffsets(t, c, 5))
		silent(t, c, time.Minute)
		require.Equal(t, 1, told.count())
	})
}
