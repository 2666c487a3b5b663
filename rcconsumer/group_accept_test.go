package rcconsumer_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/rcconsumer"
)

// commits writes offsets for the group, by partition, before it has members.
func (w *world) commits(offsets ...int64) {
	w.t.Helper()
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = "g", -1
	rt := kmsg.NewOffsetCommitRequestTopic()
	rt.Topic, rt.TopicID = topic, w.id
	for p, o := range offsets {
		rp := kmsg.NewOffsetCommitRequestTopicPartition()
		rp.Partition, rp.Offset = int32(p), o
		rt.Partitions = append(rt.Partitions, rp)
	}
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(w.t.Context(), w.client())
	require.NoError(w.t, err)
	for _, p := range resp.Topics[0].Partitions {
		require.NoError(w.t, kerr.ErrorForCode(p.ErrorCode))
	}
}

// Source: Kafka's FetcherTest testStaleOutOfRangeError, in a group.
func TestErrorForAnEarlierPositionOfAMemberIsDropped(t *testing.T) {
	inGroups(t, 1, func(t *testing.T, w *world, opts []kgo.Opt) {
		w.commits(10)
		f := w.forge(0, batchtest.Data(0, 9))
		var resets resetHook
		c := w.consumer(inGroup(append(opts, rcconsumer.WithHooks(&resets))...)...)
		eventually(t, "a fetch in flight", func() bool { return w.count() == 1 })
		seek(c, 5)
		w.change(func() {
			f.script = func(a ask) *kmsg.FetchResponseTopicPartition {
				if a.offset == 10 && a.nth == 0 {
					return failure(kerr.OffsetOutOfRange)
				}
				return nil
			}
		})
		require.Equal(t, span(5, 9), readOffsets(t, c, 5))
		require.Empty(t, resets.all())
	}, "range", "KIP-848")
}

// Source: Kafka's FetcherTest testFetchOffsetOutOfRange, in a group.
func TestCommitThatIsOutOfRangeFollowsTheResetPolicy(t *testing.T) {
	inGroups(t, 1, func(t *testing.T, w *world, opts []kgo.Opt) {
		w.commits(100)
		w.forge(0, batchtest.Data(0, 9))
		var resets resetHook
		c := w.consumer(inGroup(append(opts, kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), rcconsumer.WithHooks(&resets))...)...)
		require.Equal(t, span(0, 9), readOffsets(t, c, 10))
		require.Equal(t, [][2]int64{{100, 0}}, resets.all())
		c.Close()

		w.commits(100)
		c = w.consumer(inGroup(append(opts, kgo.ConsumeResetOffset(kgo.NoResetOffset()))...)...)
		e := failed(t, c)
		var out *rcconsumer.OffsetOutOfRangeError
		require.ErrorAs(t, e.Err, &out)
		require.Equal(t, []any{topic, int32(0), int64(100)}, []any{e.Topic, e.Partition, out.Offset})
		silent(t, c, 10*time.Second)
		seek(c, 7)
		require.Equal(t, span(7, 9), readOffsets(t, c, 3))
	}, "range", "KIP-848")
}

// Source: Kafka's FetcherTest testFetchPositionAfterException, in a group.
func TestErrorOfOnePartitionOfAMemberTakesNothingFromAnother(t *testing.T) {
	inGroups(t, 2, func(t *testing.T, w *world, opts []kgo.Opt) {
		w.commits(1, 1)
		w.script(0, func(ask) *kmsg.FetchResponseTopicPartition { return failure(kerr.TopicAuthorizationFailed) })
		w.forge(1, batchtest.Data(0, 3))
		c := w.consumer(inGroup(opts...)...)
		var got []int64
		var errs []kgo.FetchError
		for len(got) < 3 || len(errs) == 0 {
			fs := poll(c, patience)
			got = append(got, offsets(fs)...)
			errs = append(errs, fs.Errors()...)
		}
		require.Equal(t, span(1, 3), got)
		require.ErrorIs(t, errs[0].Err, kerr.TopicAuthorizationFailed)
		require.Equal(t, int32(0), errs[0].Partition)
		require.EqualValues(t, 1, c.Positions()[topic][0].Next)
		require.EqualValues(t, 4, c.Positions()[topic][1].Next)
		require.NoError(t, c.CommitUncommittedOffsets(t.Context()))
		require.Equal(t, []int64{1, 4}, []int64{w.committed(0), w.committed(1)})
	}, "range", "KIP-848")
}

// Source: Kafka's FetcherTest
// testFetchDiscardedAfterPausedPartitionResumedAndSoughtToNewOffset, in a group.
func TestAnswerOnItsWayIsDroppedWhenAMemberSeeks(t *testing.T) {
	inGroups(t, 1, func(t *testing.T, w *world, opts []kgo.Opt) {
		f := w.forge(0)
		f.hw = 10
		c := w.consumer(inGroup(opts...)...)
		eventually(t, "a fetch in flight", func() bool { return w.count() == 1 })
		c.PauseFetchTopics(topic)
		seek(c, 3)
		c.ResumeFetchTopics(topic)
		w.change(func() { f.log, f.lso = singles(0, 9), 10 })
		require.Equal(t, span(3, 9), readOffsets(t, c, 7))
		silent(t, c, 6*time.Second)
		require.EqualValues(t, 10, w.committed(0))
	}, "range", "KIP-848")
}

// Source: Kafka's FetcherTest testFetchMaxPollRecords, in a group.
func TestPollRecordsOfAMemberCommitsWhatItReturned(t *testing.T) {
	inGroups(t, 1, func(t *testing.T, w *world, opts []kgo.Opt) {
		w.forge(0, batchtest.Data(0, 2))
		c := w.consumer(inGroup(opts...)...)
		require.Equal(t, []int64{0, 1}, offsets(c.PollRecords(t.Context(), 2)))
		time.Sleep(6 * time.Second)
		require.EqualValues(t, -1, w.committed(0), "what the latest poll returned may still be worked on")
		require.Equal(t, []int64{2}, offsets(c.PollRecords(t.Context(), 2)))
		time.Sleep(6 * time.Second)
		require.EqualValues(t, 2, w.committed(0))
	}, "range", "KIP-848")
}

func TestPollsOfAMemberEndAsKgosDo(t *testing.T) {
	for name, more := range map[string][]kgo.Opt{"open": nil, "gated": {kgo.BlockRebalanceOnPoll()}} {
		t.Run(name, func(t *testing.T) {
			inGroups(t, 1, func(t *testing.T, w *world, opts []kgo.Opt) {
				opts = append(append(opts, kgo.ConsumeTopics(topic)), more...)
				ours := w.consumer(append(opts, kgo.ConsumerGroup("ours"))...)
				theirs := w.client(append(opts, kgo.ConsumerGroup("theirs"))...)
				ended, cancel := context.WithCancel(t.Context())
				cancel()
				for _, c := range []api{ours, theirs} {
					for range 2 { // before the assignment and after it
						began := time.Now()
						require.Empty(t, c.PollFetches(noWait))
						require.Equal(t, []string{" context canceled"}, errorsOf(c.PollFetches(ended)))
						c.AllowRebalance()
						require.Less(t, time.Since(began), 10*time.Millisecond)
						ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
						require.Equal(t, []string{" context deadline exceeded"}, errorsOf(c.PollFetches(ctx)))
						require.Equal(t, 5*time.Second, time.Since(began).Round(100*time.Millisecond))
						cancel()
					}
					c.CloseAllowingRebalance()
					require.True(t, c.PollFetches(t.Context()).IsClientClosed())
					c.AllowRebalance() // kgo's gate is held even by that poll
				}
				require.True(t, ours.PollFetches(noWait).IsClientClosed())
			}, "range", "KIP-848")
		})
	}
}

// A member that cannot join says so, again and again, and reads once it can.
func TestMemberThatCannotJoinSaysSo(t *testing.T) {
	inGroups(t, 1, func(t *testing.T, w *world, opts []kgo.Opt) {
		refuse := w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.JoinGroup, kmsg.ConsumerGroupHeartbeat}, Err: kerr.GroupAuthorizationFailed, TopLevel: true, Count: -1})
		c := w.consumer(inGroup(append(opts, kgo.BlockRebalanceOnPoll())...)...)
		for range 2 {
			require.ErrorIs(t, poll(c, patience).Err0(), kerr.GroupAuthorizationFailed)
			time.Sleep(10 * time.Second)
		}
		refuse.Remove()
		w.produce(topic, 0, "a")
		require.Equal(t, []int64{0}, readPast(t, c, 1))
		c.CloseAllowingRebalance()
	})
}

// Source: Kafka's FetcherTest testCompletedFetchRemoval, in a group.
func TestErrorsOfAMembersPartitionsLeaveTheOthersToRead(t *testing.T) {
	inGroups(t, 4, func(t *testing.T, w *world, opts []kgo.Opt) {
		w.commits(7, 0, 0, 0)
		w.forge(0, batchtest.Data(0, 2)) // the commit is out of range
		w.forge(1, batchtest.Data(0, 2))
		w.forge(2, batchtest.Data(0, 1))
		cut := batchtest.Log{batchtest.Data(0, 9).Cut(3)}.Partition(nil)
		w.script(3, func(ask) *kmsg.FetchResponseTopicPartition { return cut })
		c := w.consumer(inGroup(append(opts, kgo.ConsumeResetOffset(kgo.NoResetOffset()))...)...)
		got, errs := map[int32][]int64{}, map[int32][]error{}
		for len(got[1]) < 3 || len(got[2]) < 2 || len(errs[0]) < 1 || len(errs[3]) < 3 {
			fs := poll(c, patience)
			fs.EachRecord(func(r *kgo.Record) { got[r.Partition] = append(got[r.Partition], r.Offset) })
			fs.EachError(func(_ string, p int32, err error) { errs[p] = append(errs[p], err) })
		}
		require.Equal(t, map[int32][]int64{1: span(0, 2), 2: span(0, 1)}, got)
		var out *rcconsumer.OffsetOutOfRangeError
		require.Len(t, errs[0], 1)
		require.ErrorAs(t, errs[0][0], &out)
		for _, err := range errs[3] {
			var none *rcconsumer.NoProgressError
			require.ErrorAs(t, err, &none)
		}
		require.NoError(t, c.CommitUncommittedOffsets(t.Context()))
		require.Equal(t, []int64{7, 3, 2, 0}, []int64{w.committed(0), w.committed(1), w.committed(2), w.committed(3)})
	}, "range", "KIP-848")
}
