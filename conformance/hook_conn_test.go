package conformance

import (
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// fakeConn is a connection to a broker that may stand still: it takes what is
// sent, as a socket does, and carries it out when it goes on, also if the client
// has left.
type fakeConn struct {
	net.Conn

	mu       sync.Mutex
	changed  chan struct{} // closed, and made anew, when one of the following changes
	still    bool
	left     bool
	taken    []byte
	deadline time.Time
}

func newFakeConn(inner net.Conn, still bool) *fakeConn {
	return &fakeConn{Conn: inner, changed: make(chan struct{}), still: still}
}

func (c *fakeConn) changedLocked() {
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *fakeConn) stand(still bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.still = still
	if !still {
		_ = c.SetWriteDeadline(time.Time{})
		_, _ = c.Conn.Write(c.taken)
		c.taken = nil
		if c.left {
			time.AfterFunc(time.Second, func() { _ = c.Conn.Close() })
		}
	}
	c.changedLocked()
}

func (c *fakeConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.still {
		c.taken = append(c.taken, b...)
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// Read waits until the broker goes on, as long as its caller wants to.
func (c *fakeConn) Read(b []byte) (int, error) {
	for {
		c.mu.Lock()
		still, left, changed, deadline := c.still, c.left, c.changed, c.deadline
		c.mu.Unlock()
		switch {
		case !still:
			return c.Conn.Read(b)
		case left:
			return 0, net.ErrClosed
		}
		if !happens(changed, deadline) {
			return 0, os.ErrDeadlineExceeded
		}
	}
}

// happens waits for an event, and reports whether it came before the deadline;
// zero: none.
func happens(event <-chan struct{}, deadline time.Time) bool {
	if deadline.IsZero() {
		<-event
		return true
	}
	select {
	case <-event:
		return true
	case <-time.After(time.Until(deadline)):
		return false
	}
}

func (c *fakeConn) SetDeadline(at time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = at
	c.changedLocked()
	return c.Conn.SetDeadline(at)
}

func (c *fakeConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left = true; c.still {
		c.changedLocked()
		return nil
	}
	return c.Conn.Close()
}

// Who reads from a broker that stands still is woken by what ends the wait, and
// at that moment.
func TestReadersOfABrokerThatStandsStillAreWoken(t *testing.T) {
	const moment = 1003 * time.Millisecond
	for name, k := range map[string]struct {
		happens func(c *fakeConn, broker net.Conn)
		want    error
	}{
		"it goes on": {func(c *fakeConn, broker net.Conn) {
			go func() { _, _ = io.CopyN(broker, broker, 1) }() // its answer is what it was sent meanwhile
			c.stand(false)
		}, nil},
		"the deadline is moved to now": {func(c *fakeConn, _ net.Conn) { _ = c.SetDeadline(time.Now()) }, os.ErrDeadlineExceeded},
		"the client leaves":            {func(c *fakeConn, _ net.Conn) { _ = c.Close() }, net.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner, broker := net.Pipe()
				defer func() { _, _ = inner.Close(), broker.Close() }()
				c := newFakeConn(inner, true)
				_, err := c.Write([]byte{7})
				require.NoError(t, err)
				require.NoError(t, c.SetDeadline(time.Now().Add(time.Minute)))
				begin := time.Now()
				time.AfterFunc(moment, func() { k.happens(c, broker) })
				_, err = c.Read(make([]byte, 1))
				require.ErrorIs(t, err, k.want)
				require.Equal(t, moment, time.Since(begin))
			})
		})
	}
}

func TestReadersOfABrokerThatStandsStillKeepTheirDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner, broker := net.Pipe()
		defer func() { _, _ = inner.Close(), broker.Close() }()
		c := newFakeConn(inner, true)
		begin := time.Now()
		require.NoError(t, c.SetDeadline(begin.Add(1003*time.Millisecond)))
		_, err := c.Read(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Equal(t, 1003*time.Millisecond, time.Since(begin))
	})
}
