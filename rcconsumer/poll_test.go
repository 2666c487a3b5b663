package rcconsumer_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/rcconsumer"
)

func TestPollEndsAsKgosDoes(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		ours, theirs := w.consumer(startAt(0)), w.client(startAt(0))
		for _, c := range []poller{ours, theirs} {
			require.Empty(t, c.PollFetches(noWait).Records())
			require.NoError(t, c.PollFetches(noWait).Err())
			fs := c.PollFetches(ended)
			require.Len(t, fs.Errors(), 1)
			require.Equal(t, kgo.FetchError{Topic: "", Partition: -1, Err: context.Canceled}, fs.Errors()[0])
			require.ErrorIs(t, fs.Err0(), context.Canceled)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			require.ErrorIs(t, c.PollFetches(ctx).Err0(), context.DeadlineExceeded)
			cancel()
		}
		ours.Close()
		theirs.Close()
		for _, c := range []poller{ours, theirs} {
			fs := c.PollFetches(t.Context())
			require.True(t, fs.IsClientClosed())
			require.Equal(t, kgo.FetchError{Topic: "", Partition: -1, Err: kgo.ErrClientClosed}, fs.Errors()[0])
		}
		require.True(t, ours.PollFetches(noWait).IsClientClosed())
	})
}

func TestRecordsSurviveAPollThatWasCancelled(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 4))
		c := w.consumer(startAt(0))
		eventually(t, "the fetch", func() bool { return position(c).LastStableOffset == 5 })
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		require.Empty(t, offsets(c.PollFetches(ended)))
		require.Equal(t, span(0, 4), offsets(c.PollFetches(noWait)))
	})
}

func TestCloseIsPromptAndMayBeRepeated(t *testing.T) {
	inWorld(t, 2, 4, func(t *testing.T, w *world) {
		for p := range int32(4) {
			w.forge(p)
		}
		c := w.consumer(kgo.ConsumeTopics(topic), kgo.FetchMaxWait(time.Hour))
		eventually(t, "fetches in flight", func() bool { return w.count() == 2 })
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				fs := c.PollFetches(context.Background())
				require.True(t, fs.IsClientClosed())
			})
		}
		time.Sleep(time.Second)
		began := time.Now()
		wg.Go(c.Close)
		wg.Go(c.CloseAllowingRebalance)
		c.Close()
		wg.Wait()
		c.Close()
		require.Less(t, time.Since(began), time.Second)
		before := w.count()
		time.Sleep(10 * time.Second)
		require.Equal(t, before, w.count())
		seek(c, 1)
		c.PauseFetchTopics(topic)
		c.ResumeFetchTopics(topic)
		require.Zero(t, w.during(10*time.Second))
	})
}

func TestCloseDropsWhatIsBuffered(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 9))
		c := w.consumer(startAt(0))
		require.Equal(t, []int64{0}, offsets(c.PollRecords(t.Context(), 1)))
		c.Close()
		require.True(t, c.PollFetches(t.Context()).IsClientClosed())
		require.Equal(t, int64(1), position(c).Next)
	})
}

func TestContextGivenAsOptionEndsTheConsumer(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0)
		ctx, cancel := context.WithCancel(t.Context())
		c := w.consumer(startAt(0), kgo.WithContext(ctx))
		silent(t, c, 5*time.Second)
		require.NoError(t, ctx.Err(), "reading the options must not end it")
		cancel()
		require.True(t, c.PollFetches(t.Context()).IsClientClosed())
		require.LessOrEqual(t, w.during(10*time.Second), 1)
	})
}

func TestPollsAtOnceReturnDifferentRecords(t *testing.T) {
	const partitions, each = 4, 200
	inWorld(t, 1, partitions, func(t *testing.T, w *world) {
		for p := range int32(partitions) {
			w.forge(p, singles(0, each-1)...).batches = 7
		}
		c := w.consumer(kgo.ConsumeTopics(topic))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var mu sync.Mutex
		got := make(map[int32][]int64)
		total := 0
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				for ctx.Err() == nil {
					fs := c.PollRecords(ctx, 5)
					mu.Lock()
					fs.EachPartition(func(p kgo.FetchTopicPartition) {
						offs := inOrder(p.Records)
						require.True(t, slices.IsSorted(offs))
						got[p.Partition] = append(got[p.Partition], offs...)
						total += len(offs)
					})
					if total >= partitions*each {
						cancel()
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		for p := range int32(partitions) { // the polls that ended with ctx have another
			slices.Sort(got[p])
			require.True(t, slices.Equal(span(0, each-1), got[p]), "partition %d: %v", p, got[p])
		}
	})
}

func inOrder(rs []*kgo.Record) []int64 {
	var all []int64
	for _, r := range rs {
		all = append(all, r.Offset)
	}
	return all
}

func TestPollRecordsIsBoundedAndKeepsTheOrder(t *testing.T) {
	inWorld(t, 1, 3, func(t *testing.T, w *world) {
		for p := range int32(3) {
			w.forge(p, batchtest.Data(0, 9), batchtest.Data(10, 19))
		}
		c := w.consumer(kgo.ConsumeTopics(topic))
		next := make(map[int32]int64)
		for total := 0; total < 60; {
			fs := c.PollRecords(t.Context(), 7)
			require.NoError(t, fs.Err())
			require.NotZero(t, fs.NumRecords())
			require.LessOrEqual(t, fs.NumRecords(), 7)
			require.Equal(t, w.id, fs[0].Topics[0].TopicID)
			fs.EachPartition(func(p kgo.FetchTopicPartition) {
				require.Equal(t, topic, p.Topic)
				for _, r := range p.Records {
					require.Equal(t, next[p.Partition], r.Offset)
					next[p.Partition]++
					total++
				}
				require.Equal(t, []int64{0, 20, 20}, []int64{p.LogStartOffset, p.LastStableOffset, p.HighWatermark})
			})
		}
	})
}

// Source: Kafka's FetcherTest testFetchPositionAfterException.
func TestErrorComesAfterTheRecordsInFrontOfIt(t *testing.T) {
	inWorld(t, 1, 2, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 2), batchtest.Data(3, 5).Flip(-1))
		w.forge(1, batchtest.Data(0, 2))
		c := w.consumer(kgo.ConsumeTopics(topic))
		eventually(t, "both", func() bool {
			one, _ := c.Position(topic, 1)
			return position(c).LastStableOffset == 6 && one.LastStableOffset == 3
		})
		fs := c.PollFetches(t.Context())
		require.NoError(t, fs.Err())
		require.Equal(t, 6, fs.NumRecords())
		e := failed(t, c)
		require.Equal(t, int32(0), e.Partition)
		one, _ := c.Position(topic, 1)
		require.Equal(t, []int64{3, 3}, []int64{position(c).Next, one.Next})
	})
}

func TestPausedPartitionsReturnNothingAndGoOnAfterwards(t *testing.T) {
	pauses := map[string][2]func(*rcconsumer.Consumer){
		"topic": {
			func(c *rcconsumer.Consumer) { c.PauseFetchTopics(topic) },
			func(c *rcconsumer.Consumer) { c.ResumeFetchTopics(topic) },
		},
		"partition": {
			func(c *rcconsumer.Consumer) { c.PauseFetchPartitions(map[string][]int32{topic: {0}}) },
			func(c *rcconsumer.Consumer) { c.ResumeFetchPartitions(map[string][]int32{topic: {0}}) },
		},
	}
	for name, p := range pauses {
		pause, resume := p[0], p[1]
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				w.forge(0, batchtest.Data(0, 9), batchtest.Data(10, 19))
				c := w.consumer(startAt(0))
				require.Equal(t, span(0, 2), offsets(c.PollRecords(t.Context(), 3)))
				pause(c)
				silent(t, c, 10*time.Second)
				require.Zero(t, w.during(10*time.Second))
				resume(c)
				require.Equal(t, span(3, 19), readOffsets(t, c, 17))
				pause(c)
				seek(c, 15)
				silent(t, c, 5*time.Second)
				resume(c)
				require.Equal(t, span(15, 19), readOffsets(t, c, 5))
			})
		})
	}
}

func TestPausesAreListedAndIndependent(t *testing.T) {
	inWorld(t, 1, 2, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 9))
		w.forge(1, batchtest.Data(0, 4))
		c := w.consumer(kgo.ConsumeTopics(topic))
		require.Equal(t, []string{"later", topic}, c.PauseFetchTopics(topic, "later"))
		require.Equal(t, map[string][]int32{topic: {0}, "later": {}}, c.PauseFetchPartitions(map[string][]int32{topic: {0}}))
		silent(t, c, 5*time.Second)
		c.ResumeFetchTopics(topic)
		require.Equal(t, []string{"later"}, c.PauseFetchTopics())
		for _, r := range read(t, c, 5) {
			require.Equal(t, int32(1), r.Partition)
		}
		silent(t, c, 5*time.Second)
		c.ResumeFetchPartitions(map[string][]int32{topic: {0}})
		require.Equal(t, span(0, 9), readOffsets(t, c, 10))
		require.Equal(t, map[string][]int32{"later": {}}, c.PauseFetchPartitions(nil))
	})
}

func TestErrorOfAPausedPartitionComesAfterThePause(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0, singles(0, 9)...)
		c := w.consumer(startAt(0), kgo.ConsumeResetOffset(kgo.NoResetOffset()))
		readOffsets(t, c, 10)
		w.change(func() { f.lso, f.hw, f.log = 5, 5, f.log[:5] })
		eventually(t, "the loss", func() bool { return position(c).HighWatermark == 5 })
		c.PauseFetchTopics(topic)
		silent(t, c, 5*time.Second)
		c.ResumeFetchTopics(topic)
		require.ErrorIs(t, failed(t, c).Err, kerr.OffsetOutOfRange)
	})
}

// counter counts records through kgo's hooks.
type counter struct {
	mu                       sync.Mutex
	in, out, polled, started int
	created, closed          []*kgo.Client
	written                  map[int16]int
}

func (h *counter) locked(fn func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	fn()
}

func (h *counter) OnFetchRecordBuffered(*kgo.Record) { h.locked(func() { h.in++ }) }
func (h *counter) OnFetchRecordUnbuffered(_ *kgo.Record, polled bool) {
	h.locked(func() {
		h.out++
		if polled {
			h.polled++
		}
	})
}

func (h *counter) OnPollStart(context.Context) { h.locked(func() { h.started++ }) }
func (h *counter) OnNewClient(cl *kgo.Client)  { h.locked(func() { h.created = append(h.created, cl) }) }

func (h *counter) OnClientClosed(cl *kgo.Client) {
	h.locked(func() { h.closed = append(h.closed, cl) })
}

func (h *counter) OnBrokerWrite(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, _ error) {
	h.locked(func() { h.written[key]++ })
}

func TestHooksOfKgoCountRecordsInAndOut(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 9), batchtest.Data(10, 19).Txn(1), batchtest.Abort(20, 1), batchtest.Data(21, 29)).aborted = batchtest.Aborted(1, 10)
		hook := counter{written: make(map[int16]int)}
		c := w.consumer(startAt(0), kgo.WithHooks(&hook))
		require.Len(t, offsets(c.PollRecords(t.Context(), 3)), 3)
		seek(c, 0) // seven are given up
		require.Len(t, read(t, c, 19), 19)
		require.Len(t, offsets(poll(c, time.Second)), 0)
		seek(c, 0)
		require.Len(t, offsets(c.PollRecords(t.Context(), 4)), 4)
		c.PauseFetchTopics(topic) // six are given up
		c.ResumeFetchTopics(topic)
		require.Len(t, offsets(c.PollRecords(t.Context(), 1)), 1)
		c.Close()
		eventually(t, "the balance", func() bool {
			hook.mu.Lock()
			defer hook.mu.Unlock()
			return hook.in == hook.out
		})
		hook.mu.Lock()
		defer hook.mu.Unlock()
		require.Equal(t, 3+19+4+1, hook.polled)
		require.Equal(t, hook.in, hook.polled+7+6+5)
	})
}

func TestInjectedErrorsDoNotPileUp(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		denied := kmsg.NewMetadataResponseTopic()
		denied.Topic, denied.ErrorCode = kmsg.StringPtr(topic), kerr.TopicAuthorizationFailed.Code
		w.ControlKey(int16(kmsg.Metadata), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
			req := kreq.(*kmsg.MetadataRequest)
			w.KeepControl()
			if len(req.Topics) == 0 {
				return nil, nil, false
			}
			resp := req.ResponseKind().(*kmsg.MetadataResponse)
			b := kmsg.NewMetadataResponseBroker()
			b.NodeID, b.Host, b.Port = 0, "127.0.0.1", 9092
			resp.Brokers = append(resp.Brokers, b)
			resp.Topics = append(resp.Topics, denied)
			return resp, nil, true
		})
		c := w.consumer(kgo.ConsumeTopics(topic))
		time.Sleep(time.Minute)
		fs := poll(c, patience)
		require.Len(t, fs.Errors(), 1, "it was told often, and is handed out once")
		require.True(t, errors.Is(fs.Err(), kerr.TopicAuthorizationFailed))
		require.Equal(t, topic, fs.Errors()[0].Topic)
		require.Equal(t, int32(-1), fs.Errors()[0].Partition)
		require.True(t, timedOut(poll(c, time.Second)))
	})
}

func TestPollDoesNotDecodeAllOfALargeBacklogAtOnce(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		const large = 9 << 20
		w.forge(0, batchtest.Data(0, 0).Size(large), batchtest.Data(1, 1).Size(large), batchtest.Data(2, 2).Size(large), batchtest.Data(3, 3).Size(large))
		c := w.consumer(startAt(0), kgo.FetchMaxPartitionBytes(5*large))
		require.Equal(t, []int64{0, 1}, offsets(poll(c, patience)))
		require.Equal(t, []int64{2, 3}, offsets(poll(c, patience)))
	})
}
