package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Client holds connections to a cluster: one for each broker and lane. A lane
// is a name that the caller makes up; requests of different lanes never wait
// for each other.
type Client struct {
	config Config
	nextID atomic.Uint64
	watch  func(*Exchange)
	life   context.Context //nolint:containedctx // ends with Close, and every dialing with it
	end    context.CancelFunc

	mu      sync.Mutex
	conns   map[lane]*slot
	brokers map[int32]string // addresses by node ID
	asked   int16            // the version of ApiVersions that works, -1: not known
	closed  bool
}

type lane struct {
	broker int32 // Bootstrap for any
	name   string
}

// slot makes those who want the same connection wait for one attempt.
type slot struct {
	mu   sync.Mutex
	conn *Conn
}

// Bootstrap stands for whichever bootstrap address answers.
const Bootstrap int32 = -1

// New makes a client; nothing is dialed yet. watch is called with every
// finished exchange, from the goroutine that made it; nil is fine.
func New(config Config, watch func(*Exchange)) *Client {
	if watch == nil {
		watch = func(*Exchange) {}
	}
	life, end := context.WithCancel(context.Background())
	return &Client{
		config: config.withDefaults(), watch: watch, life: life, end: end,
		conns: map[lane]*slot{}, brokers: map[int32]string{}, asked: -1,
	}
}

// Close ends all connections of lanes, and what is being dialed.
func (c *Client) Close() {
	c.end()
	c.mu.Lock()
	c.closed = true
	slots := c.conns
	c.conns = map[lane]*slot{}
	c.mu.Unlock()
	for _, s := range slots {
		s.mu.Lock()
		if s.conn != nil {
			s.conn.Close()
		}
		s.mu.Unlock()
	}
}

// Conn is the connection of a lane, made if there is none or the last one is
// of no use any more, such as one that the broker closed for being idle.
func (c *Client) Conn(ctx context.Context, broker int32, name string) (*Conn, error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, fmt.Errorf("%w: the client is closed", ErrUnreachable)
	}
	key := lane{broker, name}
	s := c.conns[key]
	if s == nil {
		s = new(slot)
		c.conns[key] = s
	}
	c.mu.Unlock()

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil && s.conn.usable() {
		return s.conn, nil
	}
	conn, err := c.Fresh(ctx, broker)
	if err != nil {
		return nil, err
	}
	if s.conn != nil {
		s.conn.Close()
	}
	s.conn = conn
	return conn, nil
}

// Fresh is a connection of its own, which the caller closes.
func (c *Client) Fresh(ctx context.Context, broker int32) (*Conn, error) {
	addresses, err := c.addresses(broker)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	var last error
	for _, address := range addresses {
		conn, err := connect(ctx, &c.config, broker, address, c.nextID.Add(1), c.known())
		if err == nil {
			c.learn(conn.ranges.Asked)
			return conn, nil
		}
		last = err
		if c.life.Err() != nil {
			return nil, fmt.Errorf("%w: the client is closed", ErrUnreachable)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, last
}

// Do sends a request on a lane's connection. The version must be set.
func (c *Client) Do(ctx context.Context, broker int32, name string, req kmsg.Request) *Exchange {
	conn, err := c.Conn(ctx, broker, name)
	if err != nil {
		return &Exchange{Broker: broker, Request: req, Err: err}
	}
	return c.On(ctx, conn, req)
}

// On sends a request on a given connection.
func (c *Client) On(ctx context.Context, conn *Conn, req kmsg.Request) *Exchange {
	e := conn.Do(ctx, req)
	c.watch(e)
	return e
}

// Learn takes over the addresses of an answer to Metadata.
func (c *Client) Learn(resp *kmsg.MetadataResponse) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range resp.Brokers {
		c.brokers[b.NodeID] = net.JoinHostPort(b.Host, fmt.Sprint(b.Port))
	}
}

func (c *Client) addresses(broker int32) ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, fmt.Errorf("%w: the client is closed", ErrUnreachable)
	}
	if broker == Bootstrap {
		return c.config.Seeds, nil
	}
	address, ok := c.brokers[broker]
	if !ok {
		return nil, fmt.Errorf("%w: broker %d is not in the metadata", ErrUnreachable, broker)
	}
	return []string{address}, nil
}

func (c *Client) known() int16 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked
}

func (c *Client) learn(asked int16) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = asked
}

// IsUnknown reports whether an error leaves open if the request was carried out.
func IsUnknown(err error) bool {
	return errors.Is(err, ErrCut) || errors.Is(err, ErrTimeout) || errors.Is(err, ErrGarbage)
}
