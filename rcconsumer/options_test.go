package rcconsumer_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/rcconsumer"
)

// group are the options of a group's member.
func group(opts ...kgo.Opt) []kgo.Opt {
	return append([]kgo.Opt{kgo.ConsumerGroup("g"), kgo.ConsumeTopics("x")}, opts...)
}

func TestNewRefusesWhatItCannotHonourByName(t *testing.T) {
	tests := []struct {
		name string
		opts []kgo.Opt
	}{
		{"rcconsumer.OnPartitionsAssigned", group(kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) {}))},
		{"rcconsumer.OnPartitionsRevoked", group(kgo.OnPartitionsRevoked(func(context.Context, *kgo.Client, map[string][]int32) {}))},
		{"rcconsumer.OnPartitionsLost", group(kgo.OnPartitionsLost(func(context.Context, *kgo.Client, map[string][]int32) {}))},
		{"rcconsumer.OnPartitionsCallbackBlocked", group(kgo.OnPartitionsCallbackBlocked(func(context.Context, *kgo.Client) {}))},
		{"rcconsumer.OnOffsetsFetched", group(kgo.OnOffsetsFetched(func(context.Context, *kgo.Client, *kmsg.OffsetFetchResponse) error { return nil }))},
		{"rcconsumer.AutoCommitCallback", group(kgo.AutoCommitCallback(
			func(*kgo.Client, *kmsg.OffsetCommitRequest, *kmsg.OffsetCommitResponse, error) {}))},
		{"group callback", []kgo.Opt{rcconsumer.OnPartitionsLost(func(context.Context, *rcconsumer.Consumer, map[string][]int32) {})}},
		{"autocommit", []kgo.Opt{rcconsumer.AutoCommitCallback(
			func(*rcconsumer.Consumer, *kmsg.OffsetCommitRequest, *kmsg.OffsetCommitResponse, error) {})}},
		{"autocommit", []kgo.Opt{kgo.AutoCommitMarks()}},
		{"marked autocommitting", group(kgo.AutoCommitMarks(), kgo.DisableAutoCommit())},
		{"direct-partition", group(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"y": {0: kgo.NewOffset()}}))},
		{"ShareGroup", []kgo.Opt{kgo.ShareGroup("g"), kgo.ConsumeTopics("x")}},
		{"ConsumePreferringLagFn", []kgo.Opt{kgo.ConsumePreferringLagFn(kgo.PreferLagAt(1))}},
		{"MaxConcurrentFetches", []kgo.Opt{kgo.MaxConcurrentFetches(0)}},
		{"BufferBytes", []kgo.Opt{rcconsumer.BufferBytes(0)}},
		{"OnAnomalyDo", []kgo.Opt{rcconsumer.OnAnomalyDo(7)}},
		{"WithHooks", []kgo.Opt{rcconsumer.WithHooks(struct{}{})}},
		{"hook", []kgo.Opt{kgo.WithHooks(struct{}{})}},                // kgo's own check
		{"max fetch wait", []kgo.Opt{kgo.FetchMaxWait(-time.Second)}}, // kgo's own check
		{"regular expression", []kgo.Opt{kgo.ConsumeTopics("("), kgo.ConsumeRegex()}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := rcconsumer.New(test.opts...)
			if c != nil {
				c.Close()
			}
			require.ErrorContains(t, err, test.name)
			require.Nil(t, c)
		})
	}
	_, err := rcconsumer.New(kgo.MaxConcurrentFetches(0), kgo.ConsumePreferringLagFn(kgo.PreferLagAt(1)))
	require.ErrorContains(t, err, "MaxConcurrentFetches")
	require.ErrorContains(t, err, "ConsumePreferringLagFn", "all are named at once")
}

func TestOptionsOfOursChangeNothingForKgo(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 4))
		plain := w.client()
		ours := w.client(
			rcconsumer.BufferBytes(1), rcconsumer.ReturnOnProgress(), rcconsumer.WithHooks(&resetHook{}),
			rcconsumer.WithSlog(slog.New(slog.DiscardHandler)), rcconsumer.OnAnomalyDo(rcconsumer.AnomalyFail),
			rcconsumer.CommitThroughMarkers(false), rcconsumer.OnPartitionsLost(func(context.Context, *rcconsumer.Consumer, map[string][]int32) {}),
		)
		for _, opt := range []any{kgo.WithHooks, kgo.FetchMaxWait, kgo.FetchIsolationLevel, kgo.ConsumeTopics, kgo.FetchMaxBytes} {
			require.Equal(t, plain.OptValue(opt), ours.OptValue(opt))
		}
	})
}

func TestGivenValuesWinOverDefaults(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0, batchtest.Data(0, 4))
		c := w.consumer(startAt(0), kgo.FetchMaxWait(1700*time.Millisecond), kgo.FetchMinBytes(3),
			kgo.FetchMaxBytes(77777), kgo.FetchMaxPartitionBytes(777))
		readOffsets(t, c, 5)
		require.Equal(t, int32(1700), w.asks(f)[0].wait)
		w.mu.Lock()
		defer w.mu.Unlock()
		req := w.fetches[0].req
		require.Equal(t, []int32{3, 77777, 777}, []int32{req.MinBytes, req.MaxBytes, req.Topics[0].Partitions[0].PartitionMaxBytes})
	})
}

// The options are read from a client that never starts.
func TestReadingOptionsLeavesNothingBehind(t *testing.T) {
	before := goleak.IgnoreCurrent()
	for range 3 {
		_, err := rcconsumer.New(kgo.MaxConcurrentFetches(0), kgo.SeedBrokers("127.0.0.1:1"))
		require.Error(t, err)
	}
	require.NoError(t, goleak.Find(before))
}

func TestHooksOfKgoFireOnceAndForTheClientUnderneath(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 4))
		hook := counter{written: make(map[int16]int)}
		c := w.consumer(startAt(0), kgo.WithHooks(&hook))
		readOffsets(t, c, 5)
		inner := c.Kgo()
		hook.locked(func() { require.Equal(t, 1, hook.started) }) // kgo's Close polls once more
		c.Close()
		c.Close()
		hook.mu.Lock()
		defer hook.mu.Unlock()
		require.Equal(t, []*kgo.Client{inner}, hook.created)
		require.Equal(t, []*kgo.Client{inner}, hook.closed)
		require.Equal(t, 5, hook.in)
		written := hook.written[int16(kmsg.Fetch)]
		require.Contains(t, []int{w.count(), w.count() + 1}, written, "Close may end one before it arrives")
	})
}

// bothHooks is one of kgo's hooks and one of ours.
type bothHooks struct {
	counter
	resetHook
}

func TestKgoHookThatIsAlsoOursIsCalledForBoth(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := forgeRange(w)
		hook := bothHooks{counter: counter{written: make(map[int16]int)}}
		c := w.consumer(startAt(5), kgo.WithHooks(&hook))
		readOffsets(t, c, 30)
		require.Equal(t, [][2]int64{{5, f.start}}, hook.all())
		require.Len(t, hook.created, 1)
	})
}

// kgo's own loop fetches with sessions and lists offsets for its cursors. Of
// neither is there a trace: no Fetch has a session, there is never more than one
// in flight, and offsets are listed as often as we ask.
func TestKgoItselfFetchesAndListsNothing(t *testing.T) {
	inWorld(t, 1, 2, func(t *testing.T, w *world) {
		forgeRange(w)
		w.forge(1, batchtest.Data(0, 4))
		hook := counter{written: make(map[int16]int)}
		c := w.consumer(kgo.ConsumeTopics(topic), kgo.WithHooks(&hook))
		require.Len(t, read(t, c, 35), 35)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		fs := c.Kgo().PollFetches(ctx) // even if somebody polls it
		require.Zero(t, fs.NumRecords())
		w.mu.Lock()
		defer w.mu.Unlock()
		require.Equal(t, 1, w.most)
		for _, f := range w.fetches {
			require.Equal(t, []int32{0, -1}, []int32{f.req.SessionID, f.req.SessionEpoch})
			require.Equal(t, int8(1), f.req.IsolationLevel)
		}
		require.LessOrEqual(t, len(w.lists), 4, "start and end, for two partitions")
		hook.locked(func() {
			require.Equal(t, len(w.lists), hook.written[int16(kmsg.ListOffsets)])
			require.Zero(t, hook.written[int16(kmsg.OffsetForLeaderEpoch)])
		})
	})
}

func TestLogLinesGoToSlogOrToTheLoggerOfKgo(t *testing.T) {
	for _, name := range []string{"slog", "kgo"} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				forgeRange(w)
				var out lockedBuilder
				opts := []kgo.Opt{startAt(5)}
				if name == "slog" {
					opts = append(opts, rcconsumer.WithSlog(slog.New(slog.NewTextHandler(&out, nil))))
				} else {
					opts = append(opts, kgo.WithLogger(kgo.BasicLogger(&out, kgo.LogLevelWarn, nil)))
				}
				c := w.consumer(opts...)
				readOffsets(t, c, 30)
				require.Contains(t, out.String(), "moved to another offset")
			})
		})
	}
}

func TestDecompressorOfTheUserIsUsed(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 4).Codec(batchtest.Gzip))
		d := &countingDecompressor{inner: kgo.DefaultDecompressor()}
		c := w.consumer(startAt(0), kgo.WithDecompressor(d))
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
		require.Equal(t, 1, d.calls)
	})
}

// countingDecompressor counts batches.
type countingDecompressor struct {
	inner kgo.Decompressor
	calls int
}

func (d *countingDecompressor) Decompress(src []byte, codec kgo.CompressionCodecType) ([]byte, error) {
	d.calls++
	return d.inner.Decompress(src, codec)
}

// lockedBuilder is a strings.Builder for several writers.
type lockedBuilder struct {
	counter
	b strings.Builder
}

func (l *lockedBuilder) Write(p []byte) (n int, err error) {
	l.locked(func() { n, err = l.b.Write(p) })
	return n, err
}

func (l *lockedBuilder) String() (s string) {
	l.locked(func() { s = l.b.String() })
	return s
}
