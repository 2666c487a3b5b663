package rcconsumer_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/kafkatest"
	"example.com/readcommitted/rcconsumer"
)

var (
	chaosFor  = flag.Duration("chaos", 0, "how long brokers are disturbed, with faults of all kinds; 0 is three faults")
	chaosSeed = flag.Uint64("chaos-seed", 0, "seed of the faults and the load of the chaos run; 0 takes one from the clock")
)

const (
	chaosNodes         = 3
	chaosPartitions    = 6
	chaosTransactional = 6
	chaosPlain         = 2
)

// chaos is one run: a cluster, a load, readers and faults.
type chaos struct {
	t       *testing.T
	fail    func(format string, args ...any) // t.Errorf
	cluster *kafkatest.Cluster
	client  *kgo.Client
	admin   *kadm.Client
	topic   string
	seed    uint64
	began   time.Time
	load    *kafkatest.Load
	readers []chaosReader
	watch   *watcher
	unwatch func() // ends the watching; may be called twice

	mu       sync.Mutex
	faults   []faultNote
	stable   map[int32]int64 // last stable offsets as last seen
	problems int
}

// faultNote is a fault that was done or is being done.
type faultNote struct {
	fault
	at      map[int32]int64 // last stable offsets when it began
	ongoing bool
}

func newChaos(t *testing.T) *chaos {
	t.Helper()
	x := &chaos{t: t, fail: t.Errorf, seed: *chaosSeed, began: time.Now(), stable: map[int32]int64{}}
	if x.seed == 0 {
		x.seed = uint64(time.Now().UnixNano())
	}
	x.cluster = kafkatest.Real(t, kafkatest.Config{Nodes: chaosNodes, Control: true, Private: true})
	x.client = adminClient(t, x.cluster.Addrs())
	x.admin = kadm.NewClient(x.client)
	x.topic = x.cluster.Topic(t, kafkatest.TopicConfig{
		Partitions: chaosPartitions, Replication: chaosNodes,
		Config: map[string]string{"min.insync.replicas": "2", "unclean.leader.election.enable": "false"},
	})
	t.Logf("-chaos %v -chaos-seed %d, Apache Kafka %s", *chaosFor, x.seed, x.cluster.Local().Version())
	return x
}

func TestRealChaosReadersGetWhatTheLogHolds(t *testing.T) {
	noLeaks(t)
	x := newChaos(t)
	x.begin()
	if *chaosFor == 0 {
		s := newSchedule(x.seed, chaosPartitions)
		x.disturb(s.short(comeAndGo, time.Second))
		x.disturb(s.short(killLeader, 3*time.Second))
		x.disturb(fault{kind: pauseLeader, partition: s.r.Int32N(chaosPartitions), pause: 9 * time.Second})
		x.disturb(s.short(restartOne, time.Second))
	} else {
		s := newSchedule(x.seed, chaosPartitions, slices.Sorted(maps.Keys(injectors))...)
		for time.Since(x.began) < *chaosFor && !t.Failed() {
			x.disturb(s.next())
		}
	}
	x.finish()
}

// begin starts readers and writers.
func (x *chaos) begin() {
	x.readers = x.startReaders()
	x.load = x.cluster.StartLoad(x.t, kafkatest.LoadConfig{
		Topic: x.topic, Partitions: chaosPartitions, Transactional: chaosTransactional, Plain: chaosPlain, Seed: x.seed,
	})
	x.watch = newWatcher(x, x.readers)
	ctx, cancel := context.WithCancel(x.t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { x.sample(ctx) })
	wg.Go(func() { x.watch.run(ctx) })
	x.unwatch = func() { cancel(); wg.Wait() }
	x.t.Cleanup(func() { // also when the test fails
		x.unwatch()
		for _, r := range x.readers {
			r.stop()
		}
	})
	x.until("records", time.Minute, func(context.Context) (string, bool) {
		return fmt.Sprint(x.ends()), x.reached(100)
	})
}

func (x *chaos) startReaders() []chaosReader {
	dirty := x.direct("read_uncommitted", 0, rcconsumer.ReadUncommitted())
	dirty.dirty = true
	readers := []chaosReader{
		x.direct("direct", 0),
		x.direct("small buffer", 50, kgo.FetchMaxPartitionBytes(5_000), rcconsumer.BufferBytes(50_000)),
		dirty,
		x.groupOf("group"),
	}
	if *chaosFor > 0 && !strings.HasPrefix(x.local().Version(), "3.") {
		readers = append(readers, x.groupOf("group-848", kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer()))) // KIP-848
	}
	return readers
}

// disturb injects a fault and waits until nothing of it is left.
func (x *chaos) disturb(f fault) {
	began := time.Now()
	x.mu.Lock()
	x.faults = append(x.faults, faultNote{fault: f, at: maps.Clone(x.stable), ongoing: true})
	what := fmt.Sprintf("#%d %s", len(x.faults), f.kind)
	x.mu.Unlock()
	injectors[f.kind](x, f)
	x.cluster.WaitInSync(x.t)
	x.mu.Lock()
	x.faults[len(x.faults)-1].ongoing = false
	x.mu.Unlock()
	ended := time.Now()
	x.catchUp(what)
	x.t.Logf("%v %s %s: over after %.1f s, readers had what was readable then %.1f s later",
		began.Format(time.TimeOnly), what, f.details(), ended.Sub(began).Seconds(), time.Since(ended).Seconds())
	x.pass(f.rest)
}

// catchUp samples the last stable offsets and waits until all readers are there.
func (x *chaos) catchUp(what string) {
	var ends map[int32]int64
	x.until("last stable offsets after "+what, time.Minute, func(ctx context.Context) (string, bool) {
		ends = x.stableOffsets(ctx)
		return fmt.Sprint(ends), len(ends) == chaosPartitions
	})
	began, last := time.Now(), map[chaosReader]string{}
	defer func() { x.explain(time.Since(began), last) }()
	x.until("all readers at "+fmt.Sprint(ends)+" after "+what, stallLimit, func(context.Context) (string, bool) {
		now := x.behind(ends)
		if len(now) > 0 {
			last = now
		}
		return fmt.Sprint(slices.Collect(maps.Values(now))), len(now) == 0
	})
}

// behind says of readers that have not read up to ends where they are.
func (x *chaos) behind(ends map[int32]int64) map[chaosReader]string {
	all := map[chaosReader]string{}
	for _, r := range x.readers {
		for p, end := range ends {
			if next := r.next(p); next < end {
				all[r] += fmt.Sprintf("%s: partition %d at %d, not at %d; ", r.name(), p, next, end)
			}
		}
	}
	return all
}

// finish ends the load, waits for the end of all transactions, and compares.
func (x *chaos) finish() {
	x.load.Stop(x.t)
	ends := x.cluster.WaitEnds(x.t, x.topic, chaosPartitions)
	x.catchUp("the end of the load")
	fresh := x.direct("fresh at the end", 0)
	x.readers = append(x.readers, fresh)
	x.catchUp("a new reader's start")
	for _, g := range x.groups() {
		g.committedToTheEnd(ends)
	}
	x.unwatch() // a reader that has stopped stands nowhere
	for _, r := range x.readers {
		r.stop()
	}
	x.conclude(x.cluster.ReadLog(x.t, x.topic, ends))
}

func (x *chaos) conclude(logs map[int32]*kafkatest.PartitionLog) {
	a := x.load.Ledger().Compare(logs, x.faultAt)
	lines := []string{x.account(a), x.faultCounts()}
	findings := a.Lines
	for _, r := range x.readers {
		v := verdict{when: x.faultAt}
		for p, log := range logs {
			v.judge(p, log.Records, r.uncommitted(), r.sessions(p))
		}
		lines = append(lines, x.report(r, &v))
		for _, l := range v.lines {
			findings = append(findings, r.name()+": "+l)
		}
	}
	x.t.Logf("\n%s", strings.Join(lines, "\n"))
	require.Empty(x.t, strings.Join(findings, "\n"), "-chaos %v -chaos-seed %d", *chaosFor, x.seed)
	x.mu.Lock()
	defer x.mu.Unlock()
	require.Zero(x.t, x.problems, "-chaos %v -chaos-seed %d", *chaosFor, x.seed)
}
