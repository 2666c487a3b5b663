package clientconf

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"software.sslmate.com/src/go-pkcs12"

	"example.com/readcommitted/internal/tlstest"
)

func otherKey(t *testing.T) string {
	_, key := tlstest.NewAuthority(t, "other").PEM(t)
	return key
}

func pemBytes(t *testing.T, text string) []byte {
	block, _ := pem.Decode([]byte(text))
	require.NotNil(t, block)
	return block.Bytes
}

// ping starts a broker and asks it something with properties.
func ping(t *testing.T, broker []kfake.Opt, properties ...string) error {
	t.Helper()
	cluster, err := kfake.NewCluster(append(broker, kfake.NumBrokers(1))...)
	require.NoError(t, err)
	defer cluster.Close()
	config, err := Load(Sources{Arguments: properties})
	require.NoError(t, err)
	client, err := kgo.NewClient(append(config.Options(), kgo.SeedBrokers(cluster.ListenAddrs()...))...)
	require.NoError(t, err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return client.Ping(ctx)
}

func TestLoginsWork(t *testing.T) {
	ca := tlstest.NewAuthority(t, "ca")
	server := &tls.Config{Certificates: []tls.Certificate{ca.Issue(t, "broker", "127.0.0.1").Certificate}}
	caFile, _ := ca.Write(t)
	for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} {
		module := "org.apache.kafka.common.security.scram.ScramLoginModule"
		if mechanism == "PLAIN" {
			module = "org.apache.kafka.common.security.plain.PlainLoginModule"
		}
		for name, credentials := range map[string][]string{
			"properties": {"sasl.username=alice", `sasl.password=a"b c`},
			"jaas":       {`sasl.jaas.config=` + module + ` required username="alice" password="a\"b c";`},
		} {
			t.Run(mechanism+"/"+name, func(t *testing.T) {
				broker := []kfake.Opt{kfake.EnableSASL(), kfake.Superuser(mechanism, "alice", `a"b c`)}
				properties := append([]string{"sasl.mechanism=" + mechanism}, credentials...)
				require.NoError(t, ping(t, broker, append(properties, "security.protocol=SASL_PLAINTEXT")...))

				broker = append(broker, kfake.TLS(server.Clone()))
				require.NoError(t, ping(t, broker, append(properties, "security.protocol=SASL_SSL", "ssl.ca.location="+caFile)...))
				require.Error(t, ping(t, broker, append(properties, "security.protocol=SASL_SSL", "ssl.ca.location="+caFile, "sasl.jaas.config=", "sasl.username=alice", "sasl.password=x")...))
			})
		}
	}
}

func TestCertificatesAreChecked(t *testing.T) {
	ca, unknown := tlstest.NewAuthority(t, "ca"), tlstest.NewAuthority(t, "unknown")
	caFile, _ := ca.Write(t)
	unknownFile, _ := unknown.Write(t)
	serverOf := func(host string) []kfake.Opt {
		return []kfake.Opt{kfake.TLS(&tls.Config{Certificates: []tls.Certificate{ca.Issue(t, "broker", host).Certificate}})}
	}
	here, elsewhere := serverOf("127.0.0.1"), serverOf("elsewhere.example")

	require.NoError(t, ping(t, here, "security.protocol=SSL", "ssl.ca.location="+caFile))
	require.ErrorContains(t, ping(t, here, "security.protocol=SSL"), "unknown authority", "the system's authorities count")
	require.ErrorContains(t, ping(t, here, "security.protocol=SSL", "ssl.ca.location="+unknownFile), "unknown authority")
	require.ErrorContains(t, ping(t, elsewhere, "security.protocol=SSL", "ssl.ca.location="+caFile), "127.0.0.1")

	noName := "ssl.endpoint.identification.algorithm="
	require.NoError(t, ping(t, elsewhere, "security.protocol=SSL", "ssl.ca.location="+caFile, noName))
	require.ErrorContains(t, ping(t, elsewhere, "security.protocol=SSL", "ssl.ca.location="+unknownFile, noName), "unknown authority")
	var verification *tls.CertificateVerificationError
	require.ErrorAs(t, ping(t, elsewhere, "security.protocol=SSL", "ssl.ca.location="+unknownFile, noName), &verification)
	require.NoError(t, ping(t, elsewhere, "security.protocol=SSL", "ssl.ca.location="+unknownFile, "enable.ssl.certificate.verification=false"))

	old := []kfake.Opt{kfake.TLS(&tls.Config{MaxVersion: tls.VersionTLS12, Certificates: []tls.Certificate{ca.Issue(t, "broker", "127.0.0.1").Certificate}})}
	require.NoError(t, ping(t, old, "security.protocol=SSL", "ssl.ca.location="+caFile, "ssl.enabled.protocols=TLSv1.2,TLSv1.3"))
	require.ErrorContains(t, ping(t, old, "security.protocol=SSL", "ssl.ca.location="+caFile, "ssl.enabled.protocols=TLSv1.3"), "protocol version")
}

// A client certificate is shown to a broker that asks for one, whatever it was
// read from.
func TestClientCertificatesAreShown(t *testing.T) {
	ca := tlstest.NewAuthority(t, "ca")
	broker := []kfake.Opt{kfake.TLS(&tls.Config{
		Certificates: []tls.Certificate{ca.Issue(t, "broker", "127.0.0.1").Certificate},
		ClientCAs:    ca.Pool(), ClientAuth: tls.RequireAndVerifyClientCert,
	})}
	client := ca.Issue(t, "alice")
	caFile, _ := ca.Write(t)
	certificateFile, keyFile := client.Write(t)
	certificate, key := client.PEM(t)
	dir := t.TempDir()
	pemFile, p12File, trustFile := filepath.Join(dir, "c.pem"), filepath.Join(dir, "c.p12"), filepath.Join(dir, "t.p12")
	require.NoError(t, os.WriteFile(pemFile, []byte(key+certificate), 0o600))
	store, err := pkcs12.Modern.Encode(client.PrivateKey, client.Leaf, nil, "hunter2")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(p12File, store, 0o600))
	store, err = pkcs12.Modern.EncodeTrustStore([]*x509.Certificate{ca.Leaf}, "hunter2")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(trustFile, store, 0o600))

	for name, properties := range map[string][]string{
		"files":  {"ssl.ca.location=" + caFile, "ssl.certificate.location=" + certificateFile, "ssl.key.location=" + keyFile},
		"text":   {"ssl.ca.location=" + caFile, "ssl.certificate.pem=" + certificate, "ssl.key.pem=" + key},
		"PEM":    {"ssl.truststore.location=" + caFile, "ssl.truststore.type=PEM", "ssl.keystore.location=" + pemFile, "ssl.keystore.type=PEM"},
		"PKCS12": {"ssl.truststore.location=" + trustFile, "ssl.truststore.password=hunter2", "ssl.keystore.location=" + p12File, "ssl.keystore.password=hunter2"},
		"chain":  {"ssl.ca.location=" + caFile, "ssl.keystore.certificate.chain=" + strings.ReplaceAll(certificate, "\n", " "), "ssl.keystore.key=" + strings.ReplaceAll(key, "\n", "")},
	} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, ping(t, broker, append(properties, "security.protocol=SSL")...))
		})
	}
	require.ErrorContains(t, ping(t, broker, "security.protocol=SSL", "ssl.ca.location="+caFile), "certificate required")
}
