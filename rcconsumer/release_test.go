package rcconsumer_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

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
