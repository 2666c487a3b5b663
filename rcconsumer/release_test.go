package rcconsumer_test

import (
	"sync"
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

// remove ends the reading of partition 0 of [topic].
func remove(c mover) { c.RemoveConsumePartitions(map[string][]int32{topic: {0}}) }

// purge ends the reading of [topic].
func purge(c mover) { c.PurgeTopicsFromConsuming(topic) }

// addAt reads partition 0 of [topic] from an offset on.
func addAt(offset int64) func(mover) {
	return func(c mover) { c.AddConsumePartitions(at0(exactly(offset))) }
}

// unread checks that nothing is left of what was read, and nothing is asked for.
func (w *world) unread(t *testing.T, c *rcconsumer.Consumer) {
	t.Helper()
	silent(t, c, 5*time.Second)
	require.Zero(t, w.during(10*time.Second), "fetches")
	require.Empty(t, c.Positions())
	require.Zero(t, c.BufferedFetchBytes())
}

func TestAnswerToARemovedPartitionIsDropped(t *testing.T) {
	tests := []struct {
		name string
		do   []func(mover)
		want []int64
	}{
		{"removed", []func(mover){remove}, nil},
		{"purged", []func(mover){purge}, nil},
		{"removed and added", []func(mover){remove, addAt(5)}, span(5, 9)},
		{"purged and added", []func(mover){purge, addAt(7)}, span(7, 9)},
		{"added twice", []func(mover){remove, addAt(5), remove, addAt(3)}, span(3, 9)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				f := w.forge(0)
				f.hw = 10
				c := w.consumer(startAt(0))
				eventually(t, "a fetch in flight", func() bool { return w.count() == 1 })
				for _, do := range test.do {
					do(c)
				}
				w.change(func() { f.log, f.lso = singles(0, 9), 10 })
				if test.want == nil {
					time.Sleep(time.Second) // the answer
					w.unread(t, c)
					return
				}
				require.Equal(t, test.want, readOffsets(t, c, len(test.want)))
				silent(t, c, 5*time.Second)
			})
		})
	}
}

func TestWhatIsBufferedOfARemovedPartitionIsDropped(t *testing.T) {
	tests := map[string]batchtest.Entry{
		"records": batchtest.Data(5, 9),
		"error":   batchtest.Data(5, 9).Flip(70),
	}
	for name, last := range tests {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				f := w.forge(0, batchtest.Data(0, 4), last)
				c := w.consumer(startAt(0))
				eventually(t, "the fetch", func() bool { return position(c).LastStableOffset == 10 })
				require.Equal(t, span(0, 1), offsets(c.PollRecords(t.Context(), 2)), "a batch is decoded and open")
				remove(c)
				require.Empty(t, c.PollFetches(noWait))
				w.unread(t, c)
				w.change(func() { f.log = batchtest.Log{batchtest.Data(0, 9)} })
				c.AddConsumePartitions(at0(exactly(1)))
				require.Equal(t, span(1, 9), readOffsets(t, c, 9))
				require.Equal(t, int64(9), c.Stats()[topic][0].DeliveredRecords, "counts begin anew")
			})
		})
	}
}

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
		silent(t, c, time.Minute)
		purge(c)
		c.AddConsumeTopics(topic)
		require.ErrorIs(t, failed(t, c).Err, kerr.TopicAuthorizationFailed)
		silent(t, c, time.Minute)

		purge(c)
		before := asked.Load()
		c.AddConsumeTopics(topic)
		eventually(t, "the error", func() bool { return asked.Load() > before })
		time.Sleep(time.Second)
		purge(c) // with an error that nobody polled for
		silent(t, c, time.Minute)
	})
}

func TestRemovalLeavesTheOthersToRead(t *testing.T) {
	inWorld(t, 2, 4, func(t *testing.T, w *world) {
		for p := range int32(4) {
			w.forge(p, batchtest.Data(0, 9))
		}
		c := w.consumer(startsAt(4), kgo.FetchMaxWait(time.Second))
		require.Len(t, read(t, c, 40), 40)
		c.RemoveConsumePartitions(map[string][]int32{topic: {0, 2}}) // all of the first broker
		time.Sleep(5 * time.Second)
		before := w.count()
		time.Sleep(10 * time.Second)
		w.see(func() {
			require.Greater(t, len(w.fetches), before)
			for _, f := range w.fetches[before:] {
				require.Equal(t, int32(1), f.node)
			}
		})
		_, ok := c.Position(topic, 0)
		require.False(t, ok)
		require.Len(t, c.Positions()[topic], 2)
	})
}

// Source: twmb/franz-go README, a topic that was deleted and created again is
// taken up by purging and adding it.
func TestRecreatedTopicIsTakenUpByPurgeAndAdd(t *testing.T) {
	beside(t, func(t *testing.T, w *world, start func(...kgo.Opt) mover) {
		c := start(kgo.ConsumeTopics("other"))
		require.Len(t, settled(c), 8)
		require.NoError(t, w.DeleteTopic("other"))
		c.PurgeTopicsFromClient("other")
		require.NoError(t, w.CreateTopic("other", 1, nil))
		w.fill("other", 0, 0, 2)
		c.AddConsumeTopics("other")
		require.Equal(t, []string{"other/0/0", "other/0/1"}, settled(c))
	})
}

// A partition that a hook moves or removes while it is told of it must neither
// block nor hand out what was dropped.
func TestHooksMayChangeWhatIsRead(t *testing.T) {
	changes := map[string]func(*rcconsumer.Consumer){
		"seek":   func(c *rcconsumer.Consumer) { seek(c, 2) },
		"pause":  func(c *rcconsumer.Consumer) { c.PauseFetchTopics(topic); c.ResumeFetchTopics(topic) },
		"remove": func(c *rcconsumer.Consumer) { remove(c); addAt(2)(c) },
		"purge":  func(c *rcconsumer.Consumer) { purge(c); addAt(2)(c) },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				w.forge(0, batchtest.Data(0, 4).Txn(1), batchtest.Abort(5, 1), batchtest.Data(6, 9)).aborted = batchtest.Aborted(1, 0)
				hook := &meddler{change: change}
				c := w.consumer(kgo.WithHooks(hook))
				hook.consumer.Store(c)
				c.AddConsumePartitions(at0(exactly(0)))
				require.Equal(t, span(6, 9), readOffsets(t, c, 4))
				silent(t, c, 5*time.Second)
				require.Equal(t, int32(3), hook.changed.Load())
			})
		})
	}
}

// meddler changes what is read the first time each of its methods is called.
type meddler struct {
	consumer atomic.Pointer[rcconsumer.Consumer]
	change   func(*rcconsumer.Consumer)
	changed  atomic.Int32
	once     [3]sync.Once
}

func (m *meddler) meddle(i int) {
	m.once[i].Do(func() {
		m.changed.Add(1)
		m.change(m.consumer.Load())
	})
}

func (m *meddler) OnAbortedBatch(string, int32, rcconsumer.BatchInfo) { m.meddle(0) }
func (m *meddler) OnFetchRecordBuffered(*kgo.Record)                  { m.meddle(1) }
func (m *meddler) OnFetchBatchRead(kgo.BrokerMetadata, string, int32, kgo.FetchBatchMetrics) {
	m.meddle(2)
}
