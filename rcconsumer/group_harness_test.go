package rcconsumer_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rcconsumer"
)

// balancings are the ways in which a group deals partitions.
var balancings = map[string][]kgo.Opt{
	"range":       {kgo.Balancers(kgo.RangeBalancer())},
	"round-robin": {kgo.Balancers(kgo.RoundRobinBalancer())},
	"sticky":      {kgo.Balancers(kgo.StickyBalancer())},
	"cooperative": {kgo.Balancers(kgo.CooperativeStickyBalancer())},
	"KIP-848":     {kgo.ServerSideBalancer()},
}

// inGroups runs a test once for each of the balancings named; for all without
// names.
func inGroups(t *testing.T, partitions int32, test func(*testing.T, *world, []kgo.Opt), names ...string) {
	t.Helper()
	t.Parallel()
	for name, opts := range balancings {
		if len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, partitions, func(t *testing.T, w *world) { test(t, w, opts) })
		})
	}
}

// inCommittingGroups is inGroups for members that commit at any time. During a
// cooperative join kgo makes commits wait on a mutex, which stops the clock of a
// bubble: there real time has to pass.
func inCommittingGroups(t *testing.T, partitions int32, test func(*testing.T, *world, []kgo.Opt)) {
	t.Helper()
	inGroups(t, partitions, test, "range", "round-robin", "sticky", "KIP-848")
	t.Run("cooperative", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, 1, partitions, func() {})
		w.hurry = 10
		test(t, w, append(balancings["cooperative"], kgo.HeartbeatInterval(100*time.Millisecond), kgo.AutoCommitInterval(500*time.Millisecond)))
	})
}

// pause lets time pass: less of it where it is real.
func (w *world) pause(d time.Duration) { time.Sleep(d / max(1, w.hurry)) }

// reading is one record as a member read it.
type reading struct {
	key    string // topic and partition
	offset int64
	value  string
}

// member is a consumer in a group with a goroutine that polls.
type member struct {
	*rcconsumer.Consumer
	name   string
	t      *testing.T
	cancel context.CancelFunc
	done   chan struct{}

	mu   sync.Mutex
	got  []reading
	errs []error
}

// joins makes a member that polls, and calls work for each poll with records.
func (w *world) joins(work func(*member, kgo.Fetches), opts ...kgo.Opt) *member {
	w.t.Helper()
	return w.joinsAs("", work, opts...)
}

func (w *world) joinsAs(name string, work func(*member, kgo.Fetches), opts ...kgo.Opt) *member {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	m := &member{name: name, Consumer: w.consumer(inGroup(opts...)...), t: w.t, cancel: cancel, done: make(chan struct{})}
	go m.run(ctx, work)
	w.t.Cleanup(m.stops)
	return m
}

func (m *member) run(ctx context.Context, work func(*member, kgo.Fetches)) {
	defer close(m.done)
	for {
		fs := m.PollRecords(ctx, 10)
		if ctx.Err() != nil || fs.IsClientClosed() {
			return
		}
		m.note(fs)
		if work != nil {
			work(m, fs)
		}
		m.AllowRebalance()
	}
}

func (m *member) note(fs kgo.Fetches) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fs.EachRecord(func(r *kgo.Record) {
		m.got = append(m.got, reading{fmt.Sprintf("%s/%d", r.Topic, r.Partition), r.Offset, string(r.Value)})
	})
	fs.EachError(func(_ string, _ int32, err error) { m.errs = append(m.errs, err) })
}

// stops ends the polls; the member stays in the group.
func (m *member) stops() {
	m.cancel()
	<-m.done
}

// leaves ends the polls and closes the consumer.
func (m *member) leaves() {
	m.stops()
	m.Close()
}

// readings are what the member has read.
func (m *member) readings() []reading {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.got)
}

func (m *member) failures() []error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.errs)
}

// reads are the partitions that a member reads, sorted.
func reads(c *rcconsumer.Consumer) (all []string) {
	for topic, ps := range c.Positions() {
		for id := range ps {
			all = append(all, fmt.Sprintf("%s/%d", topic, id))
		}
	}
	slices.Sort(all)
	return all
}

// numbers are the values "first" to "last", both inclusive.
func numbers(first, last int) (all []string) {
	for n := first; n <= last; n++ {
		all = append(all, fmt.Sprint(n))
	}
	return all
}

// shared waits until the members read all n partitions, each at least one and
// none two.
func shared(t *testing.T, n int, members ...*rcconsumer.Consumer) {
	t.Helper()
	eventually(t, "all partitions to be shared", func() bool {
		seen := make(map[string]bool)
		for _, m := range members {
			own := reads(m)
			for _, p := range own {
				if seen[p] {
					return false
				}
				seen[p] = true
			}
			if len(own) == 0 {
				return false
			}
		}
		return len(seen) == n
	})
}

// readBy is what the members have read, each value once, sorted as numbers are
// compared by length first.
func readBy(members ...*member) []string {
	seen := make(map[string]bool)
	for _, m := range members {
		for _, r := range m.readings() {
			seen[r.value] = true
		}
	}
	all := make([]string, 0, len(seen))
	for v := range seen {
		all = append(all, v)
	}
	slices.SortFunc(all, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return slices.Compare([]byte(a), []byte(b))
	})
	return all
}

// got waits until the members together have read what is expected.
func got(t *testing.T, want []string, members ...*member) {
	t.Helper()
	for until := time.Now().Add(patience); len(readBy(members...)) < len(want) && time.Now().Before(until); {
		time.Sleep(10 * time.Millisecond)
	}
	require.Equal(t, want, readBy(members...))
}
