package rcconsumer_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// callsOfKgo are the options for kgo's client that those of callbackLog are for
// a consumer.
func (l *callbackLog) optionsOfKgo() []kgo.Opt {
	note := func(what string) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, ids map[string][]int32) { l.add(what, ids) }
	}
	return []kgo.Opt{
		kgo.OnPartitionsAssigned(note("assigned")), kgo.OnPartitionsRevoked(note("revoked")), kgo.OnPartitionsLost(note("lost")),
	}
}

// shape is what was called with how many partitions, in order. Which partitions
// they are depends on random member IDs.
func (l *callbackLog) shape() string {
	var b strings.Builder
	for _, c := range l.all() {
		fmt.Fprintf(&b, "%s %d; ", c.what, len(c.ids[topic]))
	}
	return b.String()
}

func TestCallbacksComeAsKgosDo(t *testing.T) {
	inGroups(t, 4, func(t *testing.T, w *world, opts []kgo.Opt) {
		opts = append(opts, kgo.DisableAutoCommit(), kgo.ConsumeTopics(topic))
		var ours, theirs callbackLog
		c := w.consumer(append(append(opts, ours.options()...), kgo.ConsumerGroup("ours"))...)
		cl := w.client(append(append(opts, theirs.optionsOfKgo()...), kgo.ConsumerGroup("theirs"))...)
		same := func(calls int) {
			eventually(t, "the calls", func() bool { return len(ours.all()) >= calls && len(theirs.all()) >= calls })
			time.Sleep(10 * time.Second)
			require.Equal(t, theirs.shape(), ours.shape())
		}
		same(1)
		others := make([]*kgo.Client, 0, 2)
		for _, g := range []string{"ours", "theirs"} {
			others = append(others, w.client(append(opts, kgo.ConsumerGroup(g))...))
		}
		same(2)
		for _, o := range others {
			o.Close()
		}
		same(3)
		c.Close()
		cl.Close()
		same(4)
	})
}

// walker is one member, of ours or of kgo's, that walks about at random: it
// pauses, seeks back and commits.
type walker struct {
	api
	cancel context.CancelFunc
	done   chan struct{}
}

// walk is a group of walkers and what they have read.
type walk struct {
	mu   sync.Mutex
	seen map[string]bool
	now  []*walker
	rng  *rand.Rand
}

func (k *walk) joins(c api, seed uint64) {
	ctx, cancel := context.WithCancel(context.Background())
	m := &walker{api: c, cancel: cancel, done: make(chan struct{})}
	k.now = append(k.now, m)
	go k.run(ctx, m, rand.New(rand.NewPCG(seed, 1)))
}

func (k *walk) run(ctx context.Context, m *walker, rng *rand.Rand) {
	defer close(m.done)
	for ctx.Err() == nil {
		waiting, done := context.WithTimeout(ctx, 300*time.Millisecond) // all that is assigned may be paused
		fs := m.PollRecords(waiting, 1+rng.IntN(5))
		done()
		fs.EachRecord(func(r *kgo.Record) {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.seen[string(r.Value)] = true
		})
		at := map[string][]int32{topic: {int32(rng.IntN(3))}}
		switch rng.IntN(6) {
		case 0:
			m.PauseFetchPartitions(at)
		case 1, 2:
			m.ResumeFetchPartitions(map[string][]int32{topic: {0, 1, 2}})
		case 3:
			fs.EachPartition(func(p kgo.FetchTopicPartition) {
				if n := len(p.Records); n > 0 {
					back := p.Records[rng.IntN(n)]
					m.SetOffsets(map[string]map[int32]kgo.EpochOffset{topic: {p.Partition: {Epoch: back.LeaderEpoch, Offset: max(0, back.Offset-int64(rng.IntN(4)))}}})
				}
			})
		}
		time.Sleep(time.Millisecond) // kgo's polls may return nothing at once, again and again
		_ = m.CommitUncommittedOffsets(context.WithoutCancel(ctx))
		m.AllowRebalance()
	}
	m.ResumeFetchPartitions(map[string][]int32{topic: {0, 1, 2}})
}

func (m *walker) leaves() {
	m.cancel()
	<-m.done
	m.CloseAllowingRebalance()
}

// values are what has been read.
func (k *walk) values() (all []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for v := range k.seen {
		all = append(all, v)
	}
	slices.Sort(all)
	return all
}

func TestGroupOfRandomWalkersReadsWhatAGroupOfKgosReads(t *testing.T) {
	inCommittingGroups(t, 3, func(t *testing.T, w *world, opts []kgo.Opt) {
		opts = append(opts, kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll())
		kinds := map[string]func(...kgo.Opt) api{
			"ours":   func(o ...kgo.Opt) api { return w.consumer(o...) },
			"theirs": func(o ...kgo.Opt) api { return w.client(append(o, kgo.FetchIsolationLevel(kgo.ReadCommitted()))...) },
		}
		walks := newWalks(kinds)
		for round := range 10 {
			for group, k := range walks {
				switch {
				case len(k.now) > 1 && k.rng.IntN(2) == 0:
					i := k.rng.IntN(len(k.now))
					k.now[i].leaves()
					k.now = slices.Delete(k.now, i, i+1)
				case len(k.now) < 3:
					k.joins(kinds[group](append(opts, kgo.ConsumerGroup(group))...), uint64(round))
				}
			}
			w.producesNumbers(3, 8*round+1, 8*round+8)
			w.pause(2 * time.Second)
		}
		want := numbers(1, 80)
		slices.Sort(want)
		for until := time.Now().Add(patience); len(walks["ours"].values())+len(walks["theirs"].values()) < 160 && time.Now().Before(until); {
			time.Sleep(10 * time.Millisecond)
		}
		for group, k := range walks {
			require.Equal(t, want, k.values(), group)
			for _, m := range k.now {
				m.leaves()
			}
		}
	})
}

func newWalks(kinds map[string]func(...kgo.Opt) api) map[string]*walk {
	walks := make(map[string]*walk)
	for group := range kinds {
		walks[group] = &walk{seen: make(map[string]bool), rng: rand.New(rand.NewPCG(3, 5))}
	}
	return walks
}

// kgo's own consuming has sessions, asks for offsets of its cursors, and fetches
// at once beside ours. Of a member there is none of it, across rebalances.
func TestKgoItselfFetchesAndListsNothingInAGroup(t *testing.T) {
	inGroups(t, 2, func(t *testing.T, w *world, opts []kgo.Opt) {
		hook := &counter{written: make(map[int16]int)}
		c := w.consumer(inGroup(append(opts, kgo.WithHooks(hook), kgo.ClientID("member"))...)...)
		w.producesNumbers(2, 1, 8)
		require.Len(t, read(t, c, 8), 8)
		other := w.client(inGroup(append(opts, kgo.DisableAutoCommit())...)...)
		shared := func() bool { return len(reads(c)) == 1 }
		eventually(t, "the other to join", func() bool { poll(c, 100*time.Millisecond); return shared() })
		other.Close()
		eventually(t, "the other to leave", func() bool { poll(c, 100*time.Millisecond); return len(reads(c)) == 2 })
		time.Sleep(10 * time.Second)
		asked := c.Stats()
		require.NotEmpty(t, asked)
		hook.locked(func() {
			require.LessOrEqual(t, hook.written[int16(kmsg.OffsetForLeaderEpoch)], 4, "where a commit's epoch ends, once for each assignment")
			require.LessOrEqual(t, hook.written[int16(kmsg.ListOffsets)], 4, "start and end of two partitions, once")
		})
		w.mu.Lock()
		defer w.mu.Unlock()
		require.NotZero(t, hook.written[int16(kmsg.Fetch)])
		for _, f := range w.fetches {
			if f.req.IsolationLevel == 1 { // ours; the other reads uncommitted
				require.Equal(t, []int32{0, -1}, []int32{f.req.SessionID, f.req.SessionEpoch})
			}
		}
	}, "range", "KIP-848")
}
