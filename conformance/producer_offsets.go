package conformance

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// commitOffset makes an offset of a group part of the transaction.
func (w *producer) commitOffset(g *group, p model.Partition, offset int64) {
	if r := w.tryCommitOffset(g, p, offset, nil); !r.ok() {
		r.unusable(w.t, "TxnOffsetCommit of "+g.name)
	}
}

// tryCommitOffset is commitOffset, for answers that a script wants to see.
// member is who commits; nil: nobody who is in the group.
func (w *producer) tryCommitOffset(g *group, p model.Partition, offset int64, member *member) reply {
	req := w.offsetRequest(g, p, offset)
	if member != nil {
		req.Generation, req.MemberID, req.InstanceID = member.generation, member.id, member.instance
	}
	if req.Version <= txnCommitLimit1 && !w.groups[g] {
		w.addOffsets(g)
	}
	w.starts()
	r := w.t.retried("TxnOffsetCommit", func() reply {
		e := w.t.do(g.coordinator(), w.lane(), req)
		if e.Err != nil {
			return reply{exchange: e, err: e.Err}
		}
		resp := e.Response.(*kmsg.TxnOffsetCommitResponse)
		if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
			w.t.undecided("commit an offset of %s in a transaction: an answer without the partition", p)
		}
		return reply{exchange: e, code: resp.Topics[0].Partitions[0].ErrorCode}
	})
	w.groups[g] = w.groups[g] || r.ok()
	return r
}

func (w *producer) offsetRequest(g *group, p model.Partition, offset int64) *kmsg.TxnOffsetCommitRequest {
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.Version = w.t.version(kmsg.TxnOffsetCommit, txnCommitLimit1)
	if w.level >= TV2 {
		req.Version = w.t.version(kmsg.TxnOffsetCommit, txnCommitLimit2)
	}
	req.TransactionalID, req.Group = w.name, g.name
	req.ProducerID, req.ProducerEpoch = w.id, w.epoch
	partition := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	partition.Partition, partition.Offset = p.Index, offset
	topic := kmsg.NewTxnOffsetCommitRequestTopic()
	topic.Topic = p.Topic
	topic.Partitions = append(topic.Partitions, partition)
	req.Topics = append(req.Topics, topic)
	return req
}

// addOffsets makes a group part of the transaction (TV1).
func (w *producer) addOffsets(g *group) {
	req := kmsg.NewPtrAddOffsetsToTxnRequest()
	req.Version = w.t.version(kmsg.AddOffsetsToTxn, 4)
	req.TransactionalID, req.Group = w.name, g.name
	req.ProducerID, req.ProducerEpoch = w.id, w.epoch
	w.starts()
	r := w.t.retried("AddOffsetsToTxn", func() reply {
		e := w.t.do(w.coordinator(), w.lane(), req)
		if e.Err != nil {
			return reply{exchange: e, err: e.Err}
		}
		return reply{exchange: e, code: e.Response.(*kmsg.AddOffsetsToTxnResponse).ErrorCode}
	})
	if !r.ok() {
		r.unusable(w.t, "AddOffsetsToTxn of "+g.name)
	}
	w.groups[g] = true
}

// openStill reports whether the broker cannot have ended the open transaction by
// itself yet.
func (w *producer) openStill() bool { return w.expiry().After(time.Now()) }
