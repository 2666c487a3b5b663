package rcconsumer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// bell wakes everybody who waits for it.
type bell struct {
	mu sync.Mutex
	ch chan struct{} // closed when the bell rings; nil while nobody waits
}

func (b *bell) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}

// WaitStable waits until the last stable offset of each partition has reached
// its target, target <= LSO: everything below the target is then decided and
// visible to every read_committed reader of the cluster. It works for any
// partition of the cluster, read by this consumer or not. A target <= 0 is
// reached from the start. Without targets it returns nil at once.
//
// Partitions that this consumer fetches are watched through its Fetch answers;
// the others are asked for, with pauses that grow from 50 ms to 1 s. Whether
// the consumer reads at read_uncommitted makes no difference. It does not read:
// positions do not move by it, and it may be called beside polls.
//
// Errors:
//   - the end of ctx: wraps ctx.Err() and names the partitions whose LSO is
//     still below the target, with both;
//   - a closed consumer: kgo.ErrClientClosed;
//   - a topic or partition that stays unknown for 3 s, or that may not be
//     described (kerr.TopicAuthorizationFailed): wraps the broker's error and
//     names topic and partition;
//   - a broker that cannot be asked at read_committed: [*VersionError].
//
// What may go away by itself (a moving leader, a silent broker) is retried until
// ctx ends and named then.
func (c *Consumer) WaitStable(ctx context.Context, targets map[string]map[int32]int64) error {
	w := newStableWait(c, targets)
	for try := 1; ; {
		stable := c.stable.wait()
		asked := w.settle()
		switch {
		case len(w.left) == 0:
			return nil
		case c.ctx.Err() != nil:
			return kgo.ErrClientClosed
		case w.fatal != nil:
			return w.fatal
		case ctx.Err() != nil:
			return w.unreached(ctx.Err())
		}
		now := time.Now()
		if asked && !w.next.After(now) {
			if !c.spawnOpen(w.ask) {
				return kgo.ErrClientClosed
			}
			w.next = now.Add(backoff(try, 50*time.Millisecond, time.Second))
			try++
		}
		w.pause(ctx, stable)
	}
}

// unknownPatience is how long a topic or partition may be unknown: a new one is
// so for a moment, one that is not there for ever.
const unknownPatience = 3 * time.Second

// freshFor is how long what a Fetch answer said of a partition is waited on
// without asking.
const freshFor = time.Second

// stableWait is one call of WaitStable.
type stableWait struct {
	c       *Consumer
	changed chan struct{} // capacity 1

	// Of the caller's goroutine alone:
	left  map[key]*stableTarget
	next  time.Time // nothing is asked before
	fatal error

	mu    sync.Mutex
	heard map[key]listed    // what brokers said of partitions asked for
	final map[key]bool      // heard an error that does not go away by itself
	since map[key]time.Time // when they were first unknown
	asks  []key             // to be asked
	busy  map[int32]bool    // leaders that have not answered; noLeader: Metadata
}

// stableTarget is one partition waited for.
type stableTarget struct {
	target, lso int64 // lso -1: not known
	err         error // why it is not known
}

func newStableWait(c *Consumer, targets map[string]map[int32]int64) *stableWait {
	w := &stableWait{
		c: c, left: make(map[key]*stableTarget), changed: make(chan struct{}, 1),
		heard: make(map[key]listed), final: make(map[key]bool), since: make(map[key]time.Time), busy: make(map[int32]bool),
	}
	for topic, ps := range targets {
		for id, target := range ps {
			if target > 0 {
				w.left[key{topic: topic, partition: id}] = &stableTarget{target: target, lso: -1}
			}
		}
	}
	return w
}

// pause waits until there may be something new.
func (w *stableWait) pause(ctx context.Context, stable <-chan struct{}) {
	d := time.Until(w.next)
	if d <= 0 {
		d = freshFor / 2 // nothing to ask now
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-stable:
	case <-w.changed:
	case <-t.C:
	case <-ctx.Done():
	case <-w.c.ctx.Done():
	}
}

// settle takes out what has reached its target, and reports whether anything is
// to be asked for.
func (w *stableWait) settle() (asks bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asks = w.asks[:0]
	now := time.Now()
	for k, t := range w.left {
		fresh := false
		if p := w.c.partition(k.topic, k.partition); p != nil {
			pos := p.position()
			t.lso = max(t.lso, pos.LastStableOffset)
			fresh = pos.LastStableOffset >= 0 && now.Sub(pos.UpdatedAt) < freshFor
		}
		if l, ok := w.heard[k]; ok {
			t.lso, t.err = max(t.lso, l.offset), l.err
		}
		switch {
		case t.lso >= t.target:
			delete(w.left, k)
		case w.final[k]:
			w.fatal = fmt.Errorf("wait for the last stable offset of topic %s partition %d: %w", k.topic, k.partition, t.err)
		case !fresh:
			w.asks = append(w.asks, k)
		}
	}
	return len(w.asks) > 0
}

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
		l := answer.of[q.key]
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

// maxNamed bounds how many partitions an error names.
const maxNamed = 20

// unreached is the error of a wait that ended too early.
func (w *stableWait) unreached(cause error) error {
	keys := slices.SortedFunc(maps.Keys(w.left), func(a, b key) int {
		return cmp.Or(strings.Compare(a.topic, b.topic), cmp.Compare(a.partition, b.partition))
	})
	var b strings.Builder
	for i, k := range keys {
		t := w.left[k]
		switch {
		case i == maxNamed:
			fmt.Fprintf(&b, ", and %d more", len(keys)-maxNamed)
		case i < maxNamed:
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "topic %s partition %d: last stable offset %d, target %d", k.topic, k.partition, t.lso, t.target)
			if t.err != nil {
				fmt.Fprintf(&b, " (%v)", t.err)
			}
		}
	}
	return fmt.Errorf("wait for last stable offsets: %s: %w", b.String(), cause)
}
