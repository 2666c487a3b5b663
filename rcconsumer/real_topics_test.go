package rcconsumer_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/kafkatest"
	"example.com/readcommitted/rcconsumer"
)

// createTopic creates a topic of a given name, as soon as the cluster lets it.
func createTopic(t *testing.T, c *kafkatest.Cluster, topic string, partitions int32) {
	t.Helper()
	config := map[string]*string{"retention.ms": kadm.StringPtr("-1")}
	kafkatest.Wait(t, "creation of "+topic, func(ctx context.Context) (string, bool) {
		_, err := c.Admin().CreateTopic(ctx, partitions, 1, config, topic)
		return fmt.Sprint(err), err == nil
	})
	t.Cleanup(func() { _, _ = c.Admin().DeleteTopic(context.Background(), topic) })
	for p := range partitions {
		c.WaitLeader(t, topic, p, kafkatest.AnyLeader)
	}
}

// deleteTopic returns when the broker knows of the deletion: told of it together
// with a new topic of that name it may go on with the old log (seen on 4.4.0).
func deleteTopic(t *testing.T, c *kafkatest.Cluster, topic string) {
	t.Helper()
	_, err := c.Admin().DeleteTopic(t.Context(), topic)
	require.NoError(t, err)
	kafkatest.Wait(t, "deletion of "+topic, func(ctx context.Context) (string, bool) {
		topics, err := c.Admin().ListTopics(ctx, topic)
		return fmt.Sprint(topics, err), err == nil && !topics.Has(topic)
	})
}

func TestRealRecreatedTopicIsReadFromItsStart(t *testing.T) {
	t.Parallel() // KAFKA-12257, twmb/franz-go#908: old offsets mean nothing in the new topic
	cluster := kafkatest.Real(t, kafkatest.Config{})
	topic := kafkatest.Name(t)
	createTopic(t, cluster, topic, 1)
	before := ledgerOf(cluster, topic)
	before.writer(t, "before", kafkatest.ProducerConfig{}).whole(t, 0, commit, 20)
	var moved resetHook
	c := newConsumer(t, cluster, kgo.ConsumeTopics(topic), kgo.MetadataMaxAge(500*time.Millisecond), rcconsumer.WithHooks(&moved))
	h := newHarvest(c)
	require.Equal(t, before.visible(0, false, 0, 20), h.untilNext(t, topic, 0, before.settle(t, 0)))

	deleteTopic(t, cluster, topic)
	createTopic(t, cluster, topic, 1)
	after := ledgerOf(cluster, topic)
	w := after.writer(t, "after", kafkatest.ProducerConfig{})
	w.whole(t, 0, abort, 2)
	w.whole(t, 0, commit, 3) // the new log is shorter than the position in the old one
	end := after.settle(t, 0)

	fresh := newHarvest(c) // offsets begin anew
	fresh.until(t, "the new topic's records", func() bool {
		for _, err := range fresh.errs { // between deletion and creation
			require.True(t, errors.Is(err, kerr.UnknownTopicID) || errors.Is(err, kerr.UnknownTopicOrPartition), "%v", err)
		}
		pos, ok := c.Position(topic, 0)
		return ok && pos.Next == end && fresh.total() > 0
	})
	require.Equal(t, after.visible(0, false, 0, end), fresh.lines[topic][0])
	require.Equal(t, [][2]int64{{21, 0}}, moved.all())
	after.agree(t, 0, 0, end)
}

func TestRealPartitionsAddedLaterAreReadFromTheirStart(t *testing.T) {
	t.Parallel()
	l := newLedger(t, kafkatest.Real(t, kafkatest.Config{}), kafkatest.TopicConfig{})
	w := l.writer(t, "w", kafkatest.ProducerConfig{})
	w.whole(t, 0, commit, 3)
	c := newConsumer(t, l.c, kgo.ConsumeTopics(l.topic), kgo.MetadataMaxAge(300*time.Millisecond))
	h := newHarvest(c)
	h.untilNext(t, l.topic, 0, l.settle(t, 0))

	_, err := l.c.Admin().UpdatePartitions(t.Context(), 4, l.topic)
	require.NoError(t, err)
	for p := range int32(4) {
		l.c.WaitLeader(t, l.topic, p, kafkatest.AnyLeader)
		w.whole(t, p, abort, 2)
		w.whole(t, p, commit, 2)
	}
	for p := range int32(4) {
		end := l.settle(t, p)
		require.Equal(t, l.visible(p, false, 0, end), h.untilNext(t, l.topic, p, end))
	}
}

func TestRealPatternFindsTopicsNowAndLater(t *testing.T) {
	t.Parallel()
	cluster := kafkatest.Real(t, kafkatest.Config{})
	prefix := kafkatest.Name(t)
	ledgers := map[string]*ledger{}
	add := func(suffix string) {
		topic := prefix + suffix
		createTopic(t, cluster, topic, 1)
		ledgers[suffix] = ledgerOf(cluster, topic)
		w := ledgers[suffix].writer(t, "w"+suffix, kafkatest.ProducerConfig{})
		w.whole(t, 0, abort, 2)
		w.whole(t, 0, commit, 2)
		ledgers[suffix].settle(t, 0)
	}
	add(".a")
	add(".not")
	c := newConsumer(t, cluster, kgo.ConsumeRegex(), kgo.ConsumeTopics("^"+prefix+`\.`), kgo.ConsumeExcludeTopics(`\.not$`),
		kgo.MetadataMaxAge(300*time.Millisecond))
	h := newHarvest(c)
	h.untilNext(t, prefix+".a", 0, ledgers[".a"].end(0))
	add(".b")
	h.untilNext(t, prefix+".b", 0, ledgers[".b"].end(0))
	for _, suffix := range []string{".a", ".b"} {
		l := ledgers[suffix]
		require.Equal(t, l.visible(0, false, 0, l.end(0)), h.lines[l.topic][0])
	}
	require.Len(t, h.lines, 2)
	_, read := c.Position(prefix+".not", 0)
	require.False(t, read)
}

func TestRealFiftyPartitionsTakeTurns(t *testing.T) {
	t.Parallel()
	const partitions = 50
	l := newLedger(t, kafkatest.Real(t, kafkatest.Config{}), kafkatest.TopicConfig{Partitions: partitions})
	w, c := l.writer(t, "w", kafkatest.ProducerConfig{}), l.plainWriter(t, "plain")
	w.bulk, c.bulk = make([]byte, 100), make([]byte, 100)
	w.begin(abort)
	for p := range int32(partitions) {
		c.batch(t, p, 10)
		w.batch(t, p, 10)
	}
	w.end(t)
	for p := range int32(partitions) {
		for range 6 {
			c.batch(t, p, 10)
		}
	}
	consumer := newConsumer(t, l.c, kgo.ConsumeTopics(l.topic), kgo.FetchMaxBytes(4000), kgo.FetchMaxPartitionBytes(2000),
		rcconsumer.BufferBytes(8000))
	h := newHarvest(consumer)
	started := false
	h.until(t, "the end of all partitions", func() bool {
		require.Empty(t, h.errs)
		done := 0
		for p := range int32(partitions) {
			if pos, ok := consumer.Position(l.topic, p); ok && pos.Next == l.end(p) {
				done++
			}
		}
		if done > 0 && !started {
			started = true
			require.Len(t, h.lines[l.topic], partitions, "all have begun when the first one is done")
		}
		return done == partitions
	})
	for p := range int32(partitions) {
		require.Equal(t, l.visible(p, false, 0, l.settle(t, p)), h.lines[l.topic][p])
	}
}

func TestRealFetchVersionsGiveTheSameRecords(t *testing.T) {
	t.Parallel()
	l := newLedger(t, kafkatest.Real(t, kafkatest.Config{}), kafkatest.TopicConfig{})
	end := mixed(t, l)
	want := l.visible(0, false, 0, end)
	for _, version := range []int16{4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			var w wire
			require.Equal(t, want, l.read(t, 0, 0, end, w.dialer(), fetchVersion(version)))
			require.NotEmpty(t, w.seen(t))
			for _, req := range w.seen(t) {
				require.LessOrEqual(t, req.Version, version)
				if version <= 17 { // what 3.9 has
					require.Equal(t, version, req.Version)
				}
				require.EqualValues(t, 1, req.IsolationLevel)
				require.EqualValues(t, 0, req.SessionID, "no fetch session (KIP-227)")
				require.EqualValues(t, -1, req.SessionEpoch)
			}
		})
	}
}
