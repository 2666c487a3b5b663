package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"

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

// openLocal starts brokers of a version of Apache Kafka, or kfake.
func (a *app) openLocal(ctx context.Context, version string, nodes int) (*localCluster, error) {
	if version == inProcess {
		fake, err := kfake.NewCluster(kfake.NumBrokers(nodes))
		if err != nil {
			return nil, fmt.Errorf("broker in process: %w", err)
		}
		return &localCluster{addrs: fake.ListenAddrs(), close: func() error { fake.Close(); return nil }}, nil
	}
	cluster, err := localkafka.Start(ctx, localkafka.Config{Version: version, Nodes: nodes, Racks: racks(nodes), Log: sayer{a}})
	if err != nil {
		if ctx.Err() != nil {
			return nil, errInterrupted
		}
		return nil, err
	}
	return &localCluster{addrs: cluster.Addrs(), hook: nodeHook(cluster), close: cluster.Close}, nil
}

// racks give each broker one of its own, so that readers have a broker near
// them that is not the leader.
func racks(nodes int) []string {
	out := make([]string, nodes)
	for i := range out {
		out[i] = fmt.Sprintf("rack-%d", i+1)
	}
	return out
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
