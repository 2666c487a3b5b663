package rcconsumer_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rcconsumer"
)

// cable dials the world's brokers, until it is cut.
type cable struct {
	w *world

	mu    sync.Mutex
	err   error  // of every dial
	only  string // or of those of one address, if it is set
	conns []net.Conn
}

func (l *cable) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil && (l.only == "" || l.only == addr) {
		return nil, l.err
	}
	conn, err := l.w.net.DialContext(ctx, network, addr)
	if err == nil {
		l.conns = append(l.conns, conn)
	}
	return conn, err
}

// cut ends all connections, and new ones fail with err.
func (l *cable) cut(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
	for _, conn := range l.conns {
		_ = conn.Close()
	}
	l.conns = nil
}

func (l *cable) mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = nil
}

// refusal is what a dial of a port says that nobody listens on.
func refusal() error {
	return &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9092}, Err: refusedError{}}
}

type refusedError struct{}

func (refusedError) Error() string   { return "refused" }
func (refusedError) Timeout() bool   { return false }
func (refusedError) Temporary() bool { return false }

// patient is a world's consumer whose health is looked at.
type patient struct {
	*rcconsumer.Consumer
	w *world
	l *cable

	mu   sync.Mutex
	stop func()  // ends the polls
	errs []error // that polls returned
}

// told are the errors that polls returned.
func (p *patient) told() []error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.errs)
}

func (w *world) patient(opts ...kgo.Opt) *patient {
	w.t.Helper()
	p := &patient{w: w, l: &cable{w: w}}
	p.Consumer = w.consumer(append(opts, kgo.Dialer(p.l.dial))...)
	p.polls()
	w.t.Cleanup(p.rests)
	return p
}

// polls polls all the time.
func (p *patient) polls() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			fs := p.PollFetches(ctx)
			if fs.IsClientClosed() {
				return
			}
			if errors.As(fs.Err(), new(*rcconsumer.PollIntervalError)) {
				time.Sleep(100 * time.Millisecond) // it may come at once
			}
			p.note(fs)
			p.AllowRebalance()
		}
	}()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stop = func() { cancel(); <-done }
}

func (p *patient) note(fs kgo.Fetches) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fs.EachError(func(_ string, _ int32, err error) { p.errs = append(p.errs, err) })
}

// rests polls no more.
func (p *patient) rests() {
	p.mu.Lock()
	stop := p.stop
	p.mu.Unlock()
	stop()
}

// reason is that of a cause, if there is one.
func reason(h rcconsumer.Health, cause rcconsumer.Cause) (r rcconsumer.Reason, ok bool) {
	i := slices.IndexFunc(h.Details, func(r rcconsumer.Reason) bool { return r.Cause == cause })
	if i < 0 {
		return r, false
	}
	return h.Details[i], true
}

// ails waits until there is a reason of a cause, with a text if one is given.
func (p *patient) ails(t *testing.T, cause rcconsumer.Cause, text ...string) (h rcconsumer.Health, r rcconsumer.Reason) {
	t.Helper()
	for until := time.Now().Add(5 * patience); ; time.Sleep(10 * time.Millisecond) {
		h = p.Health()
		checkHealth(t, h)
		if found, ok := reason(h, cause); ok && strings.Contains(found.Text, strings.Join(text, "")) {
			return h, found
		}
		require.True(t, time.Now().Before(until), "waited for %s: %q", cause, h.Reasons)
	}
}

// well waits until the consumer is ready and there is nothing to tell.
func (p *patient) well(t *testing.T) {
	t.Helper()
	var h rcconsumer.Health
	for until := time.Now().Add(5 * patience); ; time.Sleep(10 * time.Millisecond) {
		if h = p.Health(); h.Ready && len(h.Details) == 0 {
			require.True(t, h.Live)
			return
		}
		require.True(t, time.Now().Before(until), "waited for health: %+v", h)
	}
}

// checkHealth checks what holds for every health.
func checkHealth(t *testing.T, h rcconsumer.Health) {
	t.Helper()
	require.Len(t, h.Reasons, len(h.Details))
	require.True(t, h.Live || !h.Ready, "what is dead is not ready")
	require.True(t, h.Ready || len(h.Reasons) > 0, "who is not ready says why")
	for i, d := range h.Details {
		require.Equal(t, h.Reasons[i], d.Text)
		require.GreaterOrEqual(t, d.Age, time.Duration(0))
		require.Positive(t, d.Count)
		require.Less(t, len(d.Text), 1000)
	}
}
