package rcconsumer_test

import (
	"context"
	"encoding/binary"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

const keyFetch = int16(kmsg.Fetch)

// requests counts what a client sends, by request key. It is a kgo hook.
type requests struct {
	mu    sync.Mutex
	byKey map[int16]int
}

var _ kgo.HookBrokerWrite = (*requests)(nil)

func (r *requests) OnBrokerWrite(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, err error) {
	if err != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byKey == nil {
		r.byKey = map[int16]int{}
	}
	r.byKey[key]++
}

func (r *requests) fetches() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byKey[keyFetch]
}

func (r *requests) total() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, c := range r.byKey {
		n += c
	}
	return n
}

// wire sees the Fetch requests of a client as they leave it.
type wire struct {
	mu      sync.Mutex
	fetches []*kmsg.FetchRequest
	broken  error
}

// dialer is the option that makes a client's connections visible.
func (w *wire) dialer() kgo.Opt {
	return kgo.Dialer(func(ctx context.Context, network, host string) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, network, host)
		if err != nil {
			return nil, err
		}
		return &watchedConn{Conn: conn, w: w}, nil
	})
}

// seen returns the Fetch requests so far.
func (w *wire) seen(t *testing.T) []*kmsg.FetchRequest {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	require.NoError(t, w.broken)
	return w.fetches
}

type watchedConn struct {
	net.Conn
	w       *wire
	pending []byte
}

func (c *watchedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.pending = append(c.pending, b[:n]...)
	for len(c.pending) >= 4 {
		size := 4 + int(binary.BigEndian.Uint32(c.pending))
		if len(c.pending) < size {
			break
		}
		c.w.frame(c.pending[4:size])
		c.pending = c.pending[size:]
	}
	return n, err
}

// frame reads a request: key, version, correlation ID, client ID, tags from the
// first flexible version on, body.
func (w *wire) frame(b []byte) {
	if int16(binary.BigEndian.Uint16(b)) != keyFetch {
		return
	}
	req := kmsg.NewPtrFetchRequest()
	req.Version = int16(binary.BigEndian.Uint16(b[2:]))
	body := b[8:]
	if n := int16(binary.BigEndian.Uint16(body)); n > 0 {
		body = body[n:]
	}
	body = body[2:]
	if req.IsFlexible() {
		body = body[1:] // kgo sends no tags
	}
	err := req.ReadFrom(append([]byte(nil), body...))
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.broken = err
	}
	w.fetches = append(w.fetches, req)
}

// fetchVersion limits the version of Fetch requests.
func fetchVersion(version int16) kgo.Opt {
	versions := kversion.Stable()
	versions.SetMaxKeyVersion(keyFetch, version)
	return kgo.MaxVersions(versions)
}
