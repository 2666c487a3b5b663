package clientconf

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
)

// clientCertificate is what the client shows to brokers that ask for a
// certificate.
func (l *loader) clientCertificate() (tls.Certificate, bool) {
	l.checkType(keystoreType)
	at, ok := l.first(keystoreLocation, keystoreChain, keystoreKey, certificateLocation, certificatePEM, keyLocation, keyPEM)
	if !ok {
		return tls.Certificate{}, false
	}
	var key any
	var certificates []*x509.Certificate
	if at.key == keystoreLocation {
		key, certificates, ok = l.keystore(at)
	} else {
		key, certificates, ok = l.pair()
	}
	if !ok {
		return tls.Certificate{}, false
	}
	certificate, ok := match(key, certificates)
	if !ok {
		l.add(at, "", "the client's key does not belong to the client's certificate")
	}
	return certificate, ok
}

// keystore reads key and certificates from one file.
func (l *loader) keystore(at setting) (key any, certificates []*x509.Certificate, ok bool) {
	text, problem := l.open(at.value)
	if problem != nil {
		l.add(at, problem.hint, "%s", problem.text)
		return nil, nil, false
	}
	switch kindOf(text) {
	case storePEM:
		if key, problem = pemKey(text, l.value(keyPassword)); problem == nil {
			certificates, problem = pemCertificates(text)
		}
	case storePKCS12:
		key, certificates, problem = decodeKeystore(at.value, text, l.value(keystorePassword), keystorePassword)
	default:
		problem = unreadable(at.value, text)
	}
	if problem != nil {
		l.add(at, problem.hint, "%s", problem.text)
	}
	return key, certificates, problem == nil
}

// pair reads key and certificates that are given one by one.
func (l *loader) pair() (key any, certificates []*x509.Certificate, ok bool) {
	keyAt, hasKey := l.first(keystoreKey, keyLocation, keyPEM)
	certificateAt, hasCertificate := l.first(keystoreChain, certificateLocation, certificatePEM)
	switch {
	case !hasKey:
		l.add(certificateAt, "set ssl.key.location, ssl.key.pem or ssl.keystore.key", "needs the key that belongs to it")
		return nil, nil, false
	case !hasCertificate:
		l.add(keyAt, "set ssl.certificate.location, ssl.certificate.pem or ssl.keystore.certificate.chain", "needs the certificate that belongs to it")
		return nil, nil, false
	}
	keyText, keyOK := l.pemText(keyAt, keyLocation)
	certificateText, certificateOK := l.pemText(certificateAt, certificateLocation)
	if !keyOK || !certificateOK {
		return nil, nil, false
	}
	var problem *storeError
	if key, problem = pemKey(keyText, l.value(keyPassword)); problem != nil {
		l.add(keyAt, problem.hint, "%s", problem.text)
		keyOK = false
	}
	if certificates, problem = pemCertificates(certificateText); problem != nil {
		l.add(certificateAt, problem.hint, "%s", problem.text)
		certificateOK = false
	}
	return key, certificates, keyOK && certificateOK
}

// pemText is the text of a setting, or of the file that it names if its name is
// location.
func (l *loader) pemText(s setting, location string) ([]byte, bool) {
	if s.key != location {
		return inlinePEM(s.value), true
	}
	text, problem := l.open(s.value)
	if problem == nil {
		problem = wantPEM(s.value, text)
	}
	if problem != nil {
		l.add(s, problem.hint, "%s", problem.text)
		return nil, false
	}
	return text, true
}

// match puts the certificate that the key belongs to in front of the others,
// which lead from it to an authority.
func match(key any, certificates []*x509.Certificate) (tls.Certificate, bool) {
	signer, ok := key.(crypto.Signer)
	if !ok {
		return tls.Certificate{}, false
	}
	public, ok := signer.Public().(interface{ Equal(crypto.PublicKey) bool })
	if !ok {
		return tls.Certificate{}, false
	}
	result := tls.Certificate{PrivateKey: key}
	for _, c := range certificates {
		if result.Leaf == nil && public.Equal(c.PublicKey) {
			result.Leaf = c
			result.Certificate = append([][]byte{c.Raw}, result.Certificate...)
			continue
		}
		result.Certificate = append(result.Certificate, c.Raw)
	}
	return result, result.Leaf != nil
}
