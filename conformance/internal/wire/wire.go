// Package wire speaks Kafka's protocol to a cluster that is being judged.
//
// It decides nothing that a client library would decide: each request goes out
// once, in the version that the caller names, on the connection that the caller
// names, and what came back is kept as it came. That makes it possible to do
// what no honest client does (leave before the answer, send a request twice on
// two connections), and to show the bytes of an answer that nobody can read.
//
// Messages are encoded and decoded by kmsg. Dialing, TLS and SASL mechanisms
// are those of the kgo options that a [Config] was made from.
//
// # Concurrency
//
// All methods of Client may overlap. A Conn has one request in flight at a
// time; others wait.
package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
)

// The ways in which an exchange ends without an answer. They are told apart
// because they say different things about a cluster.
var (
	// ErrUnsupported: the broker does not announce the request, or not in the
	// version asked for. Nothing was sent.
	ErrUnsupported = errors.New("not supported")
	// ErrUnreachable: there is no connection; nothing was sent.
	ErrUnreachable = errors.New("unreachable")
	// ErrCut: the connection ended before the whole answer was there. Whether
	// the request was carried out is not known.
	ErrCut = errors.New("connection cut")
	// ErrTimeout: no answer in time. As with ErrCut, nothing is known.
	ErrTimeout = errors.New("no answer in time")
	// ErrGarbage: an answer that is none: bytes that do not decode, a size or
	// a correlation ID that makes no sense. The exchange has the bytes.
	ErrGarbage = errors.New("unreadable answer")
	// ErrRefused: the broker refused the login.
	ErrRefused = errors.New("login refused")

	// errFrame: an ErrGarbage that is no frame of Kafka's at all.
	errFrame = fmt.Errorf("%w", ErrGarbage)
)

// Config says how to reach a cluster.
type Config struct {
	Seeds    []string // bootstrap addresses, host:port
	ClientID string

	// Dial opens a connection, TLS included.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// Mechanisms are for SASL; the first that the broker has is taken. Empty:
	// no login.
	Mechanisms []sasl.Mechanism

	// Timeout bounds one exchange, without the time that the request itself
	// lets the broker wait. The default is 15 s.
	Timeout time.Duration

	// MaxAnswer bounds the size of an answer, in bytes. The default is 100 MiB.
	MaxAnswer int32
}

const (
	defaultTimeout   = 15 * time.Second
	defaultMaxAnswer = 100 << 20
)

// FromKgo takes over what kgo's options say about reaching a cluster: seeds,
// dialer or TLS, SASL, client ID.
func FromKgo(opts ...kgo.Opt) (Config, error) {
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return Config{}, err
	}
	defer client.Close() // it has dialed nothing
	c := Config{}
	seeds, _ := client.OptValue(kgo.SeedBrokers).([]string)
	for _, seed := range seeds {
		c.Seeds = append(c.Seeds, withPort(seed))
	}
	c.ClientID, _ = client.OptValue(kgo.ClientID).(string)
	c.Dial, _ = client.OptValue(kgo.Dialer).(func(context.Context, string, string) (net.Conn, error))
	c.Mechanisms, _ = client.OptValue(kgo.SASL).([]sasl.Mechanism)
	return c, nil
}

// withPort adds Kafka's port to an address without one, as kgo does.
func withPort(seed string) string {
	if _, _, err := net.SplitHostPort(seed); err == nil {
		return seed
	}
	return net.JoinHostPort(strings.Trim(seed, "[]"), "9092")
}

func (c Config) withDefaults() Config {
	if c.Timeout <= 0 {
		c.Timeout = defaultTimeout
	}
	if c.MaxAnswer <= 0 {
		c.MaxAnswer = defaultMaxAnswer
	}
	if c.Dial == nil {
		c.Dial = (&net.Dialer{}).DialContext
	}
	return c
}

// failed gives an error its class. What the context says comes first: a closed
// connection may only be the way in which it ended.
func failed(ctx context.Context, class, err error) error {
	var timeout net.Error
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		err = context.Canceled
		if errors.Is(class, ErrUnreachable) {
			return err // nothing was sent
		}
	case errors.Is(ctx.Err(), context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		class = ErrTimeout
	}
	return fmt.Errorf("%w: %w", class, err)
}
