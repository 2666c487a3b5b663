package wire

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Conn is one connection to one broker, logged in.
type Conn struct {
	id      uint64
	broker  int32
	address string
	config  *Config
	format  *kmsg.RequestFormatter
	ranges  Versions
	closed  atomic.Bool // by Close

	mu          sync.Mutex // held for a whole exchange
	socket      net.Conn
	reader      *bufio.Reader
	correlation int32
	expires     time.Time // when the login has to be renewed; zero: never
	used        time.Time // by the last exchange
	dead        error     // set once the stream is of no use any more
}

// Versions are what the broker announced when the connection was made.
func (c *Conn) Versions() Versions { return c.ranges }

// usable reports whether the next request may go out. A login that is about to
// expire (KIP-368) is not renewed; the next request gets a new connection.
func (c *Conn) usable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead == nil && !c.closed.Load() && time.Since(c.used) > idle {
		c.look()
	}
	return c.dead == nil && !c.closed.Load() && (c.expires.IsZero() || time.Now().Before(c.expires))
}

const (
	// idle is how long nothing was asked before a connection is looked at:
	// brokers close those that nobody uses.
	idle = time.Second
	// glance is how long that may take.
	glance = time.Millisecond
)

// look finds out whether the broker closed the connection.
func (c *Conn) look() {
	_ = c.socket.SetReadDeadline(time.Now().Add(glance))
	_, err := c.reader.Peek(1)
	_ = c.socket.SetReadDeadline(time.Time{})
	var timeout net.Error
	if err != nil && (!errors.As(err, &timeout) || !timeout.Timeout()) {
		c.end(fmt.Errorf("%w: %w", ErrCut, err))
	}
}

// Close ends the connection. An exchange under way ends with ErrCut.
func (c *Conn) Close() {
	c.closed.Store(true)
	_ = c.socket.Close()
}

// Do sends a request in the version it carries and waits for the answer.
func (c *Conn) Do(ctx context.Context, req kmsg.Request) *Exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.exchange(req)
	if e.Err = c.send(ctx, e); e.Err != nil {
		return e
	}
	c.receive(ctx, e)
	c.used = time.Now()
	return e
}

// SendAndLeave sends a request and closes the connection without reading the
// answer: the broker may carry the request out, and nobody is told.
func (c *Conn) SendAndLeave(ctx context.Context, req kmsg.Request) *Exchange {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.exchange(req)
	if e.Err = c.send(ctx, e); e.Err == nil {
		e.Err = fmt.Errorf("%w: by the checker, on purpose", ErrCut)
	}
	c.end(e.Err)
	return e
}

func (c *Conn) exchange(req kmsg.Request) *Exchange {
	return &Exchange{Broker: c.broker, Address: c.address, Conn: c.id, Request: req}
}

// end makes the connection unusable; the first reason is kept.
func (c *Conn) end(err error) {
	if c.dead == nil {
		c.dead = err
	}
	_ = c.socket.Close()
}

func (c *Conn) send(ctx context.Context, e *Exchange) error {
	switch {
	case c.closed.Load():
		return fmt.Errorf("%w: the connection is closed", ErrUnreachable)
	case c.dead != nil:
		return fmt.Errorf("%w: the connection is gone: %w", ErrUnreachable, c.dead)
	case ctx.Err() != nil:
		return failed(ctx, ErrUnreachable, ctx.Err())
	}
	if !c.ranges.Allow(e.Request.Key(), e.Request.GetVersion()) {
		return fmt.Errorf("%w: %s v%d; the broker has %s", ErrUnsupported,
			kmsg.NameForKey(e.Request.Key()), e.Request.GetVersion(), c.ranges.Describe(e.Request.Key()))
	}
	c.correlation++
	frame := c.format.AppendRequest(nil, e.Request, c.correlation)
	stop := c.bound(ctx, c.config.Timeout)
	defer stop()
	e.Sent = time.Now()
	if _, err := c.socket.Write(frame); err != nil {
		err = failed(ctx, ErrCut, err)
		c.end(err)
		return err
	}
	return nil
}

// receive waits for the answer to what was just sent.
func (c *Conn) receive(ctx context.Context, e *Exchange) {
	stop := c.bound(ctx, c.config.Timeout+allowedWait(e.Request))
	defer stop()
	var err error
	e.Bytes, err = c.readFrame(ctx)
	e.Received = time.Now()
	if err == nil {
		e.Bytes, err = c.unwrap(e.Bytes, e.Request)
	}
	if err == nil {
		e.Response, err = decode(e.Request, e.Bytes)
	}
	if err != nil {
		e.Err = err
		c.end(err)
	}
}

// bound makes reads and writes end with the context or after limit. After stop
// nothing of it is left, so that the next exchange has only a bound of its own.
func (c *Conn) bound(ctx context.Context, limit time.Duration) (stop func()) {
	deadline := time.Now().Add(limit)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	_ = c.socket.SetDeadline(deadline)
	over := make(chan struct{})
	unhook := context.AfterFunc(ctx, func() {
		defer close(over)
		_ = c.socket.SetDeadline(time.Unix(1, 0))
	})
	return func() {
		if !unhook() {
			<-over
		}
		_ = c.socket.SetDeadline(time.Time{})
	}
}

// readFrame reads one answer with its header, or what there is of it: of a size
// that makes no sense, the size. Memory grows with the bytes that arrive, not
// with what the size claims.
func (c *Conn) readFrame(ctx context.Context) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(c.reader, head[:]); err != nil {
		return nil, failed(ctx, ErrCut, err)
	}
	size := int32(binary.BigEndian.Uint32(head[:]))
	if size < 4 || size > c.config.MaxAnswer {
		return head[:], fmt.Errorf("%w: a size of %d bytes (%q)", errFrame, size, head[:])
	}
	body, err := io.ReadAll(io.LimitReader(c.reader, int64(size)))
	if err != nil {
		return body, failed(ctx, ErrCut, err)
	}
	if len(body) < int(size) {
		return body, fmt.Errorf("%w: after %d of %d bytes", ErrCut, len(body), size)
	}
	return body, nil
}

// unwrap takes the response header off.
func (c *Conn) unwrap(frame []byte, req kmsg.Request) ([]byte, error) {
	if got := int32(binary.BigEndian.Uint32(frame)); got != c.correlation {
		return frame, fmt.Errorf("%w: correlation ID %d, want %d", ErrGarbage, got, c.correlation)
	}
	body := frame[4:]
	// The header of an ApiVersions answer is never flexible (KIP-511).
	if !req.IsFlexible() || req.Key() == int16(kmsg.ApiVersions) {
		return body, nil
	}
	rest, ok := skipTags(body)
	if !ok {
		return body, fmt.Errorf("%w: response header", ErrGarbage)
	}
	return rest, nil
}

// skipTags steps over a section of tagged fields (KIP-482).
func skipTags(b []byte) ([]byte, bool) {
	count, n := binary.Uvarint(b)
	if n <= 0 {
		return nil, false
	}
	b = b[n:]
	for ; count > 0; count-- {
		_, n = binary.Uvarint(b) // the tag
		if n <= 0 {
			return nil, false
		}
		b = b[n:]
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return nil, false
		}
		b = b[n+int(size):]
	}
	return b, true
}

func decode(req kmsg.Request, body []byte) (resp kmsg.Response, err error) {
	resp = req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	if err := resp.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("%w: %s v%d: %w", ErrGarbage, kmsg.NameForKey(req.Key()), req.GetVersion(), err)
	}
	return resp, nil
}

// allowedWait is how long the request itself lets the broker wait.
func allowedWait(req kmsg.Request) time.Duration {
	if r, ok := req.(kmsg.TimeoutRequest); ok {
		return time.Duration(r.Timeout()) * time.Millisecond
	}
	if r, ok := req.(*kmsg.FetchRequest); ok {
		return time.Duration(r.MaxWaitMillis) * time.Millisecond
	}
	return 0
}
