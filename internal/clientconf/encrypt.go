package clientconf

import (
	"crypto/tls"
	"crypto/x509"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// encrypt sets up TLS.
func (l *loader) encrypt() {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	config.RootCAs = l.authorities()
	if certificate, ok := l.clientCertificate(); ok {
		config.Certificates = []tls.Certificate{certificate}
		l.config.ClientCertificate = true
	}
	l.versions(config)
	l.verify(config)
	l.config.use(kgo.DialTLSConfig(config))
}

// versions reads ssl.enabled.protocols.
func (l *loader) versions(config *tls.Config) {
	s, ok := l.get(enabledProtocols)
	if !ok {
		return
	}
	var low, high uint16
	for name := range strings.SplitSeq(s.value, ",") {
		version := uint16(tls.VersionTLS12)
		switch strings.TrimSpace(name) {
		case "TLSv1.2":
		case "TLSv1.3":
			version = tls.VersionTLS13
		case "TLSv1", "TLSv1.1": // too old: more is offered by the others
			continue
		default:
			l.add(s, "", "want TLSv1.2, TLSv1.3 or both")
			return
		}
		if low == 0 || version < low {
			low = version
		}
		high = max(high, version)
	}
	if low == 0 {
		l.add(s, "", "want TLSv1.2, TLSv1.3 or both; older versions are not supported")
		return
	}
	config.MinVersion, config.MaxVersion = low, high
}

// verify switches checks of the brokers' certificates off, where that is asked
// for.
func (l *loader) verify(config *tls.Config) {
	if s, ok := l.get(verification); ok {
		switch l.word(s, "true", "false") {
		case "false":
			config.InsecureSkipVerify = true
			l.config.warn("the brokers' certificates are not checked: %s is false", verification)
			return
		case "":
			return
		}
	}
	s, ok := l.given[nameCheck] // empty is Java's word for none
	if !ok {
		return
	}
	if s.value != "" {
		switch l.word(s, "https", "none") {
		case "https", "":
			return
		}
	}
	config.InsecureSkipVerify = true
	config.VerifyConnection = verifyChain(config.RootCAs)
	l.config.warn("the brokers' host names are not checked: %s is none or empty", nameCheck)
}

// verifyChain checks all of a certificate but its names.
func verifyChain(roots *x509.CertPool) func(tls.ConnectionState) error {
	return func(state tls.ConnectionState) error {
		options := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
		for _, c := range state.PeerCertificates[1:] {
			options.Intermediates.AddCert(c)
		}
		if _, err := state.PeerCertificates[0].Verify(options); err != nil {
			return &tls.CertificateVerificationError{UnverifiedCertificates: state.PeerCertificates, Err: err}
		}
		return nil
	}
}
