package kafkatest_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"

	"example.com/readcommitted/internal/kafkatest"
)

// ending notes how a test ends instead of ending it.
type ending struct {
	testing.TB
	skipped, failed string
}

func (e *ending) Skip(args ...any) {
	e.skipped = fmt.Sprint(args...)
	runtime.Goexit()
}

func (e *ending) Fatal(args ...any) {
	e.failed = fmt.Sprint(args...)
	runtime.Goexit()
}

func (e *ending) Skipf(format string, args ...any)  { e.Skip(fmt.Sprintf(format, args...)) }
func (e *ending) Fatalf(format string, args ...any) { e.Fatal(fmt.Sprintf(format, args...)) }

// end is how a call of Real ends.
func end(t *testing.T, config kafkatest.Config) *ending {
	e := &ending{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		kafkatest.Real(e, config)
	}()
	<-done
	return e
}

func TestRealSkipsOrFailsWithAReason(t *testing.T) {
	for _, test := range []struct {
		name, mode, brokers string
		config              kafkatest.Config
		skipped, failed     string
	}{
		{name: "nothing set", skipped: "KAFKA_TEST=local"},
		{name: "unknown mode", mode: "docker", failed: "KAFKA_TEST=docker, want local"},
		{name: "given, control", brokers: "127.0.0.1:1", config: kafkatest.Config{Control: true}, skipped: "KAFKA_TEST=local"},
		{name: "given, settings", brokers: "127.0.0.1:1", config: kafkatest.Config{Settings: kafkatest.HangSettings()}, skipped: "KAFKA_TEST=local"},
		{name: "given, version", brokers: "127.0.0.1:1", config: kafkatest.Config{Version: "3.9.2"}, skipped: "KAFKA_TEST=local"},
		{name: "local, no Java", mode: "local", config: kafkatest.Config{Private: true}, failed: "install Java 17"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("KAFKA_TEST", test.mode)
			t.Setenv("KAFKA_BROKERS", test.brokers)
			t.Setenv("JAVA_HOME", "")
			t.Setenv("PATH", t.TempDir())
			got := end(t, test.config)
			require.Contains(t, got.skipped, test.skipped)
			require.Contains(t, got.failed, test.failed)
			require.Equal(t, test.skipped == "", got.skipped == "")
			require.Equal(t, test.failed == "", got.failed == "")
			require.NotContains(t, got.failed, "\n", "one line")
		})
	}
}

func TestGivenBrokersAreUsedAndLeftClean(t *testing.T) {
	own := kafkatest.Real(t, kafkatest.Config{})
	t.Setenv("KAFKA_BROKERS", strings.Join(own.Addrs(), ","))
	t.Setenv("KAFKA_TEST", "")
	var topic string
	t.Run("test", func(t *testing.T) {
		c := kafkatest.Real(t, kafkatest.Config{})
		require.Nil(t, c.Local())
		topic = c.Topic(t, kafkatest.TopicConfig{Partitions: 2})
		require.True(t, strings.HasPrefix(topic, "kafkatest-"))
		require.Zero(t, c.Produce(t, topic, 1, kafkatest.Values("a")))
	})
	topics, err := own.Admin().ListTopics(t.Context(), topic)
	require.NoError(t, err)
	require.ErrorIs(t, topics[topic].Err, kerr.UnknownTopicOrPartition)
	require.Contains(t, end(t, kafkatest.Config{Nodes: 2}).skipped, "needs 2 brokers")
}
