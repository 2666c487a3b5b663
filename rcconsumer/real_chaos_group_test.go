package rcconsumer_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/localkafka"
	"example.com/readcommitted/rcconsumer"
)

// groupReader is a group of consumers that come and go. Every member commits in
// a way of its own.
type groupReader struct {
	lastWords
	x     *chaos
	group string
	opts  []kgo.Opt
	r     *rand.Rand

	mu      sync.Mutex
	members []*groupMember
	joined  int
	read    map[int32][]*session
	aborted atomic.Int64
}

// groupMember is one consumer of a group.
type groupMember struct {
	g       *groupReader
	name    string
	style   commitStyle
	c       *rcconsumer.Consumer
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	current map[int32]*session // guarded by g.mu
}

type commitStyle int

const (
	commitAfterPolls commitStyle = iota // CommitUncommittedOffsets, also when partitions are taken away
	commitAutomatic
	commitMarked
	commitStyles
)

const groupMembers = 3

// groupOf starts a group.
func (x *chaos) groupOf(label string, opts ...kgo.Opt) *groupReader {
	g := &groupReader{
		x: x, group: x.topic + "-" + label, opts: opts, read: map[int32][]*session{},
		r: rand.New(rand.NewPCG(x.seed, 1<<33)),
	}
	for range groupMembers {
		g.join()
	}
	return g
}

func (g *groupReader) join() {
	g.mu.Lock()
	g.joined++
	m := &groupMember{
		g: g, name: fmt.Sprintf("%s, member %d", g.group, g.joined), style: commitStyle(g.joined) % commitStyles,
		current: map[int32]*session{},
	}
	g.mu.Unlock()
	opts := []kgo.Opt{
		kgo.SeedBrokers(g.x.cluster.Addrs()...), kgo.MetadataMinAge(50 * time.Millisecond), kgo.ConsumeTopics(g.x.topic),
		kgo.ConsumerGroup(g.group), kgo.BlockRebalanceOnPoll(), kgo.SessionTimeout(10 * time.Second),
		kgo.HeartbeatInterval(time.Second), kgo.AdjustFetchOffsetsFn(m.assigned),
		rcconsumer.OnPartitionsRevoked(m.revoked), rcconsumer.OnPartitionsLost(m.lost),
		rcconsumer.WithHooks(&groupHooks{chaosHooks{g.x, m.name}, g}), g.logger(),
	}
	switch m.style {
	case commitAfterPolls:
		opts = append(opts, kgo.DisableAutoCommit())
	case commitMarked:
		opts = append(opts, kgo.AutoCommitMarks(), kgo.AutoCommitInterval(time.Second))
	default:
		opts = append(opts, kgo.AutoCommitInterval(time.Second))
	}
	var err error
	m.c, err = rcconsumer.New(append(opts, g.opts...)...)
	require.NoError(g.x.t, err)
	var ctx context.Context
	ctx, m.cancel = context.WithCancel(g.x.t.Context())
	g.mu.Lock()
	g.members = append(g.members, m)
	g.mu.Unlock()
	m.wg.Go(func() { m.run(ctx) })
}

func (g *groupReader) name() string      { return g.group }
func (g *groupReader) uncommitted() bool { return false }
func (g *groupReader) dropped() int64    { return g.aborted.Load() }

func (g *groupReader) next(partition int32) int64 {
	next := int64(-1)
	for _, m := range g.all() {
		if p, ok := m.c.Position(g.x.topic, partition); ok {
			next = max(next, p.Next)
		}
	}
	return next
}

func (g *groupReader) all() []*groupMember {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]*groupMember(nil), g.members...)
}

func (g *groupReader) stop() {
	for _, m := range g.all() {
		m.leave()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.members = nil
}

func (g *groupReader) sessions(partition int32) (all []session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range g.read[partition] {
		all = append(all, *s)
	}
	return all
}

// comeAndGo has a member join, and one leave.
func (g *groupReader) comeAndGo() {
	g.join()
	g.mu.Lock()
	i := g.r.IntN(len(g.members))
	m := g.members[i]
	g.members = append(g.members[:i:i], g.members[i+1:]...)
	g.mu.Unlock()
	m.leave()
}

// committedToTheEnd waits until the group has committed over everything,
// markers and aborted records included.
func (g *groupReader) committedToTheEnd(ends map[int32]int64) {
	g.x.until("commits of "+g.group+" at the end", stallLimit, func(ctx context.Context) (string, bool) {
		offsets, err := g.x.admin.FetchOffsets(ctx, g.group)
		if err != nil {
			return err.Error(), false
		}
		for p, end := range ends {
			if o, ok := offsets.Lookup(g.x.topic, p); !ok || o.Err != nil || o.At != end {
				return fmt.Sprintf("partition %d: %d committed, the end is %d, %v", p, o.At, end, o.Err), false
			}
		}
		return "", true
	})
}

func (x *chaos) groups() (all []*groupReader) {
	for _, r := range x.readers {
		if g, ok := r.(*groupReader); ok {
			all = append(all, g)
		}
	}
	return all
}

func (x *chaos) groupCoordinator(f fault) *localkafka.Node {
	groups := x.groups()
	group := groups[int(f.partition)%len(groups)].group
	var node int32
	x.until("the coordinator of "+group, time.Minute, func(ctx context.Context) (string, bool) {
		found := x.admin.FindGroupCoordinators(ctx, group)[group]
		node = found.NodeID
		return fmt.Sprint(found.Err), found.Err == nil && node > 0
	})
	return x.local().Node(int(node) - 1)
}

// groupHooks also count what the members dropped; what is read again counts
// again.
type groupHooks struct {
	chaosHooks
	g *groupReader
}

func (h *groupHooks) OnAbortedBatch(_ string, _ int32, b rcconsumer.BatchInfo) {
	h.g.aborted.Add(int64(b.Records))
}
