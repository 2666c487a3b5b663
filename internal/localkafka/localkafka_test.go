//go:build linux || darwin

package localkafka_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/kafkatest"
	"example.com/readcommitted/internal/localkafka"
)

// childEnv makes this test binary start a broker and wait to be killed.
const childEnv = "LOCALKAFKA_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		child()
		return
	}
	os.Exit(m.Run())
}

func TestKillKeepsDataAndAddress(t *testing.T) {
	c := kafkatest.Real(t, kafkatest.Config{Control: true})
	topic := c.Topic(t, kafkatest.TopicConfig{})
	c.Produce(t, topic, 0, kafkatest.Values("a", "b"))
	node := c.Local().Node(0)
	addr := node.Addr()
	require.DirExists(t, node.PartitionDir(topic, 0))

	require.NoError(t, node.Kill())
	require.False(t, node.Running())
	require.NoError(t, node.Kill(), "a second kill")
	require.NoError(t, node.Start(t.Context()))
	require.Equal(t, addr, node.Addr())
	c.WaitHW(t, topic, 0, 2)
	require.Error(t, node.Start(t.Context()), "start of a running node")
}

func TestStopEndsInOrder(t *testing.T) {
	c := kafkatest.Real(t, kafkatest.Config{Control: true})
	topic := c.Topic(t, kafkatest.TopicConfig{})
	c.Produce(t, topic, 0, kafkatest.Values("a"))
	node := c.Local().Node(0)
	require.NoError(t, node.Stop(t.Context()))
	require.False(t, node.Running())
	require.FileExists(t, node.PartitionDir(topic, 0)+"/../.kafka_cleanshutdown")
	require.NoError(t, node.Start(t.Context()))
	c.WaitHW(t, topic, 0, 1)
}

func TestPausedBrokerDoesNotAnswer(t *testing.T) {
	c := kafkatest.Real(t, kafkatest.Config{Control: true})
	node := c.Local().Node(0)
	topic := c.Topic(t, kafkatest.TopicConfig{})
	require.NoError(t, node.Pause())
	require.True(t, node.Paused())
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := c.HW(ctx, topic, 0)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, node.Continue())
	c.WaitHW(t, topic, 0, 0)
}

func TestToolOutput(t *testing.T) {
	c := kafkatest.Real(t, kafkatest.Config{Control: true})
	topic := c.Topic(t, kafkatest.TopicConfig{})
	c.Produce(t, topic, 0, kafkatest.Values("first", "second"))
	got, err := c.Local().Tool(t.Context(), "org.apache.kafka.tools.consumer.ConsoleConsumer",
		"--bootstrap-server", c.Addrs()[0], "--topic", topic, "--from-beginning", "--max-messages", "2")
	require.NoError(t, err)
	require.Equal(t, "first\nsecond\n", got)

	_, err = c.Local().Tool(t.Context(), "no.such.Class")
	require.ErrorContains(t, err, "no.such.Class")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err = c.Local().Tool(ctx, "org.apache.kafka.tools.TopicCommand", "--bootstrap-server", c.Addrs()[0], "--list")
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// What a broker unpacks goes with its cluster, also if it is killed.
func TestBrokersLeaveNothingInTheTemporaryDirectory(t *testing.T) {
	c := kafkatest.Real(t, kafkatest.Config{Control: true})
	topic := c.Topic(t, kafkatest.TopicConfig{})
	c.Produce(t, topic, 0, kafkatest.Values("a").With(kgo.Lz4Compression()))
	unpacked, err := filepath.Glob(filepath.Join(c.Local().Dir(), "liblz4*"))
	require.NoError(t, err)
	require.NotEmpty(t, unpacked)
}

func TestLeaderMovesWhenItsBrokerDies(t *testing.T) {
	c := kafkatest.Real(t, kafkatest.Config{Nodes: 3, Racks: []string{"a", "b", "c"}, Private: true})
	topic := c.Topic(t, kafkatest.TopicConfig{Replication: 3})
	c.Produce(t, topic, 0, kafkatest.Values("a"))
	c.WaitISR(t, topic, 0, 1, 2, 3)
	leader := c.WaitLeader(t, topic, 0, kafkatest.AnyLeader)
	node := c.Local().Node(int(leader - 1))
	require.NoError(t, node.Kill())
	kafkatest.Wait(t, "another leader", func(ctx context.Context) (string, bool) {
		now := c.WaitLeader(t, topic, 0, kafkatest.AnyLeader)
		return "", now != leader
	})
	c.Produce(t, topic, 0, kafkatest.Values("b"))
	c.WaitHW(t, topic, 0, 2)
	require.NoError(t, node.Start(t.Context()))
	c.WaitISR(t, topic, 0, 1, 2, 3)
}

func TestStartErrorHoldsTheBrokersLastWords(t *testing.T) {
	kafkatest.Real(t, kafkatest.Config{}) // skips where no broker can be started
	_, err := localkafka.Start(t.Context(), localkafka.Config{
		Version:  os.Getenv("KAFKA_VERSION"),
		Settings: map[string]string{"authorizer.class.name": "no.such.Authorizer"},
	})
	require.ErrorContains(t, err, "ended while it started")
	require.ErrorContains(t, err, "no.such.Authorizer")
}

func TestSecondListenerHasItsOwnAddress(t *testing.T) {
	kafkatest.Real(t, kafkatest.Config{}) // skips where no broker can be started
	c, err := localkafka.Start(t.Context(), localkafka.Config{
		Version:   os.Getenv("KAFKA_VERSION"),
		Listeners: map[string]string{"SCRAM": "SASL_PLAINTEXT"},
		Settings: map[string]string{
			"sasl.enabled.mechanisms":                            "SCRAM-SHA-256",
			"listener.name.scram.scram-sha-256.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
		},
		FormatArgs: []string{"--add-scram", "SCRAM-SHA-256=[name=alice,password=secret]"},
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	require.Len(t, c.ListenerAddrs("SCRAM"), 1)
	require.NotEqual(t, c.Addrs(), c.ListenerAddrs("SCRAM"))
	require.Empty(t, c.ListenerAddrs("OTHER"))
	requireSCRAM(t, c.ListenerAddrs("SCRAM")[0], "alice", "secret")
}

func TestBrokerAndDataEndWithAKilledProcess(t *testing.T) {
	kafkatest.Real(t, kafkatest.Config{}) // skips where no broker can be started
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"=1")
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var said childReport
	require.NoError(t, json.NewDecoder(stdout).Decode(&said))
	require.DirExists(t, said.Dir)
	require.NoError(t, syscall.Kill(said.PID, 0), "the broker exists")

	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait(), "killed")
	kafkatest.Wait(t, "end of the broker", func(context.Context) (string, bool) {
		return "it still exists", syscall.Kill(said.PID, 0) != nil
	})
	kafkatest.Wait(t, "removal of its data", func(context.Context) (string, bool) {
		_, err := os.Stat(said.Dir)
		return said.Dir + " still exists", os.IsNotExist(err)
	})
}

type childReport struct {
	PID int
	Dir string
}

// child starts a broker, pauses it (the harder one to end), says where it is
// and sleeps.
func child() {
	c, err := localkafka.Start(context.Background(), localkafka.Config{Version: os.Getenv("KAFKA_VERSION")})
	if err == nil {
		err = c.Node(0).Pause()
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(childReport{c.Node(0).PID(), c.Dir()})
	}
	if err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
	time.Sleep(10 * time.Minute) // killed long before
	os.Exit(1)
}
