package rcconsumer

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// asking is a request for partition 0 of t.
func asking(at int64) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	rt := kmsg.NewOffsetCommitRequestTopic()
	rt.Topic = "t"
	rp := kmsg.NewOffsetCommitRequestTopicPartition()
	rp.Offset = at
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	return req
}

// Commits wait for each other and for rebalances, and one that waited may be
// older than one that did not.
func TestACommitThatWaitedDoesNotGoBack(t *testing.T) {
	tests := []struct {
		name              string
		meanwhile         func(*partition)
		exact, auto, sent bool
	}{
		{"nothing happened", func(*partition) {}, false, true, true},
		{"less was committed", func(p *partition) { p.committed(offset(3), 0) }, false, true, true},
		{"as much was committed", func(p *partition) { p.committed(offset(5), 0) }, false, false, true},
		{"more was committed", func(p *partition) { p.committed(offset(8), 0) }, false, true, false},
		{"more was committed, and the caller waits", func(p *partition) { p.committed(offset(8), 0) }, false, false, false},
		{"more was committed, and the caller named the offset", func(p *partition) { p.committed(offset(8), 0) }, true, false, true},
		{"reading was moved", func(p *partition) { p.soughtLocked(offset(2)) }, false, true, false},
		{"reading was moved, and the caller asked", func(p *partition) { p.soughtLocked(offset(2)) }, false, false, true},
		{"the partition is lost", func(p *partition) { p.leave(true) }, true, false, false},
		{"the partition is being revoked", func(p *partition) { p.leave(false) }, false, true, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := newConsumer(config{group: "g"})
			p := c.ensure("t", 0, offsetSpec{epoch: -1})
			p.progress.handOut(0, 9, 1, -1)
			e := &envelope{s: &c.group.commits, auto: test.auto, all: claims{
				key{topic: "t"}: {p: p, at: offset(5), exact: test.exact},
			}}
			test.meanwhile(p)
			req := asking(5)
			e.keepOwned(req)
			require.Equal(t, test.sent, len(req.Topics) == 1)
		})
	}
}

func TestRefusedPartitionsAreAnsweredAmongTheOthers(t *testing.T) {
	req, refused := asking(5), asking(7)
	refused.Topics[0].Partitions[0].Partition = 3
	all := withRefused(req.Topics, refused.Topics)
	require.Len(t, all, 1)
	require.Len(t, all[0].Partitions, 2)
	resp := kmsg.NewOffsetCommitResponseTopic()
	resp.Topic = "t"
	resp.Partitions = append(resp.Partitions, kmsg.NewOffsetCommitResponseTopicPartition())
	answers := withRefusals([]kmsg.OffsetCommitResponseTopic{resp}, refused.Topics)
	require.Len(t, answers, 1)
	require.EqualValues(t, 3, answers[0].Partitions[1].Partition)
	require.Error(t, firstCommitError(&kmsg.OffsetCommitResponse{Topics: answers}))
}
