package rcconsumer_test

import (
	"errors"
	"math"
	"slices"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/batchtest"
)

// epochAsk is one partition of an OffsetForLeaderEpoch request.
type epochAsk struct {
	partition, node int32
	current, epoch  int32 // of the leader, and asked about
	replica         int32
	version         int16
	nth             int // how many asks came before
}

// epochs is what brokers say of leader epochs. Guarded by the world's lock.
type epochs struct {
	// end overrides the answer that nothing was truncated; nil is returned for
	// what it does not want to answer.
	end  func(epochAsk) *kmsg.OffsetForLeaderEpochResponseTopicPartition
	hold map[int32]chan struct{} // answers of a node wait until it is closed
	// leaveOut is how many asks are left out of their answers.
	leaveOut int
	asks     []epochAsk
	reqs     int
}

func (w *world) onEpochs(kreq kmsg.Request) (kmsg.Response, error, bool) {
	w.KeepControl()
	req := kreq.(*kmsg.OffsetForLeaderEpochRequest)
	node := w.CurrentNode()
	w.mu.Lock()
	w.epochs.reqs++
	hold := w.epochs.hold[node]
	resp := w.epochEnds(req, node)
	w.mu.Unlock()
	if hold != nil {
		over := false
		w.SleepControl(func() {
			select {
			case <-hold:
			case <-w.over:
				over = true
			}
		})
		if over {
			return nil, errors.New("the test is over"), true
		}
		w.KeepControl()
	}
	return resp, nil, true
}

func (w *world) epochEnds(req *kmsg.OffsetForLeaderEpochRequest, node int32) *kmsg.OffsetForLeaderEpochResponse {
	resp := req.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
	for _, rt := range req.Topics {
		st := kmsg.NewOffsetForLeaderEpochResponseTopic()
		st.Topic = rt.Topic
		for _, rp := range rt.Partitions {
			a := epochAsk{
				partition: rp.Partition, node: node, current: rp.CurrentLeaderEpoch, epoch: rp.LeaderEpoch,
				replica: req.ReplicaID, version: req.Version, nth: len(w.epochs.asks),
			}
			w.epochs.asks = append(w.epochs.asks, a)
			if a.nth < w.epochs.leaveOut {
				continue
			}
			sp := endOf(rp.LeaderEpoch, math.MaxInt64)
			if w.epochs.end != nil {
				if own := w.epochs.end(a); own != nil {
					sp = own
				}
			}
			sp.Partition = rp.Partition
			st.Partitions = append(st.Partitions, *sp)
		}
		resp.Topics = append(resp.Topics, st)
	}
	return resp
}

// endOf is the answer that an epoch ends at an offset.
func endOf(epoch int32, end int64) *kmsg.OffsetForLeaderEpochResponseTopicPartition {
	p := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
	p.LeaderEpoch, p.EndOffset = epoch, end
	return &p
}

// endFailure is the answer of a broker that does not say where an epoch ends.
func endFailure(err *kerr.Error) *kmsg.OffsetForLeaderEpochResponseTopicPartition {
	p := endOf(-1, -1)
	p.ErrorCode = err.Code
	return p
}

// ends answers by epoch; an epoch that it does not have is not known.
func (w *world) ends(byEpoch map[int32]*kmsg.OffsetForLeaderEpochResponseTopicPartition) {
	w.change(func() {
		w.epochs.end = func(a epochAsk) *kmsg.OffsetForLeaderEpochResponseTopicPartition {
			if p := byEpoch[a.epoch]; p != nil {
				return p
			}
			return endOf(-1, -1)
		}
	})
}

// epochAsks is what was asked about leader epochs.
func (w *world) epochAsks() []epochAsk {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.epochs.asks)
}

// holdEpochs keeps a node from answering about epochs until let go.
func (w *world) holdEpochs(node int32) (letGo func()) {
	ch := make(chan struct{})
	w.change(func() {
		if w.epochs.hold == nil {
			w.epochs.hold = make(map[int32]chan struct{})
		}
		w.epochs.hold[node] = ch
	})
	return func() {
		w.change(func() { delete(w.epochs.hold, node) })
		close(ch)
	}
}

// leads has metadata name the leaders and leader epochs of partitions 0 and up,
// and returns how to change them.
func (w *world) leads(first ...[2]int32) (change func(...[2]int32)) {
	var now atomic.Pointer[[][2]int32]
	now.Store(&first)
	w.answerMetadata(func(req *kmsg.MetadataRequest, _ int) *kmsg.MetadataResponse {
		return w.metadataOf(req, w.id, *now.Load()...)
	})
	return func(leaders ...[2]int32) { now.Store(&leaders) }
}

// written is a log with one batch an offset, all of one leader epoch.
func written(epoch int32, first, last int64) batchtest.Log {
	var log batchtest.Log
	for o := first; o <= last; o++ {
		log = append(log, batchtest.Data(o, o).LeaderEpoch(epoch))
	}
	return log
}

// becomes replaces the log of a forged partition. Its leader is of the given
// epoch from then on, and answers nobody who knows an older one.
func (w *world) becomes(f *forged, leader int32, logs ...batchtest.Log) {
	w.change(func() {
		f.log = slices.Concat(logs...)
		f.lso, f.hw = f.log.End(), f.log.End()
		f.script = func(a ask) *kmsg.FetchResponseTopicPartition {
			if a.epoch >= 0 && a.epoch < leader {
				return failure(kerr.NotLeaderForPartition)
			}
			return nil
		}
	})
}
