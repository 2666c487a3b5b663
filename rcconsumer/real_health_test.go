package rcconsumer_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/kafkatest"
	"example.com/readcommitted/rcconsumer"
)

// polledConsumer is a consumer that is polled all the time.
func polledConsumer(t *testing.T, c *kafkatest.Cluster, opts ...kgo.Opt) *rcconsumer.Consumer {
	t.Helper()
	consumer := newConsumer(t, c, opts...)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			consumer.PollFetches(ctx)
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return consumer
}

// becomes waits until a consumer's health is as wanted.
func becomes(t *testing.T, c *rcconsumer.Consumer, what string, wanted func(rcconsumer.Health) bool) (h rcconsumer.Health) {
	t.Helper()
	kafkatest.Wait(t, what, func(context.Context) (string, bool) {
		h = c.Health()
		checkHealth(t, h)
		return fmt.Sprintf("%+v", h), wanted(h)
	})
	return h
}

func isWell(h rcconsumer.Health) bool { return h.Ready && h.Live && len(h.Reasons) == 0 }

// show logs what a probe gets.
func show(t *testing.T, c *rcconsumer.Consumer, what string) {
	t.Helper()
	r := probed(c, http.MethodGet, "")
	t.Logf("%s: %d %s", what, r.StatusCode, bodyOf(t, r))
}

// A cluster that is away makes its readers unready, and must not restart them.
func TestRealHealthWhileTheClusterIsAway(t *testing.T) {
	noLeaks(t)
	cluster := kafkatest.Real(t, kafkatest.Config{Control: true})
	l := newLedger(t, cluster, kafkatest.TopicConfig{Partitions: 2})
	direct := polledConsumer(t, cluster, kgo.ConsumeTopics(l.topic))
	member := polledConsumer(t, cluster, kgo.ConsumeTopics(l.topic), kgo.ConsumerGroup(kafkatest.Name(t)))
	node := cluster.Local().Node(0)
	away := func(h rcconsumer.Health) bool {
		require.True(t, h.Live)
		_, ok := reason(h, rcconsumer.CauseUnreachable)
		return ok
	}
	for _, way := range []struct {
		name        string
		leave, back func() error
	}{
		{"stopped", func() error { return node.Stop(t.Context()) }, func() error { return node.Start(t.Context()) }},
		{"paused", node.Pause, node.Continue},
	} {
		becomes(t, direct, "health", isWell)
		becomes(t, member, "health of the member", isWell)
		require.NoError(t, way.leave())
		for _, c := range []*rcconsumer.Consumer{direct, member} {
			h := becomes(t, c, "an outage", away)
			require.False(t, h.Ready)
			show(t, c, way.name)
		}
		require.NoError(t, way.back())
		becomes(t, direct, "health", isWell)
		becomes(t, member, "health of the member", isWell)
	}
}

func TestRealHealthWhileATransactionIsOpen(t *testing.T) {
	noLeaks(t)
	cluster := kafkatest.Real(t, kafkatest.Config{})
	topic := cluster.Topic(t, kafkatest.TopicConfig{Partitions: 1})
	c := polledConsumer(t, cluster, kgo.ConsumeTopics(topic), rcconsumer.BlockedAfter(3*time.Second))
	becomes(t, c, "health", isWell)
	p := cluster.Producer(t, kafkatest.ProducerConfig{TransactionalID: kafkatest.Name(t)})
	p.Produce(t, topic, 0, kafkatest.Values("open"))
	opened := time.Now()
	cluster.Produce(t, topic, 0, kafkatest.Values("withheld"))
	h := becomes(t, c, "a blocked partition", func(h rcconsumer.Health) bool {
		require.True(t, h.Ready && h.Live)
		_, ok := reason(h, rcconsumer.CauseBlocked)
		return ok
	})
	r, _ := reason(h, rcconsumer.CauseBlocked)
	require.GreaterOrEqual(t, r.Age, 3*time.Second)
	require.WithinDuration(t, opened, r.Since, 3*time.Second)
	require.Contains(t, r.Text, fmt.Sprintf("blocked by an open transaction: %s/0 (last stable offset 0, high watermark 2); since ", topic))
	show(t, c, "an open transaction")
	p.Commit(t)
	becomes(t, c, "health", isWell)
}

// A coordinator that dies is told of, and is no reason to restart anybody or to
// send no more work.
func TestRealHealthWhileTheCoordinatorIsAway(t *testing.T) {
	noLeaks(t)
	cluster := kafkatest.Real(t, kafkatest.Config{Nodes: 3, Control: true, Private: true})
	l := newLedger(t, cluster, kafkatest.TopicConfig{Partitions: 6, Replication: 3})
	group := kafkatest.Name(t)
	c := polledConsumer(t, cluster, kgo.ConsumeTopics(l.topic), kgo.ConsumerGroup(group))
	becomes(t, c, "health", isWell)
	coordinators := cluster.Admin().FindGroupCoordinators(t.Context(), group)
	require.NoError(t, coordinators.Error())
	id := coordinators[group].NodeID
	node := cluster.Local().Node(int(id) - 1)
	require.NoError(t, node.Kill())
	h := becomes(t, c, "a reason", func(h rcconsumer.Health) bool {
		require.True(t, h.Ready && h.Live, "%q", h.Reasons)
		r, ok := reason(h, rcconsumer.CauseBroker)
		return ok && r.Age > time.Second
	})
	r, _ := reason(h, rcconsumer.CauseBroker)
	require.Contains(t, r.Text, fmt.Sprintf("broker %d", id))
	show(t, c, "the coordinator was killed")
	becomes(t, c, "partitions with the other brokers", func(h rcconsumer.Health) bool {
		require.True(t, h.Ready && h.Live, "%q", h.Reasons)
		return len(h.Reasons) == 0
	})
	require.NoError(t, node.Start(t.Context()))
	becomes(t, c, "health", isWell)
}
