// Package kafkatest gives tests a Kafka cluster, real or fake, and what they
// do with it over and over: topics, transactions with a chosen outcome, waits.
//
// [Fake] starts kfake in this process. [Real] follows the environment:
//
//   - KAFKA_TEST=local starts real Apache Kafka brokers on loopback, shared by
//     the tests of one test binary that ask for the same configuration. They
//     end with the test binary, however it ends. KAFKA_VERSION chooses the
//     version.
//   - KAFKA_BROKERS=host:port,... takes a cluster that runs already, for tests
//     that need an address only. They use topics of their own and delete them.
//   - With neither, the test is skipped.
//
// # Goroutines
//
// A cluster's client ends in a cleanup of the test it was made for; shared
// brokers stay. A leak check belongs into a cleanup that is registered before
// [Real] or [Fake], with [LeakOptions].
package kafkatest

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/goleak"

	"example.com/readcommitted/internal/localkafka"
)

// Config says what a test needs of its cluster. The zero value is one broker.
type Config struct {
	// Nodes is how many brokers; a given cluster (KAFKA_BROKERS) may have more.
	// The default is 1.
	Nodes int

	// Settings are broker settings of a real cluster. A test that has some
	// never runs on a given cluster, and does not share brokers with tests
	// that have others.
	Settings map[string]string

	// Racks are the racks of a real cluster's nodes, treated like Settings.
	Racks []string

	// Version is Apache Kafka's version, treated like Settings. The default is
	// KAFKA_VERSION, else [localkafka.DefaultVersion].
	Version string

	// Control is for tests that kill, pause or restart brokers, through
	// [Cluster.Local]. They never run on a given cluster, and must not run in
	// parallel with others. Shared brokers are running again when the next
	// test gets them.
	Control bool

	// Private gives the test brokers that no other test uses, ended with it.
	Private bool

	// Fake are more options for [Fake].
	Fake []kfake.Opt

	listeners map[string]string // of [Secured]
}

// Cluster is a cluster as one test sees it.
type Cluster struct {
	addrs   []string
	local   *localkafka.Cluster
	private bool // local is this test's alone
	fake    *kfake.Cluster
	client  *kgo.Client // for set-up, waits and plain producing
	admin   *kadm.Client
}

// Real returns a real cluster, or skips the test; see the package comment.
// With KAFKA_TEST=local and no Java or Maven the test fails.
func Real(t testing.TB, config Config) *Cluster {
	t.Helper()
	given := os.Getenv("KAFKA_BROKERS")
	switch mode := os.Getenv("KAFKA_TEST"); {
	case given != "" && !config.needsOwn():
		return newGiven(t, config, strings.Split(given, ","))
	case mode == "local":
		return newLocal(t, config)
	case mode != "":
		t.Fatalf("KAFKA_TEST=%s, want local", mode)
	case given != "":
		t.Skip("needs brokers of its own (settings, restarts): run with KAFKA_TEST=local")
	}
	t.Skip("needs a real Kafka: run with KAFKA_TEST=local (Java 17, Maven), or with KAFKA_BROKERS=host:port,...")
	return nil
}

// Fake returns a kfake cluster that is closed when the test ends. Of config,
// Nodes and Fake count.
func Fake(t testing.TB, config Config) *Cluster {
	t.Helper()
	opts := append([]kfake.Opt{kfake.NumBrokers(max(config.Nodes, 1))}, config.Fake...)
	fake, err := kfake.NewCluster(opts...)
	require.NoError(t, err)
	t.Cleanup(fake.Close)
	c := &Cluster{addrs: fake.ListenAddrs(), fake: fake}
	c.connect(t)
	return c
}

// Each runs a test twice, as subtests "kfake" and "kafka"; the latter as [Real]
// rules.
func Each(t *testing.T, config Config, test func(*testing.T, *Cluster)) {
	t.Helper()
	t.Run("kfake", func(t *testing.T) { test(t, Fake(t, config)) })
	t.Run("kafka", func(t *testing.T) { test(t, Real(t, config)) })
}

// Addrs are the brokers' addresses, host:port.
func (c *Cluster) Addrs() []string { return c.addrs }

// Local is the handle on the brokers' processes, nil if this package did not
// start real ones. Ask for [Config.Control] before stopping any.
func (c *Cluster) Local() *localkafka.Cluster { return c.local }

// Fake is the kfake cluster, nil if the cluster is real.
func (c *Cluster) Fake() *kfake.Cluster { return c.fake }

// Client returns a plain kgo client of the cluster, closed when the test ends.
func (c *Cluster) Client(t testing.TB, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(c.addrs...)}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}

// Admin is the cluster's admin client. It is closed with the cluster.
func (c *Cluster) Admin() *kadm.Client { return c.admin }

// LeakOptions make goleak pass over the goroutines that keep shared brokers.
func LeakOptions() []goleak.Option {
	const keeper = "example.com/readcommitted/internal/localkafka.(*keeper)."
	return []goleak.Option{
		goleak.IgnoreAnyFunction(keeper + "serve"),
		goleak.IgnoreAnyFunction(keeper + "wait"),
	}
}

// connect gives the cluster its client, for set-up, waits and plain producing.
func (c *Cluster) connect(t testing.TB) {
	t.Helper()
	c.client = c.Client(t, kgo.MetadataMinAge(10*time.Millisecond), kgo.MaxVersions(producerVersions(2)))
	c.admin = kadm.NewClient(c.client)
}

func newGiven(t testing.TB, config Config, addrs []string) *Cluster {
	t.Helper()
	c := &Cluster{addrs: addrs}
	c.connect(t)
	ctx, cancel := context.WithTimeout(t.Context(), Limit)
	defer cancel()
	brokers, err := c.admin.ListBrokers(ctx)
	require.NoError(t, err, "KAFKA_BROKERS=%s", strings.Join(addrs, ","))
	if len(brokers) < config.Nodes {
		t.Skipf("needs %d brokers, KAFKA_BROKERS has %d", config.Nodes, len(brokers))
	}
	return c
}

// needsOwn reports whether a cluster that runs already will not do.
func (c Config) needsOwn() bool {
	return c.Control || c.Private || len(c.Settings) > 0 || len(c.Racks) > 0 || c.Version != ""
}
