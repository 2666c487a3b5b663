package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/kafkatest"
)

// After a read as a member Kafka's own tool finds no lag, although the log ends
// with markers and aborted records.
func TestRealConsumeAsMemberLeavesNoLag(t *testing.T) {
	cluster := kafkatest.Real(t, kafkatest.Config{Control: true})
	topic := cluster.Topic(t, kafkatest.TopicConfig{})
	s := newScript(topic, topic+"-", cluster.Admin(), []kgo.Opt{kgo.SeedBrokers(cluster.Addrs()...)})
	defer s.close(t.Context())
	require.NoError(t, s.play(t.Context(), demoScript...))
	require.NoError(t, s.play(t.Context(), step{"loader", commit, 0}, step{"billing", send, 20}, step{"billing", abort, 0}))
	group := topic + "-group"

	var out, errs bytes.Buffer
	args := []string{"consume", topic, "-b", strings.Join(cluster.Addrs(), ","), "-g", group, "-e", "stable", "-f", `%o\n`}
	require.Equal(t, exitOK, run(t.Context(), args, nil, &out, &errs), errs.String())
	require.Equal(t, 28, strings.Count(out.String(), "\n"), errs.String())

	row := describedGroup(t, cluster, group)
	require.Equal(t, row[4], row[3], "committed and log end offset: %v", row)
	require.Equal(t, "0", row[5], "lag: %v", row)

	out.Reset()
	require.Equal(t, exitOK, run(t.Context(), args, nil, &out, &errs), errs.String())
	require.Empty(t, out.String())
}

// describedGroup is the row of a group with one partition: GROUP, TOPIC,
// PARTITION, CURRENT-OFFSET, LOG-END-OFFSET, LAG.
func describedGroup(t *testing.T, cluster *kafkatest.Cluster, group string) []string {
	t.Helper()
	out, err := cluster.Local().Tool(t.Context(), "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
		"--bootstrap-server", cluster.Addrs()[0], "--describe", "--group", group)
	require.NoError(t, err)
	for row := range strings.Lines(out) {
		if f := strings.Fields(row); len(f) >= 6 && f[0] == group {
			return f
		}
	}
	require.Fail(t, "the tool does not list the group", out)
	return nil
}
