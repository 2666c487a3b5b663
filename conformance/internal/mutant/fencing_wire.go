package mutant

import (
	"encoding/binary"

	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// identity is what a producer shows itself by.
type identity struct {
	id    int64
	epoch int16
}

// Where a batch (format v2) has its attributes and its producer.
const (
	attributesAt = 21
	producerAt   = 43
	sequenceAt   = 53
	headerEnds   = 61
)

// sent is a batch on its way to the cluster.
type sent struct {
	partition model.Partition
	raw       []byte
}

func (s sent) producer() identity {
	return identity{int64(binary.BigEndian.Uint64(s.raw[producerAt:])), int16(binary.BigEndian.Uint16(s.raw[epochAt:]))}
}

func (s sent) sequence() int32 { return int32(binary.BigEndian.Uint32(s.raw[sequenceAt:])) }

// count is how many records the batch says that it has.
func (s sent) count() int32 { return int32(binary.BigEndian.Uint32(s.raw[headerEnds-4:])) }

func (s sent) transactional() bool { return s.raw[attributesAt+1]&(1<<4) != 0 }

// as makes the batch another producer's.
func (s sent) as(who identity, sequence int32) {
	binary.BigEndian.PutUint64(s.raw[producerAt:], uint64(who.id))
	binary.BigEndian.PutUint16(s.raw[epochAt:], uint16(who.epoch))
	binary.BigEndian.PutUint32(s.raw[sequenceAt:], uint32(sequence))
	model.Seal(s.raw)
}

// asNobody takes the batch out of its transaction.
func (s sent) asNobody() {
	s.raw[attributesAt+1] &^= 1 << 4
	s.as(identity{-1, -1}, -1)
}

// eachSent calls do for every batch of a Produce.
func eachSent(req *kmsg.ProduceRequest, do func(sent)) {
	for _, topic := range req.Topics {
		for _, p := range topic.Partitions {
			if len(p.Records) >= headerEnds {
				do(sent{model.Partition{Topic: topic.Topic, Index: p.Partition}, p.Records})
			}
		}
	}
}

// eachWritten is eachSent for the batches that the cluster took.
func eachWritten(req *kmsg.ProduceRequest, resp *kmsg.ProduceResponse, do func(sent)) {
	eachSent(req, func(s sent) {
		for _, topic := range resp.Topics {
			for _, p := range topic.Partitions {
				if topic.Topic == s.partition.Topic && p.Partition == s.partition.Index && p.ErrorCode == 0 {
					do(s)
				}
			}
		}
	})
}

// eachAnswered calls do for every partition of an answer to a Produce.
func eachAnswered(resp *kmsg.ProduceResponse, do func(*kmsg.ProduceResponseTopicPartition)) {
	for i := range resp.Topics {
		for k := range resp.Topics[i].Partitions {
			do(&resp.Topics[i].Partitions[k])
		}
	}
}

// turnMarkers turns an answer's abort markers that match into commits, and takes
// their producers' transactions off the list.
func (f fetched) turnMarkers(match func(model.Batch) bool) {
	batches := f.batches()
	for i, b := range batches {
		if b.Kind == model.AbortMarker && match(b) {
			batches[i].Raw = turned(b)
		}
	}
	f.put(batches)
}

// strike takes a producer's entries off an answer's list.
func (f fetched) strike(match func(producerID int64) bool) {
	kept := f.AbortedTransactions[:0:0]
	for _, e := range f.AbortedTransactions {
		if !match(e.ProducerID) {
			kept = append(kept, e)
		}
	}
	f.AbortedTransactions = kept
}

// moved is a batch at another offset. The CRC does not cover it.
func moved(b model.Batch, base int64) model.Batch {
	b.Raw = append([]byte(nil), b.Raw...)
	binary.BigEndian.PutUint64(b.Raw, uint64(base))
	b.Last += base - b.Base
	b.Base = base
	return b
}
