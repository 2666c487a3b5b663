package rcconsumer_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/goleak"

	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/internal/kafkatest"
	"example.com/readcommitted/rcconsumer"
)

func TestMain(m *testing.M) {
	// The encoder is shared and makes its channels when first used: in a bubble
	// they would belong to that bubble.
	batchtest.Zstd.Compress([]byte("warm up"))
	goleak.VerifyTestMain(m, kafkatest.LeakOptions()...)
}

// topic is what most tests read.
const topic = "t"

// patience is how long a test waits for what has to happen. In a bubble the
// clock is fake, so patience costs nothing and a busy machine changes nothing.
const patience = time.Minute

// world is a kfake cluster in a synctest bubble. Partitions of [topic] that are
// forged have their Fetch and ListOffsets answers from the test; all else is
// kfake's. Everything asked is noted.
type world struct {
	*kfake.Cluster
	t     *testing.T
	net   kfake.VirtualNetwork
	began time.Time
	id    [16]byte
	over  chan struct{} // closed when the test is over

	mu       sync.Mutex
	forged   map[int32]*forged
	edit     func(*kmsg.FetchRequest, *kmsg.FetchResponse) // has the last say on a forged answer
	editList func(*kmsg.ListOffsetsRequest, *kmsg.ListOffsetsResponse)
	changed  chan struct{}
	fetches  []*fetched
	lists    []kmsg.ListOffsetsRequest
	metadata int
	flying   int // forged fetches being answered
	most     int // of flying, ever
}

// fetched is one Fetch as a broker saw it.
type fetched struct {
	req   kmsg.FetchRequest
	node  int32
	at    time.Duration // since the world began
	bytes int           // record bytes of a forged answer
}

// ask is one partition of a Fetch.
type ask struct {
	partition int32
	offset    int64
	epoch     int32
	node      int32
	version   int16
	wait      int32 // milliseconds
	isolation int8
	nth       int  // how many asks for the partition came before
	alone     bool // nothing else was asked for
}

// forged is a partition whose broker is the test.
type forged struct {
	log            batchtest.Log
	aborted        []kmsg.FetchResponseTopicPartitionAbortedTransaction
	start, lso, hw int64
	batches        int // in one answer; 0 is all

	// script overrides all of this; nil is returned for what it does not want
	// to answer. What it answers is answered at once.
	script func(ask) *kmsg.FetchResponseTopicPartition

	asks []ask
	wire []encoded // log; nil when it may have changed
}

// encoded is an entry of a log.
type encoded struct {
	raw []byte
	end int64
}

// inWorld runs a test in a world of its own, in parallel with others.
func inWorld(t *testing.T, brokers int, partitions int32, test func(*testing.T, *world), opts ...kfake.Opt) {
	t.Helper()
	t.Parallel()
	makeWorld(t, brokers, partitions, test, opts...)
}

// makeWorld runs a function with a cluster of its own in a bubble. The cluster
// has [topic] with the partitions.
func makeWorld(t *testing.T, brokers int, partitions int32, test func(*testing.T, *world), opts ...kfake.Opt) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{
			t: t, began: time.Now(),
			forged: make(map[int32]*forged), changed: make(chan struct{}), over: make(chan struct{}),
		}
		ports := make([]int, brokers)
		for i := range ports {
			ports[i] = 9092 + i
		}
		all := []kfake.Opt{
			kfake.NumBrokers(brokers), kfake.Ports(ports...), kfake.ListenFn(w.net.Listen),
			kfake.SleepOutOfOrder(), // in order, kfake has a data race between two sleeps of one connection
		}
		if partitions > 0 {
			all = append(all, kfake.SeedTopics(partitions, topic))
		}
		cluster, err := kfake.NewCluster(append(all, opts...)...)
		require.NoError(t, err)
		t.Cleanup(func() {
			close(w.over) // kfake must not be closed while an answer of ours sleeps in it
			synctest.Wait()
			cluster.Close()
		})
		w.Cluster = cluster
		for p := range partitions { // kfake deals leaders at random
			require.NoError(t, cluster.MoveTopicPartition(topic, p, p%int32(brokers)))
		}
		if info := cluster.TopicInfo(topic); info != nil {
			w.id = info.TopicID
		}
		cluster.ControlKey(int16(kmsg.Fetch), w.onFetch)
		cluster.ControlKey(int16(kmsg.ListOffsets), w.onList)
		cluster.ControlKey(int16(kmsg.Metadata), w.onMetadata)
		test(t, w)
	})
}

// forge puts a log into a partition: both of its ends are the log's end.
func (w *world) forge(partition int32, entries ...batchtest.Entry) *forged {
	f := &forged{log: entries}
	f.lso = f.log.End()
	f.hw = f.lso
	w.change(func() { w.forged[partition] = f })
	return f
}

// script forges a partition that a function answers for.
func (w *world) script(partition int32, fn func(ask) *kmsg.FetchResponseTopicPartition) *forged {
	f := w.forge(partition)
	w.change(func() { f.script = fn })
	return f
}

// change changes what is forged and wakes waiting fetches.
func (w *world) change(fn func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fn()
	for _, f := range w.forged {
		f.wire = nil
	}
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *world) onMetadata(kmsg.Request) (kmsg.Response, error, bool) {
	w.KeepControl()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.metadata++
	return nil, nil, false
}

func (w *world) onFetch(kreq kmsg.Request) (kmsg.Response, error, bool) {
	w.KeepControl()
	req := kreq.(*kmsg.FetchRequest)
	w.mu.Lock()
	seen := &fetched{req: *req, node: w.CurrentNode(), at: time.Since(w.began)}
	w.fetches = append(w.fetches, seen)
	mine := len(w.forged) > 0
	if mine {
		w.flying++
		w.most = max(w.most, w.flying)
	}
	w.mu.Unlock()
	if !mine {
		return nil, nil, false
	}
	defer w.landed()
	until := time.Now().Add(time.Duration(req.MaxWaitMillis) * time.Millisecond)
	for first := true; ; first = false {
		w.mu.Lock()
		resp, now := w.answer(req, seen.node, first)
		changed := w.changed
		wait := time.Until(until)
		if now || wait <= 0 {
			seen.bytes = recordBytes(resp)
			w.mu.Unlock()
			return resp, nil, true
		}
		w.mu.Unlock()
		var woke atomic.Bool
		w.SleepControl(func() {
			select {
			case <-changed:
			case <-time.After(wait):
			case <-w.over:
				return
			}
			woke.Store(true)
		})
		if !woke.Load() {
			return nil, errors.New("the test is over"), true
		}
		w.KeepControl()
	}
}

func (w *world) landed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flying--
}

// answer makes a whole answer, and says whether it is to be sent at once.
func (w *world) answer(req *kmsg.FetchRequest, node int32, first bool) (*kmsg.FetchResponse, bool) {
	resp := req.ResponseKind().(*kmsg.FetchResponse)
	now, room := false, int(req.MaxBytes)
	for _, rt := range req.Topics {
		st := kmsg.NewFetchResponseTopic()
		st.Topic, st.TopicID = rt.Topic, rt.TopicID
		for _, rp := range rt.Partitions {
			f := w.forged[rp.Partition]
			if f == nil || rt.Topic != topic && rt.TopicID != w.id {
				continue
			}
			a := ask{
				partition: rp.Partition, offset: rp.FetchOffset, epoch: rp.CurrentLeaderEpoch, node: node,
				version: req.Version, wait: req.MaxWaitMillis, isolation: req.IsolationLevel,
				nth: len(f.asks), alone: len(req.Topics) == 1 && len(rt.Partitions) == 1,
			}
			if first {
				f.asks = append(f.asks, a)
			} else {
				a.nth--
			}
			sp, hasty := f.answer(a, min(room, int(rp.PartitionMaxBytes)), room == int(req.MaxBytes))
			sp.Partition = rp.Partition
			room -= len(sp.RecordBatches)
			now = now || hasty
			st.Partitions = append(st.Partitions, *sp)
		}
		resp.Topics = append(resp.Topics, st)
	}
	if w.edit != nil {
		w.edit(req, resp)
	}
	return resp, now || resp.ErrorCode != 0
}

// answer is one partition's part of an answer: whole batches within room, in
// bytes, but at least one if the answer has none yet.
func (f *forged) answer(a ask, room int, first bool) (sp *kmsg.FetchResponseTopicPartition, now bool) {
	if f.script != nil {
		if sp := f.script(a); sp != nil {
			return sp, true
		}
	}
	if a.offset < f.start || a.offset > f.hw {
		return failure(kerr.OffsetOutOfRange), true
	}
	bound := f.hw
	if a.isolation == 1 {
		bound = f.lso
	}
	sp = batchtest.Log{}.Partition(f.aborted)
	sp.LogStartOffset, sp.LastStableOffset, sp.HighWatermark = f.start, f.lso, f.hw
	taken := 0
	if f.wire == nil {
		for _, e := range f.log {
			f.wire = append(f.wire, encoded{e.Bytes(), batchtest.Log{e}.End()})
		}
	}
	for _, e := range f.wire {
		if e.end <= a.offset && e.end > 0 {
			continue
		}
		full := len(sp.RecordBatches)+len(e.raw) > room && (taken > 0 || !first)
		if e.end > bound || full || f.batches > 0 && taken >= f.batches {
			break
		}
		sp.RecordBatches = append(sp.RecordBatches, e.raw...)
		taken++
	}
	return sp, taken > 0
}

func (w *world) onList(kreq kmsg.Request) (kmsg.Response, error, bool) {
	w.KeepControl()
	req := kreq.(*kmsg.ListOffsetsRequest)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lists = append(w.lists, *req)
	if len(w.forged) == 0 {
		return nil, nil, false
	}
	resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
	for _, rt := range req.Topics {
		st := kmsg.NewListOffsetsResponseTopic()
		st.Topic = rt.Topic
		for _, rp := range rt.Partitions {
			sp := kmsg.NewListOffsetsResponseTopicPartition()
			sp.Partition = rp.Partition
			if f := w.forged[rp.Partition]; f != nil {
				sp.Offset, sp.Timestamp = f.list(rp.Timestamp, req.IsolationLevel)
			} else {
				sp.ErrorCode = kerr.UnknownTopicOrPartition.Code
			}
			st.Partitions = append(st.Partitions, sp)
		}
		resp.Topics = append(resp.Topics, st)
	}
	if w.editList != nil {
		w.editList(req, resp)
	}
	return resp, nil, true
}

// list answers as a broker would for the default timestamps of batchtest: one
// millisecond an offset.
func (f *forged) list(timestamp int64, isolation int8) (offset, ts int64) {
	end := f.hw
	if isolation == 1 {
		end = f.lso
	}
	switch {
	case timestamp == -1:
		return end, -1
	case timestamp == -2:
		return f.start, -1
	case timestamp == -3 && end > f.start:
		return end - 1, batchtest.Timestamp(end - 1)
	case timestamp >= 0:
		if at := max(f.start, timestamp-batchtest.BaseTime); at < end {
			return at, batchtest.Timestamp(at)
		}
	}
	return -1, -1
}

func recordBytes(resp *kmsg.FetchResponse) (n int) {
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			n += len(p.RecordBatches)
		}
	}
	return n
}

// failure is a partition's error, with the fields as a broker fills them.
func failure(err *kerr.Error) *kmsg.FetchResponseTopicPartition {
	p := kmsg.NewFetchResponseTopicPartition()
	p.ErrorCode, p.HighWatermark, p.LastStableOffset, p.LogStartOffset = err.Code, -1, -1, -1
	return &p
}

// nothing is an answer without bytes.
func nothing(lso, hw int64) *kmsg.FetchResponseTopicPartition {
	p := batchtest.Log{}.Partition(nil)
	p.LastStableOffset, p.HighWatermark = lso, hw
	return p
}

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
func poll(c *rcconsumer.Consumer, d time.Duration) kgo.Fetches {
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
