package kafkatest_test

import (
	"context"
	"crypto/tls"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"example.com/readcommitted/internal/kafkatest"
)

func TestSecuredListenersLetInWhoTheyShould(t *testing.T) {
	c := kafkatest.Secured(t, kafkatest.Config{})
	certs, user := c.Certificates, c.User(t)
	known, wrong := plain.Auth{User: kafkatest.PlainUser, Pass: kafkatest.PlainPassword}, user
	wrong.Password += "x"
	inside := kafkatest.ClientTLS(certs.CA)
	for _, ping := range []struct {
		name     string
		listener kafkatest.Listener
		tls      *tls.Config
		sasl     sasl.Mechanism
		ok       bool
	}{
		{"TLS", kafkatest.TLS, inside, nil, true},
		{"TLS, broker of an unknown authority", kafkatest.TLS, kafkatest.ClientTLS(certs.UnknownCA), nil, false},
		{"mutual TLS", kafkatest.MutualTLS, kafkatest.ClientTLS(certs.CA, certs.Client), nil, true},
		{"mutual TLS without a certificate", kafkatest.MutualTLS, inside, nil, false},
		{"mutual TLS, client of an unknown authority", kafkatest.MutualTLS, kafkatest.ClientTLS(certs.CA, certs.UnknownClient), nil, false},
		{"PLAIN", kafkatest.SASL, nil, known.AsMechanism(), true},
		{"PLAIN over TLS", kafkatest.SASLOverTLS, inside, known.AsMechanism(), true},
		{"SCRAM-SHA-256 over TLS", kafkatest.SASLOverTLS, inside, user.SHA256(), true},
		{"SCRAM-SHA-512", kafkatest.Expiring, nil, user.SHA512(), true},
		{"wrong password", kafkatest.SASLOverTLS, inside, wrong.SHA512(), false},
	} {
		t.Run(ping.name, func(t *testing.T) {
			opts := []kgo.Opt{kgo.SeedBrokers(c.ListenerAddrs(ping.listener)...), kgo.RequestRetries(0)}
			if ping.tls != nil {
				opts = append(opts, kgo.DialTLSConfig(ping.tls))
			}
			if ping.sasl != nil {
				opts = append(opts, kgo.SASL(ping.sasl))
			}
			client, err := kgo.NewClient(opts...)
			require.NoError(t, err)
			defer client.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			require.Equal(t, ping.ok, client.Ping(ctx) == nil, "%v", client.Ping(ctx))
		})
	}
}

func TestSecuredRightsComeAndGo(t *testing.T) {
	c := kafkatest.Secured(t, kafkatest.Config{})
	topic := c.Topic(t, kafkatest.TopicConfig{})
	user := c.User(t)
	client := c.Client(t, kgo.SeedBrokers(c.ListenerAddrs(kafkatest.SASL)...), kgo.SASL(user.SHA256()))
	metadata := func() error {
		req := kmsg.NewPtrMetadataRequest()
		req.Topics = []kmsg.MetadataRequestTopic{{Topic: &topic}}
		resp, err := req.RequestWith(t.Context(), client)
		require.NoError(t, err)
		return kerr.ErrorForCode(resp.Topics[0].ErrorCode)
	}
	describe := kafkatest.OnTopic(kadm.OpDescribe, topic)
	require.ErrorIs(t, metadata(), kerr.TopicAuthorizationFailed)
	c.Grant(t, user.Name, describe)
	require.NoError(t, metadata())
	c.Revoke(t, user.Name, describe)
	require.ErrorIs(t, metadata(), kerr.TopicAuthorizationFailed)

	other := user
	other.Password = "another " + user.Password
	c.SetPassword(t, other)
	c.DeleteUser(t, other)
}
