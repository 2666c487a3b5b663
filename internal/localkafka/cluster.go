// Package localkafka starts real Apache Kafka brokers (KRaft) on loopback, for
// tests and for the command line tool.
//
// Java and, the first time, Maven have to be installed; the jars of a Kafka
// version are fetched once into the user's cache directory. A cluster lives in
// a temporary directory of its own, and neither a broker nor that directory
// outlives the process that started it, however that process ends.
//
// # Concurrency
//
// Methods of a Cluster and of different nodes may overlap. Calls that change
// one node (Start, Stop, Kill, Pause, Continue) take turns.
package localkafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// DefaultVersion is the Kafka version that an empty [Config.Version] means.
const DefaultVersion = "4.4.0"

// startLimit bounds Start and Node.Start where the caller's context has no
// deadline. Three brokers on two busy cores need about 15 s.
const startLimit = 2 * time.Minute

// ErrNotInstalled is in the chain of errors that say which program is missing
// and how to install it.
var ErrNotInstalled = errors.New("not installed")

// Config says which brokers to start. The zero value is one broker of
// [DefaultVersion].
type Config struct {
	// Version is Apache Kafka's version, such as "3.9.2".
	Version string

	// Nodes is how many brokers to start, each of them a controller too. The
	// default is 1; odd numbers make sense.
	Nodes int

	// Racks are the broker.rack of each node, in order; missing ones have none.
	Racks []string

	// Settings are broker settings by their Kafka names. They go to all nodes
	// and win over the ones this package chooses.
	Settings map[string]string

	// Listeners are listeners besides the plaintext one: name to security
	// protocol ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"). Each gets a
	// loopback port of its own, see [Cluster.ListenerAddrs]; their security
	// settings belong into Settings.
	Listeners map[string]string

	// FormatArgs are more arguments for StorageTool's format command, such as
	// "--add-scram" and its value.
	FormatArgs []string

	// Log takes a line for each slow step (fetch, format, start); nil drops
	// them. It does not take the brokers' own logs.
	Log io.Writer
}

func (c Config) withDefaults() Config {
	if c.Version == "" {
		c.Version = DefaultVersion
	}
	if c.Nodes == 0 {
		c.Nodes = 1
	}
	if c.Log == nil {
		c.Log = io.Discard
	}
	return c
}

func (c Config) validate() error {
	if c.Nodes < 1 || c.Nodes > 9 {
		return fmt.Errorf("localkafka: %d nodes, want 1 to 9", c.Nodes)
	}
	if len(c.Racks) > c.Nodes {
		return fmt.Errorf("localkafka: %d racks for %d nodes", len(c.Racks), c.Nodes)
	}
	if !versionPattern.MatchString(c.Version) {
		return fmt.Errorf("localkafka: %q is no Kafka version, want one like %s", c.Version, DefaultVersion)
	}
	return nil
}

// Cluster is a set of running brokers. Close it to end them and to remove
// their data.
type Cluster struct {
	config Config
	java   string // path of the java program
	jars   string // directory of the version's jars
	dir    string // everything the brokers write
	nodes  []*Node
	ports  *reservation
	keeper *keeper

	closeOnce sync.Once
	closeErr  error
}

// Start starts the brokers and returns once every one of them answers requests
// and knows all the others. If a broker ends before that, the error holds the
// last lines of its log. A missing Java or Maven is an [ErrNotInstalled].
//
// The context bounds the start only; without a deadline the limit is 2 minutes
// (not counting the download of the jars).
func Start(ctx context.Context, config Config) (*Cluster, error) {
	config = config.withDefaults()
	if err := config.validate(); err != nil {
		return nil, err
	}
	c := &Cluster{config: config}
	if err := c.open(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// open does the steps of Start. Whatever it leaves half done, Close ends.
func (c *Cluster) open(ctx context.Context) (err error) {
	if c.java, err = findJava(); err != nil {
		return err
	}
	if c.jars, err = fetchJars(ctx, c.config.Version, c.config.Log); err != nil {
		return err
	}
	ctx, cancel := withStartLimit(ctx)
	defer cancel()

	if c.dir, err = os.MkdirTemp("", "localkafka-"); err != nil {
		return fmt.Errorf("localkafka: %w", err)
	}
	if c.keeper, err = startKeeper(c.dir); err != nil {
		return err
	}
	listeners := 2 + len(c.config.Listeners) // clients, controllers, more
	if c.ports, err = reservePorts(c.config.Nodes * listeners); err != nil {
		return err
	}
	if err := c.layOut(listeners); err != nil {
		return err
	}
	if err := c.format(ctx); err != nil {
		return err
	}
	say(c.config.Log, "starting %d broker(s) of Apache Kafka %s", len(c.nodes), c.config.Version)
	for _, n := range c.nodes {
		if err := n.launch(); err != nil {
			return err
		}
	}
	for _, n := range c.nodes {
		if err := n.waitReady(ctx, c.nodes); err != nil {
			return err
		}
	}
	return nil
}

// layOut creates the nodes with their ports and directories, then writes the
// files each of them starts from.
func (c *Cluster) layOut(listeners int) error {
	names := sortedKeys(c.config.Listeners)
	for i := range c.config.Nodes {
		ports := c.ports.ports[i*listeners : (i+1)*listeners]
		n := newNode(c, i, ports[0], ports[1])
		for j, name := range names {
			n.extra[name] = loopback(ports[2+j])
		}
		c.nodes = append(c.nodes, n)
	}
	for _, n := range c.nodes {
		if err := n.writeFiles(); err != nil {
			return fmt.Errorf("localkafka: %w", err)
		}
	}
	return nil
}

// Addrs are the brokers' plaintext addresses (host:port), in the order of the
// nodes. They stay the same when a node is started again.
func (c *Cluster) Addrs() []string {
	addrs := make([]string, len(c.nodes))
	for i, n := range c.nodes {
		addrs[i] = n.Addr()
	}
	return addrs
}

// ListenerAddrs are the brokers' addresses at one of [Config.Listeners], empty
// for a name that is not among them.
func (c *Cluster) ListenerAddrs(name string) []string {
	var addrs []string
	for _, n := range c.nodes {
		if addr, ok := n.extra[name]; ok {
			addrs = append(addrs, addr)
		}
	}
	return addrs
}

// Nodes are the brokers, in order. Do not modify the slice.
func (c *Cluster) Nodes() []*Node { return c.nodes }

// Node is the broker at index i, from 0; its broker ID is i+1. It panics if
// there is no such node.
func (c *Cluster) Node(i int) *Node { return c.nodes[i] }

// Dir is the temporary directory with everything the brokers write.
func (c *Cluster) Dir() string { return c.dir }

// Version is the Kafka version that runs.
func (c *Cluster) Version() string { return c.config.Version }

// Close kills all brokers and tools, removes their data, and returns when that
// is done. It is idempotent.
func (c *Cluster) Close() error {
	c.closeOnce.Do(func() {
		for _, n := range c.nodes {
			c.closeErr = errors.Join(c.closeErr, n.Kill())
		}
		switch {
		case c.keeper != nil:
			c.closeErr = errors.Join(c.closeErr, c.keeper.close())
		case c.dir != "":
			c.closeErr = errors.Join(c.closeErr, os.RemoveAll(c.dir))
		}
		c.ports.release()
	})
	return c.closeErr
}

func withStartLimit(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, startLimit)
}

// say writes a line of progress. A log that cannot be written is no reason to
// fail.
func say(log io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(log, format+"\n", args...)
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (c *Cluster) path(elem ...string) string {
	return filepath.Join(append([]string{c.dir}, elem...)...)
}
