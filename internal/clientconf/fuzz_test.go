package clientconf

import (
	"encoding/pem"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fuzzSecret stands for a password wherever the fuzzer puts it.
const fuzzSecret = "hUnter2-SeCret"

// Whatever stands in a file, and wherever in it a secret stands, no error and no
// warning shows it.
func FuzzFile(f *testing.F) {
	for _, seed := range [][2]string{
		{"sasl.password=", ""},
		{"security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.username=a\nsasl.password=", "\nclient.id=b"},
		{"sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username=\"a\" password=\"", "\";\nsecurity.protocol=SASL_SSL\nsasl.mechanism=PLAIN"},
		{"ssl.key.pem=-----BEGIN PRIVATE KEY-----\n", "\n-----END PRIVATE KEY-----\nsecurity.protocol=SSL"},
		{"", "=a\\\n  b\\u00e4"},
		{"bootstrap.servers=", ":9092,b"},
		{"fetch.min.bytes=1", "\\u"},
		{"\ufeff# ", "\r\nsasl.password \\"},
		{"isolation.level: ", " \\ "},
		{"security.protocol=SSL\nssl.key.location=-----BEGIN ", ""},
		{"ssl.ca.pem=", "\nssl.enabled.protocols=TLSv1.3"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		text := before + fuzzSecret + after
		read := func(name string) ([]byte, fs.FileMode, error) {
			if name == "f" {
				return []byte(text), 0o644, nil
			}
			return nil, 0, fs.ErrNotExist
		}
		config, err := Load(Sources{Files: []string{"f"}, read: read, Suggest: func(word string, _ []string) string { return "" }})
		if err != nil {
			require.Nil(t, config)
			for _, p := range err.(*Error).Problems { //nolint:errorlint // never wrapped
				if !strings.HasSuffix(p.Key, ".location") { // the name of a file is no secret
					require.NotContains(t, p.String()+p.Hint, fuzzSecret)
				}
				require.LessOrEqual(t, p.Line, strings.Count(text, "\n")+strings.Count(text, "\r")+1)
			}
			return
		}
		require.NotContains(t, strings.Join(config.Warnings, "\n"), fuzzSecret)
		for _, ignored := range config.Ignored {
			require.NotContains(t, strings.Join(ignored.Keys, "\n"), fuzzSecret)
		}
		_ = config.Options()
	})
}

// A login module is read whole or refused, and what is refused is not shown.
func FuzzJaas(f *testing.F) {
	for _, seed := range [][2]string{
		{"org.apache.kafka.common.security.plain.PlainLoginModule required username=\"a\" password=\"", "\";"},
		{"ScramLoginModule required username=a password='", "' tokenauth=true;"},
		{"PlainLoginModule required username=", " password=b;"},
		{"", " required;"},
		{"PlainLoginModule ", ";"},
		{"PlainLoginModule required password=\"\\", ""},
		{"PlainLoginModule required username=a password=", "; x"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-256"} {
			c, problem := parseJaas(before+fuzzSecret+after, mechanism)
			if problem != "" {
				require.NotContains(t, problem, fuzzSecret)
				continue
			}
			require.NotEmpty(t, c.user)
			require.NotEmpty(t, c.password)
		}
	})
}

// A key that nobody vouches for is decrypted or refused, in bounded time.
func FuzzEncryptedKey(f *testing.F) {
	for _, name := range []string{"aes256.pem", "aes128-sha512.pem", "des3-sha1.pem", "scrypt.pem", "pbes1.pem"} {
		text, err := os.ReadFile(storePath(name))
		require.NoError(f, err)
		block, _ := pem.Decode(text)
		f.Add(block.Bytes)
	}
	f.Fuzz(func(t *testing.T, der []byte) {
		if s, ok := parseScheme(der); ok && s.iterations > 10_000 {
			t.Skip("takes its time, as it asks for")
		}
		plain, problem := decryptKey(der, storePassword)
		require.Equal(t, problem == nil, plain != nil)
	})
}
