package kafkatest

import (
	"crypto/tls"
	"sync"
	"testing"

	"example.com/readcommitted/internal/tlstest"
)

// ClientName is the common name of the client certificate that the brokers
// trust, and by that the user of a client that shows it: "User:client".
const ClientName = "client"

// Certificates are what the brokers of [Secured] and their clients show and
// trust: one authority with a certificate for the brokers (127.0.0.1 and
// localhost) and one for clients, and another authority that the brokers do not
// know, with a client certificate of its own.
type Certificates struct {
	CA, Broker, Client       *tlstest.Certificate
	UnknownCA, UnknownClient *tlstest.Certificate
}

// ClientTLS is the configuration of a client that trusts an authority alone and
// shows certificates, none if there are none.
func ClientTLS(trusted *tlstest.Certificate, shown ...*tlstest.Certificate) *tls.Config {
	config := &tls.Config{RootCAs: trusted.Pool(), MinVersion: tls.VersionTLS12}
	for _, s := range shown {
		config.Certificates = append(config.Certificates, s.Certificate)
	}
	return config
}

// made are the certificates of this test binary: tests that share brokers have
// to share them.
var made struct {
	mu  sync.Mutex
	all *Certificates
}

func certificates(t testing.TB) *Certificates {
	t.Helper()
	made.mu.Lock()
	defer made.mu.Unlock()
	if made.all == nil {
		ca, unknown := tlstest.NewAuthority(t, "kafkatest CA"), tlstest.NewAuthority(t, "unknown CA")
		made.all = &Certificates{
			CA: ca, Broker: ca.Issue(t, "broker", "127.0.0.1", "localhost"), Client: ca.Issue(t, ClientName),
			UnknownCA: unknown, UnknownClient: unknown.Issue(t, ClientName),
		}
	}
	return made.all
}
