package rcconsumer_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// sent are the commits of [topic] that the cluster was asked for since it was
// recreated.
type sent struct {
	mu      sync.Mutex
	offsets []int64
	ids     [][16]byte
}

func (w *world) watchCommits() *sent {
	s := new(sent)
	w.ControlKey(int16(kmsg.OffsetCommit), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		w.KeepControl()
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, rt := range kreq.(*kmsg.OffsetCommitRequest).Topics {
			for _, rp := range rt.Partitions {
				s.offsets, s.ids = append(s.offsets, rp.Offset), append(s.ids, rt.TopicID)
			}
		}
		return nil, nil, false
	})
	return s
}

func (w *world) recreate() {
	w.t.Helper()
	require.NoError(w.t, w.DeleteTopic(topic))
	require.NoError(w.t, w.CreateTopic(topic, 1, nil))
}

// Offsets of the old topic mean nothing in the new one. With version 10 of
// OffsetCommit the broker sees the difference, below it nobody does but us.
func TestOffsetsOfADeletedTopicAreNotCommittedInItsSuccessor(t *testing.T) {
	byName := kversion.Stable()
	byName.SetMaxKeyVersion(int16(kmsg.OffsetCommit), 9)
	clusters := map[string][]kfake.Opt{"by ID": nil, "by name": {kfake.MaxVersions(byName)}}
	protocols := map[string][]kgo.Opt{"classic": nil, "KIP-848": {kgo.ServerSideBalancer()}}
	subscriptions := map[string][]kgo.Opt{
		"named": {kgo.ConsumeTopics(topic)}, "regex": {kgo.ConsumeRegex(), kgo.ConsumeTopics("^" + topic + "$")},
	}
	for cluster, fakes := range clusters {
		for protocol, opts := range protocols {
			for subscription, topics := range subscriptions {
				t.Run(cluster+" "+protocol+" "+subscription, func(t *testing.T) {
					inWorld(t, 1, 1, func(t *testing.T, w *world) {
						// With the classic protocol a rebalance waits for commits in flight.
						recreated(t, w, protocol == "KIP-848", append(append([]kgo.Opt{kgo.MetadataMaxAge(2 * interval)}, opts...), topics...))
					}, fakes...)
				})
			}
		}
	}
}

func recreated(t *testing.T, w *world, hold bool, opts []kgo.Opt) {
	w.produce(topic, 0, values(9)...)
	all := append([]kgo.Opt{kgo.ConsumerGroup("g"), kgo.AutoCommitInterval(interval), kgo.GreedyAutoCommit()}, opts...)
	c := w.consumer(all...)
	readOffsets(t, c, 9)
	eventually(t, "the first commit", func() bool { return w.committed(0) == 9 })

	release := func() told { return told{} }
	if hold {
		release = heldUp(c, eachAt(1, 8))
	}
	w.recreate()
	w.produce(topic, 0, values(3)...)
	seen := w.watchCommits()
	id := w.TopicInfo(topic).TopicID
	time.Sleep(10 * interval)
	require.NotContains(t, release().answers, "t/0 <nil>", "of the old topic")
	require.Equal(t, []int64{0, 1, 2}, readPast(t, c, 3))
	eventually(t, "the commit in the new topic", func() bool { return w.committed(0) == 3 })
	time.Sleep(5 * interval)
	require.EqualValues(t, 3, w.committed(0))
	seen.mu.Lock()
	defer seen.mu.Unlock()
	for i := range seen.offsets {
		if seen.ids[i] == id || seen.ids[i] == [16]byte{} {
			require.EqualValues(t, 3, seen.offsets[i])
		}
	}
}
