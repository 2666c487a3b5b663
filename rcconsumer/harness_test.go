package rcconsumer_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/internal/kafkatest"
	"example.com/readcommitted/rcconsumer"
)

func TestMain(m *testing.M) {
	if runKilledApp() {
		return
	}
	// The encoder is shared and makes its channels when first used: in a bubble
	// they would belong to that bubble. For the same reason no decompressor of
	// kgo's may meet zstd in a bubble: a finalizer closes it from outside.
	batchtest.Zstd.Compress([]byte("warm up"))
	goleak.VerifyTestMain(m, kafkatest.LeakOptions()...)
}

// topic is what most tests read.
const topic = "t"

// patience is how long a test waits for what has to happen. In a bubble the
// clock is fake, so patience costs nothing and a busy machine changes nothing.
const patience = time.Minute

// count is how many fetches have been asked.
func (w *world) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.fetches)
}

// asks is what a forged partition was asked.
func (w *world) asks(f *forged) []ask {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(f.asks)
}

// during counts the fetches asked while d passes.
func (w *world) during(d time.Duration) int {
	before := w.count()
	time.Sleep(d)
	return w.count() - before
}

// client returns a plain kgo client of the cluster.
func (w *world) client(opts ...kgo.Opt) *kgo.Client {
	w.t.Helper()
	cl, err := kgo.NewClient(append(w.opts(), opts...)...)
	require.NoError(w.t, err)
	w.t.Cleanup(cl.Close)
	return cl
}

func (w *world) opts() []kgo.Opt {
	return []kgo.Opt{
		kgo.SeedBrokers(w.ListenAddrs()...), kgo.Dialer(w.net.DialContext), kgo.MetadataMinAge(100 * time.Millisecond),
		kgo.DisableClientMetrics(), // KIP-714: its compressors cost more than most tests
	}
}

// consumer returns a consumer of the cluster, closed with the test.
func (w *world) consumer(opts ...kgo.Opt) *rcconsumer.Consumer {
	w.t.Helper()
	c, err := rcconsumer.New(append(w.opts(), opts...)...)
	require.NoError(w.t, err)
	w.t.Cleanup(c.Close)
	return c
}

// produce writes a plain batch.
func (w *world) produce(to string, partition int32, values ...string) {
	w.t.Helper()
	cl := w.client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableIdempotentWrite())
	defer cl.Close()
	require.NoError(w.t, cl.ProduceSync(w.t.Context(), records(to, partition, values)...).FirstErr())
}

func records(to string, partition int32, values []string) []*kgo.Record {
	rs := make([]*kgo.Record, 0, len(values))
	for _, v := range values {
		rs = append(rs, &kgo.Record{Topic: to, Partition: partition, Value: []byte(v)})
	}
	return rs
}

// begin writes a batch in a transaction and returns how to end it.
func (w *world) begin(to string, partition int32, values ...string) (end func(commit bool)) {
	w.t.Helper()
	cl := w.client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.TransactionalID(values[0]))
	require.NoError(w.t, cl.BeginTransaction())
	require.NoError(w.t, cl.ProduceSync(w.t.Context(), records(to, partition, values)...).FirstErr())
	return func(commit bool) {
		require.NoError(w.t, cl.EndTransaction(w.t.Context(), kgo.TransactionEndTry(commit)))
	}
}

// startFrom names where to start in partition 0 of [topic].
func startFrom(o kgo.Offset) kgo.Opt {
	return kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: o}})
}

// startAt starts at an offset of partition 0 of [topic].
func startAt(offset int64) kgo.Opt { return startFrom(kgo.NewOffset().At(offset)) }

// seek moves partition 0 of [topic].
func seek(c *rcconsumer.Consumer, offset int64) {
	c.SetOffsets(map[string]map[int32]kgo.EpochOffset{topic: {0: {Epoch: -1, Offset: offset}}})
}

// position is that of partition 0 of [topic].
func position(c *rcconsumer.Consumer) rcconsumer.Position {
	p, _ := c.Position(topic, 0)
	return p
}

// poll polls once, for at most d.
func poll(c poller, d time.Duration) kgo.Fetches {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return c.PollFetches(ctx)
}

// timedOut reports whether a poll ended with its context and nothing else.
func timedOut(fs kgo.Fetches) bool {
	return len(fs.Records()) == 0 && len(fs.Errors()) == 1 && errors.Is(fs.Err0(), context.DeadlineExceeded)
}

// offsets are those of the records of a poll, in order.
func offsets(fs kgo.Fetches) []int64 {
	var all []int64
	fs.EachRecord(func(r *kgo.Record) { all = append(all, r.Offset) })
	return all
}

// span is the offsets from first to last, both inclusive.
func span(first, last int64) []int64 {
	var all []int64
	for o := first; o <= last; o++ {
		all = append(all, o)
	}
	return all
}

// read polls until it has n records, and fails on errors.
func read(t *testing.T, c *rcconsumer.Consumer, n int) []*kgo.Record {
	t.Helper()
	var all []*kgo.Record
	for len(all) < n {
		fs := poll(c, patience)
		require.NoError(t, fs.Err(), "after %d records", len(all))
		all = append(all, fs.Records()...)
	}
	require.Len(t, all, n)
	return all
}

// readPast is readOffsets, past errors that are left from before.
func readPast(t *testing.T, c *rcconsumer.Consumer, n int) (got []int64) {
	t.Helper()
	for until := time.Now().Add(10 * patience); len(got) < n; {
		require.True(t, time.Now().Before(until), "after %v", got)
		got = append(got, offsets(poll(c, patience))...)
	}
	return got
}

// readOffsets is read for the records' offsets.
func readOffsets(t *testing.T, c *rcconsumer.Consumer, n int) []int64 {
	t.Helper()
	var all []int64
	for _, r := range read(t, c, n) {
		all = append(all, r.Offset)
	}
	return all
}

// silent checks that polls return nothing while d passes.
func silent(t *testing.T, c *rcconsumer.Consumer, d time.Duration) {
	t.Helper()
	fs := poll(c, d)
	require.True(t, timedOut(fs), "offsets %v, errors %v", offsets(fs), fs.Errors())
}

// failed polls until an error comes, which has to be the next thing to come.
func failed(t *testing.T, c *rcconsumer.Consumer) kgo.FetchError {
	t.Helper()
	fs := poll(c, patience)
	require.Empty(t, offsets(fs))
	require.Len(t, fs.Errors(), 1)
	return fs.Errors()[0]
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for until := time.Now().Add(patience); !condition(); time.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(until), "waited %v for %s", patience, what)
	}
}

// resetHook notes where partitions were moved that nobody asked to move.
type resetHook struct {
	mu    sync.Mutex
	moves [][2]int64
}

func (h *resetHook) OnOffsetReset(_ string, _ int32, from, to int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.moves = append(h.moves, [2]int64{from, to})
}

func (h *resetHook) all() [][2]int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.moves)
}

// noWait is the nil context, with which polls take what is there.
var noWait context.Context
