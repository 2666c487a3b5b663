package rcconsumer_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
	restartOne: func(x *chaos, f fault) { x.cluster.Restart(x.t, x.local().Node(f.node)) },
	restartAll: func(x *chaos, _ fault) {
		for _, n := range x.local().Nodes() {
			x.cluster.Restart(x.t, n)
			x.cluster.WaitInSync(x.t)
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
	case killLeader, killCoordinator, killGroup:
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

func (x *chaos) kill(node *localkafka.Node, away time.Duration) {
	require.NoError(x.t, node.Kill())
	x.pass(away)
	require.NoError(x.t, node.Start(x.t.Context()))
}

func (x *chaos) leaderOf(partition int32) *localkafka.Node {
	return x.local().Node(int(x.cluster.WaitLeader(x.t, x.topic, partition, -1)) - 1)
}

func (x *chaos) transactionCoordinator(f fault) *localkafka.Node {
	id := x.load.TransactionalID(int(f.partition) % chaosTransactional)
	var node int32
	x.until("the coordinator of "+id, time.Minute, func(ctx context.Context) (string, bool) {
		found := x.admin.FindTxnCoordinators(ctx, id)[id]
		node = found.NodeID
		return fmt.Sprint(found.Err), found.Err == nil && node > 0
	})
	return x.local().Node(int(node) - 1)
}
