package wire_test

import (
	"context"
	"crypto/tls"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"example.com/readcommitted/conformance/internal/wire"
	"example.com/readcommitted/internal/kafkatest"
)

// from is a client that reaches a cluster as kgo would with these options.
func from(t testing.TB, opts ...kgo.Opt) *wire.Client {
	t.Helper()
	config, err := wire.FromKgo(opts...)
	require.NoError(t, err)
	return client(t, config)
}

func TestClusterIsReached(t *testing.T) {
	kafkatest.Each(t, kafkatest.Config{}, func(t *testing.T, c *kafkatest.Cluster) {
		cl := from(t, kgo.SeedBrokers(c.Addrs()...), kgo.ClientID("somebody"))
		e := cl.Do(t.Context(), wire.Bootstrap, "a", ask())
		require.NoError(t, e.Err)
		resp := e.Response.(*kmsg.MetadataResponse)
		require.NotEmpty(t, resp.Brokers)
		cl.Learn(resp)
		require.NoError(t, cl.Do(t.Context(), resp.Brokers[0].NodeID, "a", ask()).Err)
	})
}

// denied is a mechanism that brokers do not have.
type denied struct{}

func (denied) Name() string { return "SCRAM-MD5" }
func (denied) Authenticate(context.Context, string) (sasl.Session, []byte, error) {
	panic("no broker has it")
}

func TestSecuredClusterIsReached(t *testing.T) {
	c := kafkatest.Secured(t, kafkatest.Config{})
	certs, user := c.Certificates, c.User(t)
	known, wrong := plain.Auth{User: kafkatest.PlainUser, Pass: kafkatest.PlainPassword}.AsMechanism(), user
	wrong.Password += "x"
	inside := kafkatest.ClientTLS(certs.CA)
	for _, way := range []struct {
		name     string
		listener kafkatest.Listener
		tls      *tls.Config
		sasl     []sasl.Mechanism
		want     error
	}{
		{"TLS", kafkatest.TLS, inside, nil, nil},
		{"TLS, broker of an unknown authority", kafkatest.TLS, kafkatest.ClientTLS(certs.UnknownCA), nil, wire.ErrUnreachable},
		{"TLS to a listener without it", kafkatest.SASL, inside, nil, wire.ErrUnreachable},
		{"mutual TLS", kafkatest.MutualTLS, kafkatest.ClientTLS(certs.CA, certs.Client), nil, nil},
		{"PLAIN", kafkatest.SASL, nil, []sasl.Mechanism{known}, nil},
		{"PLAIN over TLS", kafkatest.SASLOverTLS, inside, []sasl.Mechanism{known}, nil},
		{"SCRAM-SHA-256 over TLS", kafkatest.SASLOverTLS, inside, []sasl.Mechanism{user.SHA256()}, nil},
		{"SCRAM-SHA-512", kafkatest.SASL, nil, []sasl.Mechanism{user.SHA512()}, nil},
		{"the second of two mechanisms", kafkatest.SASL, nil, []sasl.Mechanism{denied{}, user.SHA512()}, nil},
		{"a mechanism that the broker does not have", kafkatest.SASL, nil, []sasl.Mechanism{denied{}}, kerr.UnsupportedSaslMechanism},
		{"wrong password", kafkatest.SASLOverTLS, inside, []sasl.Mechanism{wrong.SHA512()}, wire.ErrRefused},
	} {
		t.Run(way.name, func(t *testing.T) {
			opts := []kgo.Opt{kgo.SeedBrokers(c.ListenerAddrs(way.listener)...), kgo.SASL(way.sasl...)}
			if way.tls != nil {
				opts = append(opts, kgo.DialTLSConfig(way.tls))
			}
			e := from(t, opts...).Do(t.Context(), wire.Bootstrap, "a", ask())
			if way.want != nil {
				require.ErrorIs(t, e.Err, way.want)
				return
			}
			require.NoError(t, e.Err)
		})
	}
	t.Run("no login where one is asked for", func(t *testing.T) {
		e := from(t, kgo.SeedBrokers(c.ListenerAddrs(kafkatest.SASL)...)).Do(t.Context(), wire.Bootstrap, "a", ask())
		require.Error(t, e.Err)
	})
}

// A session that is about to expire is not used any more: the lane gets another
// connection before the broker ends this one.
func TestSessionsThatExpire(t *testing.T) {
	c := kafkatest.Secured(t, kafkatest.Config{})
	cl := from(t, kgo.SeedBrokers(c.ListenerAddrs(kafkatest.Expiring)...), kgo.SASL(c.User(t).SHA512()))
	conns := map[uint64]bool{}
	for begin := time.Now(); time.Since(begin) < 3*kafkatest.SessionLife; time.Sleep(50 * time.Millisecond) {
		e := cl.Do(t.Context(), wire.Bootstrap, "a", ask())
		require.NoError(t, e.Err)
		conns[e.Conn] = true
	}
	require.Greater(t, len(conns), 2)
}
