package mutant

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// onCommittedCall is onCommitted for damages that ask the cluster themselves.
func onCommittedCall(damage func(*Call, fetched)) Damage {
	return Damage{
		Keys: []kmsg.Key{kmsg.Fetch},
		Response: func(c *Call) {
			eachFetched(c.Request.(*kmsg.FetchRequest), c.Response.(*kmsg.FetchResponse), func(f fetched) {
				if f.committed {
					damage(c, f)
				}
			})
		},
	}
}

// source is what a damage reads for itself: a partition by topic name or, from
// v13 on, by ID.
type source struct {
	call    *Call
	topic   string
	topicID [16]byte
	index   int32
	version int16
}

// byName reads with the newest version that knows topics by their names.
func byName(c *Call, topic string, index int32) source {
	return source{call: c, topic: topic, index: index, version: 12}
}

func sourceOf(c *Call, f fetched) source {
	s := source{call: c, topic: f.partition.Topic, index: f.partition.Index, version: f.version}
	if f.version >= 13 {
		s.topic = ""
		copy(s.topicID[:], f.partition.Topic)
	}
	return s
}

// pinned is a Fetch in a version that names topics as the damage knows them.
type pinned struct {
	*kmsg.FetchRequest
	newest int16
}

// MaxVersion is what the client behind the proxy goes by.
func (p pinned) MaxVersion() int16 { return p.newest }

// read is what a Fetch of the damage's own answers, nil if that does not work.
func (s source) read(isolation int8, offset int64) *kmsg.FetchResponseTopicPartition {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.IsolationLevel, req.SessionEpoch = 1, 1, 50<<20, isolation, -1
	partition := kmsg.NewFetchRequestTopicPartition()
	partition.Partition, partition.FetchOffset, partition.PartitionMaxBytes = s.index, offset, 50<<20
	partition.CurrentLeaderEpoch, partition.LogStartOffset = -1, -1
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.TopicID = s.topic, s.topicID
	topic.Partitions = append(topic.Partitions, partition)
	req.Topics = append(req.Topics, topic)
	resp, ok := s.call.Forward(pinned{req, s.version}).(*kmsg.FetchResponse)
	if !ok || len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return nil
	}
	return &resp.Topics[0].Partitions[0]
}

// batches is what read_uncommitted shows in [from, to).
func (s source) batches(from, to int64) []model.Batch {
	var out []model.Batch
	for from < to {
		got := s.read(model.ReadUncommitted, from)
		if got == nil {
			return out
		}
		batches, _, _ := model.Parse(got.RecordBatches)
		if len(batches) == 0 {
			return out
		}
		for _, b := range batches {
			if b.Base < to {
				out = append(out, b)
			}
			from = b.Last + 1
		}
	}
	return out
}

// log is what the partition holds up to an offset, from 0 on.
func (s source) log(end int64) *model.Log {
	p := model.Partition{Topic: s.topic, Index: s.index}
	if s.topic == "" {
		p.Topic = string(s.topicID[:])
	}
	return model.NewLog(p, 0, end, s.batches(0, end))
}

// listed is an answer to ListOffsets for one partition, with what was asked for.
type listed struct {
	*kmsg.ListOffsetsResponseTopicPartition
	topic     string
	timestamp int64
}

// eachListed goes through the answers to ListOffsets at read_committed.
func eachListed(c *Call, do func(listed)) {
	req, resp := c.Request.(*kmsg.ListOffsetsRequest), c.Response.(*kmsg.ListOffsetsResponse)
	if req.IsolationLevel != model.ReadCommitted {
		return
	}
	for i := range resp.Topics {
		for k := range resp.Topics[i].Partitions {
			p := &resp.Topics[i].Partitions[k]
			for _, asked := range req.Topics {
				for _, ap := range asked.Partitions {
					if p.ErrorCode == 0 && asked.Topic == resp.Topics[i].Topic && ap.Partition == p.Partition {
						do(listed{p, asked.Topic, ap.Timestamp})
					}
				}
			}
		}
	}
}
