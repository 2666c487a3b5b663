package rcconsumer_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/kafkatest"
)

// badLogin is a way in that leads nowhere.
type badLogin struct {
	name string
	opts []kgo.Opt
	is   func(error) bool // how a caller knows the error
}

func isA(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func isUnknownAuthority(err error) bool {
	var unknown x509.UnknownAuthorityError
	return errors.As(err, &unknown)
}

// badLogins are ways in with something wrong, and the passwords they know.
func badLogins(t *testing.T, c *kafkatest.SecuredCluster) (all []badLogin, secrets []string) {
	t.Helper()
	certs, user := c.Certificates, c.User(t)
	wrong := kafkatest.User{Name: user.Name, Password: "wrong-" + user.Password}
	nobody := kafkatest.User{Name: "nobody", Password: "nobodys-Secret-0"}
	inside := kgo.DialTLSConfig(kafkatest.ClientTLS(certs.CA))
	denied := isA(kerr.SaslAuthenticationFailed)
	return []badLogin{
		{"wrong password, PLAIN over TLS", enter(c, kafkatest.SASLOverTLS, inside, byPlain(kafkatest.PlainUser, wrong.Password)), denied},
		{"wrong password, SCRAM-SHA-256", enter(c, kafkatest.SASL, kgo.SASL(wrong.SHA256())), denied},
		{"wrong password, SCRAM-SHA-512 over TLS", enter(c, kafkatest.SASLOverTLS, inside, kgo.SASL(wrong.SHA512())), denied},
		{"unknown user", enter(c, kafkatest.SASL, kgo.SASL(nobody.SHA512())), denied},
		{"unknown CA", enter(c, kafkatest.TLS, kgo.DialTLSConfig(kafkatest.ClientTLS(certs.UnknownCA))), isUnknownAuthority},
		{"no client certificate", enter(c, kafkatest.MutualTLS, inside), isAlert},
		{"unknown client certificate", enter(c, kafkatest.MutualTLS, kgo.DialTLSConfig(kafkatest.ClientTLS(certs.CA, certs.UnknownClient))), isAlert},
		{"plaintext at a TLS listener", enter(c, kafkatest.TLS), isForeign},
		{"no SASL at a SASL listener", enter(c, kafkatest.SASL), isHangUp},
		{"TLS at a plaintext listener", enter(c, kafkatest.SASL, inside), isHangUp},
	}, []string{wrong.Password, nobody.Password, user.Password}
}

// isAlert: the broker refused the certificate, or the lack of one, and said so.
func isAlert(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error"
}

// isHangUp: the broker hung up at once, on this request or on another one that
// was on its way over the same connection.
func isHangUp(err error) bool {
	var first *kgo.ErrFirstReadEOF
	return errors.As(err, &first) || kgo.IsRetryableBrokerErr(err)
}

// isForeign: what came is no answer of a broker that speaks plaintext.
func isForeign(err error) bool { return err != nil && strings.Contains(err.Error(), "tls alert") }

func TestRealRefusedClientIsToldAndKeepsCalm(t *testing.T) {
	t.Parallel()
	c := kafkatest.Secured(t, kafkatest.Config{})
	topic := c.Topic(t, kafkatest.TopicConfig{})
	all, secrets := badLogins(t, c)
	tests := make(map[string]func(*testing.T))
	for _, r := range all {
		tests[r.name] = func(t *testing.T) { r.direct(t, c, topic, secrets) }
		tests[r.name+", in a group"] = func(t *testing.T) { r.inGroup(t, c, topic, secrets) }
	}
	together(t, tests)
}

const (
	refusedFor = 4 * time.Second
	maxDials   = 8 // in that time
)

// direct: a poll waits, as kgo's does, since the cluster may change its mind. A
// ping says what is wrong, and so does the hook.
func (r badLogin) direct(t *testing.T, c *kafkatest.SecuredCluster, topic string, secrets []string) {
	consumer, w := secured(t, c, append(r.opts, from(topic, 0, at(0)))...)
	require.Empty(t, listen(consumer, topic))
	require.LessOrEqual(t, w.connections(), maxDials)
	kafkatest.Wait(t, "the hook to be told", func(context.Context) (string, bool) { return w.failures(), w.told(r.is) })

	ping, end := context.WithTimeout(t.Context(), 10*time.Second)
	defer end()
	err := consumer.Ping(ping)
	require.True(t, r.is(err), "%v", err)
	w.keeps(t, secrets, fmt.Sprint(err))
	t.Logf("%d connections in %v; %v", w.connections(), refusedFor, err)
}

// inGroup: polls wait here too, until kgo knows the topics. The hook hears of
// the metadata that we ask for.
func (r badLogin) inGroup(t *testing.T, c *kafkatest.SecuredCluster, topic string, secrets []string) {
	join := append(r.opts, kgo.ConsumerGroup(kafkatest.Name(t)), kgo.ConsumeTopics(topic))
	consumer, w := secured(t, c, join...)
	theirs := newWatch()
	client := c.Client(t, append(theirs.opts(), join...)...)
	kgoSays := make(chan map[string]int)
	go func() { kgoSays <- listen(client, topic) }()
	require.Empty(t, listen(consumer, topic))
	require.Empty(t, <-kgoSays, "nor does kgo")
	kafkatest.Wait(t, "the hook to be told", func(context.Context) (string, bool) { return w.failures(), w.told(r.is) })
	t.Logf("%d connections in %v, kgo made %d", w.connections(), refusedFor, theirs.connections())
	require.LessOrEqual(t, w.connections(), maxDials)
	w.keeps(t, secrets)
}
