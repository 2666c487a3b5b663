package rcconsumer_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/localkafka"
)

// fault is one step of a schedule. What the seed decides is here; which broker
// leads the partition is the cluster's affair.
type fault struct {
	kind      string
	partition int32
	node      int
	pause     time.Duration // how long the broker is away
	rest      time.Duration // how long the cluster is left alone afterwards
}

func (f fault) details() string {
	switch {
	case f.pause > 0:
		return fmt.Sprintf("(partition %d, broker away %v)", f.partition, f.pause)
	case f.kind == restartOne:
		return fmt.Sprintf("(broker %d)", f.node+1)
	default:
		return fmt.Sprintf("(partition %d)", f.partition)
	}
}

const (
	restartOne      = "clean restart of one broker"
	restartAll      = "clean restart of all brokers in turn"
	killLeader      = "kill -9 of a leader"
	killCoordinator = "kill -9 of a transaction coordinator"
	pauseLeader     = "SIGSTOP of a leader"
	moveReplicas    = "replica taken from the leader and given back"
	electLeaders    = "other leaders elected"
	killGroup       = "kill -9 of a group coordinator"
	comeAndGo       = "member joined and another left"
)

// injectors carry faults out. They return when nothing is wrong any more but
// replicas that catch up.
var injectors = map[string]func(*chaos, fault){
	restartOne: func(x *chaos, f fault) { x.restart(x.local().Node(f.node)) },
	restartAll: func(x *chaos, _ fault) {
		for _, n := range x.local().Nodes() {
			x.restart(n)
			x.inSync()
		}
	},
	killLeader:      func(x *chaos, f fault) { x.kill(x.leaderOf(f.partition), f.pause) },
	killCoordinator: func(x *chaos, f fault) { x.kill(x.transactionCoordinator(f), f.pause) },
	pauseLeader: func(x *chaos, f fault) {
		node := x.leaderOf(f.partition)
		require.NoError(x.t, node.Pause())
		x.pass(f.pause)
		require.NoError(x.t, node.Continue())
	},
	moveReplicas: (*chaos).moveReplicas,
	electLeaders: (*chaos).electLeaders,
	killGroup:    func(x *chaos, f fault) { x.kill(x.groupCoordinator(f), f.pause) },
	comeAndGo: func(x *chaos, _ fault) {
		for _, g := range x.groups() {
			g.comeAndGo()
		}
	},
}

// schedule makes the faults of a long run: every kind once in each round, in
// random order.
type schedule struct {
	r          *rand.Rand
	kinds      []string
	partitions int32
	round      []string
}

func newSchedule(seed uint64, partitions int32, kinds ...string) *schedule {
	return &schedule{r: rand.New(rand.NewPCG(seed, 1<<32)), kinds: kinds, partitions: partitions}
}

func (s *schedule) next() fault {
	if len(s.round) == 0 {
		s.round = slices.Clone(s.kinds)
		s.r.Shuffle(len(s.round), func(i, j int) { s.round[i], s.round[j] = s.round[j], s.round[i] })
	}
	kind := s.round[0]
	s.round = s.round[1:]
	f := s.short(kind, 10*time.Second)
	switch kind {
	case pauseLeader:
		f.pause = 20 * time.Second
	case killLeader, killCoordinator:
	default:
		f.pause = 0 // as long as it takes
	}
	f.rest = time.Duration(s.r.IntN(5000)) * time.Millisecond
	return f
}

// short is a fault of a kind whose broker is away for less than most.
func (s *schedule) short(kind string, most time.Duration) fault {
	return fault{
		kind: kind, partition: s.r.Int32N(s.partitions), node: s.r.IntN(chaosNodes),
		pause: time.Duration(s.r.Int64N(int64(most))).Truncate(time.Millisecond),
	}
}

func TestChaosScheduleFollowsItsSeed(t *testing.T) {
	take := func(seed uint64) (faults []fault, kinds []string) {
		s := newSchedule(seed, 6, restartOne, killLeader, pauseLeader)
		for range 9 {
			f := s.next()
			faults, kinds = append(faults, f), append(kinds, f.kind)
		}
		return faults, kinds
	}
	first, kinds := take(1)
	again, _ := take(1)
	other, _ := take(2)
	require.Equal(t, first, again)
	require.NotEqual(t, first, other)
	for round := range 3 {
		require.ElementsMatch(t, []string{restartOne, killLeader, pauseLeader}, kinds[3*round:3*round+3])
	}
}

func (x *chaos) local() *localkafka.Cluster { return x.cluster.Local() }

// pass lets time pass, in which brokers are away or nothing happens.
func (x *chaos) pass(d time.Duration) {
	select {
	case <-time.After(d):
	case <-x.t.Context().Done():
	}
}

func (x *chaos) restart(node *localkafka.Node) {
	ctx, cancel := context.WithTimeout(x.t.Context(), time.Minute)
	defer cancel()
	require.NoError(x.t, node.Stop(ctx))
	require.NoError(x.t, node.Start(x.t.Context()))
}

func (x *chaos) kill(node *localkafka.Node, away time.Duration) {
	require.NoError(x.t, node.Kill())
	x.pass(away)
	require.NoError(x.t, node.Start(x.t.Context()))
}

func (x *chaos) leaderOf(partition int32) *localkafka.Node {
	return x.local().Node(int(x.cluster.WaitLeader(x.t, x.topic, partition, -1)) - 1)
}

func (x *chaos) transactionCoordinator(f fault) *localkafka.Node {
	id := x.load.writers[int(f.partition)%chaosTransactional].txnID
	var node int32
	x.until("the coordinator of "+id, time.Minute, func(ctx context.Context) (string, bool) {
		found := x.admin.FindTxnCoordinators(ctx, id)[id]
		node = found.NodeID
		return fmt.Sprint(found.Err), found.Err == nil && node > 0
	})
	return x.local().Node(int(node) - 1)
}

// moveReplicas takes the leader's replica of a partition away, which ends its
// leadership, and has it copied anew.
func (x *chaos) moveReplicas(f fault) {
	old := x.cluster.Partition(x.t, x.topic, f.partition)
	rest := slices.DeleteFunc(slices.Clone(old.Replicas), func(id int32) bool { return id == old.Leader })
	x.assign(f.partition, rest)
	x.assign(f.partition, append(rest, old.Leader))
}

// electLeaders makes another replica the preferred one of every partition, and
// elects it.
func (x *chaos) electLeaders(fault) {
	var all kadm.TopicsSet
	for p := range int32(chaosPartitions) {
		replicas := x.cluster.Partition(x.t, x.topic, p).Replicas
		x.assign(p, append(replicas[1:], replicas[0]))
		all.Add(x.topic, p)
	}
	x.until("an election", time.Minute, func(ctx context.Context) (string, bool) {
		_, err := x.admin.ElectLeaders(ctx, kadm.ElectPreferredReplica, all)
		return fmt.Sprint(err), err == nil
	})
}

// assign gives a partition other replicas and waits until it has them.
func (x *chaos) assign(partition int32, replicas []int32) {
	var to kadm.AlterPartitionAssignmentsReq
	to.Assign(x.topic, partition, replicas)
	what := fmt.Sprintf("replicas %v of partition %d", replicas, partition)
	x.until(what+" to be ordered", time.Minute, func(ctx context.Context) (string, bool) {
		moved, err := x.admin.AlterPartitionAssignments(ctx, to)
		if err == nil {
			err = moved.Error()
		}
		return fmt.Sprint(err), err == nil
	})
	x.until(what, 2*time.Minute, func(context.Context) (string, bool) {
		p := x.cluster.Partition(x.t, x.topic, partition)
		isr := slices.Sorted(slices.Values(p.ISR))
		return fmt.Sprintf("replicas %v, in sync %v", p.Replicas, isr),
			slices.Equal(p.Replicas, replicas) && slices.Equal(isr, slices.Sorted(slices.Values(replicas)))
	})
}

// inSync waits until every broker says that all brokers are there and that all
// replicas of all topics, Kafka's own included, are in sync.
func (x *chaos) inSync() {
	for _, n := range x.local().Nodes() {
		x.until(fmt.Sprintf("all replicas in sync, as broker %d says", n.ID()), 3*time.Minute, func(ctx context.Context) (string, bool) {
			req := kmsg.NewPtrMetadataRequest() // no topics named: all
			resp, err := x.client.Broker(int(n.ID())).Request(ctx, req)
			if err != nil {
				return err.Error(), false
			}
			missing := notInSync(resp.(*kmsg.MetadataResponse))
			return strings.Join(missing, ", "), len(missing) == 0
		})
	}
}

func notInSync(m *kmsg.MetadataResponse) (missing []string) {
	if len(m.Brokers) != chaosNodes {
		missing = append(missing, fmt.Sprintf("%d brokers", len(m.Brokers)))
	}
	for _, topic := range m.Topics {
		for _, p := range topic.Partitions {
			if p.ErrorCode != 0 || p.Leader < 0 || len(p.Replicas) != chaosNodes || len(p.ISR) != chaosNodes {
				missing = append(missing, fmt.Sprintf("%s/%d: leader %d, replicas %v, in sync %v, %v",
					*topic.Topic, p.Partition, p.Leader, p.Replicas, p.ISR, kerr.ErrorForCode(p.ErrorCode)))
			}
		}
	}
	return missing
}

// adminClient is a client for waits and samples: it does not hang on to a
// broker that is silent.
func adminClient(t *testing.T, addrs []string) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(kgo.SeedBrokers(addrs...), kgo.RequestTimeoutOverhead(2*time.Second), kgo.RetryTimeout(5*time.Second),
		kgo.MetadataMinAge(100*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(cl.Close)
	return cl
}
