package rcconsumer_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/kafkatest"
	"example.com/readcommitted/internal/localkafka"
)

// loaded is how many partitions the load of whileReading writes to. There is
// one more.
const loaded = 3

// whileReading writes and reads at once, has the cluster disturbed meanwhile,
// and compares all that was read with all that was written.
func whileReading(t *testing.T, cluster *kafkatest.Cluster, disturb func(*testing.T, *ledger, *harvest), opts ...kgo.Opt) {
	t.Helper()
	l := newLedger(t, cluster, kafkatest.TopicConfig{
		Partitions: loaded + 1, Replication: 3, Config: map[string]string{"min.insync.replicas": "2"},
	})
	d := load{l: l, partitions: loaded, disturbed: true}
	d.run(t, 1, 4, 0)
	t.Cleanup(d.stop) // also when the test fails
	h := newHarvest(newConsumer(t, cluster, append(opts, kgo.ConsumeTopics(l.topic))...))
	h.limit = 3 * time.Minute // a coordinator may need more than one to end what a dead broker left
	h.until(t, "the load", func() bool { return h.total() > 300 })
	disturb(t, l, h)
	seen := h.total()
	h.until(t, "more of the load", func() bool { return h.total() > seen+300 })
	d.stop()
	for p := range int32(loaded + 1) {
		l.settleDisturbed(t, p)
	}
	h.drained(t, l, loaded+1)
	for p := range int32(loaded + 1) {
		end := l.end(p)
		want := l.visible(p, false, 0, end)
		require.Equal(t, want, h.lines[l.topic][p], "partition %d", p)
		if len(want) == 0 {
			continue
		}
		require.Equal(t, want, l.kgoRead(t, p, 0, want[len(want)-1].Offset, kgo.ReadCommitted()), "partition %d, plain kgo", p)
		require.Zero(t, h.c.Stats()[l.topic][p].Anomalies)
	}
	t.Logf("%d records delivered", h.total())
}

func leaderNode(t *testing.T, l *ledger, partition int32) *localkafka.Node {
	t.Helper()
	return l.c.Local().Node(int(l.c.WaitLeader(t, l.topic, partition, kafkatest.AnyLeader)) - 1)
}

func TestRealLeadersMoveWhileReading(t *testing.T) {
	noLeaks(t)
	cluster := kafkatest.Real(t, kafkatest.Config{Nodes: 3, Control: true, Private: true})
	t.Run("leaders elected and replicas moved", func(t *testing.T) {
		whileReading(t, cluster, moveLeaders)
	})
	t.Run("leader killed", func(t *testing.T) {
		whileReading(t, cluster, func(t *testing.T, l *ledger, h *harvest) {
			node := leaderNode(t, l, 0)
			require.NoError(t, node.Kill())
			killed, seen := time.Now(), len(h.lines[l.topic][0])
			led := func() bool { return len(h.lines[l.topic][0]) > seen+100 }
			// A transaction of a dead coordinator holds its partitions back
			// for as long as the cluster takes; that is no matter of reading.
			h.until(t, "the new leader", func() bool { return led() || time.Since(killed) > 30*time.Second })
			t.Logf("read from the new leader before the old one was back: %v, %v after it died", led(), time.Since(killed))
			require.NoError(t, node.Start(t.Context()))
		})
	})
	t.Run("leader stopped, its fetch hanging", func(t *testing.T) {
		aroundAStop(t, cluster)
	})
	t.Run("new reader beside a stopped broker", func(t *testing.T) { besideStopped(t, cluster) })
}

// moveLeaders has the next replica of every partition elected, and takes the
// leader's replica away from the last one.
func moveLeaders(t *testing.T, l *ledger, _ *harvest) {
	for p := range int32(loaded) {
		old := l.c.Partition(t, l.topic, p)
		replicas := old.Replicas[1:]
		if p < loaded-1 {
			replicas = append(replicas, old.Replicas[0])
		}
		var to kadm.AlterPartitionAssignmentsReq
		to.Assign(l.topic, p, replicas)
		moved, err := l.c.Admin().AlterPartitionAssignments(t.Context(), to)
		require.NoError(t, err)
		require.NoError(t, moved.Error())
		kafkatest.Wait(t, "another leader", func(ctx context.Context) (string, bool) {
			var s kadm.TopicsSet
			s.Add(l.topic, p)
			_, err := l.c.Admin().ElectLeaders(ctx, kadm.ElectPreferredReplica, s)
			leader := l.c.Partition(t, l.topic, p).Leader
			return fmt.Sprint(err, leader), leader == replicas[0]
		})
	}
}

// aroundAStop reads before, while and after a leader is stopped. Nothing is
// written in transactions meanwhile: what becomes of one whose coordinator is
// stopped is the chaos test's matter.
func aroundAStop(t *testing.T, cluster *kafkatest.Cluster) {
	l := newLedger(t, cluster, kafkatest.TopicConfig{
		Partitions: loaded + 1, Replication: 3, Config: map[string]string{"min.insync.replicas": "2"},
	})
	w := l.writer(t, "w", kafkatest.ProducerConfig{TransactionalID: kafkatest.Name(t)})
	h := newHarvest(newConsumer(t, cluster, kgo.ConsumeTopics(l.topic)))
	h.limit = 3 * time.Minute
	for p := range int32(loaded) {
		w.whole(t, p, commit, 5)
		w.whole(t, p, abort, 3)
	}
	h.drained(t, l, loaded)
	stopLeader(t, l, h)
	after := l.plainWriter(t, "after")
	for p := range int32(loaded) {
		l.c.WaitISR(t, l.topic, p, 1, 2, 3)
		after.batch(t, p, 5)
	}
	for p := range int32(loaded + 1) {
		l.settleDisturbed(t, p)
	}
	h.drained(t, l, loaded+1)
	for p := range int32(loaded + 1) {
		require.Equal(t, l.visible(p, false, 0, l.end(p)), h.lines[l.topic][p], "partition %d", p)
	}
}

// stopLeader stops a leader of a partition without load, where no transaction
// holds readers back, and reads what its successor takes while the old leader's
// connections are still open and silent.
func stopLeader(t *testing.T, l *ledger, h *harvest) {
	node := leaderNode(t, l, loaded)
	var others []string
	for _, n := range l.c.Local().Nodes() {
		if n != node {
			others = append(others, n.Addr())
		}
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(others...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.RequestTimeoutOverhead(2*time.Second), kgo.ProduceRequestTimeout(2*time.Second), kgo.MetadataMinAge(100*time.Millisecond))
	require.NoError(t, err)
	defer cl.Close()
	require.NoError(t, node.Pause())
	stopped := time.Now()
	const value = "probe/1/0/plain"
	done := make(chan kgo.ProduceResult, 1)
	cl.Produce(t.Context(), &kgo.Record{Topic: l.topic, Partition: loaded, Value: []byte(value)}, func(r *kgo.Record, err error) {
		done <- kgo.ProduceResult{Record: r, Err: err}
	})
	var written time.Time
	h.until(t, "the new leader's record", func() bool {
		select {
		case r := <-done:
			require.NoError(t, r.Err)
			written = time.Now()
			l.note(loaded, r.Record.Offset, []string{value})
		default:
		}
		return !written.IsZero() && len(h.lines[l.topic][loaded]) > 0
	})
	require.True(t, node.Paused())
	t.Logf("the new leader took a record %v after the stop, it was read %v later", written.Sub(stopped), time.Since(written))
	require.Less(t, time.Since(written), 5*time.Second)
	h.until(t, "12 s since the stop", func() bool { return time.Since(stopped) > 12*time.Second })
	require.NoError(t, node.Continue())
}

// besideStopped starts to read while one broker is silent: what the others lead
// does not wait for it.
func besideStopped(t *testing.T, cluster *kafkatest.Cluster) {
	l := newLedger(t, cluster, kafkatest.TopicConfig{Partitions: 3}) // no replicas: every broker leads one
	w := l.writer(t, "w", kafkatest.ProducerConfig{})
	for p := range int32(3) {
		w.whole(t, p, abort, 2)
		w.whole(t, p, commit, 5)
		l.settle(t, p)
	}
	node := leaderNode(t, l, 0)
	require.NotSame(t, node, leaderNode(t, l, 1))
	require.NotSame(t, node, leaderNode(t, l, 2))
	require.NoError(t, node.Pause())
	stopped := time.Now()
	h := newHarvest(newConsumer(t, cluster, kgo.ConsumeTopics(l.topic)))
	for p := range int32(2) {
		require.Equal(t, l.visible(p+1, false, 0, l.end(p+1)), h.untilNext(t, l.topic, p+1, l.end(p+1)))
	}
	require.True(t, node.Paused())
	took := time.Since(stopped)
	t.Logf("read %v after the stop", took)
	require.Less(t, took, 10*time.Second, "kgo waits as long for an answer")
	require.NoError(t, node.Continue())
	require.Equal(t, l.visible(0, false, 0, l.end(0)), h.untilNext(t, l.topic, 0, l.end(0)))
}
