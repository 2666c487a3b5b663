package rcconsumer_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/kafkatest"
	"example.com/readcommitted/internal/localkafka"
	"example.com/readcommitted/rcconsumer"
)

// A replica that was down while the last records were written and read is made
// the leader: they are gone, and others have their offsets.
func TestRealUncleanElectionIsALossForWhoHasReadBeyondIt(t *testing.T) {
	noLeaks(t)
	cluster := kafkatest.Real(t, kafkatest.Config{Nodes: 3, Control: true, Private: true})
	topic := cluster.Topic(t, kafkatest.TopicConfig{Replication: 2, Config: map[string]string{
		"min.insync.replicas": "1", "unclean.leader.election.enable": "true",
	}})
	write := func(name string, n int) int64 {
		return cluster.Produce(t, topic, 0, kafkatest.Values(named(name, n)...))
	}
	leader := cluster.WaitLeader(t, topic, 0, kafkatest.AnyLeader)
	stale := other(cluster.Partition(t, topic, 0).Replicas, leader)
	cluster.WaitISR(t, topic, 0, leader, stale)
	require.Zero(t, write("kept", 10))

	var hook resetHook
	c := newConsumer(t, cluster, from(topic, 0, at(0)), rcconsumer.WithHooks(&hook), kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd()))
	kgos := cluster.Client(t, from(topic, 0, at(0)), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.MetadataMinAge(50*time.Millisecond))
	readNamed(t, c, "kept", 0, 10)
	readNamed(t, kgos, "kept", 0, 10)

	node := func(id int32) *localkafka.Node { return cluster.Local().Node(int(id) - 1) }
	require.NoError(t, node(stale).Kill())
	cluster.WaitISR(t, topic, 0, leader)
	require.EqualValues(t, 10, write("gone", 10))
	last := readNamed(t, c, "gone", 10, 10)
	readNamed(t, kgos, "gone", 10, 10)

	require.NoError(t, node(leader).Kill())
	require.NoError(t, node(stale).Start(t.Context()))
	cluster.WaitLeader(t, topic, 0, stale)
	require.EqualValues(t, 10, write("new", 15), "the stale replica has none of it")

	lost := readOverLoss(t, c, "new", 10, 15)
	require.Equal(t, &kgo.ErrDataLoss{
		Topic: topic, ConsumedTo: 20, ConsumedToEpoch: last.LeaderEpoch, ResetTo: 10, ResetToEpoch: lost.ResetToEpoch,
	}, lost)
	require.LessOrEqual(t, lost.ResetToEpoch, last.LeaderEpoch)
	require.Equal(t, lost, readOverLoss(t, kgos, "new", 10, 15))
	require.Equal(t, [][2]int64{{20, 10}}, hook.all())

	// Who remembers the epoch of what is gone hears of it when it starts there.
	late := newConsumer(t, cluster, from(topic, 0, at(20).WithEpoch(last.LeaderEpoch)))
	require.Equal(t, lost, readOverLoss(t, late, "new", 10, 15))

	// The old leader gives up what it alone had.
	require.NoError(t, node(leader).Start(t.Context()))
	cluster.WaitISR(t, topic, 0, leader, stale)
	require.EqualValues(t, 25, write("more", 5))
	readNamed(t, c, "more", 25, 5)
}

func other(replicas []int32, leader int32) int32 {
	for _, id := range replicas {
		if id != leader {
			return id
		}
	}
	return leader
}

// named are n values that say who they are.
func named(name string, n int) []string {
	values := make([]string, n)
	for i := range values {
		values[i] = fmt.Sprint(name, i)
	}
	return values
}

// readNamed reads the n values of a name, which begin at an offset, and returns
// the last record.
func readNamed(t *testing.T, c poller, name string, first int64, n int) *kgo.Record {
	t.Helper()
	last, lost := readAll(t, c, name, first, n)
	require.Nil(t, lost)
	return last
}

// readOverLoss is readNamed behind a loss, which is told no later than the first
// record.
func readOverLoss(t *testing.T, c poller, name string, first int64, n int) *kgo.ErrDataLoss {
	t.Helper()
	_, lost := readAll(t, c, name, first, n)
	require.NotNil(t, lost)
	return lost
}

func readAll(t *testing.T, c poller, name string, first int64, n int) (last *kgo.Record, lost *kgo.ErrDataLoss) {
	t.Helper()
	var got []string
	for until := time.Now().Add(kafkatest.Limit); len(got) < n; {
		require.True(t, time.Now().Before(until), "%d of %d %s", len(got), n, name)
		fetches := c.PollFetches(shortly(t))
		for _, e := range fetches.Errors() {
			if e.Partition >= 0 { // else the end of the poll's time
				require.Empty(t, got)
				require.Nil(t, lost, "told twice")
				require.ErrorAs(t, e.Err, &lost)
			}
		}
		for _, last = range fetches.Records() {
			require.Equal(t, first+int64(len(got)), last.Offset)
			got = append(got, string(last.Value))
		}
	}
	require.Equal(t, named(name, n), got)
	return last, lost
}
