package conformance

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// group is a consumer group of the trial's own. It has no members unless a
// script lets one join: offsets need none.
type group struct {
	t    *trial
	name string
}

// group is a new consumer group. The cluster hears of it by its first request.
func (t *trial) group() *group {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.names++
	return &group{t: t, name: fmt.Sprintf("%s%s-g%d", t.run.config.Prefix(), t.label(), t.names)}
}

// coordinator is the broker that keeps the group's offsets.
func (g *group) coordinator() int32 { return g.t.coordinator(g.name, ofGroup) }

// lane keeps the group's requests on a connection of its own.
func (g *group) lane() string { return "group " + g.name }

// Versions of requests about offsets: above these, a topic ID stands for the
// name; below, offsets were not Kafka's own.
const (
	commitLimit     = 9
	offsetsLimit    = 9
	offsetsLeast    = 1
	stableLeast     = 7 // from here on, only stable offsets may be asked for (KIP-447)
	txnCommitLimit1 = 4 // TV1; from the next one on, brokers add the group by themselves
	txnCommitLimit2 = 5
)

// commit commits an offset outside any transaction.
func (g *group) commit(p model.Partition, offset int64) {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version = g.t.version(kmsg.OffsetCommit, commitLimit)
	req.Group = g.name
	partition := kmsg.NewOffsetCommitRequestTopicPartition()
	partition.Partition, partition.Offset = p.Index, offset
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic = p.Topic
	topic.Partitions = append(topic.Partitions, partition)
	req.Topics = append(req.Topics, topic)
	r := g.t.retried("OffsetCommit", func() reply {
		e := g.t.do(g.coordinator(), g.lane(), req)
		if e.Err != nil {
			return reply{exchange: e, err: e.Err}
		}
		resp := e.Response.(*kmsg.OffsetCommitResponse)
		if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
			g.t.undecided("commit an offset of %s: an answer without the partition", p)
		}
		return reply{exchange: e, code: resp.Topics[0].Partitions[0].ErrorCode}
	})
	if !r.ok() {
		r.unusable(g.t, "OffsetCommit of "+g.name)
	}
}

// groupOffset is what a coordinator says of a group's offset in one partition.
type groupOffset struct {
	offset int64 // -1: none
	code   int16
}

// noOffset is the offset of a partition that has none.
const noOffset int64 = -1

func (o groupOffset) String() string {
	switch {
	case o.code != 0:
		return fmt.Sprintf("%s, offset %d", codeName(o.code), o.offset)
	case o.offset == noOffset:
		return "no offset"
	}
	return fmt.Sprintf("offset %d", o.offset)
}

// is reports whether the answer is this offset, and no error. A group that does
// not exist has none.
func (o groupOffset) is(offset int64) bool {
	return o.offset == offset && (o.code == 0 || offset == noOffset && o.code == kerr.GroupIDNotFound.Code)
}

// unstable reports whether the answer is that a transaction is pending.
func (o groupOffset) unstable() bool { return o.code == kerr.UnstableOffsetCommit.Code }

// pendingShown reports whether the cluster can be asked for stable offsets only.
func (t *trial) pendingShown() bool { return t.run.features.has(kmsg.OffsetFetch, stableLeast) }

// offset asks for the group's offset in one partition.
func (g *group) offset(p model.Partition, stable bool) groupOffset { return g.offsets(stable, p)[0] }

// offsets asks for the group's offsets in partitions of one topic, in one
// request, again if the answer is throttled or passes. stable asks for none
// that a transaction may change still.
func (g *group) offsets(stable bool, ps ...model.Partition) []groupOffset {
	t := g.t
	req := g.offsetsRequest(stable, ps)
	out := make([]groupOffset, len(ps))
	if !t.until(t.bound(settled), "an answer to OffsetFetch", func() bool {
		e := t.unthrottled(g.coordinator(), g.lane(), req)
		found := offsetsIn(e.Response.(*kmsg.OffsetFetchResponse))
		for i, p := range ps {
			o, ok := found.of(p)
			if !ok {
				t.undecided("offset fetch of %s: an answer without %s", g.name, p)
			}
			if refusal(o.code) != "" {
				t.refused("OffsetFetch of "+g.name, kmsg.NewPtrOffsetFetchRequest(), o.code)
			}
			if passes(o.code) {
				return false
			}
			out[i] = o
		}
		return true
	}) {
		t.undecided("offset fetch of %s: no coordinator answers", g.name)
	}
	return out
}

func (g *group) offsetsRequest(stable bool, ps []model.Partition) *kmsg.OffsetFetchRequest {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version = g.t.version(kmsg.OffsetFetch, offsetsLimit)
	req.RequireStable = stable
	var indexes []int32
	for _, p := range ps {
		indexes = append(indexes, p.Index)
	}
	if req.Version < 8 {
		req.Group = g.name
		topic := kmsg.NewOffsetFetchRequestTopic()
		topic.Topic, topic.Partitions = ps[0].Topic, indexes
		req.Topics = append(req.Topics, topic)
		return req
	}
	of := kmsg.NewOffsetFetchRequestGroup()
	of.Group = g.name
	topic := kmsg.NewOffsetFetchRequestGroupTopic()
	topic.Topic, topic.Partitions = ps[0].Topic, indexes
	of.Topics = append(of.Topics, topic)
	req.Groups = append(req.Groups, of)
	return req
}

// foundOffsets are the offsets in an answer about one group.
type foundOffsets struct {
	code       int16 // of the whole group
	partitions map[model.Partition]groupOffset
}

// of is what is said of a partition; an error of the whole group is one of
// each of its partitions.
func (f foundOffsets) of(p model.Partition) (o groupOffset, ok bool) {
	if f.code != 0 {
		return groupOffset{noOffset, f.code}, true
	}
	o, ok = f.partitions[p]
	return o, ok
}

// offsetsIn reads an answer of any version.
func offsetsIn(resp *kmsg.OffsetFetchResponse) foundOffsets {
	f := foundOffsets{resp.ErrorCode, map[model.Partition]groupOffset{}}
	for _, topic := range resp.Topics {
		for _, p := range topic.Partitions {
			f.partitions[model.Partition{Topic: topic.Topic, Index: p.Partition}] = groupOffset{p.Offset, p.ErrorCode}
		}
	}
	if len(resp.Groups) == 1 {
		f.code = resp.Groups[0].ErrorCode
		for _, topic := range resp.Groups[0].Topics {
			for _, p := range topic.Partitions {
				f.partitions[model.Partition{Topic: topic.Topic, Index: p.Partition}] = groupOffset{p.Offset, p.ErrorCode}
			}
		}
	}
	return f
}
