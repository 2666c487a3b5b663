package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// safeBuffer is a stream that a running command writes and a test reads.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// member is a running rcc consume.
type member struct {
	out, errs safeBuffer
	stop      context.CancelFunc
	code      chan int
}

func startMember(t *testing.T, args ...string) *member {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	m := &member{stop: cancel, code: make(chan int, 1)}
	t.Cleanup(cancel)
	go func() { m.code <- run(ctx, append([]string{"consume"}, args...), nil, &m.out, &m.errs) }()
	return m
}

// says waits until the member's stderr holds a text.
func (m *member) says(t *testing.T, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(m.errs.String(), text) },
		20*time.Second, 10*time.Millisecond, "%q is not said: %s", text, &m.errs)
}

// Two members share the partitions; when one leaves, the other takes over where
// it has committed. Every record is printed once.
func TestMembersShareAndTakeOver(t *testing.T) {
	const partitions = 4
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(partitions, "orders"))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	write := writerOf(t, cluster)
	args := []string{"orders", "-g", "g", "-b", cluster.ListenAddrs()[0], "-f", `%p/%o `}

	write(partitions, 5)
	a := startMember(t, args...)
	a.prints(t, partitions*5)
	b := startMember(t, args...)
	a.says(t, "rcc: revoked: orders/")
	b.says(t, "rcc: assigned: orders/")
	write(partitions, 5)
	require.Eventually(t, func() bool { return printed(a, b) == partitions*10 }, 20*time.Second, 10*time.Millisecond)
	require.NotZero(t, printed(b), "the second member reads none of the new records")

	a.stop()
	require.Equal(t, exitInterrupted, <-a.code, &a.errs)
	require.Contains(t, a.errs.String(), "rcc: group g: committed offsets advanced by ")
	write(partitions, 5)
	require.Eventually(t, func() bool { return printed(a, b) == partitions*15 }, 20*time.Second, 10*time.Millisecond)
	b.stop()
	require.Equal(t, exitInterrupted, <-b.code, &b.errs)

	all := strings.Fields(a.out.String() + b.out.String())
	slices.Sort(all)
	require.Len(t, slices.Compact(slices.Clone(all)), partitions*15, "records are printed twice: %v", all)
	for p := range int32(partitions) {
		require.EqualValues(t, 15, committedIn(cluster, "g", "orders", p))
	}
}

func (m *member) prints(t *testing.T, records int) {
	t.Helper()
	require.Eventually(t, func() bool { return printed(m) == records }, 20*time.Second, 10*time.Millisecond, "%s", &m.errs)
}

// printed is how many records members have printed, each with a space behind it.
func printed(members ...*member) (n int) {
	for _, m := range members {
		n += strings.Count(m.out.String(), " ")
	}
	return n
}

// writerOf returns a function that writes a number of records to each partition
// of orders.
func writerOf(t *testing.T, cluster *kfake.Cluster) func(partitions int32, n int) {
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return func(partitions int32, n int) {
		for p := range partitions {
			for range n {
				require.NoError(t, client.ProduceSync(t.Context(), &kgo.Record{Topic: "orders", Partition: p, Value: []byte("v")}).FirstErr())
			}
		}
	}
}

// A member with an end does not wait for partitions that another one has taken,
// and a member without partitions waits until it gets some.
func TestBoundedMemberEndsWithWhatItHas(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "orders"))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	write := writerOf(t, cluster)
	args := []string{"orders", "-g", "g", "-b", cluster.ListenAddrs()[0], "-f", `%p/%o `}

	write(1, 2)
	first := startMember(t, args...)
	first.prints(t, 2)
	second := startMember(t, append(args, "-e", "stable")...)
	require.Eventually(t, func() bool { return len(cluster.GroupInfo("g").Members) == 2 }, 20*time.Second, 10*time.Millisecond)
	second.says(t, "rcc: waiting: group g has assigned no partition to this member\n")
	write(1, 2)
	first.prints(t, 4)
	first.stop()
	require.Equal(t, exitInterrupted, <-first.code, &first.errs)
	require.Equal(t, exitOK, <-second.code, &second.errs)
	require.Contains(t, second.errs.String(), "rcc: assigned: orders/0 from 4 until 4\n")
	require.Empty(t, second.out.String())
}

// A member that the group has put out reads on from the commit when it is back,
// also what it had read to its end before: printed twice is better than not
// committed.
func TestMemberThatWasPutOutReadsOnFromTheCommit(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "orders"))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	write := writerOf(t, cluster)
	write(2, 1)
	write(1, 1) // partition 0 ends at 2, partition 1 does not
	m := startMember(t, "orders", "-g", "g", "-b", cluster.ListenAddrs()[0], "-f", `%p/%o `, "-e", "2")
	m.prints(t, 3)
	cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat}, Group: "g", Err: kerr.UnknownMemberID, Count: 1})
	m.says(t, "rcc: lost: orders/0, orders/1; what was printed since the last commit will be read again\n")
	m.prints(t, 6)
	write(2, 1)
	require.Equal(t, exitOK, <-m.code, &m.errs)
	all := strings.Fields(m.out.String())
	slices.Sort(all)
	require.Equal(t, []string{"0/0", "0/0", "0/1", "0/1", "1/0", "1/0", "1/1"}, all)
	require.EqualValues(t, 2, committedIn(cluster, "g", "orders", 0))
	require.EqualValues(t, 2, committedIn(cluster, "g", "orders", 1))
	require.Contains(t, m.errs.String(), "rcc: group g: UNKNOWN_MEMBER_ID")
	require.Contains(t, m.errs.String(), "rcc: 2 partitions: 7 records delivered")
	require.Contains(t, m.errs.String(), "rcc: group g: committed offsets advanced by 4 in 2 partitions, 1 rebalance\n")
}

// An error that passes is told once while it lasts; one that will come again ends
// the read.
func TestMemberTellsWhyItIsOutOnce(t *testing.T) {
	gone := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	for name, tt := range map[string]struct {
		err     error
		passing bool
	}{
		"connection":        {gone, true},
		"coordinator":       {kerr.NotCoordinator, true},
		"put out":           {kerr.UnknownMemberID, true},
		"a right":           {kerr.GroupAuthorizationFailed, false},
		"other protocol":    {kerr.InconsistentGroupProtocol, false},
		"bounds":            {&measureError{kerr.TopicAuthorizationFailed}, false},
		"bounds interfered": {&measureError{context.Canceled}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var stderr bytes.Buffer
			m := &membership{app: newApp(nil, nil, &stderr), group: "g"}
			for range 3 {
				require.Equal(t, tt.passing, m.survives(&kgo.ErrGroupSession{Err: tt.err}))
			}
			want := "rcc: group g: " + tt.err.Error() + "; joining again\n"
			if !tt.passing {
				want = ""
			}
			require.Equal(t, want, stderr.String())
			require.ErrorContains(t, m.named(&kgo.ErrGroupSession{Err: tt.err}), "group g: ")
		})
	}
	require.False(t, (&membership{}).survives(gone), "an error that is not the group's")
}

// shortPipe takes some bytes and then is closed at its other end.
type shortPipe struct{ left int }

func (s *shortPipe) Write(b []byte) (int, error) {
	n := min(s.left, len(b))
	s.left -= n
	if n < len(b) {
		return n, fmt.Errorf("write: %w", syscall.EPIPE)
	}
	return n, nil
}

// Of a write that a closed pipe cuts off, the records count that went out whole.
func TestMemberCommitsWhatAClosedPipeTook(t *testing.T) {
	const size = 16
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "orders"))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	s := newScript("orders", "", nil, []kgo.Opt{kgo.SeedBrokers(cluster.ListenAddrs()...)})
	defer s.close(t.Context())
	require.NoError(t, s.play(t.Context(), step{plainProducer, send, 20_000}))
	for name, tt := range map[string]struct{ bytes, want int }{
		"nothing":               {0, -1},
		"less than a record":    {size - 1, -1},
		"a record":              {size, 1},
		"some and a part":       {7*size + 3, 7},
		"more than one writing": {12_345*size + 9, 12_345},
		"all but a byte":        {20_000*size - 1, 19_999},
	} {
		t.Run(name, func(t *testing.T) {
			var errs bytes.Buffer
			args := []string{"consume", "orders", "-g", name, "-b", cluster.ListenAddrs()[0], "-f", `%o{hex64}`}
			code := run(t.Context(), args, nil, &shortPipe{left: tt.bytes}, &errs)
			require.Equal(t, exitOK, code, errs.String())
			require.EqualValues(t, tt.want, committedIn(cluster, name, "orders", 0))
			require.NotContains(t, errs.String(), "B delivered", "bytes of what was not printed")
		})
	}
}
