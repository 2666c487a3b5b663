package clientconf

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const storePassword = "fixture-password"

func storePath(name string) string { return filepath.Join("testdata", "stores", name) }

func readStore(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(storePath(name))
	require.NoError(t, err)
	return string(text)
}

// loadTLS loads arguments with security.protocol SSL and real files.
func loadTLS(arguments ...string) (*Config, error) {
	return Load(Sources{Arguments: append([]string{"security.protocol=SSL"}, arguments...)})
}

func TestStoresThatUsersHave(t *testing.T) {
	password := func(name string) string { return name + "=" + storePassword }
	for name, arguments := range map[string][]string{
		"ca":                      {"ssl.ca.location=" + storePath("cert.pem")},
		"ca directory":            {"ssl.ca.location=testdata/stores"},
		"ca text":                 {"ssl.ca.pem=" + readStore(t, "cert.pem")},
		"truststore of keytool":   {"ssl.truststore.location=" + storePath("truststore.p12"), password(truststorePassword), "ssl.truststore.type=JKS"},
		"truststore as PEM":       {"ssl.truststore.location=" + storePath("cert.pem"), "ssl.truststore.type=PEM"},
		"truststore text":         {"ssl.truststore.certificates=" + readStore(t, "cert.pem"), "ssl.truststore.type=PEM"},
		"certificate and key":     {"ssl.certificate.location=" + storePath("cert.pem"), "ssl.key.location=" + storePath("ec.pem")},
		"text of both":            {"ssl.certificate.pem=" + readStore(t, "cert.pem"), "ssl.key.pem=" + readStore(t, "ec.pem")},
		"a file and a text":       {"ssl.certificate.location=" + storePath("cert.pem"), "ssl.key.pem=" + readStore(t, "sec1.pem")},
		"AES key":                 {"ssl.certificate.location=" + storePath("cert.pem"), "ssl.key.location=" + storePath("aes256.pem"), password(keyPassword)},
		"AES key with SHA-512":    {"ssl.certificate.location=" + storePath("cert.pem"), "ssl.key.location=" + storePath("aes128-sha512.pem"), password(keyPassword)},
		"triple DES key":          {"ssl.certificate.location=" + storePath("cert.pem"), "ssl.key.location=" + storePath("des3-sha1.pem"), password(keyPassword)},
		"keystore of OpenSSL":     {"ssl.keystore.location=" + storePath("openssl.p12"), password(keystorePassword)},
		"keystore of old OpenSSL": {"ssl.keystore.location=" + storePath("openssl-legacy.p12"), password(keystorePassword)},
		"keystore of keytool":     {"ssl.keystore.location=" + storePath("keystore.p12"), password(keystorePassword), password(keyPassword), "ssl.keystore.type=PKCS12"},
		"keystore text": {
			"ssl.keystore.type=PEM", "ssl.keystore.certificate.chain=" + readStore(t, "cert.pem"),
			"ssl.keystore.key=" + readStore(t, "aes256.pem"), password(keyPassword),
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := loadTLS(arguments...)
			require.NoError(t, err)
		})
	}
	t.Run("keystore as PEM", func(t *testing.T) {
		both := filepath.Join(t.TempDir(), "both.pem")
		require.NoError(t, os.WriteFile(both, []byte(readStore(t, "aes256.pem")+readStore(t, "cert.pem")), 0o600))
		_, err := loadTLS("ssl.keystore.location="+both, password(keyPassword))
		require.NoError(t, err)
	})
}

func TestStoresThatCannotBeRead(t *testing.T) {
	certificate := "ssl.certificate.location=" + storePath("cert.pem")
	key := func(name string) string { return "ssl.key.location=" + storePath(name) }
	for _, tt := range []struct {
		name      string
		arguments []string
		want      string
	}{
		{"JKS", []string{"ssl.truststore.location=" + storePath("truststore.jks")}, "-X ssl.truststore.location: testdata/stores/truststore.jks: a Java key store (JKS), which only Java can read; convert it: keytool -importkeystore -srckeystore testdata/stores/truststore.jks -destkeystore testdata/stores/truststore.jks.p12 -deststoretype PKCS12"},
		{"JKS as keystore", []string{"ssl.keystore.location=" + storePath("truststore.jks")}, "-X ssl.keystore.location: testdata/stores/truststore.jks: a Java key store (JKS), which only Java can read; convert it: keytool -importkeystore -srckeystore testdata/stores/truststore.jks -destkeystore testdata/stores/truststore.jks.p12 -deststoretype PKCS12"},
		{"no store", []string{"ssl.truststore.location=" + storePath("README.md")}, "-X ssl.truststore.location: testdata/stores/README.md: neither PEM nor PKCS#12"},
		{"truststore password", []string{"ssl.truststore.location=" + storePath("truststore.p12"), "ssl.truststore.password=hunter2"}, "-X ssl.truststore.location: testdata/stores/truststore.p12: ssl.truststore.password does not open the store"},
		{"no truststore password", []string{"ssl.truststore.location=" + storePath("truststore.p12")}, "-X ssl.truststore.location: testdata/stores/truststore.p12: the store is encrypted; set ssl.truststore.password"},
		{"not for trust", []string{"ssl.truststore.location=" + storePath("untrusted.p12"), "ssl.truststore.password=" + storePassword}, "-X ssl.truststore.location: testdata/stores/untrusted.p12: not a PKCS#12 store that can be read: pkcs12: trust store contains a certificate that is not marked as trusted; convert it to PEM: openssl pkcs12 -in testdata/stores/untrusted.p12 -out testdata/stores/untrusted.p12.pem, and give that with type PEM"},
		{"DER", []string{"ssl.ca.location=" + storePath("cert.der")}, "-X ssl.ca.location: testdata/stores/cert.der: a certificate in DER form, want PEM; convert it: openssl x509 -inform DER -in testdata/stores/cert.der -out testdata/stores/cert.der.pem"},
		{"PKCS#12 as ca", []string{"ssl.ca.location=" + storePath("truststore.p12")}, "-X ssl.ca.location: testdata/stores/truststore.p12: not in PEM form; a PKCS#12 store is given as ssl.keystore.location or ssl.truststore.location"},
		{"a key as ca", []string{"ssl.ca.location=" + storePath("ec.pem")}, "-X ssl.ca.location: no certificate in PEM form"},
		{"missing", []string{"ssl.ca.location=/missing"}, "-X ssl.ca.location: /missing: no such file or directory"},
		{"text for a file", []string{"ssl.key.location=-----BEGIN hunter2", certificate}, "-X ssl.key.location: not the name of a file; the text itself belongs into the property that ends in .pem, or in .certificates, .certificate.chain or .key"},
		{"directory without certificates", []string{"ssl.ca.location=testdata"}, "-X ssl.ca.location: testdata: no file in this directory holds certificates in PEM form"},
		{"certificate alone", []string{certificate}, "-X ssl.certificate.location: needs the key that belongs to it; set ssl.key.location, ssl.key.pem or ssl.keystore.key"},
		{"key alone", []string{key("ec.pem")}, "-X ssl.key.location: needs the certificate that belongs to it; set ssl.certificate.location, ssl.certificate.pem or ssl.keystore.certificate.chain"},
		{"key password", []string{certificate, key("aes256.pem"), "ssl.key.password=hunter2"}, "-X ssl.key.location: ssl.key.password does not decrypt the key"},
		{"no key password", []string{certificate, key("aes256.pem")}, "-X ssl.key.location: the key is encrypted; set ssl.key.password"},
		{"scrypt", []string{certificate, key("scrypt.pem"), "ssl.key.password=hunter2"}, "-X ssl.key.location: the key is encrypted in a way that is not supported; " + convertKey},
		{"PBES1", []string{certificate, key("pbes1.pem"), "ssl.key.password=hunter2"}, "-X ssl.key.location: the key is encrypted in a way that is not supported; " + convertKey},
		{"old encryption", []string{certificate, key("old.pem"), "ssl.key.password=" + storePassword}, "-X ssl.key.location: the key is encrypted in OpenSSL's old way, which does not protect it; " + convertKey},
		{"no key", []string{certificate, key("cert.pem")}, "-X ssl.key.location: no private key in PEM form"},
		{"keystore password", []string{"ssl.keystore.location=" + storePath("keystore.p12"), "ssl.keystore.password=hunter2"}, "-X ssl.keystore.location: testdata/stores/keystore.p12: ssl.keystore.password does not open the store"},
		{"keystore without a key", []string{"ssl.keystore.location=" + storePath("truststore.p12"), "ssl.keystore.password=" + storePassword}, "-X ssl.keystore.location: testdata/stores/truststore.p12: not a PKCS#12 store that can be read: pkcs12: private key missing; convert it to PEM: openssl pkcs12 -in testdata/stores/truststore.p12 -out testdata/stores/truststore.p12.pem, and give that with type PEM"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := loadTLS(tt.arguments...)
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.Equal(t, tt.want, withHints(err))
		})
	}
}

func TestKeyOfAnotherCertificate(t *testing.T) {
	_, err := loadTLS("ssl.certificate.location="+storePath("cert.pem"), "ssl.key.pem="+otherKey(t))
	require.EqualError(t, err, "-X ssl.certificate.location: the client's key does not belong to the client's certificate")
}

// A store that is cut anywhere is an error, never a panic.
func TestCutStores(t *testing.T) {
	for _, name := range []string{"openssl.p12", "keystore.p12", "truststore.p12"} {
		whole := []byte(readStore(t, name))
		for n := range whole {
			_, _, problem := decodeKeystore(name, whole[:n], storePassword, keystorePassword)
			require.NotNil(t, problem)
			_, problem = decodeTruststore(name, whole[:n], storePassword, truststorePassword)
			require.NotNil(t, problem)
		}
	}
	for _, name := range []string{"aes256.pem", "des3-sha1.pem"} {
		whole := readStore(t, name)
		for n := range len(whole) - len("-----\n") {
			_, problem := pemKey([]byte(whole[:n]), storePassword)
			require.NotNil(t, problem)
		}
	}
}

// A broken byte in an encrypted key is an error, never a panic, and never costs
// more than the key may ask for.
func TestDamagedKeys(t *testing.T) {
	for _, name := range []string{"aes256.pem", "des3-sha1.pem"} {
		whole := pemBytes(t, readStore(t, name))
		for i := range whole {
			damaged := append([]byte(nil), whole...)
			damaged[i] ^= 0x10
			plain, problem := decryptKey(damaged, storePassword)
			if problem != nil {
				require.False(t, strings.Contains(problem.text, storePassword))
				require.Nil(t, plain)
			}
		}
	}
}
