package rcconsumer

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// nameTopics fills in the names that version 10 of the answer leaves out.
func nameTopics(req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse) {
	for i := range resp.Topics {
		t := &resp.Topics[i]
		if t.Topic != "" {
			continue
		}
		if k := slices.IndexFunc(req.Topics, func(rt kmsg.OffsetCommitRequestTopic) bool { return rt.TopicID == t.TopicID }); k >= 0 {
			t.Topic = req.Topics[k].Topic
		}
	}
}

// withRefused adds what was refused to what was sent.
func withRefused(topics, refused []kmsg.OffsetCommitRequestTopic) []kmsg.OffsetCommitRequestTopic {
	for _, r := range refused {
		i := slices.IndexFunc(topics, func(t kmsg.OffsetCommitRequestTopic) bool { return t.Topic == r.Topic })
		if i < 0 {
			topics = append(topics, r)
			continue
		}
		topics[i].Partitions = append(topics[i].Partitions, r.Partitions...)
	}
	return topics
}

// withRefusals answers for partitions that were not sent, with what a
// coordinator says to a member that no longer has them.
func withRefusals(topics []kmsg.OffsetCommitResponseTopic, refused []kmsg.OffsetCommitRequestTopic) []kmsg.OffsetCommitResponseTopic {
	for _, r := range refused {
		i := slices.IndexFunc(topics, func(t kmsg.OffsetCommitResponseTopic) bool { return t.Topic == r.Topic })
		if i < 0 {
			i = len(topics)
			t := kmsg.NewOffsetCommitResponseTopic()
			t.Topic, t.TopicID = r.Topic, r.TopicID
			topics = append(topics, t)
		}
		for _, rp := range r.Partitions {
			p := kmsg.NewOffsetCommitResponseTopicPartition()
			p.Partition, p.ErrorCode = rp.Partition, kerr.RebalanceInProgress.Code
			topics[i].Partitions = append(topics[i].Partitions, p)
		}
	}
	return topics
}

// firstCommitError is the error of the first partition that was refused.
func firstCommitError(resp *kmsg.OffsetCommitResponse) error {
	for i := range resp.Topics {
		for _, p := range resp.Topics[i].Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return err
			}
		}
	}
	return nil
}
