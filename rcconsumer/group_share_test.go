package rcconsumer_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rcconsumer"
)

// producesNumbers writes the values first to last to n partitions in turn, one
// by one, every fourth in a transaction; the values "x..." are aborted.
func (w *world) producesNumbers(n int32, first, last int) {
	for i := first; i <= last; i++ {
		p, v := int32(i)%n, fmt.Sprint(i)
		switch i % 4 {
		case 0:
			w.begin(topic, p, v)(true)
		case 1:
			w.begin(topic, p, "x"+v)(false)
			w.produce(topic, p, v)
		default:
			w.produce(topic, p, v)
		}
	}
}

// commitsAll commitsAll what a poll returned, as a loop with manual commitsAll does.
func commitsAll(m *member, _ kgo.Fetches) { _ = m.CommitUncommittedOffsets(m.t.Context()) }

// readInTurn checks that nothing is read twice by members that commit before
// they let a rebalance happen.
func readInTurn(t *testing.T, members ...*member) {
	t.Helper()
	seen := make(map[string]bool)
	for i, m := range members {
		for _, r := range m.readings() {
			at := fmt.Sprintf("%s@%d", r.key, r.offset)
			require.False(t, seen[at], "member %d read %s again", i, at)
			seen[at] = true
		}
	}
}

func TestMembersThatComeAndGoReadEachRecordOnce(t *testing.T) {
	inCommittingGroups(t, 4, func(t *testing.T, w *world, opts []kgo.Opt) {
		opts = append(opts, kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll())
		a := w.joins(commitsAll, opts...)
		w.producesNumbers(4, 1, 40)
		got(t, numbers(1, 40), a)
		b := w.joins(commitsAll, opts...)
		shared(t, 4, a.Consumer, b.Consumer)
		w.producesNumbers(4, 41, 60)
		c := w.joins(commitsAll, opts...)
		w.producesNumbers(4, 61, 80)
		got(t, numbers(1, 80), a, b, c)
		shared(t, 4, a.Consumer, b.Consumer, c.Consumer)
		a.leaves()
		w.producesNumbers(4, 81, 100)
		got(t, numbers(1, 100), a, b, c)
		shared(t, 4, b.Consumer, c.Consumer)
		b.leaves()
		w.producesNumbers(4, 101, 110)
		got(t, numbers(1, 110), a, b, c)
		readInTurn(t, a, b, c)
		for p := range int32(4) {
			eventually(t, "the commitsAll", func() bool { return w.committed(p) == w.PartitionInfo(topic, p).HighWatermark })
		}
		for _, m := range []*member{a, b, c} {
			require.Empty(t, m.failures())
		}
	})
}

// Without BlockRebalanceOnPoll and with auto-commit nothing is lost either; what
// comes twice was not committed.
func TestMemberThatCrashesLeavesOnlyWhatWasNotCommitted(t *testing.T) {
	inGroups(t, 3, func(t *testing.T, w *world, opts []kgo.Opt) {
		opts = append(opts, kgo.SessionTimeout(6*time.Second), kgo.RebalanceTimeout(3*time.Second))
		w.SetGroupConfigs("g", map[string]string{"consumer.session.timeout.ms": "6000"})
		net := &cutNet{dial: w.net.DialContext}
		a := w.joins(nil, append(opts, kgo.Dialer(net.DialContext), kgo.RetryTimeout(time.Second))...)
		w.producesNumbers(3, 1, 30)
		got(t, numbers(1, 30), a)
		time.Sleep(11 * time.Second) // two auto-commitsAll
		at := make(map[string]int64)
		for p := range int32(3) {
			at[fmt.Sprintf("%s/%d", topic, p)] = w.committed(p)
			require.Equal(t, w.PartitionInfo(topic, p).HighWatermark, w.committed(p))
		}
		w.producesNumbers(3, 31, 45)
		got(t, numbers(1, 45), a)
		net.cut()
		a.stops()
		b := w.joins(nil, opts...)
		got(t, numbers(31, 45), b)
		for _, r := range b.readings() {
			require.GreaterOrEqual(t, r.offset, at[r.key])
		}
	}, "range", "sticky", "KIP-848")
}

// cutNet is a network that can be cut.
type cutNet struct {
	dial func(context.Context, string, string) (net.Conn, error)

	mu    sync.Mutex
	dead  bool
	conns []net.Conn
}

func (n *cutNet) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.dead {
		return nil, &net.OpError{Op: "dial", Err: errors.New("cut")}
	}
	conn, err := n.dial(ctx, network, addr)
	if err == nil {
		n.conns = append(n.conns, conn)
	}
	return conn, err
}

func (n *cutNet) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dead = true
	for _, c := range n.conns {
		_ = c.Close()
	}
}

func TestTopicThatMatchesLaterIsReadByTheGroup(t *testing.T) {
	inGroups(t, 1, func(t *testing.T, w *world, opts []kgo.Opt) {
		opts = append(opts, kgo.ConsumeRegex(), kgo.ConsumeTopics("^t.*"), kgo.ConsumeExcludeTopics("^t-no"), kgo.MetadataMaxAge(2*time.Second))
		a, b := w.joins(nil, opts...), w.joins(nil, opts...)
		w.produce(topic, 0, "1")
		got(t, []string{"1"}, a, b)
		require.NoError(t, w.CreateTopic("t-later", 2, nil))
		require.NoError(t, w.CreateTopic("t-no", 1, nil))
		w.produce("t-no", 0, "never")
		w.begin("t-later", 0, "2")(true)
		w.produce("t-later", 1, "3")
		got(t, numbers(1, 3), a, b)
		shared(t, 3, a.Consumer, b.Consumer)
	})
}

// Source: KIP-345.
func TestStaticMemberComesBackWithoutARebalance(t *testing.T) {
	inGroups(t, 4, func(t *testing.T, w *world, opts []kgo.Opt) {
		var log callbackLog
		stays := w.joins(nil, append(append(opts, log.options()...), kgo.InstanceID("stays"))...)
		shared(t, 4, stays.Consumer)
		returns := append(opts, kgo.InstanceID("returns")) // joins once: what it says of itself is what it will say again
		before := w.joins(nil, returns...)
		shared(t, 4, stays.Consumer, before.Consumer)
		w.producesNumbers(4, 1, 20)
		got(t, numbers(1, 20), stays, before)
		own := reads(before.Consumer)
		time.Sleep(11 * time.Second) // all is committed
		calls := len(log.all())
		before.leaves()
		after := w.joins(nil, returns...)
		eventually(t, "it to be back", func() bool { return len(reads(after.Consumer)) > 0 })
		require.Equal(t, own, reads(after.Consumer))
		w.producesNumbers(4, 21, 40)
		got(t, numbers(1, 40), stays, before, after)
		readInTurn(t, stays, before, after)
		require.Len(t, log.all(), calls)
	})
}

// claims notes which consumer reads a partition, from the assignment to the end
// of the revocation.
type claimBook struct {
	mu      sync.Mutex
	holders map[string]string
	faults  []string
}

func (b *claimBook) options(who string) []kgo.Opt {
	return []kgo.Opt{
		rcconsumer.OnPartitionsAssigned(b.change(who, true)),
		rcconsumer.OnPartitionsRevoked(b.change(who, false)),
	}
}

func (b *claimBook) change(who string, take bool) func(context.Context, *rcconsumer.Consumer, map[string][]int32) {
	return func(ctx context.Context, c *rcconsumer.Consumer, ids map[string][]int32) {
		if !take {
			_ = c.CommitUncommittedOffsets(ctx)
			time.Sleep(50 * time.Millisecond)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		for topic, ps := range ids {
			for _, p := range ps {
				k := fmt.Sprintf("%s/%d", topic, p)
				switch holder := b.holders[k]; {
				case take && holder != "":
					b.faults = append(b.faults, fmt.Sprintf("%s got %s from %s, who holds it", who, k, holder))
				case take:
					b.holders[k] = who
				case holder == who:
					delete(b.holders, k)
				}
			}
		}
	}
}

func TestPartitionIsHeldByOneMemberAtATime(t *testing.T) {
	inCommittingGroups(t, 5, func(t *testing.T, w *world, opts []kgo.Opt) {
		book := &claimBook{holders: make(map[string]string)}
		opts = append(opts, kgo.DisableAutoCommit())
		rng := rand.New(rand.NewPCG(7, 7))
		work := func(m *member, fs kgo.Fetches) {
			fs.EachRecord(func(r *kgo.Record) {
				// What is returned is held: kgo.BlockRebalanceOnPoll.
				book.mu.Lock()
				defer book.mu.Unlock()
				if k := fmt.Sprintf("%s/%d", r.Topic, r.Partition); book.holders[k] != m.name {
					book.faults = append(book.faults, fmt.Sprintf("%s reads %s of %q", m.name, k, book.holders[k]))
				}
			})
		}
		var all, now []*member
		join := func(i int) {
			name := fmt.Sprint("m", i)
			m := w.joinsAs(name, work, append(append(opts, kgo.BlockRebalanceOnPoll()), book.options(name)...)...)
			all, now = append(all, m), append(now, m)
		}
		join(0)
		for i := 1; i <= 8; i++ {
			if len(now) > 1 && rng.IntN(2) == 0 {
				k := rng.IntN(len(now))
				now[k].leaves()
				now = append(now[:k], now[k+1:]...)
			} else {
				join(i)
			}
			w.producesNumbers(5, 5*i-4, 5*i)
			w.pause(time.Duration(rng.IntN(3000)) * time.Millisecond)
		}
		got(t, numbers(1, 40), all...)
		book.mu.Lock()
		defer book.mu.Unlock()
		require.Empty(t, book.faults)
	})
}
