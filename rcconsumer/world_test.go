package rcconsumer_test

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/batchtest"
)

// world is a kfake cluster in a synctest bubble. Partitions of [topic] that are
// forged have their Fetch and ListOffsets answers from the test, and all have
// those about leader epochs: kfake knows of none without data. All else is
// kfake's. Everything asked is noted.
type world struct {
	*kfake.Cluster
	t     *testing.T
	net   kfake.VirtualNetwork
	began time.Time
	id    [16]byte
	over  chan struct{} // closed when the test is over
	hurry time.Duration // how much faster than a bubble's the clock has to be

	mu       sync.Mutex
	forged   map[int32]*forged
	edit     func(*kmsg.FetchRequest, *kmsg.FetchResponse) // has the last say on a forged answer
	editList func(*kmsg.ListOffsetsRequest, *kmsg.ListOffsetsResponse)
	broken   map[int32]bool  // brokers that close the connection at a forged Fetch
	mute     map[int32]bool  // brokers that do not answer one
	throttle map[int32]int32 // milliseconds, by broker
	changed  chan struct{}
	fetches  []*fetched
	lists    []kmsg.ListOffsetsRequest
	epochs   epochs
	listers  []int32        // the brokers that were asked, one for each of lists
	muteList map[int32]bool // brokers that do not answer ListOffsets
	slow     time.Duration  // what a forged answer to Fetch takes besides its wait
	metadata int
	deaf     bool // Metadata is answered by closing the connection
	flying   int  // forged fetches being answered
	most     int  // of flying, ever
}

// fetched is one Fetch as a broker saw it.
type fetched struct {
	req   kmsg.FetchRequest
	node  int32
	at    time.Duration // since the world began
	bytes int           // record bytes of a forged answer
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
		test(t, newWorld(t, brokers, partitions, synctest.Wait, opts...))
	})
}

// newWorld makes the cluster. settle waits until it is at rest.
func newWorld(t *testing.T, brokers int, partitions int32, settle func(), opts ...kfake.Opt) *world {
	t.Helper()
	w := &world{
		t: t, began: time.Now(),
		forged: make(map[int32]*forged), broken: make(map[int32]bool), mute: make(map[int32]bool), throttle: make(map[int32]int32),
		changed: make(chan struct{}), over: make(chan struct{}),
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
		settle()
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
	cluster.ControlKey(int16(kmsg.OffsetForLeaderEpoch), w.onEpochs)
	return w
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

// see looks at what was asked. A test that fails meanwhile lets go of the lock.
func (w *world) see(fn func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fn()
}

func (w *world) onMetadata(kmsg.Request) (kmsg.Response, error, bool) {
	w.KeepControl()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.metadata++
	if w.deaf {
		return nil, errors.New("deaf"), true
	}
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
	held := w.look(req, seen, until, true)
	if held.resp == nil && held.err == nil || held.slow > 0 {
		// Once for each request: kfake has a data race where one sleeps twice.
		w.SleepControl(func() { held = w.keepWaiting(held, req, seen, until) })
		w.KeepControl()
	}
	if held.err != nil {
		return nil, held.err, true
	}
	return held.resp, nil, true
}

// held is what there is to answer to a Fetch, if anything is yet.
type held struct {
	resp    *kmsg.FetchResponse // nil: nothing yet
	err     error
	slow    time.Duration // what sending it takes
	changed chan struct{}
	wait    time.Duration // what is left of the request's
}

func (w *world) look(req *kmsg.FetchRequest, seen *fetched, until time.Time, first bool) held {
	w.mu.Lock()
	defer w.mu.Unlock()
	resp, now := w.answer(req, seen.node, first)
	h := held{changed: w.changed, wait: time.Until(until)}
	switch {
	case w.broken[seen.node]:
		h.err = errors.New("broken")
	case w.mute[seen.node]:
		h.wait = time.Hour
	case now || h.wait <= 0:
		seen.bytes = recordBytes(resp)
		h.resp, h.slow = resp, w.slow
	}
	return h
}

// keepWaiting waits until there is something to answer, or the test is over.
func (w *world) keepWaiting(h held, req *kmsg.FetchRequest, seen *fetched, until time.Time) held {
	for h.resp == nil && h.err == nil {
		select {
		case <-h.changed:
		case <-time.After(h.wait):
		case <-w.over:
			return held{err: errors.New("the test is over")}
		}
		h = w.look(req, seen, until, false)
	}
	if h.slow > 0 {
		select {
		case <-time.After(h.slow):
		case <-w.over:
		}
	}
	return h
}

func (w *world) landed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flying--
}

// answer makes a whole answer, and says whether it is to be sent at once.
func (w *world) answer(req *kmsg.FetchRequest, node int32, first bool) (*kmsg.FetchResponse, bool) {
	resp := req.ResponseKind().(*kmsg.FetchResponse)
	resp.ThrottleMillis = w.throttle[node]
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
				rack: req.Rack, at: time.Since(w.began),
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

func (w *world) onList(kreq kmsg.Request) (kmsg.Response, error, bool) {
	w.KeepControl()
	req := kreq.(*kmsg.ListOffsetsRequest)
	node := w.CurrentNode()
	w.mu.Lock()
	w.lists, w.listers = append(w.lists, *req), append(w.listers, node)
	mute := w.muteList[node]
	w.mu.Unlock()
	if mute {
		w.SleepControl(func() { <-w.over })
		return nil, errors.New("the test is over"), true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
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
