package kafkatest

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"
)

// Listener is one of the ways into the brokers of [Secured].
type Listener string

// The listeners besides the plaintext one of [Cluster.Addrs], whose clients may
// do everything. Those of TLS have no name of their own: they are the same user
// as plaintext ones.
const (
	TLS         Listener = "TLS"          // no client certificate asked for
	MutualTLS   Listener = "MTLS"         // the client has to show a certificate
	SASL        Listener = "SASL"         // PLAIN, SCRAM-SHA-256 and -512, not encrypted
	SASLOverTLS Listener = "SASLTLS"      // the same over TLS
	Expiring    Listener = "SASLEXPIRING" // SASL whose sessions last for [SessionLife]
)

// SessionLife is how long a client of [Expiring] may stay before it has to
// authenticate again (connections.max.reauth.ms). Clients do so a second before.
const SessionLife = 2 * time.Second

// PlainUser can authenticate by PLAIN, with PlainPassword. Users of SCRAM are
// made by [SecuredCluster.User].
const (
	PlainUser     = "plain-user"
	PlainPassword = "plain-Secret-0"
)

var protocols = map[Listener]string{
	TLS: "SSL", MutualTLS: "SSL", SASL: "SASL_PLAINTEXT", SASLOverTLS: "SASL_SSL", Expiring: "SASL_PLAINTEXT",
}

// SecuredCluster is a real cluster with listeners of every security protocol
// and rights by ACLs.
type SecuredCluster struct {
	*Cluster
	Certificates *Certificates
}

// Secured returns a real cluster of one broker with TLS, SASL and ACLs, or skips
// the test as [Real] does. The tests of a binary share it, unless config says
// otherwise. Settings of config win. What a test does through [Cluster] itself
// goes through the plaintext listener, where everything is allowed.
func Secured(t testing.TB, config Config) *SecuredCluster {
	t.Helper()
	certs := certificates(t)
	settings := securitySettings(t, certs)
	maps.Copy(settings, config.Settings)
	config.Settings, config.listeners = settings, make(map[string]string)
	for l, protocol := range protocols {
		config.listeners[string(l)] = protocol
	}
	return &SecuredCluster{Cluster: Real(t, config), Certificates: certs}
}

// ListenerAddrs are the brokers' addresses at a listener.
func (c *SecuredCluster) ListenerAddrs(l Listener) []string {
	return c.local.ListenerAddrs(string(l))
}

// securitySettings are the brokers' settings. Certificates and keys are part of
// them, so that no file has to outlive a test.
func securitySettings(t testing.TB, certs *Certificates) map[string]string {
	t.Helper()
	broker, key := certs.Broker.PEM(t)
	authority, _ := certs.CA.PEM(t)
	s := map[string]string{
		"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
		"super.users":           "User:ANONYMOUS",
		// Refused clients are answered a little later, for which tests need not wait.
		"connection.failed.authentication.delay.ms": "20",

		"ssl.keystore.type":              "PEM",
		"ssl.keystore.certificate.chain": broker,
		"ssl.keystore.key":               key,
		"ssl.truststore.type":            "PEM",
		"ssl.truststore.certificates":    authority,

		MutualTLS.setting("ssl.client.auth"):             "required",
		MutualTLS.setting("ssl.principal.mapping.rules"): "RULE:^CN=([^,]+).*$/$1/,DEFAULT",
	}
	for l, protocol := range protocols {
		if strings.HasPrefix(protocol, "SASL") {
			maps.Copy(s, l.saslSettings())
		}
	}
	for _, mechanism := range []string{"plain", "scram-sha-256", "scram-sha-512"} {
		s[Expiring.setting(mechanism+".connections.max.reauth.ms")] = fmt.Sprint(SessionLife.Milliseconds())
	}
	return s
}

func (l Listener) saslSettings() map[string]string {
	const scram = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
	return map[string]string{
		l.setting("sasl.enabled.mechanisms"): "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
		l.setting("plain.sasl.jaas.config"): fmt.Sprintf(
			"org.apache.kafka.common.security.plain.PlainLoginModule required user_%s=%q;", PlainUser, PlainPassword),
		l.setting("scram-sha-256.sasl.jaas.config"): scram,
		l.setting("scram-sha-512.sasl.jaas.config"): scram,
	}
}

// setting is the name of a broker setting for this listener alone.
func (l Listener) setting(name string) string {
	return "listener.name." + strings.ToLower(string(l)) + "." + name
}
