package kafkatest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
)

var notInTopicName = regexp.MustCompile(`[^a-zA-Z0-9._-]+`)

// TopicConfig says what a topic is created with. The zero value is one
// partition with one replica.
type TopicConfig struct {
	Partitions  int32
	Replication int16
	Config      map[string]string // topic settings by their Kafka names
}

// Name makes a name that no other test uses, for topics, groups and
// transactional IDs. It begins with "kafkatest-" and holds the test's name.
func Name(t testing.TB) string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	name := notInTopicName.ReplaceAllString(t.Name(), "-")
	return "kafkatest-" + name[:min(len(name), 100)] + "-" + hex.EncodeToString(b[:])
}

// Topic creates a topic under a name of its own, waits until every partition
// has a leader, and has it deleted when the test ends.
func (c *Cluster) Topic(t testing.TB, config TopicConfig) string {
	t.Helper()
	topic := Name(t)
	// Batches are dated by the test, most often years ago: retention would
	// delete them as soon as it looks.
	configs := map[string]*string{"retention.ms": kadm.StringPtr("-1")}
	for k, v := range config.Config {
		configs[k] = &v
	}
	partitions := max(config.Partitions, 1)
	ctx, cancel := context.WithTimeout(t.Context(), Limit)
	defer cancel()
	_, err := c.admin.CreateTopic(ctx, partitions, max(config.Replication, 1), configs, topic)
	require.NoError(t, err, "create topic")
	t.Cleanup(func() { c.deleteTopic(t, topic) })
	for p := range partitions {
		c.WaitLeader(t, topic, p, AnyLeader)
	}
	return topic
}

// deleteTopic leaves a topic behind rather than fail a test that has ended: a
// test may delete its topic itself.
func (c *Cluster) deleteTopic(t testing.TB, topic string) {
	if c.fake != nil || c.private {
		return // it goes with the cluster
	}
	if c.local != nil {
		restore(t, c.local)
	}
	ctx, cancel := context.WithTimeout(context.Background(), Limit)
	defer cancel()
	if _, err := c.admin.DeleteTopic(ctx, topic); err != nil {
		t.Logf("delete topic %s: %v", topic, err)
	}
}

// DeleteRecords moves a partition's log start offset to before, exclusive: the
// records below it are gone for readers.
func (c *Cluster) DeleteRecords(t testing.TB, topic string, partition int32, before int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Limit)
	defer cancel()
	var offsets kadm.Offsets
	offsets.AddOffset(topic, partition, before, -1)
	_, err := c.admin.DeleteRecords(ctx, offsets)
	require.NoError(t, err, "delete records of %s/%d before %d", topic, partition, before)
}
