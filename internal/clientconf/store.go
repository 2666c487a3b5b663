package clientconf

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"regexp"

	"software.sslmate.com/src/go-pkcs12"
)

// storeError is why certificates or keys cannot be used. It says nothing of
// what is in them.
type storeError struct {
	text string
	hint string
}

// storeKind is the form of a key store or trust store.
type storeKind int

const (
	storeUnknown storeKind = iota
	storePEM
	storePKCS12 // or a lone certificate or key in DER form
	storeJKS    // Java's own
)

// kindOf looks at what a store begins with. Java does so too: its default type
// is JKS, and it reads PKCS#12 all the same.
func kindOf(text []byte) storeKind {
	switch {
	case bytes.HasPrefix(text, []byte{0xfe, 0xed, 0xfe, 0xed}), bytes.HasPrefix(text, []byte{0xce, 0xce, 0xce, 0xce}):
		return storeJKS
	case bytes.Contains(text, []byte("-----BEGIN ")):
		return storePEM
	case len(text) > 1 && text[0] == 0x30 && text[1] >= 0x80: // a long ASN.1 sequence
		return storePKCS12
	}
	return storeUnknown
}

// unreadable is the error of a store in a form that cannot be read.
func unreadable(path string, text []byte) *storeError {
	if kindOf(text) == storeJKS {
		return &storeError{
			text: path + ": a Java key store (JKS), which only Java can read",
			hint: fmt.Sprintf("convert it: keytool -importkeystore -srckeystore %s -destkeystore %s.p12 -deststoretype PKCS12", path, path),
		}
	}
	return &storeError{text: path + ": neither PEM nor PKCS#12"}
}

// wantPEM is the error of a file that is not in PEM form.
func wantPEM(path string, text []byte) *storeError {
	switch kindOf(text) {
	case storePEM:
		return nil
	case storePKCS12:
		if _, err := x509.ParseCertificate(text); err == nil {
			return &storeError{
				text: path + ": a certificate in DER form, want PEM",
				hint: fmt.Sprintf("convert it: openssl x509 -inform DER -in %s -out %s.pem", path, path),
			}
		}
		return &storeError{
			text: path + ": not in PEM form",
			hint: "a PKCS#12 store is given as " + keystoreLocation + " or " + truststoreLocation,
		}
	case storeJKS:
		return unreadable(path, text)
	default:
		return &storeError{text: path + ": not in PEM form"}
	}
}

// decodeTruststore reads the certificates of a PKCS#12 store.
func decodeTruststore(path string, text []byte, password, passwordName string) (certificates []*x509.Certificate, problem *storeError) {
	defer guard(path, &problem)
	certificates, err := pkcs12.DecodeTrustStore(text, password)
	if err != nil {
		return nil, pkcs12Error(path, err, password, passwordName)
	}
	if len(certificates) == 0 {
		return nil, &storeError{text: path + ": holds no certificate"}
	}
	return certificates, nil
}

// decodeKeystore reads the one key and the certificates of a PKCS#12 store.
func decodeKeystore(path string, text []byte, password, passwordName string) (key any, certificates []*x509.Certificate, problem *storeError) {
	defer guard(path, &problem)
	key, first, more, err := pkcs12.DecodeChain(text, password)
	if err != nil {
		return nil, nil, pkcs12Error(path, err, password, passwordName)
	}
	return key, append([]*x509.Certificate{first}, more...), nil
}

// guard turns a panic of the decoder, whose input is a file of the user's, into
// an error.
func guard(path string, problem **storeError) {
	if recover() != nil {
		*problem = &storeError{text: path + ": a damaged PKCS#12 store"}
	}
}

func pkcs12Error(path string, err error, password, passwordName string) *storeError {
	switch {
	case errors.Is(err, pkcs12.ErrIncorrectPassword) && password == "":
		return &storeError{text: path + ": the store is encrypted", hint: "set " + passwordName}
	case errors.Is(err, pkcs12.ErrIncorrectPassword), errors.Is(err, pkcs12.ErrDecryption):
		return &storeError{text: fmt.Sprintf("%s: %s does not open the store", path, passwordName)}
	}
	return &storeError{
		text: fmt.Sprintf("%s: not a PKCS#12 store that can be read: %v", path, err),
		hint: fmt.Sprintf("convert it to PEM: openssl pkcs12 -in %s -out %s.pem, and give that with type PEM", path, path),
	}
}

// pemBlock matches a block without headers, however its lines are joined.
var pemBlock = regexp.MustCompile(`-----BEGIN ([A-Z0-9 ]+)-----([^-]*)-----END ([A-Z0-9 ]+)-----`)

// inlinePEM gives PEM that is the value of a property its line ends back. Lines
// of a file that are continued come together without any, and Java does not
// need them.
func inlinePEM(value string) []byte {
	return pemBlock.ReplaceAllFunc([]byte(value), func(block []byte) []byte {
		parts := pemBlock.FindSubmatch(block)
		return fmt.Appendf(nil, "\n-----BEGIN %s-----\n%s\n-----END %s-----\n", parts[1], bytes.Join(bytes.Fields(parts[2]), []byte("\n")), parts[3])
	})
}

// pemKey finds the one private key of a text in PEM form.
func pemKey(text []byte, password string) (any, *storeError) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		switch block.Type {
		case "PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "ENCRYPTED PRIVATE KEY":
			return parseKey(block, password)
		}
	}
	return nil, &storeError{text: "no private key in PEM form"}
}
