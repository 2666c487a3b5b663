package main

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// readRate bounds what all connections together read, as a slow network would.
type readRate struct {
	bytesPerSecond float64

	mu   sync.Mutex
	free time.Time // when what was read so far is paid for
}

// readAtOnce bounds what is taken off a connection in one go, and so how long
// the connection waits after it.
const readAtOnce = 16 << 10

// pay waits until n bytes fit into the rate.
func (r *readRate) pay(n int) {
	r.mu.Lock()
	if now := time.Now(); r.free.Before(now) {
		r.free = now
	}
	r.free = r.free.Add(time.Duration(float64(n) / r.bytesPerSecond * float64(time.Second)))
	wait := time.Until(r.free)
	r.mu.Unlock()
	time.Sleep(wait)
}

// slowed makes clients with these options read no faster than a rate, in MB/s.
func slowed(opts []kgo.Opt, rate float64) ([]kgo.Opt, error) {
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, err
	}
	defer client.Close() // it has dialed nothing
	dial, _ := client.OptValue(kgo.Dialer).(func(context.Context, string, string) (net.Conn, error))
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	r := &readRate{bytesPerSecond: rate * 1e6}
	return append(opts, kgo.DialTLSConfig(nil), kgo.Dialer(func(ctx context.Context, network, address string) (net.Conn, error) { // dial does TLS itself
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &slowConn{conn, r}, nil
	})), nil
}

// slowConn is a connection that is read at a rate.
type slowConn struct {
	net.Conn
	rate *readRate
}

func (c *slowConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p[:min(len(p), readAtOnce)])
	c.rate.pay(n)
	return n, err
}
