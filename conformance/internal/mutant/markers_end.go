package mutant

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

type abortedTransaction = kmsg.FetchResponseTopicPartitionAbortedTransaction

func newEntry(r model.Run) abortedTransaction {
	e := kmsg.NewFetchResponseTopicPartitionAbortedTransaction()
	e.ProducerID, e.FirstOffset = r.ProducerID, r.First
	return e
}

// acknowledgeEnd answers an EndTxn as if it had been carried out.
func acknowledgeEnd(c *Call) {
	req := c.Request.(*kmsg.EndTxnRequest)
	resp := req.ResponseKind().(*kmsg.EndTxnResponse)
	resp.ProducerID, resp.ProducerEpoch = req.ProducerID, req.ProducerEpoch+1
	c.Response = resp
}

// acknowledgeMarkers answers a WriteTxnMarkers as if it had been carried out.
func acknowledgeMarkers(c *Call) {
	req := c.Request.(*kmsg.WriteTxnMarkersRequest)
	resp := req.ResponseKind().(*kmsg.WriteTxnMarkersResponse)
	for _, m := range req.Markers {
		rm := kmsg.NewWriteTxnMarkersResponseMarker()
		rm.ProducerID = m.ProducerID
		for _, t := range m.Topics {
			rt := kmsg.NewWriteTxnMarkersResponseMarkerTopic()
			rt.Topic = t.Topic
			for _, p := range t.Partitions {
				rp := kmsg.NewWriteTxnMarkersResponseMarkerTopicPartition()
				rp.Partition = p
				rt.Partitions = append(rt.Partitions, rp)
			}
			rm.Topics = append(rm.Topics, rt)
		}
		resp.Markers = append(resp.Markers, rm)
	}
	c.Response = resp
}

// ends follows the transactions of producers, to tell an EndTxn from one that
// comes again.
type ends struct {
	done  map[string]bool // by transactional ID: ended, and nothing written since
	count map[int64]int   // transactions ended, by producer ID
}

// repeated takes note of an exchange and reports whether it was an EndTxn that
// the cluster had carried out before.
func (s *ends) repeated(c *Call) bool {
	switch req := c.Request.(type) {
	case *kmsg.ProduceRequest:
		if req.TransactionID != nil {
			s.done[*req.TransactionID] = false
		}
	case *kmsg.EndTxnRequest:
		if c.Response.(*kmsg.EndTxnResponse).ErrorCode != 0 {
			return false
		}
		if s.done[req.TransactionalID] {
			return true
		}
		s.done[req.TransactionalID] = true
		s.count[req.ProducerID]++
	}
	return false
}

func newEnds() *ends { return &ends{done: map[string]bool{}, count: map[int64]int{}} }

// retryTurns is a cluster in which an EndTxn that comes again makes the outcome
// the other one.
func retryTurns() Damage {
	state, turnedRuns := newEnds(), map[int64][]int{} // producer ID to the numbers of its transactions
	d := turnedWhere(func(l *model.Log, marker int) bool {
		id := l.Batches[marker].ProducerID
		return slices.Contains(turnedRuns[id], slices.Index(l.Markers(id), marker))
	})
	onFetched := d.Response
	d.Keys = append(d.Keys, kmsg.EndTxn, kmsg.Produce)
	d.Response = func(c *Call) {
		if _, ok := c.Request.(*kmsg.FetchRequest); ok {
			onFetched(c)
			return
		}
		if state.repeated(c) {
			id := c.Request.(*kmsg.EndTxnRequest).ProducerID
			turnedRuns[id] = append(turnedRuns[id], state.count[id]-1)
		}
	}
	return d
}

// retryBumps is a cluster in which an EndTxn that comes again bumps the epoch
// again.
func retryBumps() Damage {
	state := newEnds()
	return Damage{Keys: []kmsg.Key{kmsg.EndTxn, kmsg.Produce}, Response: func(c *Call) {
		if state.repeated(c) {
			c.Response.(*kmsg.EndTxnResponse).ProducerEpoch++
		}
	}}
}

// countingRecords is a cluster that acknowledges batches by the number of
// records before them, as if markers took no offsets.
func countingRecords() Damage {
	written := map[model.Partition]int64{}
	return Damage{Keys: []kmsg.Key{kmsg.Produce}, Response: func(c *Call) {
		req, resp := c.Request.(*kmsg.ProduceRequest), c.Response.(*kmsg.ProduceResponse)
		for _, t := range resp.Topics {
			for i := range t.Partitions {
				p := &t.Partitions[i]
				if p.ErrorCode != 0 {
					continue
				}
				at := model.Partition{Topic: t.Topic, Index: p.Partition}
				p.BaseOffset = written[at]
				written[at] += recordsFor(req, at)
			}
		}
	}}
}

// recordsFor is how many records a Produce has for a partition.
func recordsFor(req *kmsg.ProduceRequest, to model.Partition) (n int64) {
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			if t.Topic != to.Topic || p.Partition != to.Index {
				continue
			}
			batches, _, _ := model.Parse(p.Records)
			for _, b := range batches {
				n += int64(b.Count)
			}
		}
	}
	return n
}
