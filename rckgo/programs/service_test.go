package programs

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"

	"example.com/readcommitted/internal/kafkatest"
)

var (
	serviceFor  = flag.Duration("service-for", 25*time.Second, "how long the service runs in both forms while brokers are restarted one after another, two at least")
	serviceSeed = flag.Uint64("service-seed", 0, "seed of the service's load; 0 takes one from the clock")
)

const (
	servicePartitions = 6
	serviceInstances  = 2 // of each form
	serviceNodes      = 3
)

// swap is a run of the service in both forms beside each other.
type swap struct {
	t        *testing.T
	session  time.Duration // the groups' session timeout
	cluster  *kafkatest.Cluster
	topic    string
	seed     uint64
	began    time.Time
	load     *kafkatest.Load
	groups   []*serviceGroup
	restarts int // of brokers
}

// TestRealServiceSwap runs a service in both forms, two processes of each,
// under a load of transactions, while brokers are restarted one after another
// and a process of each form is killed and started again. Both have to ingest
// exactly what the log holds committed, and rckgo's group has no lag at the end.
func TestRealServiceSwap(t *testing.T) {
	cluster := kafkatest.Real(t, kafkatest.Config{Nodes: serviceNodes, Control: true, Private: true})
	x := newSwap(t, cluster)
	for ; x.restarts < 2 || time.Since(x.began) < *serviceFor; x.restarts++ {
		round, node := x.restarts/serviceNodes, x.restarts%serviceNodes
		if node == 1 {
			x.kill(round % serviceInstances)
		}
		cluster.Restart(t, cluster.Local().Node(node))
		x.startKilled()
		cluster.WaitInSync(t)
		x.look()
	}
	x.finish()
}

// TestServiceSwap is the same for a few seconds on a fake broker, which is not
// restarted.
func TestServiceSwap(t *testing.T) {
	x := newSwap(t, kafkatest.Fake(t, kafkatest.Config{Fake: []kfake.Opt{kfake.GroupMinSessionTimeout(time.Second)}}))
	x.ingested("some records", 500)
	x.kill(0)
	x.startKilled()
	x.ingested("more records", 1000)
	x.finish()
}

func newSwap(t *testing.T, cluster *kafkatest.Cluster) *swap {
	t.Helper()
	x := &swap{t: t, session: 2 * time.Second, cluster: cluster, seed: cmp.Or(*serviceSeed, uint64(time.Now().UnixNano()))}
	replicas, settings := int16(1), map[string]string{}
	if cluster.Local() != nil {
		x.session = 6 * time.Second // the least that Kafka allows
		replicas, settings["min.insync.replicas"] = serviceNodes, "2"
	}
	x.topic = cluster.Topic(t, kafkatest.TopicConfig{Partitions: servicePartitions, Replication: replicas, Config: settings})
	t.Logf("-service-for %v -service-seed %d", *serviceFor, x.seed)
	built := build(t, program{name: "ingest"})
	for _, f := range []form{formKgo, formRckgo} {
		g := &serviceGroup{x: x, form: f, binary: built.path(f, "ingest"), name: fmt.Sprintf("%s-%s", x.topic, f), dir: t.TempDir(), log: newGroupLog()}
		x.groups = append(x.groups, g)
		for n := range serviceInstances {
			g.start(n)
		}
	}
	x.began = time.Now()
	x.load = cluster.StartLoad(t, kafkatest.LoadConfig{
		Topic: x.topic, Partitions: servicePartitions, Transactional: 6, Plain: 2, Seed: x.seed, Padding: 2000, Pause: 150 * time.Millisecond,
	})
	return x
}

// kill ends a process of each form at once.
func (x *swap) kill(n int) {
	for _, g := range x.groups {
		g.instances[n].kill()
	}
}

// startKilled starts new processes in the place of those that were killed.
func (x *swap) startKilled() {
	for _, g := range x.groups {
		for n, i := range g.instances {
			if i.killed {
				g.start(n)
			}
		}
	}
}

// look reads what was written, and fails if a process has ended by itself.
func (x *swap) look() {
	x.t.Helper()
	for _, g := range x.groups {
		g.look()
	}
}

// ingested waits until all groups have ingested some records.
func (x *swap) ingested(what string, n int) {
	x.t.Helper()
	kafkatest.Wait(x.t, what, func(context.Context) (string, bool) {
		x.look()
		var counts []int
		enough := true
		for _, g := range x.groups {
			counts = append(counts, g.log.count)
			enough = enough && g.log.count >= n
		}
		return fmt.Sprint(counts), enough
	})
}

// finish ends the load, lets the groups ingest the rest, ends their processes,
// and judges them.
func (x *swap) finish() {
	ran := time.Since(x.began)
	x.load.Stop(x.t)
	ends := x.cluster.WaitEnds(x.t, x.topic, servicePartitions)
	logs := x.cluster.ReadLog(x.t, x.topic, ends)
	account := x.load.Ledger().Compare(logs, func(int32, int64) string { return "in the run" })
	require.Empty(x.t, account.Lines, "the writers' ledger against the log")
	wanted := readCommitted(x.t, x.cluster, x.topic, logs)
	for _, g := range x.groups {
		g.untilAll(wanted)
	}
	x.groups[1].untilNoLag(ends)
	var lines, findings []string
	for _, g := range x.groups {
		g.terminate()
		j := judge(g.log, wanted)
		lines = append(lines, g.report(j, g.lag(ends), x.load.Ledger()))
		for _, l := range j.lines {
			findings = append(findings, fmt.Sprintf("%s: %s", g.form, l))
		}
	}
	x.t.Logf("\n%s\n%s", x.account(account, ran), strings.Join(lines, "\n"))
	require.Empty(x.t, findings, "-service-seed %d", x.seed)
	require.Zero(x.t, x.groups[1].lag(ends), "lag of rckgo's group, -service-seed %d", x.seed)
	require.Equal(x.t, x.groups[0].log.offsets, x.groups[1].log.offsets, "what rckgo ingested, against kgo")
}
