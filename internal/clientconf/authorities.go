package clientconf

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
)

// authorities are the certificates that brokers' ones must lead to; nil means
// the system's.
func (l *loader) authorities() *x509.CertPool {
	s, ok := l.first(caLocation, caPEM, truststoreLocation, truststoreCertificates)
	if !ok {
		l.checkType(truststoreType)
		return nil
	}
	var certificates []*x509.Certificate
	var problem *storeError
	switch _, name, _ := classify(s.key); name {
	case caLocation:
		if s.value == "probe" { // librdkafka's word for the system's
			return nil
		}
		certificates, problem = l.authoritiesAt(s.value)
	case truststoreLocation:
		l.checkType(truststoreType)
		certificates, problem = l.truststore(s.value)
	default:
		certificates, problem = pemCertificates(inlinePEM(s.value))
	}
	if problem != nil {
		l.add(s, problem.hint, "%s", problem.text)
		return nil
	}
	l.config.Authorities = s.key
	pool := x509.NewCertPool()
	for _, c := range certificates {
		pool.AddCert(c)
	}
	return pool
}

// authoritiesAt reads a file, or all files of a directory that hold
// certificates.
func (l *loader) authoritiesAt(path string) ([]*x509.Certificate, *storeError) {
	if checkFileName(path) == nil {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return l.authoritiesIn(path)
		}
	}
	text, problem := l.open(path)
	if problem != nil {
		return nil, problem
	}
	if problem := wantPEM(path, text); problem != nil {
		return nil, problem
	}
	return pemCertificates(text)
}

func (l *loader) authoritiesIn(directory string) ([]*x509.Certificate, *storeError) {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return nil, &storeError{text: fmt.Sprintf("%s: %v", directory, withoutPath(err))}
	}
	var all []*x509.Certificate
	for _, entry := range entries {
		text, mode, err := l.read(filepath.Join(directory, entry.Name()))
		if err != nil || !mode.IsRegular() {
			continue // other files may be there
		}
		if certificates, problem := pemCertificates(text); problem == nil {
			all = append(all, certificates...)
		}
	}
	if len(all) == 0 {
		return nil, &storeError{text: directory + ": no file in this directory holds certificates in PEM form"}
	}
	return all, nil
}

func (l *loader) truststore(path string) ([]*x509.Certificate, *storeError) {
	text, problem := l.open(path)
	if problem != nil {
		return nil, problem
	}
	switch kindOf(text) {
	case storePEM:
		return pemCertificates(text)
	case storePKCS12:
		return decodeTruststore(path, text, l.value(truststorePassword), truststorePassword)
	default:
		return nil, unreadable(path, text)
	}
}

// checkType looks at the type of a store. The store's own first bytes decide.
func (l *loader) checkType(name string) {
	if s, ok := l.get(name); ok {
		l.word(s, "PEM", "PKCS12", "JKS")
	}
}

// pemCertificates reads all certificates of a text in PEM form. Text between
// them is skipped.
func pemCertificates(text []byte) ([]*x509.Certificate, *storeError) {
	var certificates []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, &storeError{text: "a certificate is damaged"}
		}
		certificates = append(certificates, c)
	}
	if len(certificates) == 0 {
		return nil, &storeError{text: "no certificate in PEM form"}
	}
	return certificates, nil
}
