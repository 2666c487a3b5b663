package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"example.com/readcommitted/internal/localkafka"
)

// inProcess is the --local of a broker inside this process.
const inProcess = "kfake"

var localVersions = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+$`)

// localCluster is a cluster that lives as long as the command.
type localCluster struct {
	addrs []string
	hook  func(ctx context.Context, action string, broker int32) error
	close func() error
}

// fakeSettings are those of the broker in process: it compacts as soon as real
// ones of --local do, and not once an hour.
var fakeSettings = map[string]string{"log.cleaner.backoff.ms": "200"}

// openLocal starts brokers of a version of Apache Kafka, or kfake.
func (a *app) openLocal(ctx context.Context, version string, nodes int) (*localCluster, error) {
	if version == inProcess {
		fake, err := kfake.NewCluster(kfake.NumBrokers(nodes), kfake.BrokerConfigs(fakeSettings))
		if err != nil {
			return nil, fmt.Errorf("broker in process: %w", err)
		}
		return &localCluster{addrs: fake.ListenAddrs(), close: func() error { fake.Close(); return nil }}, nil
	}
	cluster, err := localkafka.Start(ctx, localkafka.Config{Version: version, Nodes: nodes, Log: sayer{a}})
	if err != nil {
		if ctx.Err() != nil {
			return nil, errInterrupted
		}
		return nil, err
	}
	return &localCluster{addrs: cluster.Addrs(), hook: nodeHook(cluster), close: cluster.Close}, nil
}

// sayer tells each line that is written to it.
type sayer struct{ app *app }

func (s sayer) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		s.app.say("%s", strings.TrimSuffix(line, "\n"))
	}
	return len(p), nil
}

var _ io.Writer = sayer{}

// nodeHook does things to the brokers of a local cluster.
func nodeHook(cluster *localkafka.Cluster) func(context.Context, string, int32) error {
	return func(ctx context.Context, action string, broker int32) error {
		for _, node := range cluster.Nodes() {
			if node.ID() != broker {
				continue
			}
			switch action {
			case "kill":
				return node.Kill()
			case "stop":
				return node.Stop(ctx)
			case "start":
				return node.Start(ctx)
			case "pause":
				return node.Pause()
			case "resume":
				return node.Continue()
			}
			return fmt.Errorf("hook: unknown action %q", action)
		}
		return fmt.Errorf("hook: no broker %d", broker)
	}
}

// hookDelay is how long what a command left running may hold its output.
const hookDelay = 5 * time.Second

// hookTail bounds what is told of a command's output.
const hookTail = 400

// shellHook runs the user's command. Action and broker are words of ours, and
// safe in a shell.
func shellHook(command string) func(context.Context, string, int32) error {
	return func(ctx context.Context, action string, broker int32) error {
		line := strings.NewReplacer("{action}", action, "{broker}", strconv.Itoa(int(broker))).Replace(command)
		cmd := exec.CommandContext(ctx, "sh", "-c", line)
		cmd.WaitDelay = hookDelay
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("hook %s: %w: %s", line, err, oneLine(string(out[max(0, len(out)-hookTail):])))
		}
		return nil
	}
}
