package rcconsumer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ask finds the leaders and asks each on a goroutine of its own: a silent one
// must not keep the answers of the others.
func (w *stableWait) ask(ctx context.Context) {
	if !w.begin(noLeader) {
		return
	}
	w.mu.Lock()
	asks := slices.Clone(w.asks)
	w.mu.Unlock()
	leaders, err := w.leaders(ctx, asks)
	w.end(noLeader)
	if err != nil {
		for _, k := range asks {
			w.note(k, listed{offset: -1, err: fmt.Errorf("metadata: %w", err)})
		}
	}
	byLeader := make(map[int32][]question)
	for k, leader := range leaders {
		byLeader[leader] = append(byLeader[leader], question{key: k, epoch: -1})
	}
	for leader, questions := range byLeader {
		w.c.spawn(func(ctx context.Context) { w.askLeader(ctx, leader, questions) })
	}
	w.wake()
}

// begin marks a leader as being asked; false if it is already.
func (w *stableWait) begin(leader int32) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	was := w.busy[leader]
	w.busy[leader] = true
	return !was
}

func (w *stableWait) end(leader int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.busy, leader)
}

func (w *stableWait) wake() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

func (w *stableWait) askLeader(ctx context.Context, leader int32, questions []question) {
	if !w.begin(leader) {
		return
	}
	answer, err := w.c.listEnds(ctx, leader, isolationCommitted, questions)
	w.end(leader)
	for _, q := range questions {
		l := answer[q.key]
		if err != nil {
			l = listed{offset: -1, err: err}
		}
		w.note(q.key, l)
	}
	w.wake()
}

// note takes over what was heard of a partition.
func (w *stableWait) note(k key, l listed) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard[k] = l
	if !errors.Is(l.err, kerr.UnknownTopicOrPartition) {
		delete(w.since, k)
		w.final[k] = l.err != nil && !isTransient(l.err)
		return
	}
	now := time.Now()
	if w.since[k].IsZero() {
		w.since[k] = now
	}
	w.final[k] = now.Sub(w.since[k]) >= unknownPatience
}

// leaders asks for metadata, and notes why a partition has no leader.
func (w *stableWait) leaders(ctx context.Context, asks []key) (map[key]int32, error) {
	ctx, cancel := context.WithTimeout(ctx, w.c.cfg.requestTimeout)
	defer cancel()
	req := kmsg.NewPtrMetadataRequest()
	topics := make(map[string]bool)
	for _, k := range asks {
		topics[k.topic] = true
	}
	for _, topic := range slices.Sorted(maps.Keys(topics)) {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(topic)
		req.Topics = append(req.Topics, t)
	}
	resp, err := w.c.cl.RequestCachedMetadata(ctx, req, leadersFor)
	if err != nil {
		return nil, err
	}
	leaders := make(map[key]int32)
	for _, k := range asks {
		leader, err := leaderIn(resp, k)
		if err != nil {
			w.note(k, listed{offset: -1, err: fmt.Errorf("metadata: %w", err)})
		} else {
			leaders[k] = leader
		}
	}
	return leaders, nil
}

// leadersFor is how long a Metadata answer is used: little, since what is behind
// a partition that cannot be asked may be a new leader.
const leadersFor = 250 * time.Millisecond

// leaderIn finds the leader of a partition in a Metadata answer.
func leaderIn(resp *kmsg.MetadataResponse, k key) (int32, error) {
	for i := range resp.Topics {
		t := &resp.Topics[i]
		if t.Topic == nil || *t.Topic != k.topic {
			continue
		}
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			return noLeader, err
		}
		for j := range t.Partitions {
			if p := &t.Partitions[j]; p.Partition == k.partition {
				return p.Leader, leaderError(p)
			}
		}
	}
	return noLeader, kerr.UnknownTopicOrPartition
}
