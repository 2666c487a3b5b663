package localkafka

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
)

// errNodeRunning is returned by Start of a node that runs already.
var errNodeRunning = errors.New("localkafka: node is running")

// Node is one broker, which is a controller too.
type Node struct {
	cluster        *Cluster
	index          int
	port           int
	controllerPort int
	extra          map[string]string // listener name to host:port
	dir            string            // settings, log and data of this node

	change sync.Mutex // held over a whole change, so that changes take turns

	mu     sync.Mutex
	proc   *process // nil before the first start
	paused bool
}

func newNode(c *Cluster, index, port, controllerPort int) *Node {
	return &Node{
		cluster:        c,
		index:          index,
		port:           port,
		controllerPort: controllerPort,
		extra:          map[string]string{},
		dir:            c.path("node-" + strconv.Itoa(index+1)),
	}
}

// ID is the broker ID: 1 for node 0.
func (n *Node) ID() int32 { return int32(n.index + 1) }

// Addr is the plaintext address, host:port.
func (n *Node) Addr() string { return loopback(n.port) }

// PartitionDir is the directory with the segments of a partition on this node.
// It exists once the node holds a replica.
func (n *Node) PartitionDir(topic string, partition int32) string {
	return filepath.Join(n.dataDir(), topic+"-"+strconv.Itoa(int(partition)))
}

// LogTail are up to the last lines lines the broker wrote to its log.
func (n *Node) LogTail(lines int) string { return tail(n.logFile(), lines) }

// PID is the process ID of the broker, 0 if it was never started.
func (n *Node) PID() int {
	if proc := n.current(); proc != nil {
		return proc.cmd.Process.Pid
	}
	return 0
}

// Running reports whether the broker's process exists, paused or not.
func (n *Node) Running() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.proc.running()
}

// Start starts the broker again on the data and ports it had, and returns when
// it answers requests and is registered. It is an error if it runs.
//
// After [Node.Kill] that can take the whole broker.session.timeout.ms (6 s by
// default): until then the controller holds the old registration for alive.
func (n *Node) Start(ctx context.Context) error {
	n.change.Lock()
	defer n.change.Unlock()
	if n.Running() {
		return errNodeRunning
	}
	ctx, cancel := withStartLimit(ctx)
	defer cancel()
	if err := n.launch(); err != nil {
		return err
	}
	return n.waitReady(ctx, []*Node{n})
}

// Stop ends the broker in an orderly way (SIGTERM): it hands its partitions
// over and flushes. If the context ends first the broker is killed and the
// context's error returned. It does nothing if the broker does not run.
func (n *Node) Stop(ctx context.Context) error {
	if err := n.Continue(); err != nil {
		return err
	}
	n.change.Lock()
	defer n.change.Unlock()
	proc := n.current()
	if err := proc.signal(sigTerminate); err != nil {
		return err
	}
	select {
	case <-proc.done():
		return nil
	case <-ctx.Done():
		err := proc.kill()
		return errors.Join(fmt.Errorf("localkafka: node %d did not stop: %w", n.ID(), ctx.Err()), err)
	}
}

// Kill ends the broker at once (SIGKILL), paused or not, and returns when it is
// gone. It does nothing if the broker does not run.
func (n *Node) Kill() error {
	n.change.Lock()
	defer n.change.Unlock()
	n.setPaused(false)
	return n.current().kill()
}

// Pause stops the broker from running (SIGSTOP): connections stay open and
// nothing answers.
func (n *Node) Pause() error {
	n.change.Lock()
	defer n.change.Unlock()
	n.setPaused(true)
	return n.current().signal(sigPause)
}

// Continue lets a paused broker run again (SIGCONT). It does nothing if the
// broker is not paused.
func (n *Node) Continue() error {
	n.change.Lock()
	defer n.change.Unlock()
	if !n.Paused() {
		return nil
	}
	n.setPaused(false)
	return n.current().signal(sigContinue)
}

// Paused reports whether the broker was paused and not continued since.
func (n *Node) Paused() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.paused
}

func (n *Node) setPaused(paused bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.paused = paused
}

func (n *Node) current() *process {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.proc
}

// launch starts the process and returns without waiting for it to be ready.
func (n *Node) launch() error {
	log, err := os.OpenFile(n.logFile(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("localkafka: %w", err)
	}
	defer func() { _ = log.Close() }() // the broker has its own descriptor
	args := append(n.cluster.javaArgs(), "-Xms128m", "-Xmx384m", "kafka.Kafka", n.settingsFile())
	cmd := exec.Command(n.cluster.java, args...)
	cmd.Dir = n.dir
	cmd.Stdout, cmd.Stderr = log, log
	proc, err := n.cluster.keeper.start(cmd)
	if err != nil {
		return fmt.Errorf("localkafka: node %d: %w", n.ID(), err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.proc, n.paused = proc, false
	return nil
}

func (n *Node) dataDir() string      { return filepath.Join(n.dir, "data") }
func (n *Node) settingsFile() string { return filepath.Join(n.dir, "server.properties") }
func (n *Node) logFile() string      { return filepath.Join(n.dir, "broker.log") }
