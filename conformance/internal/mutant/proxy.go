// Package mutant puts a proxy that knows Kafka's protocol in front of a
// cluster and damages what it says, one way at a time, to find out what a
// checker notices.
//
// The proxy has an address for each broker and puts these into the answers that
// name brokers, so that no client goes around it. Without a damage it changes
// nothing else.
package mutant

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Damage is one way to be wrong. Both functions may be nil; they are called
// for one exchange at a time.
type Damage struct {
	// Request may change the request, or answer it by setting Call.Response,
	// in which case the broker never sees it.
	Request func(*Call)
	// Response may change the answer.
	Response func(*Call)
	// Keys are the requests that are decoded for the damage; others pass as
	// they are.
	Keys []kmsg.Key
}

// Call is one exchange on its way through the proxy.
type Call struct {
	Broker   int32
	Request  kmsg.Request
	Response kmsg.Response

	// Forward sends a request of the damage's own to the same broker and
	// returns the answer, nil if there was none.
	Forward func(kmsg.Request) kmsg.Response

	pending pending
}

// Proxy stands before a cluster until it is closed.
type Proxy struct {
	damage   Damage
	upstream *kgo.Client

	turn sync.Mutex // one exchange at a time is damaged

	mu        sync.Mutex
	listeners map[int32]net.Listener
	addresses map[int32]string // of the brokers themselves
	open      map[net.Conn]bool
	closed    bool
	running   sync.WaitGroup
}

// New starts a proxy before the cluster with these bootstrap addresses.
func New(ctx context.Context, seeds []string, damage Damage) (*Proxy, error) {
	upstream, err := kgo.NewClient(kgo.SeedBrokers(seeds...))
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		damage: damage, upstream: upstream,
		listeners: map[int32]net.Listener{}, addresses: map[int32]string{}, open: map[net.Conn]bool{},
	}
	resp, err := kmsg.NewPtrMetadataRequest().RequestWith(ctx, upstream)
	if err != nil {
		p.Close()
		return nil, err
	}
	for _, b := range resp.Brokers {
		if _, err := p.address(b.NodeID, b.Host, b.Port); err != nil {
			p.Close()
			return nil, err
		}
	}
	return p, nil
}

// Addrs are the addresses to reach the cluster through the proxy.
func (p *Proxy) Addrs() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, l := range p.listeners {
		out = append(out, l.Addr().String())
	}
	return out
}

// Close ends the proxy and all connections through it.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	for _, l := range p.listeners {
		_ = l.Close()
	}
	for c := range p.open {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.running.Wait()
	p.upstream.Close()
}

// address is where the proxy stands for a broker.
func (p *Proxy) address(broker int32, host string, port int32) (net.Addr, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.addresses[broker] = net.JoinHostPort(host, strconv.Itoa(int(port)))
	if l := p.listeners[broker]; l != nil {
		return l.Addr(), nil
	}
	if p.closed {
		return nil, errors.New("the proxy is closed")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p.listeners[broker] = l
	p.running.Go(func() { p.accept(broker, l) })
	return l.Addr(), nil
}

func (p *Proxy) accept(broker int32, l net.Listener) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		address := p.addresses[broker]
		p.mu.Unlock()
		server, err := net.Dial("tcp", address)
		if err != nil || !p.track(client, server) {
			_ = client.Close()
			continue
		}
		link := &link{proxy: p, broker: broker, client: client, server: server, waiting: make(chan *Call, 1024)}
		p.running.Go(link.requests)
		p.running.Go(link.responses)
	}
}

func (p *Proxy) track(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		if p.closed {
			_ = c.Close()
			continue
		}
		p.open[c] = true
	}
	return !p.closed
}

func (p *Proxy) untrack(c net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, c)
	_ = c.Close()
}

// readFrame reads one message without its size.
func readFrame(r *bufio.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > 256<<20 {
		return nil, fmt.Errorf("a message of %d bytes", size)
	}
	frame := make([]byte, size)
	_, err := io.ReadFull(r, frame)
	return frame, err
}

func writeFrame(w io.Writer, frame []byte) error {
	out := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(frame)), uint32(len(frame)))
	_, err := w.Write(append(out, frame...))
	return err
}
