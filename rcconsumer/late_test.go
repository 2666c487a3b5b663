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

// hold holds back the first answer to a kind of request that kfake answers.
func (w *world) hold(key kmsg.Key) (asked <-chan struct{}, release func()) {
	began, held := make(chan struct{}), make(chan struct{})
	var nth atomic.Int32
	w.ControlKey(int16(key), func(kmsg.Request) (kmsg.Response, error, bool) {
		w.KeepControl()
		if nth.Add(1) > 1 {
			return nil, nil, false
		}
		close(began)
		w.SleepControl(func() {
			select {
			case <-held:
			case <-w.over:
			}
		})
		w.KeepControl()
		return nil, nil, false
	})
	return began, func() { close(held) }
}

// happens waits for something that a channel tells of.
func happens(t *testing.T, what string, told <-chan struct{}) {
	t.Helper()
	select {
	case <-told:
	case <-time.After(patience):
		require.Fail(t, "waited in vain", what)
	}
}

// Source: KAFKA-7703, an earlier look-up that wins over a later one.
func TestLastOfTwoLookUpsWins(t *testing.T) {
	for name, inOrder := range map[string]bool{"the earlier is answered first": true, "the later is answered first": false} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 2, 1, func(t *testing.T, w *world) {
				w.fill(topic, 0, 0, 4)
				asked, release := w.hold(kmsg.ListOffsets)
				c := w.consumer(startFrom(kgo.NewOffset().AtStart()), kgo.MetadataMaxAge(time.Second))
				happens(t, "the first look-up", asked)
				// A broker answers one look-up after the other, so the later
				// one has to go to another leader.
				require.NoError(t, w.MoveTopicPartition(topic, 0, 1))
				remove(c)
				c.AddConsumePartitions(at0(kgo.NewOffset().AtEnd().Relative(-2)))
				if inOrder {
					release()
				}
				require.Equal(t, span(2, 3), readOffsets(t, c, 2))
				if !inOrder {
					release()
				}
				silent(t, c, 5*time.Second)
				require.Equal(t, int64(4), position(c).Next)
			})
		})
	}
}

// What is found out for a partition that is removed meanwhile moves nothing and
// is told nobody.
func TestLookUpOfARemovedPartitionTellsNothing(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.fill(topic, 0, 0, 4)
		asked, release := w.hold(kmsg.ListOffsets)
		var resets resetHook
		c := w.consumer(startAt(7), rcconsumer.WithHooks(&resets))
		happens(t, "the look-up for an offset out of range", asked)
		purge(c)
		c.AddConsumePartitions(at0(exactly(1)))
		require.Equal(t, span(1, 3), readOffsets(t, c, 3))
		release()
		silent(t, c, 5*time.Second)
		require.Equal(t, int64(4), position(c).Next)
		require.Empty(t, resets.all())
	})
}

// What a Metadata answer on its way says of a topic that is purged meanwhile
// does not begin it again.
func TestMetadataOnItsWayDoesNotBeginAPurgedTopic(t *testing.T) {
	for name, code := range map[string]int16{"its partitions": 0, "an error": kerr.TopicAuthorizationFailed.Code} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				asked, hold := make(chan struct{}), make(chan struct{})
				var named atomic.Int32
				w.ControlKey(int16(kmsg.Metadata), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
					w.KeepControl()
					req := kreq.(*kmsg.MetadataRequest)
					if len(req.Topics) == 0 || named.Add(1) > 1 {
						return nil, nil, false
					}
					close(asked)
					w.SleepControl(func() {
						select {
						case <-hold:
						case <-w.over:
						}
					})
					w.KeepControl()
					resp := w.metadataOf(kreq, w.id, [2]int32{0, 0})
					resp.Topics[0].ErrorCode = code
					return resp, nil, true
				})
				c := w.consumer(kgo.ConsumeTopics(topic), kgo.MetadataMaxAge(time.Second))
				happens(t, "the question", asked)
				purge(c)
				close(hold)
				w.unread(t, c)
				require.Equal(t, int32(1), named.Load(), "it is not asked for again")
			})
		})
	}
}

// A topic that may not be read is not an empty one: polls say so as long as it
// lasts, at kgo's pace, and no longer.
func TestErrorOfATopicThatStaysIsToldEveryFewSeconds(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 4))
		var allowed atomic.Bool
		w.answerMetadata(func(req *kmsg.MetadataRequest, _ int) *kmsg.MetadataResponse {
			resp := w.metadataOf(req, w.id, [2]int32{0, 0})
			if !allowed.Load() {
				resp.Topics[0].ErrorCode = kerr.TopicAuthorizationFailed.Code
			}
			return resp
		})
		c := w.consumer(kgo.ConsumeTopics(topic))
		began := time.Now()
		for range 10 {
			require.ErrorIs(t, failed(t, c).Err, kerr.TopicAuthorizationFailed)
		}
		per := time.Since(began) / 9
		require.GreaterOrEqual(t, per, 5*time.Second)
		require.LessOrEqual(t, per, 10*time.Second)

		allowed.Store(true)
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
		silent(t, c, time.Minute)
	})
}

// Who adds a topic anew has not heard of its old trouble.
func TestErrorOfATopicIsToldAgainOnceItIsAddedAnew(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		var asked atomic.Int32
		w.answerMetadata(func(req *kmsg.MetadataRequest, _ int) *kmsg.MetadataResponse {
			resp := w.metadataOf(req, w.id, [2]int32{0, 0})
			if len(req.Topics) > 0 {
				asked.Add(1)
			}
			resp.Topics[0].ErrorCode = kerr.TopicAuthorizationFailed.Code
			return resp
		})
		c := w.consumer(kgo.ConsumeTopics(topic))
		require.ErrorIs(t, failed(t, c).Err, kerr.TopicAuthorizationFailed)
		silent(t, c, 4*time.Second)
		purge(c)
		c.AddConsumeTopics(topic)
		require.ErrorIs(t, failed(t, c).Err, kerr.TopicAuthorizationFailed)
		silent(t, c, 4*time.Second)

		purge(c)
		before := asked.Load()
		c.AddConsumeTopics(topic)
		eventually(t, "the error", func() bool { return asked.Load() > before })
		time.Sleep(time.Second)
		purge(c) // with an error that nobody polled for
		silent(t, c, time.Minute)
	})
}
