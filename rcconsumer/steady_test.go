package rcconsumer_test

import (
	"errors"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
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

// metadataOf is a whole answer about the topic; without it if leader is absent.
func (w *world) metadataOf(kreq kmsg.Request, id [16]byte, leaders ...[2]int32) *kmsg.MetadataResponse {
	resp := kreq.ResponseKind().(*kmsg.MetadataResponse)
	resp.ClusterID = kmsg.StringPtr("kfake")
	for i, addr := range w.ListenAddrs() {
		host, port, _ := net.SplitHostPort(addr)
		b := kmsg.NewMetadataResponseBroker()
		n, _ := strconv.Atoi(port)
		b.NodeID, b.Host, b.Port = int32(i), host, int32(n)
		resp.Brokers = append(resp.Brokers, b)
	}
	if len(leaders) == 0 {
		return resp
	}
	t := kmsg.NewMetadataResponseTopic()
	t.Topic, t.TopicID = kmsg.StringPtr(topic), id
	for i, l := range leaders {
		p := kmsg.NewMetadataResponseTopicPartition()
		p.Partition, p.Leader, p.LeaderEpoch = int32(i), l[0], l[1]
		if l[0] < 0 {
			p.ErrorCode = kerr.LeaderNotAvailable.Code
		}
		t.Partitions = append(t.Partitions, p)
	}
	resp.Topics = append(resp.Topics, t)
	return resp
}

// answerMetadata makes every Metadata answer, given its number from 0.
func (w *world) answerMetadata(fn func(kreq *kmsg.MetadataRequest, nth int) *kmsg.MetadataResponse) {
	var nth atomic.Int32
	w.ControlKey(int16(kmsg.Metadata), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		w.KeepControl()
		return fn(kreq.(*kmsg.MetadataRequest), int(nth.Add(1)-1)), nil, true
	})
}

// startsAt reads partitions 0 up to n of the topic from offset 0.
func startsAt(n int32) kgo.Opt {
	from := make(map[int32]kgo.Offset)
	for i := range n {
		from[i] = kgo.NewOffset().At(0)
	}
	return kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from})
}

var quick = []kgo.Opt{kgo.MetadataMaxAge(2 * time.Second), kgo.MetadataMinAge(time.Second)}

// A broker that has just started may not know a topic for a moment. Source:
// kgo.ConsiderMissingTopicDeletedAfter.
func TestTopicOfAPatternThatIsMissingOnceIsReadOn(t *testing.T) {
	for name, start := range map[string]kgo.Offset{"start": kgo.NewOffset().AtStart(), "end": kgo.NewOffset().AtEnd()} {
		t.Run(name, func(t *testing.T) { missOnce(t, start) })
	}
}

func missOnce(t *testing.T, start kgo.Offset) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0, batchtest.Data(0, 2))
		var drop atomic.Int32
		w.answerMetadata(func(req *kmsg.MetadataRequest, _ int) *kmsg.MetadataResponse {
			if req.Topics == nil && drop.Add(-1) >= 0 {
				return w.metadataOf(req, w.id)
			}
			return w.metadataOf(req, w.id, [2]int32{0, 0})
		})
		c := w.consumer(append(quick, kgo.ConsumeRegex(), kgo.ConsumeTopics("^t$"), kgo.ConsumeStartOffset(start))...)
		if start == kgo.NewOffset().AtStart() {
			require.Equal(t, span(0, 2), readOffsets(t, c, 3))
		} else {
			eventually(t, "start at the end", func() bool { return position(c).Next == 3 })
		}
		drop.Store(2)
		eventually(t, "an answer without the topic", func() bool { return drop.Load() < 0 })
		w.change(func() { f.log, f.lso, f.hw = batchtest.Log{batchtest.Data(0, 2), batchtest.Data(3, 5)}, 6, 6 })
		require.Equal(t, span(3, 5), readOffsets(t, c, 3))
		silent(t, c, 10*time.Second)
	})
}

func TestTopicOfAPatternThatStaysMissingIsForgotten(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 2))
		var gone atomic.Bool
		w.answerMetadata(func(req *kmsg.MetadataRequest, _ int) *kmsg.MetadataResponse {
			if gone.Load() {
				return w.metadataOf(req, w.id)
			}
			return w.metadataOf(req, w.id, [2]int32{0, 0})
		})
		c := w.consumer(append(quick, kgo.ConsumeRegex(), kgo.ConsumeTopics("^t$"), kgo.ConsiderMissingTopicDeletedAfter(10*time.Second))...)
		require.Equal(t, span(0, 2), readOffsets(t, c, 3))
		gone.Store(true)
		eventually(t, "the topic to be forgotten", func() bool { return len(c.Positions()) == 0 })
	})
}

func TestBrokerThatIsBehindDoesNotRecreateATopic(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 2))
		old := w.id
		w.change(func() { w.id[3] ^= 0x55 })
		var state, stale atomic.Int32 // state 0: old ID, 1: new ID, 2: old once more
		w.answerMetadata(func(req *kmsg.MetadataRequest, _ int) *kmsg.MetadataResponse {
			switch state.Load() {
			case 0:
				return w.metadataOf(req, old, [2]int32{0, 0})
			case 2:
				stale.Add(1)
				return w.metadataOf(req, old, [2]int32{0, 0})
			}
			return w.metadataOf(req, w.id, [2]int32{0, 0})
		})
		var hook resetHook
		c := w.consumer(append(quick, startAt(0), rcconsumer.WithHooks(&hook))...)
		eventually(t, "the old topic", func() bool { return w.count() > 0 })
		state.Store(1)
		require.Equal(t, span(0, 2), readOffsets(t, c, 3))
		require.Len(t, hook.all(), 1)
		state.Store(2)
		eventually(t, "answers of a broker that is behind", func() bool { return stale.Load() >= 2 })
		state.Store(1)
		silent(t, c, 20*time.Second)
		require.Len(t, hook.all(), 1)
		require.Equal(t, int64(3), position(c).Next)
	})
}

// Source: twmb/franz-go#119: a cluster can lose its epochs for good.
func TestLeaderEpochThatGoesBackForGoodIsBelieved(t *testing.T) {
	inWorld(t, 2, 1, func(t *testing.T, w *world) {
		var back atomic.Bool
		w.answerMetadata(func(req *kmsg.MetadataRequest, _ int) *kmsg.MetadataResponse {
			if back.Load() {
				return w.metadataOf(req, w.id, [2]int32{1, 3})
			}
			return w.metadataOf(req, w.id, [2]int32{0, 7})
		})
		f := w.script(0, func(a ask) *kmsg.FetchResponseTopicPartition {
			switch {
			case !back.Load():
				return nil
			case a.node == 0:
				return failure(kerr.NotLeaderForPartition)
			case a.epoch != 3 && a.epoch != -1:
				return failure(kerr.UnknownLeaderEpoch)
			}
			return nil
		})
		w.change(func() { f.log, f.lso, f.hw = batchtest.Log{batchtest.Data(0, 2)}, 3, 3 })
		c := w.consumer(startAt(0))
		require.Equal(t, span(0, 2), readOffsets(t, c, 3))
		back.Store(true)
		w.change(func() { f.log, f.lso, f.hw = batchtest.Log{batchtest.Data(0, 2), batchtest.Data(3, 5)}, 6, 6 })
		require.Equal(t, span(3, 5), readOffsets(t, c, 3))
	}, kfake.Ports(9092, 9093))
}

func TestSilentBrokerHoldsUpNoOtherStart(t *testing.T) {
	inWorld(t, 2, 2, func(t *testing.T, w *world) {
		require.NoError(t, w.MoveTopicPartition(topic, 0, 0))
		require.NoError(t, w.MoveTopicPartition(topic, 1, 1))
		w.produce(topic, 0, "a", "b", "c")
		silence := make(chan struct{})
		defer close(silence)
		w.ControlKey(int16(kmsg.ListOffsets), func(kmsg.Request) (kmsg.Response, error, bool) {
			w.KeepControl()
			if w.CurrentNode() != 1 {
				return nil, nil, false
			}
			w.SleepControl(func() { <-silence }) // as behind a cut network
			w.KeepControl()
			return nil, errors.New("gone"), true
		})
		began := time.Now()
		c := w.consumer(kgo.ConsumeTopics(topic))
		require.Equal(t, span(0, 2), readOffsets(t, c, 3))
		require.Less(t, time.Since(began), 3*time.Second)
	}, kfake.Ports(9092, 9093))
}

// A broker that was stopped, not killed, takes requests and answers none; kgo may
// well ask it several times in a row.
func TestBrokersThatKeepSilentAboutMetadataCostASecondEach(t *testing.T) {
	inWorld(t, 3, 1, func(t *testing.T, w *world) {
		old := w.LeaderFor(topic, 0)
		next := (old + 1) % 3
		var silent atomic.Bool
		w.ControlKey(int16(kmsg.Metadata), func(kmsg.Request) (kmsg.Response, error, bool) {
			w.KeepControl()
			if w.CurrentNode() == next || !silent.Load() {
				return nil, nil, false
			}
			w.SleepControl(func() { <-w.over })
			return nil, errors.New("the test is over"), true
		})
		f := w.script(0, func(a ask) *kmsg.FetchResponseTopicPartition {
			if a.node == old && silent.Load() {
				return failure(kerr.NotLeaderForPartition)
			}
			return nil
		})
		w.change(func() { f.log, f.lso, f.hw = batchtest.Log{batchtest.Data(0, 4)}, 5, 5 })
		readers := make([]*rcconsumer.Consumer, 15)
		for i := range readers {
			readers[i] = w.consumer(startAt(0))
			require.Equal(t, span(0, 4), readOffsets(t, readers[i], 5))
			for range i { // kgo asks brokers in turn, seeds between them
				require.NoError(t, readers[i].Ping(t.Context()))
			}
		}
		silent.Store(true)
		w.change(func() { f.log, f.lso, f.hw = batchtest.Log{batchtest.Data(0, 4), batchtest.Data(5, 9)}, 10, 10 })
		require.NoError(t, w.MoveTopicPartition(topic, 0, next))
		began := time.Now()
		for _, c := range readers {
			require.Equal(t, span(5, 9), readOffsets(t, c, 5))
		}
		require.Less(t, time.Since(began), 4*time.Second)
	})
}

func TestPauseKeepsALossThatNobodyHeardOf(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0, batchtest.Data(0, 9))
		var hook resetHook
		c := w.consumer(startAt(0), kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd()), rcconsumer.WithHooks(&hook))
		require.Equal(t, span(0, 9), readOffsets(t, c, 10))
		w.change(func() { f.log, f.lso, f.hw = batchtest.Log{batchtest.Data(0, 4)}, 5, 5 })
		eventually(t, "the reset", func() bool { return len(hook.all()) > 0 })
		c.PauseFetchTopics(topic)
		w.change(func() { f.log, f.lso, f.hw = batchtest.Log{batchtest.Data(0, 4), batchtest.Data(5, 14)}, 15, 15 })
		c.ResumeFetchTopics(topic)
		var lost *kgo.ErrDataLoss
		require.ErrorAs(t, failed(t, c).Err, &lost)
		require.Equal(t, int64(5), lost.ResetTo)
		require.Equal(t, span(5, 14), readOffsets(t, c, 10))
	})
}

func TestPartitionThatIsAskedForAloneStopsWhenItWaits(t *testing.T) {
	inWorld(t, 1, 2, func(t *testing.T, w *world) {
		w.script(0, func(a ask) *kmsg.FetchResponseTopicPartition {
			if a.nth == 0 {
				return nothing(5, 5)
			}
			return nothing(0, 0) // its end went back: at it there is nothing to find out
		})
		f := w.forge(1, batchtest.Data(0, 4))
		c := w.consumer(startsAt(2))
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
		w.change(func() { f.log, f.lso, f.hw = batchtest.Log{batchtest.Data(0, 4), batchtest.Data(5, 9)}, 10, 10 })
		require.Equal(t, span(5, 9), readOffsets(t, c, 5))
	})
}

func TestCompactedTailIsFoundBesideIdleAndBusyPartitions(t *testing.T) {
	inWorld(t, 1, 3, func(t *testing.T, w *world) {
		w.script(0, func(ask) *kmsg.FetchResponseTopicPartition { return nothing(0, 0) })
		w.script(1, func(ask) *kmsg.FetchResponseTopicPartition { return nothing(5, 5) })
		w.script(2, func(a ask) *kmsg.FetchResponseTopicPartition {
			p := batchtest.Log{batchtest.Data(a.offset, a.offset)}.Partition(nil)
			p.HighWatermark, p.LastStableOffset = a.offset+1, a.offset+1
			return p
		})
		w.change(func() { w.slow = 50 * time.Millisecond }) // busy, in the bubble's time
		c := w.consumer(startsAt(3))
		eventually(t, "the tail", func() bool {
			poll(c, 100*time.Millisecond)
			p, known := c.Position(topic, 1)
			return known && p.CaughtUp()
		})
	})
}

func TestRewindBeforeAnythingWasPolledGoesByWhatIsBuffered(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0, batchtest.Data(0, 49), batchtest.Data(50, 99), batchtest.Data(100, 104))
		var hook resetHook
		c := w.consumer(startAt(100), kgo.ConsumeResetOffset(kgo.RewindOffset(0)), rcconsumer.WithHooks(&hook))
		eventually(t, "the first answer", func() bool { return position(c).HighWatermark == 105 })
		w.change(func() { f.log, f.lso, f.hw = f.log[:2], 100, 100 })
		eventually(t, "the reset", func() bool { return len(hook.all()) > 0 })
		require.Equal(t, span(100, 104), readOffsets(t, c, 5))
		var lost *kgo.ErrDataLoss
		require.ErrorAs(t, failed(t, c).Err, &lost)
		require.Equal(t, int64(100), lost.ResetTo, "not the log start: records up to 104 were read")
	})
}

func TestPausedPartitionThatRestsHoldsNoMemory(t *testing.T) {
	inWorld(t, 1, 2, func(t *testing.T, w *world) {
		w.script(0, func(a ask) *kmsg.FetchResponseTopicPartition {
			if a.offset > 0 {
				return nothing(a.offset, a.offset)
			}
			p := batchtest.Log{batchtest.Data(0, 0).Size(6000), batchtest.Data(1, 1).Txn(7), batchtest.Abort(2, 7)}.Partition(nil)
			p.HighWatermark, p.LastStableOffset = 3, 3
			return p
		})
		f := w.forge(1)
		c := w.consumer(startsAt(2), rcconsumer.BufferBytes(6600), rcconsumer.OnAnomalyDo(rcconsumer.AnomalyFail))
		eventually(t, "the first answer", func() bool { return position(c).HighWatermark == 3 })
		c.PauseFetchPartitions(map[string][]int32{topic: {0}})
		w.change(func() { f.log, f.hw, f.lso = batchtest.Log{batchtest.Data(0, 4)}, 5, 5 })
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
		c.ResumeFetchPartitions(map[string][]int32{topic: {0}})
		require.Equal(t, []int64{0}, readOffsets(t, c, 1))
		var anomaly *rcconsumer.AnomalyError
		require.ErrorAs(t, failed(t, c).Err, &anomaly)
	})
}

// partitionErrors notes which partitions an error was told of.
type partitionErrors struct {
	mu  sync.Mutex
	all map[int32]error
}

func (h *partitionErrors) OnFetchError(_ string, partition int32, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all[partition] = err
}

func (h *partitionErrors) of(partition int32) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.all[partition]
}

func TestPartitionsWithoutALeaderAreTold(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.answerMetadata(func(req *kmsg.MetadataRequest, _ int) *kmsg.MetadataResponse {
			return w.metadataOf(req, w.id, [2]int32{-1, 4})
		})
		told := &partitionErrors{all: make(map[int32]error)}
		c := w.consumer(rcconsumer.WithHooks(told), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{
			topic: {0: kgo.NewOffset().At(0), 77: kgo.NewOffset().At(0)},
		}))
		eventually(t, "both", func() bool { return told.of(0) != nil && told.of(77) != nil })
		require.ErrorIs(t, told.of(0), kerr.LeaderNotAvailable)
		require.ErrorIs(t, told.of(77), kerr.UnknownTopicOrPartition)
		silent(t, c, 10*time.Second)
	})
}

// slowCodec takes its time, so that answers arrive while a poll decodes.
type slowCodec struct{}

func (slowCodec) Decompress(b []byte, c kgo.CompressionCodecType) ([]byte, error) {
	time.Sleep(2 * time.Second) // in the bubble's time
	return kgo.DefaultDecompressor().Decompress(b, c)
}

func TestErrorDoesNotCatchUpWithRecordsOfItsPartitionInOnePoll(t *testing.T) {
	inWorld(t, 1, 2, func(t *testing.T, w *world) {
		f := w.forge(0, batchtest.Data(0, 2).Codec(batchtest.Gzip), batchtest.Data(3, 5).Flip(30))
		f.batches = 1
		w.forge(1, batchtest.Data(0, 2).Codec(batchtest.Gzip))
		c := w.consumer(startsAt(2), kgo.WithDecompressor(slowCodec{}))
		for failures := 0; failures == 0; {
			for _, fetch := range poll(c, patience) {
				seen := make(map[int32]int)
				for _, p := range fetch.Topics[0].Partitions {
					seen[p.Partition]++
					if p.Err != nil {
						failures++
						require.Empty(t, p.Records)
					}
				}
				for partition, n := range seen {
					require.Equal(t, 1, n, "partition %d", partition)
				}
			}
		}
	})
}

// batchReads notes what kgo's hook is told.
type batchReads struct {
	mu  sync.Mutex
	all []kgo.FetchBatchMetrics
}

func (h *batchReads) OnFetchBatchRead(_ kgo.BrokerMetadata, _ string, _ int32, m kgo.FetchBatchMetrics) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, m)
}

func TestBatchReadHookIsToldOfKeptBatchesAsKgoDoes(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0, batchtest.Data(0, 4), batchtest.Data(5, 9).Txn(1), batchtest.Abort(10, 1), batchtest.Data(11, 19).Codec(batchtest.Gzip))
		f.aborted = batchtest.Aborted(1, 5)
		var hook batchReads
		c := w.consumer(startAt(0), kgo.WithHooks(&hook))
		require.Len(t, read(t, c, 14), 14)
		var theirs []kgo.FetchBatchMetrics
		part := batchtest.Log{batchtest.Data(0, 4), batchtest.Data(11, 19).Codec(batchtest.Gzip)}.Partition(nil)
		kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Topic: topic}, part, kgo.DefaultDecompressor(),
			func(m kgo.FetchBatchMetrics) { theirs = append(theirs, m) })
		require.Equal(t, theirs, hook.all)
	})
}
