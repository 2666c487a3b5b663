package rcconsumer

import (
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// fetchFunc sends one Fetch to one broker and waits for the answer. release is
// called when nothing of the answer's bytes is needed any more; it may be nil.
// It is the one seam between the engine and the network.
type fetchFunc func(ctx context.Context, broker int32, req kmsg.Request) (resp *kmsg.FetchResponse, release func(), err error)

// fetchThroughKgo sends over kgo's fetch connection of the broker. There is one
// such connection and a broker serves one request of it at a time, so a caller
// keeps one Fetch in flight per broker. Cancelling ctx closes the connection.
func (c *Consumer) fetchThroughKgo(ctx context.Context, broker int32, req kmsg.Request) (*kmsg.FetchResponse, func(), error) {
	resp, err := c.cl.Broker(int(broker)).Request(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	return resp.(*kmsg.FetchResponse), nil, nil //nolint:forcetypeassert // kgo answers a FetchRequest with nothing else
}

// wanted is one partition of a request.
type wanted struct {
	p       *partition
	gen     uint64 // of the partition when it was asked for
	offset  int64
	epoch   int32
	topicID [16]byte

	followed bool // asked for at a follower
	rackless bool // its leader is not to name a follower
	settled  bool // answered
}

// plan is what one Fetch asks for.
type plan struct {
	wanted  []wanted
	leftOut bool      // a partition that wants data has no room for it
	alone   bool      // asks whether anything is left, see probing
	next    time.Time // when the next parked partition wants in; zero if none
}

// key finds a partition of the plan in an answer: by topic ID from version 13
// on, by name before.
type key struct {
	topic     string
	topicID   [16]byte
	partition int32
}

func (pl *plan) index(version int16) map[key]*wanted {
	index := make(map[key]*wanted, len(pl.wanted))
	for i := range pl.wanted {
		w := &pl.wanted[i]
		k := key{partition: w.p.id}
		if version >= 13 {
			k.topicID = w.topicID
		} else {
			k.topic = w.p.topic
		}
		index[k] = w
	}
	return index
}

// maxVersionWithoutIDs is the last Fetch version that names topics.
const maxVersionWithoutIDs = 12

// namedFetch is a Fetch that must go out with topic names, because the ID of
// one of its topics is not known.
type namedFetch struct{ *kmsg.FetchRequest }

func (namedFetch) MaxVersion() int16     { return maxVersionWithoutIDs }
func (f namedFetch) Timeout() int32      { return f.MaxWaitMillis } // kgo adds it to its read timeout
func (f namedFetch) SetTimeout(ms int32) { f.MaxWaitMillis = ms }

// request writes the plan as a Fetch for at most maxBytes, and for at most
// maxPartBytes of each partition.
func (pl *plan) request(cfg *config, maxBytes, maxPartBytes int32, wait time.Duration) kmsg.Request {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis = int32(wait.Milliseconds())
	req.MinBytes = cfg.minBytes
	req.MaxBytes = maxBytes
	if !slices.ContainsFunc(pl.wanted, func(w wanted) bool { return w.rackless }) {
		req.Rack = cfg.rack
	}
	if !cfg.readUncommitted {
		req.IsolationLevel = isolationCommitted
	}
	haveIDs := true
	at := make(map[string]int)
	for _, w := range pl.wanted {
		i, ok := at[w.p.topic]
		if !ok {
			i = len(req.Topics)
			at[w.p.topic] = i
			t := kmsg.NewFetchRequestTopic()
			t.Topic, t.TopicID = w.p.topic, w.topicID
			req.Topics = append(req.Topics, t)
			haveIDs = haveIDs && w.topicID != [16]byte{}
		}
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition = w.p.id
		p.CurrentLeaderEpoch = w.epoch
		p.FetchOffset = w.offset
		p.PartitionMaxBytes = min(maxPartBytes, maxBytes)
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, p)
	}
	if !haveIDs {
		return namedFetch{req}
	}
	return req
}
