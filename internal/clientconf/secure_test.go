package clientconf

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSecurityProblems(t *testing.T) {
	sasl := "security.protocol=SASL_SSL\n"
	for _, tt := range []struct{ name, file, want string }{
		{
			"credentials without a protocol", "sasl.username=alice\nsasl.password=hunter2",
			"f:1: sasl.username: has no effect with security.protocol PLAINTEXT; set security.protocol to SASL_SSL or SASL_PLAINTEXT\n" +
				"f:2: sasl.password: has no effect with security.protocol PLAINTEXT; set security.protocol to SASL_SSL or SASL_PLAINTEXT",
		},
		{
			"credentials with another protocol", "security.protocol=SSL\nsasl.jaas.config=hunter2",
			"f:2: sasl.jaas.config: has no effect with security.protocol SSL; set security.protocol to SASL_SSL or SASL_PLAINTEXT",
		},
		{
			"authorities without TLS", "security.protocol=plaintext\nssl.truststore.location=t.p12",
			"f:2: ssl.truststore.location: has no effect with security.protocol PLAINTEXT; set security.protocol to SSL or SASL_SSL",
		},
		{"no mechanism", sasl + "sasl.username=a\nsasl.password=hunter2", "f:1: security.protocol: SASL_SSL needs sasl.mechanism: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512; set sasl.mechanism"},
		{"a mechanism that is not there", sasl + "sasl.mechanism=OAUTHBEARER", "f:2: sasl.mechanism: OAUTHBEARER is not supported; use PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512, or a client certificate (security.protocol SSL)"},
		{"a mechanism that is none", sasl + "sasl.mechanisms=SCRAM", "f:2: sasl.mechanisms: want PLAIN, SCRAM-SHA-256, SCRAM-SHA-512"},
		{"no credentials", sasl + "sasl.mechanism=PLAIN", "f:1: security.protocol: SASL_SSL needs sasl.username and sasl.password, or sasl.jaas.config"},
		{"no password", sasl + "sasl.mechanism=PLAIN\nsasl.username=alice\nsasl.password=", "f:3: sasl.username: needs sasl.password"},
		{"no username", sasl + "sasl.mechanism=PLAIN\nsasl.password=hunter2", "f:3: sasl.password: needs sasl.username"},
		{
			"two forms of credentials", sasl + "sasl.mechanism=PLAIN\nsasl.username=a\nsasl.password=hunter2\nsasl.jaas.config=PlainLoginModule required username=a password=hunter2;",
			"f:5: sasl.jaas.config: excludes sasl.username: both give the credentials",
		},
		{"two kinds of authorities", "security.protocol=SSL\nssl.ca.location=probe\nssl.ca.pem=x", "f:3: ssl.ca.pem: excludes ssl.ca.location: both give the authorities"},
		{"handler class", "sasl.client.callback.handler.class=a.B", "f:1: sasl.client.callback.handler.class: not supported; classes cannot be loaded; PLAIN and SCRAM work without"},
		{"TLS versions", "security.protocol=SSL\nssl.enabled.protocols=TLSv1.1", "f:2: ssl.enabled.protocols: want TLSv1.2, TLSv1.3 or both; older versions are not supported"},
		{"TLS version", "security.protocol=SSL\nssl.enabled.protocols=TLSv1.2,TLS", "f:2: ssl.enabled.protocols: want TLSv1.2, TLSv1.3 or both"},
		{"verification", "security.protocol=SSL\nenable.ssl.certificate.verification=no", "f:2: enable.ssl.certificate.verification: want true, false"},
		{"name check", "security.protocol=SSL\nssl.endpoint.identification.algorithm=http", "f:2: ssl.endpoint.identification.algorithm: want https, none"},
		{"store type", "security.protocol=SSL\nssl.truststore.type=BKS", "f:2: ssl.truststore.type: want PEM, PKCS12, JKS"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := load(tt.file)
			require.Equal(t, tt.want, withHints(err))
		})
	}
}

func TestWhatMakesAConnectionLessSafeIsTold(t *testing.T) {
	for _, tt := range []struct{ name, file, want string }{
		{"PLAIN in the clear", "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.username=a\nsasl.password=b", "the password goes to the brokers unencrypted: security.protocol is SASL_PLAINTEXT and sasl.mechanism is PLAIN"},
		{"no verification", "security.protocol=SSL\nenable.ssl.certificate.verification=False", "the brokers' certificates are not checked: enable.ssl.certificate.verification is false"},
		{"no name check", "security.protocol=SSL\nssl.endpoint.identification.algorithm=none", "the brokers' host names are not checked: ssl.endpoint.identification.algorithm is none or empty"},
		{"no name check, in Java's words", "security.protocol=SSL\nssl.endpoint.identification.algorithm=", "the brokers' host names are not checked: ssl.endpoint.identification.algorithm is none or empty"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := load(tt.file)
			require.NoError(t, err)
			require.Equal(t, []string{tt.want}, c.Warnings)
		})
	}
	for _, file := range []string{
		"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\nsasl.username=a\nsasl.password=b",
		"security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.username=a\nsasl.password=b",
		"security.protocol=SSL\nenable.ssl.certificate.verification=true\nssl.endpoint.identification.algorithm=https",
	} {
		c, err := load(file)
		require.NoError(t, err)
		require.Empty(t, c.Warnings)
	}
}

// What ends a value in other kinds of files is part of it here, and makes a
// wrong password that nobody understands.
func TestQuotesAndCommentsInCredentialsAreDoubted(t *testing.T) {
	const sasl = "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n"
	for _, tt := range []struct{ name, file, want string }{
		{"quoted password", "sasl.username=a\nsasl.password=\"hunter2\"", "the quotes around the value of sasl.password are part of it"},
		{"quoted name", "sasl.username='a'\nsasl.password=hunter2", "the quotes around the value of sasl.username are part of it"},
		{"comment", "sasl.username=a\nsasl.password=hunter2 # of alice", "the # in the value of sasl.password begins no comment: it and what follows are part of the value"},
		{"comment behind a tab", "sasl.username=a\t# alice\nsasl.password=hunter2", "the # in the value of sasl.username begins no comment: it and what follows are part of the value"},
		{"nothing", "sasl.username=a\nsasl.password=\"hunter#2", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := load(sasl + tt.file)
			require.NoError(t, err)
			require.Equal(t, tt.want, strings.Join(c.Warnings, "\n"))
		})
	}
	c, err := load("", "security.protocol=SASL_SSL", "sasl.mechanism=PLAIN", "sasl.username=a", "sasl.password=hunter2 # 3")
	require.NoError(t, err)
	require.Empty(t, c.Warnings, "an argument has no comments anywhere")
}

func TestJaas(t *testing.T) {
	plain := "org.apache.kafka.common.security.plain.PlainLoginModule"
	scram := "org.apache.kafka.common.security.scram.ScramLoginModule"
	for _, tt := range []struct {
		name, mechanism, text string
		want                  credentials
		problem               string
	}{
		{"plain", "PLAIN", plain + ` required username="alice" password="a b;c";`, credentials{user: "alice", password: "a b;c"}, ""},
		{"scram", "SCRAM-SHA-512", scram + "\n  required\n  username='alice'\n  password='a\"b'\n;", credentials{user: "alice", password: `a"b`}, ""},
		{"without quotes", "PLAIN", plain + " REQUIRED username=alice password=secret;", credentials{user: "alice", password: "secret"}, ""},
		{"escapes", "PLAIN", plain + ` required username="a\"b" password="c\\d\te";`, credentials{user: `a"b`, password: "c\\d\te"}, ""},
		{"token", "SCRAM-SHA-256", scram + ` required username="id" password="mac" tokenauth="true";`, credentials{user: "id", password: "mac", token: true}, ""},
		{"repackaged", "PLAIN", "kafkashaded." + plain + " required username=a password=b serviceName=kafka;", credentials{user: "a", password: "b"}, ""},
		{"empty", "PLAIN", "", credentials{}, "want a login module, such as " + plain},
		{"another module", "PLAIN", scram + " required username=a password=hunter2;", credentials{}, "ScramLoginModule does not go with sasl.mechanism PLAIN"},
		{"kerberos", "SCRAM-SHA-256", "com.sun.security.auth.module.Krb5LoginModule required;", credentials{}, "Krb5LoginModule does not go with sasl.mechanism SCRAM-SHA-256"},
		{"no module", "PLAIN", "hunter2 required;", credentials{}, "want PlainLoginModule for sasl.mechanism PLAIN"},
		{"no flag", "PLAIN", plain + " username=a password=hunter2;", credentials{}, "want a flag such as required behind the login module"},
		{"no semicolon", "PLAIN", plain + " required username=a password=hunter2", credentials{}, `want options such as username="..." password="..." and a semicolon at the end`},
		{"an open quote", "PLAIN", plain + ` required username=a password="hunter2;`, credentials{}, `want options such as username="..." password="..." and a semicolon at the end`},
		{"no equals sign", "PLAIN", plain + ` required username a;`, credentials{}, `want options such as username="..." password="..." and a semicolon at the end`},
		{"two modules", "PLAIN", plain + ` required username=a password=b;` + plain + " required;", credentials{}, "want one login module, and nothing behind its semicolon"},
		{"no user", "PLAIN", plain + " required password=hunter2;", credentials{}, "the login module has no username"},
		{"no password", "PLAIN", plain + ` required username=a password="";`, credentials{}, "the login module has no password"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, problem := parseJaas(tt.text, tt.mechanism)
			require.Equal(t, tt.problem, problem)
			if problem == "" {
				require.Equal(t, tt.want, got)
			}
		})
	}
}
