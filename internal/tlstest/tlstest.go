// Package tlstest makes certificates for tests: a certificate authority, and
// what it signs for brokers on loopback and for their clients.
package tlstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Certificate is a certificate with its key.
type Certificate struct {
	tls.Certificate
	key *ecdsa.PrivateKey
}

// NewAuthority makes a certificate authority, which signs itself.
func NewAuthority(t testing.TB, name string) *Certificate {
	t.Helper()
	template := newTemplate(name)
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign
	return sign(t, template, nil)
}

// Issue signs a certificate, for the hosts if it is a broker's.
func (c *Certificate) Issue(t testing.TB, name string, hosts ...string) *Certificate {
	t.Helper()
	template := newTemplate(name)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return sign(t, template, c)
}

// Expire signs a certificate that was valid until an hour ago.
func (c *Certificate) Expire(t testing.TB, name string, host string) *Certificate {
	t.Helper()
	template := newTemplate(name)
	template.NotBefore, template.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
	template.IPAddresses = []net.IP{net.ParseIP(host)}
	return sign(t, template, c)
}

// Pool holds the certificate as an authority.
func (c *Certificate) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(c.Leaf)
	return pool
}

// PEM is the certificate, and its key as PKCS#8.
func (c *Certificate) PEM(t testing.TB) (certificate, key string) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(c.key)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Leaf.Raw})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// Write writes both to files that end with the test.
func (c *Certificate) Write(t testing.TB) (certificate, key string) {
	t.Helper()
	dir := t.TempDir()
	certificateText, keyText := c.PEM(t)
	certificate, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	require.NoError(t, os.WriteFile(certificate, []byte(certificateText), 0o600))
	require.NoError(t, os.WriteFile(key, []byte(keyText), 0o600))
	return certificate, key
}

func newTemplate(name string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, big.NewInt(1<<62)) // never fails, see crypto/rand
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
	}
}

// sign gives a template a key and a signature: its own if there is no other.
func sign(t testing.TB, template *x509.Certificate, by *Certificate) *Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	parent, signer := template, key
	if by != nil {
		parent, signer = by.Leaf, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return &Certificate{Certificate: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, key: key}
}
