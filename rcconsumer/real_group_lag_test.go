package rcconsumer_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/kafkatest"
	"example.com/readcommitted/rcconsumer"
)

// committing is one way to commit, and how a loop does it after each poll.
type committing struct {
	name string
	opts []kgo.Opt
	ours func(context.Context, *rcconsumer.Consumer, kgo.Fetches) error
	kgo  func(context.Context, *kgo.Client, kgo.Fetches) error
}

var committings = []committing{
	{name: "auto"},
	{name: "greedy", opts: []kgo.Opt{kgo.GreedyAutoCommit()}},
	{
		name: "manual", opts: []kgo.Opt{kgo.DisableAutoCommit()},
		ours: func(ctx context.Context, c *rcconsumer.Consumer, _ kgo.Fetches) error {
			return c.CommitUncommittedOffsets(ctx)
		},
		kgo: func(ctx context.Context, c *kgo.Client, _ kgo.Fetches) error { return c.CommitUncommittedOffsets(ctx) },
	},
	{
		name: "records", opts: []kgo.Opt{kgo.DisableAutoCommit()},
		ours: func(ctx context.Context, c *rcconsumer.Consumer, fs kgo.Fetches) error {
			return c.CommitRecords(ctx, fs.Records()...)
		},
		kgo: func(ctx context.Context, c *kgo.Client, fs kgo.Fetches) error {
			return c.CommitRecords(ctx, fs.Records()...)
		},
	},
	{
		name: "marks", opts: []kgo.Opt{kgo.AutoCommitMarks()},
		ours: func(_ context.Context, c *rcconsumer.Consumer, fs kgo.Fetches) error {
			c.MarkCommitRecords(fs.Records()...)
			return nil
		},
		kgo: func(_ context.Context, c *kgo.Client, fs kgo.Fetches) error {
			c.MarkCommitRecords(fs.Records()...)
			return nil
		},
	},
}

// protocols are the group protocols that the cluster speaks.
func protocols(c *kafkatest.Cluster) map[string][]kgo.Opt {
	all := map[string][]kgo.Opt{"classic": nil}
	if !strings.HasPrefix(c.Local().Version(), "3.") {
		all["KIP-848"] = []kgo.Opt{kgo.ServerSideBalancer()}
	}
	return all
}

// groupLags asks Kafka's own tool for the lag of groups on a topic.
func groupLags(t *testing.T, c *kafkatest.Cluster, topic string, groups []string) map[string]int64 {
	t.Helper()
	args := []string{"--bootstrap-server", c.Addrs()[0], "--describe"}
	for _, g := range groups {
		args = append(args, "--group", g)
	}
	out, err := c.Local().Tool(t.Context(), "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", args...)
	require.NoError(t, err)
	lags := make(map[string]int64)
	for _, row := range strings.Split(out, "\n") {
		f := strings.Fields(row)
		if len(f) < 6 || !slices.Contains(groups, f[0]) || f[1] != topic {
			continue
		}
		lag, err := strconv.ParseInt(f[5], 10, 64)
		require.NoError(t, err, row)
		lags[f[0]] += lag
	}
	require.Len(t, lags, len(groups), out)
	return lags
}

func TestRealGroupsReachLagZero(t *testing.T) {
	noLeaks(t)
	l := newLedger(t, kafkatest.Real(t, kafkatest.Config{Control: true}), kafkatest.TopicConfig{Partitions: 1})
	w := l.writer(t, "w", kafkatest.ProducerConfig{TransactionalID: kafkatest.Name(t)})
	w.whole(t, 0, commit, 10, 5)
	w.whole(t, 0, abort, 3)
	w.whole(t, 0, commit, 7)
	w.whole(t, 0, abort, 4)
	end := l.settle(t, 0)

	var ours, theirs []string
	base := []kgo.Opt{
		kgo.SeedBrokers(l.c.Addrs()...), kgo.ConsumeTopics(l.topic), kgo.AutoCommitInterval(200 * time.Millisecond),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
	}
	for protocol, opts := range protocols(l.c) {
		for _, way := range committings {
			all := slices.Concat(base, opts, way.opts)
			name := fmt.Sprintf("%s-%s-%s", kafkatest.Name(t), protocol, way.name)
			ours, theirs = append(ours, name), append(theirs, name+"-kgo")
			work(t, way, append(slices.Clone(all), kgo.ConsumerGroup(name)))
			workByKgo(t, way, append(slices.Clone(all), kgo.ConsumerGroup(name+"-kgo")))
		}
	}
	untilCommitted(t, l, ours, end)
	w.begin(abort)
	for range 50 {
		w.batch(t, 0, 100)
	}
	w.end(t)
	end = l.settle(t, 0)
	untilCommitted(t, l, ours, end)

	for group, lag := range groupLags(t, l.c, l.topic, ours) {
		require.Zero(t, lag, group)
	}
	behind := groupLags(t, l.c, l.topic, theirs)
	for group, lag := range behind {
		require.Greater(t, lag, int64(5000), group)
	}
	t.Logf("log end %d; lag by ConsumerGroupCommand: %d groups of ours 0; plain kgo %v", end, len(ours), behind)
}

// untilCommitted waits until the groups hold an offset.
func untilCommitted(t *testing.T, l *ledger, groups []string, offset int64) {
	t.Helper()
	kafkatest.Wait(t, fmt.Sprintf("commits at %d", offset), func(ctx context.Context) (string, bool) {
		behind := ""
		for _, g := range groups {
			resp, err := l.c.Admin().FetchOffsets(ctx, g)
			at, _ := resp.Lookup(l.topic, 0)
			if err != nil || at.At != offset {
				behind += fmt.Sprintf(" %s:%d(%v)", g, at.At, err)
			}
		}
		return behind, behind == ""
	})
}

// work reads and commits until the test ends.
func work(t *testing.T, way committing, opts []kgo.Opt) {
	t.Helper()
	c, err := rcconsumer.New(opts...)
	require.NoError(t, err)
	keepWorking(t, c.PollFetches, c.Close, func(ctx context.Context, fs kgo.Fetches) error {
		if way.ours == nil {
			return nil
		}
		return way.ours(ctx, c, fs)
	})
}

// workByKgo is work with plain kgo.
func workByKgo(t *testing.T, way committing, opts []kgo.Opt) {
	t.Helper()
	c, err := kgo.NewClient(opts...)
	require.NoError(t, err)
	keepWorking(t, c.PollFetches, c.Close, func(ctx context.Context, fs kgo.Fetches) error {
		if way.kgo == nil {
			return nil
		}
		return way.kgo(ctx, c, fs)
	})
}

func keepWorking(t *testing.T, poll func(context.Context) kgo.Fetches, done func(), then func(context.Context, kgo.Fetches) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		for {
			fs := poll(ctx)
			err := fs.Err()
			if err == nil {
				err = then(ctx, fs)
			}
			if err != nil {
				ended <- err
				return
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
		done()
	})
}
