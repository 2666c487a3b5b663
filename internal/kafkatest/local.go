package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/internal/localkafka"
)

// startTimeout bounds the start of brokers, with a download of their jars.
const startTimeout = 5 * time.Minute

// shared holds one cluster for each configuration that was asked for. They
// stay until the test binary ends; localkafka then ends them.
var shared = struct {
	mu       sync.Mutex
	clusters map[string]*sharedCluster
}{clusters: map[string]*sharedCluster{}}

type sharedCluster struct {
	start func() (*localkafka.Cluster, error)
}

func newLocal(t testing.TB, config Config) *Cluster {
	t.Helper()
	local := config.local()
	var cluster *localkafka.Cluster
	var err error
	if config.Private {
		cluster, err = startLocal(local)
	} else {
		cluster, err = sharedFor(local).start()
	}
	if errors.Is(err, localkafka.ErrNotInstalled) {
		t.Fatal(err) // one line, without require's frame
	}
	require.NoError(t, err)
	if config.Private {
		t.Cleanup(func() {
			if err := cluster.Close(); err != nil {
				t.Errorf("close brokers: %v", err)
			}
		})
	} else {
		t.Cleanup(func() { restore(t, cluster) })
	}
	c := &Cluster{addrs: cluster.Addrs(), local: cluster, private: config.Private}
	c.connect(t)
	return c
}

func startLocal(config localkafka.Config) (*localkafka.Cluster, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return localkafka.Start(ctx, config)
}

func sharedFor(config localkafka.Config) *sharedCluster {
	key := fmt.Sprintf("%+v", config) // maps print in key order
	shared.mu.Lock()
	defer shared.mu.Unlock()
	s, ok := shared.clusters[key]
	if !ok {
		s = &sharedCluster{start: sync.OnceValues(func() (*localkafka.Cluster, error) { return startLocal(config) })}
		shared.clusters[key] = s
	}
	return s
}

// restore has every broker of a shared cluster running for the next test.
func restore(t testing.TB, cluster *localkafka.Cluster) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for _, n := range cluster.Nodes() {
		if err := n.Continue(); err != nil {
			t.Errorf("continue broker %d: %v", n.ID(), err)
		}
	}
	for _, n := range cluster.Nodes() {
		if n.Running() {
			continue
		}
		if err := n.Start(ctx); err != nil {
			t.Errorf("start broker %d again: %v", n.ID(), err)
		}
	}
}

func (c Config) local() localkafka.Config {
	version := c.Version
	if version == "" {
		version = os.Getenv("KAFKA_VERSION")
	}
	if version == "" {
		version = localkafka.DefaultVersion
	}
	return localkafka.Config{
		Version: version, Nodes: max(c.Nodes, 1), Racks: c.Racks, Settings: c.Settings, Listeners: c.listeners,
	}
}
