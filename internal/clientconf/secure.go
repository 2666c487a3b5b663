package clientconf

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// secure sets up encryption and login, as security.protocol says.
func (l *loader) secure() {
	protocol := "PLAINTEXT"
	if s, ok := l.get(securityProtocol); ok {
		if protocol = l.word(s, "PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"); protocol == "" {
			return // everything else depends on it
		}
	}
	l.config.Protocol = protocol
	l.contradict()
	if l.config.TLS() {
		l.encrypt()
	}
	if l.config.SASL() {
		l.login()
	}
}

// contradict reports what the protocol in force would leave unused: whoever
// gave it counts on it.
func (l *loader) contradict() {
	protocol := l.config.Protocol
	if !l.config.SASL() {
		for _, name := range []string{saslMechanism, saslUsername, saslPassword, saslJaasConfig} {
			if s, ok := l.get(name); ok {
				l.add(s, "set security.protocol to SASL_SSL or SASL_PLAINTEXT", "has no effect with security.protocol %s", protocol)
			}
		}
	}
	if !l.config.TLS() {
		for _, name := range []string{
			caLocation, caPEM, truststoreLocation, truststoreCertificates, certificateLocation, certificatePEM,
			keyLocation, keyPEM, keystoreLocation, keystoreChain, keystoreKey,
		} {
			if s, ok := l.get(name); ok {
				l.add(s, "set security.protocol to SSL or SASL_SSL", "has no effect with security.protocol %s", protocol)
			}
		}
	}
}

// credentials are what a client logs in with.
type credentials struct {
	user, password string
	token          bool // a delegation token's
}

// login sets up SASL.
func (l *loader) login() {
	mechanism, ok := l.mechanism()
	if !ok {
		return
	}
	c, ok := l.credentials(mechanism)
	if !ok {
		return
	}
	l.config.Mechanism, l.config.User = mechanism, c.user
	l.config.use(kgo.SASL(c.as(mechanism)))
	if mechanism == "PLAIN" && !l.config.TLS() {
		l.config.warn("the password goes to the brokers unencrypted: %s is SASL_PLAINTEXT and %s is PLAIN", securityProtocol, saslMechanism)
	}
}

func (c credentials) as(mechanism string) sasl.Mechanism {
	switch mechanism {
	case "SCRAM-SHA-256":
		return scram.Auth{User: c.user, Pass: c.password, IsToken: c.token}.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		return scram.Auth{User: c.user, Pass: c.password, IsToken: c.token}.AsSha512Mechanism()
	}
	return plain.Auth{User: c.user, Pass: c.password}.AsMechanism()
}

// otherMechanisms are those that Kafka has, and this package does not.
var otherMechanisms = []string{"GSSAPI", "OAUTHBEARER", "AWS_MSK_IAM"}

func (l *loader) mechanism() (string, bool) {
	s, ok := l.get(saslMechanism)
	if !ok {
		l.add(l.protocolSetting(), "set sasl.mechanism", "%s needs sasl.mechanism: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512", l.config.Protocol)
		return "", false
	}
	for _, other := range otherMechanisms {
		if strings.EqualFold(s.value, other) {
			l.add(s, "use PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512, or a client certificate (security.protocol SSL)", "%s is not supported", other)
			return "", false
		}
	}
	mechanism := l.word(s, "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
	return mechanism, mechanism != ""
}

// protocolSetting is where to point at when something is missing.
func (l *loader) protocolSetting() setting {
	s, _ := l.get(securityProtocol)
	return s
}

// credentials come as two properties or in the form of Java's login modules.
func (l *loader) credentials(mechanism string) (credentials, bool) {
	if s, ok := l.get(saslJaasConfig); ok {
		c, problem := parseJaas(s.value, mechanism)
		if problem != "" {
			l.add(s, "", "%s", problem)
		}
		return c, problem == ""
	}
	user, hasUser := l.get(saslUsername)
	password, hasPassword := l.get(saslPassword)
	switch {
	case !hasUser && !hasPassword:
		l.add(l.protocolSetting(), "", "%s needs sasl.username and sasl.password, or sasl.jaas.config", l.config.Protocol)
	case !hasUser:
		l.add(password, "", "needs sasl.username")
	case !hasPassword:
		l.add(user, "", "needs sasl.password")
	}
	l.doubt(user)
	l.doubt(password)
	return credentials{user: user.value, password: password.value}, hasUser && hasPassword
}

// doubt warns of what stands around a value in other kinds of files, where it
// would not be part of it.
func (l *loader) doubt(s setting) {
	v := s.value
	switch {
	case len(v) > 1 && v[0] == v[len(v)-1] && strings.ContainsAny(v[:1], `"'`):
		l.config.warn("the quotes around the value of %s are part of it", s.key)
	case s.file != "" && (strings.Contains(v, " #") || strings.Contains(v, "\t#")):
		l.config.warn("the # in the value of %s begins no comment: it and what follows are part of the value", s.key)
	}
}
