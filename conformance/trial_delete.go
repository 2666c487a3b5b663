package conformance

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// deleteRecords deletes what lies below an offset. What the partition held is
// remembered, so that answers given before can still be judged.
func (t *trial) deleteRecords(p model.Partition, below int64) {
	t.keepLog(p)
	t.deletes(p, below)
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.Version, req.TimeoutMillis = t.version(kmsg.DeleteRecords, anyVersion), 10_000
	partition := kmsg.NewDeleteRecordsRequestTopicPartition()
	partition.Partition, partition.Offset = p.Index, below
	topic := kmsg.NewDeleteRecordsRequestTopic()
	topic.Topic = p.Topic
	topic.Partitions = append(topic.Partitions, partition)
	req.Topics = append(req.Topics, topic)
	if r := t.retried("DeleteRecords", func() reply { return t.deleteOnce(p, req) }); !r.ok() {
		r.declined(t, "DeleteRecords of "+p.String())
	}
}

// deletes notes that records below an offset are about to be deleted.
func (t *trial) deletes(p model.Partition, below int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.placeLocked(p)
	at.deleted = max(at.deleted, below)
}

func (t *trial) deleteOnce(p model.Partition, req *kmsg.DeleteRecordsRequest) reply {
	t.writing(p)
	e := t.do(t.leader(p), "admin", req)
	t.written(p, e.Err)
	if e.Err != nil {
		return reply{exchange: e, err: e.Err}
	}
	resp := e.Response.(*kmsg.DeleteRecordsResponse)
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		t.undecided("delete records of %s: an answer without the partition", p)
	}
	code := resp.Topics[0].Partitions[0].ErrorCode
	if passes(code) {
		t.refresh(p)
	}
	return reply{exchange: e, code: code}
}
