package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/tlstest"
)

// secret is the password of these tests. No output holds it.
const secret = "hunter2-secret"

// counted is a listener that counts connections.
type counted struct {
	net.Listener
	n *atomic.Int64
}

func (c counted) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.n.Add(1)
	}
	return conn, err
}

// port is where a test connects to, and how often it did.
type port struct {
	address string
	conns   atomic.Int64
	cluster *kfake.Cluster
}

// fakePort starts a broker.
func fakePort(t *testing.T, opts ...kfake.Opt) *port {
	t.Helper()
	p := &port{}
	listen := func(network, address string) (net.Listener, error) {
		l, err := net.Listen(network, address)
		return counted{l, &p.conns}, err
	}
	opts = append([]kfake.Opt{kfake.NumBrokers(1), kfake.SeedTopics(1, "orders"), kfake.ListenFn(listen)}, opts...)
	cluster, err := kfake.NewCluster(opts...)
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	p.cluster, p.address = cluster, cluster.ListenAddrs()[0]
	return p
}

// rawPort listens, and gives every connection to serve.
func rawPort(t *testing.T, serve func(net.Conn)) *port {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	p := &port{address: l.Addr().String()}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			p.conns.Add(1)
			t.Cleanup(func() { _ = conn.Close() })
			serve(conn)
		}
	}()
	return p
}

// answering is a broker that answers logins with an error code, as real ones do.
func answering(t *testing.T, key kmsg.Key, code *kerr.Error) *port {
	p := fakePort(t, kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-256", "alice", "other"))
	p.cluster.ControlKey(int16(key), func(req kmsg.Request) (kmsg.Response, error, bool) {
		p.cluster.KeepControl()
		resp := req.ResponseKind()
		switch resp := resp.(type) {
		case *kmsg.SASLAuthenticateResponse:
			resp.ErrorCode, resp.ErrorMessage = code.Code, kmsg.StringPtr("no luck")
		case *kmsg.SASLHandshakeResponse:
			resp.ErrorCode, resp.SupportedMechanisms = code.Code, []string{"SCRAM-SHA-512"}
		}
		return resp, nil, true
	})
	return p
}

func properties(pairs ...string) []string {
	var args []string
	for _, pair := range pairs {
		args = append(args, "-X", pair)
	}
	return args
}

var scramLogin = []string{"security.protocol=SASL_PLAINTEXT", "sasl.mechanism=SCRAM-SHA-256", "sasl.username=alice", "sasl.password=" + secret}

func TestAdviceOnHostNames(t *testing.T) {
	a := newApp(nil, nil, nil)
	a.brokers = []string{"kafka-1:9092"}
	unknown := func(host string) error {
		return fmt.Errorf("unable to dial: %w", &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}})
	}
	require.Equal(t, "look at the host name of the broker", a.advice(unknown("kafka-1")))
	require.Equal(t, "a broker names itself so (advertised.listeners); that name has to be known here", a.advice(unknown("kafka-2.internal")))
}

// Only who never got a connection hears of firewalls.
func TestAdviceOnSilence(t *testing.T) {
	late := func(op string) error { return fmt.Errorf("x: %w", &net.OpError{Op: op, Err: os.ErrDeadlineExceeded}) }
	a := newApp(nil, nil, nil)
	require.Contains(t, a.advice(late("dial")), "a firewall may be in between")
	require.Contains(t, a.advice(context.DeadlineExceeded), "a firewall may be in between")
	require.Contains(t, a.advice(late("read")), "it takes connections, and answers nothing")
	a.ports.OnBrokerWrite(kgo.BrokerMetadata{}, 18, 30, 0, 0, nil)
	require.Contains(t, a.advice(context.DeadlineExceeded), "it takes connections, and answers nothing")
	a.ports.answered.Store(true)
	require.Contains(t, a.advice(context.DeadlineExceeded), "the cluster answered at first")
	require.Contains(t, a.advice(late("dial")), "a firewall may be in between", "another broker")
}

// Whatever keeps a client out is one line and one of advice, exit code 1, after a
// bounded number of connections.
func TestConnectionErrors(t *testing.T) {
	ca, unknown := tlstest.NewAuthority(t, "ca"), tlstest.NewAuthority(t, "unknown")
	caFile, _ := ca.Write(t)
	unknownFile, _ := unknown.Write(t)
	clientFile, clientKey := ca.Issue(t, "client").Write(t)
	strangerFile, strangerKey := unknown.Issue(t, "client").Write(t)
	server := func(c *tlstest.Certificate, max uint16, mutual bool) kfake.Opt {
		config := &tls.Config{Certificates: []tls.Certificate{c.Certificate}, MaxVersion: max}
		if mutual {
			config.ClientCAs, config.ClientAuth = ca.Pool(), tls.RequireAndVerifyClientCert
		}
		return kfake.TLS(config)
	}
	broker := ca.Issue(t, "broker", "127.0.0.1")
	withTLS := []string{"security.protocol=SSL", "ssl.ca.location=" + caFile}
	sasl := kfake.EnableSASL()

	for _, tt := range []struct {
		name       string
		port       *port
		properties []string
		want       string // of the error line
		advice     string
	}{
		{
			"wrong password", answering(t, kmsg.SASLAuthenticate, kerr.SaslAuthenticationFailed), scramLogin,
			`cannot log in at ADDR: SASL_AUTHENTICATION_FAILED: .*`,
			`look at the user name and password of user alice; the brokers may know it for another mechanism than SCRAM-SHA-256 only`,
		},
		{
			"wrong password, no answer", fakePort(t, sasl, kfake.Superuser("SCRAM-SHA-256", "alice", "other")), scramLogin,
			`cannot log in at ADDR: EOF`,
			`look at the user name and password of user alice, sasl.mechanism \(SCRAM-SHA-256\) and security.protocol \(SASL_PLAINTEXT\)`,
		},
		{
			"another mechanism", answering(t, kmsg.SASLHandshake, kerr.UnsupportedSaslMechanism), scramLogin,
			`cannot log in at ADDR: UNSUPPORTED_SASL_MECHANISM: .*`,
			`look at sasl.mechanism: the brokers do not offer SCRAM-SHA-256 at this port`,
		},
		{
			"login where none is wanted", answering(t, kmsg.SASLHandshake, kerr.IllegalSaslState), scramLogin,
			`cannot log in at ADDR: ILLEGAL_SASL_STATE: .*`,
			`look at the port and security.protocol: this port takes no login, and SASL_PLAINTEXT asks for one`,
		},
		{
			"no login where one is wanted", fakePort(t, sasl), nil,
			`no broker answers at ADDR: broker closed the connection immediately .*`,
			`look at the port and security.protocol: it may want TLS or a login \(SSL, SASL_SSL or SASL_PLAINTEXT\)`,
		},
		{
			"unknown authority", fakePort(t, server(broker, 0, false)),
			[]string{"security.protocol=SSL", "ssl.ca.location=" + unknownFile},
			`no TLS connection to ADDR: .* certificate signed by unknown authority.*`,
			`look at ssl.ca.location: the brokers' certificates come from another authority`,
		},
		{
			"the system's authorities", fakePort(t, server(broker, 0, false)),
			[]string{"security.protocol=SSL"},
			`no TLS connection to ADDR: .* certificate signed by unknown authority.*`,
			`the system's authorities count; give the cluster's own with ssl.ca.location`,
		},
		{
			"another host name", fakePort(t, server(ca.Issue(t, "broker", "kafka.example"), 0, false)), withTLS,
			`no TLS connection to ADDR: .*127.0.0.1.*`,
			`use a host name that is in the brokers' certificates; ssl.endpoint.identification.algorithm=none checks everything else only`,
		},
		{
			"expired", fakePort(t, server(ca.Expire(t, "broker", "127.0.0.1"), 0, false)), withTLS,
			`no TLS connection to ADDR: .*expired.*`,
			`look at the dates of the brokers' certificates, and at this machine's clock`,
		},
		{
			"no client certificate", fakePort(t, server(broker, 0, true)), withTLS,
			`no TLS connection to ADDR: remote error: tls: certificate required`,
			`the brokers may want a client certificate: give ssl.keystore.location, or ssl.certificate.location and ssl.key.location`,
		},
		{
			"no client certificate in TLS 1.2", fakePort(t, server(broker, tls.VersionTLS12, true)), withTLS,
			`no TLS connection to ADDR: .*remote error: tls: .*`,
			`the brokers may want a client certificate: give ssl.keystore.location, or ssl.certificate.location and ssl.key.location`,
		},
		{
			"an unknown client certificate", fakePort(t, server(broker, tls.VersionTLS12, true)), append(withTLS, "ssl.certificate.location="+strangerFile, "ssl.key.location="+strangerKey),
			`no TLS connection to ADDR: .*remote error: tls: .*`,
			`look at the client's certificate: the brokers do not accept it`,
		},
		{
			"another version of TLS", fakePort(t, server(broker, tls.VersionTLS12, false)), append(withTLS, "ssl.enabled.protocols=TLSv1.3"),
			`no TLS connection to ADDR: .*protocol version.*`,
			`look at ssl.enabled.protocols: the brokers want another version of TLS`,
		},
		{
			"plaintext at a TLS port", fakePort(t, server(broker, 0, false)), nil,
			`no broker answers at ADDR: broker closed the connection immediately .*`,
			`look at the port and security.protocol: it may want TLS or a login \(SSL, SASL_SSL or SASL_PLAINTEXT\)`,
		},
		{
			"a login without TLS at a TLS port", fakePort(t, server(broker, 0, false)), scramLogin,
			`no broker answers at ADDR: broker closed the connection immediately .*`,
			`look at the port and security.protocol: it may want TLS \(SASL_SSL\)`,
		},
		{
			"TLS without a login where one is wanted", fakePort(t, server(broker, 0, false), sasl), withTLS,
			`no broker answers at ADDR: broker closed the connection immediately .*`,
			`look at the port and security.protocol: it may want a login \(SASL_SSL\) or a client certificate`,
		},
		{
			"plaintext at a TLS port that says so", rawPort(t, func(c net.Conn) {
				_, _ = c.Read(make([]byte, 64))
				_, _ = c.Write([]byte{21, 3, 3, 0, 2, 2, 80})
			}), nil,
			`no broker answers at ADDR: .*tls alert record.*`,
			`look at the port and security.protocol: it may want TLS or a login \(SSL, SASL_SSL or SASL_PLAINTEXT\)`,
		},
		{
			"TLS at a plaintext port", rawPort(t, func(c net.Conn) {
				_, _ = c.Read(make([]byte, 4)) // a size that is too large for a request; brokers hang up
				_ = c.Close()
			}), withTLS,
			`no broker answers at ADDR: .*`,
			`look at the port and security.protocol: it may not speak TLS, and SSL wants it`,
		},
		{
			"TLS at a port that hangs up", rawPort(t, func(c net.Conn) {
				_, _ = c.Read(make([]byte, 4096))
				_ = c.Close()
			}), withTLS,
			`no broker answers at ADDR: .*`,
			`look at the port and security.protocol: it may not speak TLS, and SSL wants it`,
		},
		{
			"TLS at a port of something else", rawPort(t, func(c net.Conn) {
				_, _ = c.Read(make([]byte, 1024))
				_, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			}), withTLS,
			`no TLS connection to ADDR: .*first record does not look like a TLS handshake`,
			`look at the port and security.protocol: what answers there does not speak TLS`,
		},
		{
			"silence", rawPort(t, func(net.Conn) {}),
			[]string{"socket.connection.setup.timeout.ms=300"},
			`no broker answers at ADDR: nothing came back in time: .*`,
			`look at the port and security.protocol, and at the broker: it takes connections, and answers nothing`,
		},
		{
			"HTTP", rawPort(t, func(c net.Conn) {
				_, _ = c.Read(make([]byte, 1024))
				_, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			}), nil,
			`no Kafka at ADDR: .*response size.*`,
			`look at the port and security.protocol: what answers there speaks another protocol, or TLS`,
		},
		{
			"silence where TLS is wanted", rawPort(t, func(net.Conn) {}), append(withTLS, "socket.connection.setup.timeout.ms=300"),
			`no broker answers at ADDR: nothing came back in time: .*`,
			`look at host and port: a firewall may be in between, or the port does not speak TLS`,
		},
		{
			"nobody", &port{address: "127.0.0.1:1"}, nil,
			`no broker answers at ADDR: .*connection refused`,
			`look at host and port: nothing listens there`,
		},
		{
			"a right client certificate", fakePort(t, server(broker, 0, true)), append(withTLS, "ssl.certificate.location="+clientFile, "ssl.key.location="+clientKey),
			``, ``,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := append([]string{"consume", "orders", "-e", "hw", "-b", tt.port.address}, properties(tt.properties...)...)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			var out, errs bytes.Buffer
			code := run(ctx, args, nil, &out, &errs)
			require.NotContains(t, out.String()+errs.String(), secret)
			if tt.want == "" {
				require.Equal(t, exitOK, code, &errs)
				return
			}
			require.Equal(t, exitError, code, &errs)
			lines := strings.Split(strings.TrimSuffix(errs.String(), "\n"), "\n")
			require.Len(t, lines, 2, &errs)
			want := strings.ReplaceAll(tt.want, "ADDR", regexp.QuoteMeta(tt.port.address))
			require.Regexp(t, "^rcc: error: "+want+"$", lines[0])
			require.Regexp(t, "^rcc: "+tt.advice+"$", lines[1])
			require.LessOrEqual(t, tt.port.conns.Load(), int64(2), "connections")
			t.Logf("%d connections\n%s", tt.port.conns.Load(), &errs)
		})
	}
}
