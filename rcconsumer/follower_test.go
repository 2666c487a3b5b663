package rcconsumer_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/batchtest"
)

// In these tests broker 0 leads partition 0 and broker 1 is its follower in the
// readers' rack, where broker 0 sends them.
const (
	leader, follower = int32(0), int32(1)
	rack             = "near"
)

// prefers is the answer of a leader with the log up to end that names a replica.
func prefers(replica int32, end int64) *kmsg.FetchResponseTopicPartition {
	p := nothing(end, end)
	p.PreferredReadReplica = replica
	return p
}

// preferring forges partition 0 with a log. The leader names a replica to those
// who send a rack. The follower answers by at, or as the log is where that is
// nil.
func preferring(w *world, replica int32, log batchtest.Log, at func(ask) *kmsg.FetchResponseTopicPartition) *forged {
	f := w.forge(0, log...)
	w.change(func() {
		f.script = func(a ask) *kmsg.FetchResponseTopicPartition {
			switch {
			case a.node == follower && at != nil:
				return at(a)
			case a.node != follower && a.rack == rack && a.offset <= f.hw:
				return prefers(replica, f.hw)
			}
			return nil
		}
	})
	return f
}

// grow appends to a forged log.
func (w *world) grow(f *forged, entries ...batchtest.Entry) {
	w.change(func() {
		f.log = append(slices.Clone(f.log), entries...)
		f.lso, f.hw = f.log.End(), f.log.End()
	})
}

// asksOf are the fetches of a forged partition that one broker had.
func (w *world) asksOf(f *forged, node int32) []ask {
	return slices.DeleteFunc(w.asks(f), func(a ask) bool { return a.node != node })
}

// senders notes which broker sent the batches that were read, by their records.
type senders struct {
	mu  sync.Mutex
	all []int32
}

func (h *senders) OnFetchBatchRead(b kgo.BrokerMetadata, _ string, _ int32, m kgo.FetchBatchMetrics) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, slices.Repeat([]int32{b.NodeID}, m.NumRecords)...)
}

func (h *senders) take() []int32 {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.all
	h.all = nil
	return all
}

// errorsTold notes the errors that are retried.
type errorsTold struct {
	mu  sync.Mutex
	all []error
}

func (h *errorsTold) OnFetchError(_ string, _ int32, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, err)
}

func (h *errorsTold) first() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.all) == 0 {
		return nil
	}
	return h.all[0]
}

// hangs reports whether a fetch waits at a broker that does not answer.
func (w *world) hangs() bool {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.flying > 0
}

// sentBy is what senders notes of n records.
func sentBy(node int32, n int) []int32 { return slices.Repeat([]int32{node}, n) }

// within is eventually for what may take long.
func within(t *testing.T, limit time.Duration, what string, condition func() bool) {
	t.Helper()
	for until := time.Now().Add(limit); !condition(); time.Sleep(10 * time.Millisecond) {
		require.True(t, time.Now().Before(until), "waited %v for %s", limit, what)
	}
}

// Source: KIP-392; Kafka's FetcherTest, testPreferredReadReplica.
func TestFollowerThatTheLeaderPrefersIsRead(t *testing.T) {
	inWorld(t, 3, 1, func(t *testing.T, w *world) {
		f := preferring(w, follower, singles(0, 4), nil)
		f.batches = 1
		var hook senders
		c := w.consumer(startAt(0), kgo.Rack(rack), kgo.WithHooks(&hook))
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
		require.Equal(t, sentBy(follower, 5), hook.take())
		for o := int64(5); o < 20; o++ {
			time.Sleep(9 * time.Second)
			w.grow(f, batchtest.Data(o, o))
			require.Equal(t, span(o, o), readOffsets(t, c, 1))
		}
		require.Equal(t, sentBy(follower, 15), hook.take())
		asked := w.asksOf(f, leader)
		require.Len(t, asked, 1, "a follower that brings records is not doubted")
		require.GreaterOrEqual(t, asked[0].version, int16(11))
		require.Less(t, w.asksOf(f, follower)[0].at-asked[0].at, 10*time.Millisecond)
		for _, a := range w.asksOf(f, follower) {
			require.Equal(t, asked[0].epoch, a.epoch)
			require.Equal(t, rack, a.rack)
		}
	})
}

func TestWithoutARackTheLeaderIsRead(t *testing.T) {
	inWorld(t, 3, 1, func(t *testing.T, w *world) {
		f := preferring(w, follower, singles(0, 4), nil)
		c := w.consumer(startAt(0))
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
		require.Empty(t, w.asksOf(f, follower))
	})
}

// A broker may be set up to choose replicas by other means than racks.
func TestReplicaIsFollowedThoughNoRackWasSent(t *testing.T) {
	inWorld(t, 3, 1, func(t *testing.T, w *world) {
		f := w.script(0, func(a ask) *kmsg.FetchResponseTopicPartition {
			if a.node == leader {
				return prefers(follower, 5)
			}
			return nil
		})
		w.grow(f, singles(0, 4)...)
		c := w.consumer(startAt(0))
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
	})
}

func TestRecordsBesideAPreferredReplicaAreUsed(t *testing.T) {
	inWorld(t, 3, 1, func(t *testing.T, w *world) {
		log := singles(0, 9)
		f := preferring(w, follower, log, nil)
		plain := f.script
		w.change(func() {
			f.script = func(a ask) *kmsg.FetchResponseTopicPartition {
				sp := plain(a)
				if sp != nil && a.node == leader {
					sp.RecordBatches = log[:5].Partition(nil).RecordBatches
				}
				return sp
			}
		})
		var hook senders
		c := w.consumer(startAt(0), kgo.Rack(rack), kgo.WithHooks(&hook))
		require.Equal(t, span(0, 9), readOffsets(t, c, 10))
		require.Equal(t, append(sentBy(leader, 5), sentBy(follower, 5)...), hook.take())
	})
}

// The lease of a replica: kgo.RecheckPreferredReplicaInterval.
func TestLeaderIsAskedAgainWhenTheTimeOfAFollowerIsOver(t *testing.T) {
	inWorld(t, 3, 1, func(t *testing.T, w *world) {
		f := preferring(w, follower, singles(0, 4), nil)
		c := w.consumer(startAt(0), kgo.Rack(rack), kgo.RecheckPreferredReplicaInterval(10*time.Second))
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
		time.Sleep(65 * time.Second)
		asked := w.asksOf(f, leader)
		require.Len(t, asked, 7)
		for i := 1; i < len(asked); i++ {
			require.InDelta(t, 10, (asked[i].at - asked[i-1].at).Seconds(), 1)
			require.Equal(t, rack, asked[i].rack)
		}
	})
}

// A follower that is cut off from its leader looks like an idle partition.
func TestLeaderIsAskedWhenAFollowerBringsNothingForLong(t *testing.T) {
	for name, wait := range map[string]time.Duration{"short polls": 500 * time.Millisecond, "long polls": time.Hour} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 3, 1, func(t *testing.T, w *world) { cutOff(t, w, kgo.FetchMaxWait(wait)) })
		})
	}
}

func cutOff(t *testing.T, w *world, opts ...kgo.Opt) {
	f := preferring(w, follower, singles(0, 4), nil)
	c := w.consumer(append(opts, startAt(0), kgo.Rack(rack))...)
	require.Equal(t, span(0, 4), readOffsets(t, c, 5))
	w.change(func() {
		f.script = nil // not in sync, so not preferred
		f.behind = map[int32]int64{follower: 5}
	})
	w.grow(f, singles(5, 9)...)
	silent(t, c, 5*time.Second)
	require.EqualValues(t, 10, position(c).LastStableOffset, "the leader is asked for the ends meanwhile")
	require.Equal(t, span(5, 9), offsets(poll(c, 122*time.Second)))
}

func TestNewLeaderIsAskedForItsOwnPreference(t *testing.T) {
	inWorld(t, 3, 1, func(t *testing.T, w *world) {
		f := preferring(w, follower, singles(0, 4), nil)
		c := w.consumer(append(quick, startAt(0), kgo.Rack(rack))...)
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
		old := w.asksOf(f, follower)[0].epoch
		require.NoError(t, w.MoveTopicPartition(topic, 0, 2))
		eventually(t, "the follower again, with the new epoch", func() bool {
			all := w.asksOf(f, follower)
			return all[len(all)-1].epoch > old
		})
		asked := w.asksOf(f, 2)
		require.Len(t, asked, 1)
		require.Equal(t, rack, asked[0].rack)
		require.Len(t, w.asksOf(f, leader), 1)
		w.grow(f, singles(5, 9)...)
		require.Equal(t, span(5, 9), readOffsets(t, c, 5))
	})
}
