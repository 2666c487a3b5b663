// Package netfault is a network that fails when it is told to. Its connections
// look at the frames of requests, above TLS, so that a fault can be aimed at
// one request of one producer, on any cluster and without leave of its owner.
package netfault

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"sync"
	"time"
)

// Kind is a way in which a request fails on its way.
type Kind uint8

// The kinds.
const (
	None  Kind = iota
	Delay      // the request comes later
	Stall      // the answer comes later
	Drop       // the request is carried out, and the connection is cut instead of the answer
	Cut        // the connection is cut within the request
	Late       // the connection is cut, and the request arrives all the same, later
)

// Fault is what happens to one request.
type Fault struct {
	Kind Kind
	Wait time.Duration // of Delay, Stall and Late
}

// Network makes connections. All methods may overlap.
type Network struct {
	dial func(ctx context.Context, network, address string) (net.Conn, error)
	late sync.WaitGroup

	mu    sync.Mutex
	armed []armed
	turns []turn
	done  map[Kind]int
}

// armed is a fault that waits for its request.
type armed struct {
	key   int16
	mark  string
	fault Fault
}

// turn is a fault for one of n requests.
type turn struct {
	key     int16
	n, seen int
	faults  []Fault
}

// New makes a network over one that works.
func New(dial func(ctx context.Context, network, address string) (net.Conn, error)) *Network {
	return &Network{dial: dial, done: map[Kind]int{}}
}

// Arm aims a fault at the next request with a key that has a mark, such as a
// transactional ID, in its bytes.
func (n *Network) Arm(key int16, mark string, fault Fault) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.armed = append(n.armed, armed{key, mark, fault})
}

// Disarm takes back what was aimed at requests with a mark and has not met one.
func (n *Network) Disarm(mark string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.armed = slices.DeleteFunc(n.armed, func(a armed) bool { return a.mark == mark })
}

// Every lets one of n requests with a key fail, by the faults in turn.
func (n *Network) Every(key int16, one int, faults ...Fault) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.turns = append(n.turns, turn{key: key, n: one, faults: faults})
}

// Done is how many requests met a fault.
func (n *Network) Done() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := 0
	for _, count := range n.done {
		all += count
	}
	return all
}

// Wait returns when no request is on its way any more whose sender has gone.
func (n *Network) Wait() { n.late.Wait() }

// Dial makes a connection.
func (n *Network) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := n.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, network: n}, nil
}

// take is the fault for a request, if the bytes are a whole one.
func (n *Network) take(frame []byte) Fault {
	if len(frame) < 8 || int(binary.BigEndian.Uint32(frame)) != len(frame)-4 {
		return Fault{}
	}
	key := int16(binary.BigEndian.Uint16(frame[4:]))
	n.mu.Lock()
	defer n.mu.Unlock()
	f := n.takeArmed(key, frame)
	for i := range n.turns {
		if t := &n.turns[i]; f.Kind == None && t.key == key {
			if t.seen++; t.seen%t.n == 0 {
				f = t.faults[t.seen/t.n%len(t.faults)]
			}
		}
	}
	if f.Kind != None {
		n.done[f.Kind]++
	}
	return f
}

func (n *Network) takeArmed(key int16, frame []byte) Fault {
	for i, a := range n.armed {
		if a.key == key && bytes.Contains(frame, []byte(a.mark)) {
			n.armed = slices.Delete(n.armed, i, i+1)
			return a.fault
		}
	}
	return Fault{}
}

// conn is one connection of the network.
type conn struct {
	net.Conn
	network *Network

	mu    sync.Mutex
	stall time.Duration // before the next answer
	drop  bool          // the next answer
	cut   bool          // the sender has lost it
	late  bool          // and it lives on without the sender
}

// Write sends a request, or lets it fail.
func (c *conn) Write(p []byte) (int, error) {
	f := c.network.take(p)
	if f.Kind == Delay {
		time.Sleep(f.Wait)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch f.Kind {
	case None, Delay:
	case Stall:
		c.stall = f.Wait
	case Drop:
		c.drop = true
	case Cut:
		c.cut = true
		_, err := c.Conn.Write(p[:len(p)/2])
		_ = c.Conn.Close()
		return len(p), err
	case Late:
		c.cut, c.late = true, true
		frame := bytes.Clone(p)
		c.network.late.Go(func() { c.arrive(frame, f.Wait) })
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// arriving bounds how long a late request takes once it is sent.
const arriving = 5 * time.Second

// arrive sends a request whose sender has gone.
func (c *conn) arrive(frame []byte, wait time.Duration) {
	defer func() { _ = c.Conn.Close() }()
	time.Sleep(wait)
	_ = c.Conn.SetDeadline(time.Now().Add(arriving))
	if _, err := c.Conn.Write(frame); err == nil {
		_ = discard(c.Conn)
	}
}

// Read returns what is answered, unless that is lost.
func (c *conn) Read(p []byte) (int, error) {
	c.mu.Lock()
	stall, drop, cut := c.stall, c.drop, c.cut
	c.stall = 0
	c.mu.Unlock()
	switch {
	case cut:
		return 0, io.EOF
	case drop:
		_ = discard(c.Conn)
		_ = c.Conn.Close()
		return 0, io.EOF
	}
	time.Sleep(stall)
	return c.Conn.Read(p)
}

// Close ends the connection, unless a request is to arrive after its sender has
// gone.
func (c *conn) Close() error {
	if c.isLate() {
		return nil
	}
	return c.Conn.Close()
}

// SetDeadline is for the sender's exchanges, and not for what arrives later.
func (c *conn) SetDeadline(t time.Time) error {
	if c.isLate() {
		return nil
	}
	return c.Conn.SetDeadline(t)
}

func (c *conn) isLate() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.late
}

// discard reads one answer and throws it away.
func discard(r io.Reader) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	_, err := io.CopyN(io.Discard, r, int64(binary.BigEndian.Uint32(head[:])))
	return err
}
