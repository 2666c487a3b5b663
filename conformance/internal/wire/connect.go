package wire

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
)

// fallbacks are the versions of ApiVersions to try, one after the other, on a
// connection of its own each: there are brokers that cut the connection, or
// answer what nobody can read, instead of answering version 0 with an error
// (KIP-511). Features are told from version 3 on.
var fallbacks = []int16{4, 3, 2, 0}

// unknownVersionError is the answer of a broker that does not know the version
// of ApiVersions, and says which it knows.
type unknownVersionError struct{ asked, newest int16 }

func (e *unknownVersionError) Error() string {
	return fmt.Sprintf("ApiVersions v%d is answered with %s", e.asked, kerr.UnsupportedVersion.Message)
}

// Unwrap is for [errors.Is].
func (e *unknownVersionError) Unwrap() error { return ErrGarbage }

// connect makes a connection that is ready for requests. first is the version
// of ApiVersions that worked before, -1 if none is known. Brokers end the
// connection after they refused a mechanism, so that each has one of its own.
func connect(ctx context.Context, config *Config, broker int32, address string, id uint64, first int16) (*Conn, error) {
	c, err := greet(ctx, config, broker, address, id, first)
	if err != nil || len(config.Mechanisms) == 0 {
		return c, err
	}
	for i, mechanism := range config.Mechanisms {
		if i > 0 {
			if c, err = greet(ctx, config, broker, address, id, c.ranges.Asked); err != nil {
				return nil, err
			}
		}
		if err = c.login(ctx, mechanism); err == nil {
			return c, nil
		}
		c.Close()
		if !errors.Is(err, kerr.UnsupportedSaslMechanism) {
			break
		}
	}
	return nil, err
}

// greet makes a connection and asks for the versions. A connection that was cut
// is made once more before it counts: any broker may be restarting.
func greet(ctx context.Context, config *Config, broker int32, address string, id uint64, first int16) (*Conn, error) {
	var last error
	for _, version := range fallbacks {
		if first >= 0 && version > first {
			continue
		}
		for range 2 {
			c, err := dial(ctx, config, broker, address, id)
			if err != nil {
				return nil, err
			}
			if c.ranges, last = c.askVersions(ctx, version); last == nil {
				return c, nil
			}
			c.Close()
			if !errors.Is(last, ErrCut) || ctx.Err() != nil {
				break
			}
		}
		again := errors.Is(last, ErrCut) || errors.Is(last, ErrGarbage) && !errors.Is(last, errFrame)
		if !again || ctx.Err() != nil {
			return nil, last
		}
		if unknown := (*unknownVersionError)(nil); errors.As(last, &unknown) {
			first = unknown.newest
		}
	}
	return nil, last
}

// firstCorrelation makes the first request hold two ends of lines, in its correlation
// ID: a port that reads lines, such as one of HTTP, would wait for one in silence.
const firstCorrelation = 0x0d0a0d0a - 1

func dial(ctx context.Context, config *Config, broker int32, address string, id uint64) (*Conn, error) {
	dialing, cancel := context.WithTimeout(ctx, config.Timeout)
	defer cancel()
	socket, err := config.Dial(dialing, "tcp", address)
	if err != nil {
		return nil, failed(ctx, ErrUnreachable, err)
	}
	return &Conn{
		correlation: firstCorrelation,
		id:          id, broker: broker, address: address, config: config,
		format: kmsg.NewRequestFormatter(kmsg.FormatterClientID(config.ClientID)),
		socket: socket, reader: bufio.NewReader(socket),
	}, nil
}

func (c *Conn) askVersions(ctx context.Context, version int16) (Versions, error) {
	req := kmsg.NewPtrApiVersionsRequest()
	req.SetVersion(version)
	req.ClientSoftwareName, req.ClientSoftwareVersion = "rcc-check", "1"
	e := c.Do(ctx, req)
	if e.Err != nil {
		// A broker that does not know the version answers in version 0.
		if low := new(kmsg.ApiVersionsResponse); len(e.Bytes) > 0 && low.ReadFrom(e.Bytes) == nil &&
			low.ErrorCode == kerr.UnsupportedVersion.Code {
			return Versions{}, &unknownVersionError{version, newestOf(low, version-1)}
		}
		return Versions{}, e.Err
	}
	ranges, err := versionsOf(e.Response.(*kmsg.ApiVersionsResponse))
	if err != nil {
		return Versions{}, fmt.Errorf("%w: ApiVersions v%d: %w", ErrGarbage, version, err)
	}
	ranges.Asked = version
	return ranges, nil
}

// newestOf is the newest version of ApiVersions that an answer names, otherwise
// if it names none.
func newestOf(resp *kmsg.ApiVersionsResponse, otherwise int16) int16 {
	for _, k := range resp.ApiKeys {
		if k.ApiKey == int16(kmsg.ApiVersions) && k.MaxVersion < otherwise {
			return k.MaxVersion
		}
	}
	return otherwise
}

// login authenticates by KIP-43 and KIP-152.
func (c *Conn) login(ctx context.Context, mechanism sasl.Mechanism) error {
	if err := c.handshake(ctx, mechanism); err != nil {
		return err
	}
	host, _, err := net.SplitHostPort(c.address)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	session, token, err := mechanism.Authenticate(ctx, host)
	for done := false; err == nil && (!done || len(token) > 0); {
		req := kmsg.NewPtrSASLAuthenticateRequest()
		req.SetVersion(max(0, c.ranges.Max(req.Key(), 2)))
		req.SASLAuthBytes = token
		e := c.Do(ctx, req)
		if e.Err != nil {
			return e.Err
		}
		resp := e.Response.(*kmsg.SASLAuthenticateResponse)
		if code := kerr.ErrorForCode(resp.ErrorCode); code != nil {
			return fmt.Errorf("%w: %w", ErrRefused, code)
		}
		if life := resp.SessionLifetimeMillis; life > 0 {
			c.expires = time.Now().Add(time.Duration(life) * time.Millisecond / 2)
		}
		if done {
			break // the answer to the last message of the client says nothing more
		}
		done, token, err = session.Challenge(resp.SASLAuthBytes)
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrRefused, mechanism.Name(), err)
	}
	return nil
}

// handshake asks for a mechanism.
func (c *Conn) handshake(ctx context.Context, mechanism sasl.Mechanism) error {
	req := kmsg.NewPtrSASLHandshakeRequest()
	req.SetVersion(1)
	req.Mechanism = mechanism.Name()
	e := c.Do(ctx, req)
	if e.Err != nil {
		return e.Err
	}
	if code := kerr.ErrorForCode(e.Response.(*kmsg.SASLHandshakeResponse).ErrorCode); code != nil {
		return fmt.Errorf("%w: %s: %w", ErrRefused, mechanism.Name(), code)
	}
	return nil
}
