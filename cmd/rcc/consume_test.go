package main

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/kafkatest"
)

// Kafka's own console consumer prints the same records in the same order, at
// both isolation levels.
func TestRealConsumeAgreesWithConsoleConsumer(t *testing.T) {
	cluster := kafkatest.Real(t, kafkatest.Config{Control: true})
	topic := cluster.Topic(t, kafkatest.TopicConfig{})
	s := newScript(topic, topic+"-", cluster.Admin(), []kgo.Opt{kgo.SeedBrokers(cluster.Addrs()...)})
	defer s.close(t.Context())
	require.NoError(t, s.play(t.Context(), demoScript...))

	for level, until := range map[string]string{"read_committed": "stable", "read_uncommitted": "hw"} {
		t.Run(level, func(t *testing.T) {
			var out, errs bytes.Buffer
			code := run(t.Context(), []string{
				"consume", topic, "-b", strings.Join(cluster.Addrs(), ","),
				"--isolation-level", level, "--until", until, "-f", `%v\n`,
			}, nil, &out, &errs)
			require.Equal(t, exitOK, code, errs.String())

			// It cannot stop at an offset, so it waits for more until a timeout.
			want, err := cluster.Local().Tool(t.Context(), "org.apache.kafka.tools.consumer.ConsoleConsumer",
				"--bootstrap-server", cluster.Addrs()[0], "--topic", topic, "--from-beginning",
				"--isolation-level", level, "--timeout-ms", strconv.Itoa(int(4*time.Second/time.Millisecond)))
			require.NoError(t, err)
			require.NotEmpty(t, want)
			require.Equal(t, want, out.String())
		})
	}
}
