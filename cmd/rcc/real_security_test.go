package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"

	"example.com/readcommitted/internal/kafkatest"
)

// within is how soon a command has to end that cannot do its work.
const within = 10 * time.Second

// login is a properties file as a user would have it.
type login struct {
	name     string
	listener kafkatest.Listener
	lines    []string
	want     string // the error line, a pattern; "" if the login is right
}

// secureTopic is a topic with committed and aborted records on a secured
// cluster, and who may read it.
type secureTopic struct {
	*kafkatest.SecuredCluster
	topic, group string
	alice        kafkatest.User
	authority    string // file of the brokers' authority
}

func newSecureTopic(t *testing.T) *secureTopic {
	t.Helper()
	c := kafkatest.Secured(t, kafkatest.Config{})
	s := &secureTopic{SecuredCluster: c, topic: c.Topic(t, kafkatest.TopicConfig{}), group: kafkatest.Name(t), alice: c.User(t)}
	s.authority, _ = c.Certificates.CA.Write(t)
	p := c.Producer(t, kafkatest.ProducerConfig{TransactionalID: kafkatest.Name(t)})
	p.Produce(t, s.topic, 0, kafkatest.Values("aborted"))
	p.Abort(t)
	p.Produce(t, s.topic, 0, kafkatest.Values("committed"))
	p.Commit(t)
	c.WaitLSO(t, s.topic, 0, 4)
	return s
}

// consume runs rcc consume with a properties file, and what else is given.
func (s *secureTopic) consume(t *testing.T, l login, more ...string) (code int, stdout, stderr string, took time.Duration) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "client.properties")
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(l.lines, "\n")+"\n"), 0o600))
	args := []string{"consume", s.topic, "-e", "stable", "-f", `%v\n`, "-F", file, "-b", strings.Join(s.addrs(l.listener), ",")}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	began := time.Now()
	code = run(ctx, append(args, more...), nil, &out, &errs)
	for _, secret := range []string{s.alice.Password, kafkatest.PlainPassword} {
		require.NotContains(t, out.String()+errs.String(), secret)
	}
	return code, out.String(), errs.String(), time.Since(began)
}

func (s *secureTopic) names() []string {
	return []string{s.topic, "orders", s.group, "billing", s.alice.Name, "alice"}
}

func (s *secureTopic) addrs(l kafkatest.Listener) []string {
	if l == "" {
		return s.Addrs()
	}
	return s.ListenerAddrs(l)
}

// errorLine is the one error line of a command.
func errorLine(t *testing.T, stderr string) string {
	t.Helper()
	lines := regexp.MustCompile(`(?m)^rcc: error: .*$`).FindAllString(stderr, -1)
	require.Len(t, lines, 1, stderr)
	return lines[0]
}

// messages collects what users see, for one table at the end.
type messages struct {
	mu    sync.Mutex
	lines []string
}

// add notes what a case says. names are what the test made up, each followed by
// what a reader may call it.
func (m *messages) add(t *testing.T, name string, code int, stderr string, took time.Duration, names ...string) {
	t.Helper()
	stderr = strings.NewReplacer(names...).Replace(stderr)
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lines = append(m.lines, fmt.Sprintf("%s (exit %d, %.1f s)\n    %s", name, code, took.Seconds(), strings.Join(lines, "\n    ")))
}

func (m *messages) log(t *testing.T) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	t.Logf("case, message:\n%s", strings.Join(m.lines, "\n"))
}

func scramLines(protocol, mechanism string, u kafkatest.User, more ...string) []string {
	return append(more, "security.protocol="+protocol, "sasl.mechanism="+mechanism, "sasl.username="+u.Name, "sasl.password="+u.Password)
}

// rightLogins are ways in, by names of librdkafka and of Java.
func (s *secureTopic) rightLogins(t *testing.T) []login {
	t.Helper()
	cert, key := s.Certificates.Client.Write(t)
	ca := "ssl.ca.location=" + s.authority
	plain := kafkatest.User{Name: kafkatest.PlainUser, Password: kafkatest.PlainPassword}
	return []login{
		{"TLS", kafkatest.TLS, []string{"security.protocol=SSL", ca}, ""},
		{"mutual TLS", kafkatest.MutualTLS, []string{"security.protocol=SSL", ca, "ssl.certificate.location=" + cert, "ssl.key.location=" + key}, ""},
		{"mutual TLS, names of Java", kafkatest.MutualTLS, s.javaMutualTLS(t), ""},
		{"PLAIN over TLS", kafkatest.SASLOverTLS, scramLines("SASL_SSL", "PLAIN", plain, ca), ""},
		{"SCRAM-SHA-256 over TLS", kafkatest.SASLOverTLS, scramLines("SASL_SSL", "SCRAM-SHA-256", s.alice, ca), ""},
		{"SCRAM-SHA-512", kafkatest.SASL, scramLines("SASL_PLAINTEXT", "SCRAM-SHA-512", s.alice), ""},
		{"SCRAM-SHA-512 over TLS, names of Java", kafkatest.SASLOverTLS, s.javaSCRAM(), ""},
	}
}

// javaSCRAM and javaMutualTLS are files that Java's own tools read too.
func (s *secureTopic) javaSCRAM() []string {
	return []string{
		"security.protocol=SASL_SSL", "sasl.mechanism=SCRAM-SHA-512",
		"ssl.truststore.type=PEM", "ssl.truststore.location=" + s.authority,
		fmt.Sprintf("sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\\n  username=%q password=%q;", s.alice.Name, s.alice.Password),
	}
}

func (s *secureTopic) javaMutualTLS(t *testing.T) []string {
	t.Helper()
	cert, key := s.Certificates.Client.PEM(t)
	file := filepath.Join(t.TempDir(), "keystore.pem")
	require.NoError(t, os.WriteFile(file, []byte(key+cert), 0o600))
	return []string{
		"security.protocol=SSL", "ssl.truststore.type=PEM", "ssl.truststore.location=" + s.authority,
		"ssl.keystore.type=PEM", "ssl.keystore.location=" + file,
	}
}

func TestRealRightLoginsRead(t *testing.T) {
	s := newSecureTopic(t)
	var told messages
	defer told.log(t)
	for _, user := range []string{kafkatest.ClientName, kafkatest.PlainUser, s.alice.Name} {
		s.Grant(t, user, kafkatest.OnTopic(kadm.OpRead, s.topic), kafkatest.OnGroup(kadm.OpRead, s.group))
	}
	for _, l := range s.rightLogins(t) {
		code, stdout, stderr, took := s.consume(t, l)
		require.Equal(t, exitOK, code, "%s: %s", l.name, stderr)
		require.Equal(t, "committed\n", stdout, l.name)
		told.add(t, l.name, code, stderr, took, s.names()...)
	}
	member := login{listener: kafkatest.SASLOverTLS, lines: s.javaSCRAM()}
	code, stdout, stderr, took := s.consume(t, member, "-g", s.group)
	require.Equal(t, exitOK, code, stderr)
	require.Equal(t, "committed\n", stdout)
	told.add(t, "in a group", code, stderr, took, s.names()...)
}

func (s *secureTopic) wrongLogins(t *testing.T) []login {
	t.Helper()
	unknown, _ := s.Certificates.UnknownCA.Write(t)
	foreign, foreignKey := s.Certificates.UnknownClient.Write(t)
	ca := "ssl.ca.location=" + s.authority
	wrong := kafkatest.User{Name: s.alice.Name, Password: s.alice.Password + "x"}
	nobody := kafkatest.User{Name: "nobody", Password: s.alice.Password}
	plain := kafkatest.User{Name: kafkatest.PlainUser, Password: s.alice.Password}
	denied := "SASL_AUTHENTICATION_FAILED"
	return []login{
		{"wrong password, SCRAM over TLS", kafkatest.SASLOverTLS, scramLines("SASL_SSL", "SCRAM-SHA-512", wrong, ca), denied},
		{"wrong password, SCRAM", kafkatest.SASL, scramLines("SASL_PLAINTEXT", "SCRAM-SHA-256", wrong), denied},
		{"wrong password, PLAIN over TLS", kafkatest.SASLOverTLS, scramLines("SASL_SSL", "PLAIN", plain, ca), denied},
		{"unknown user", kafkatest.SASL, scramLines("SASL_PLAINTEXT", "SCRAM-SHA-512", nobody), denied},
		{"unknown CA", kafkatest.TLS, []string{"security.protocol=SSL", "ssl.ca.location=" + unknown}, "unknown authority"},
		{"unknown CA, system's", kafkatest.TLS, []string{"security.protocol=SSL"}, "unknown authority"},
		{"no client certificate", kafkatest.MutualTLS, []string{"security.protocol=SSL", ca}, "certificate"},
		{
			"unknown client certificate", kafkatest.MutualTLS,
			[]string{"security.protocol=SSL", ca, "ssl.certificate.location=" + foreign, "ssl.key.location=" + foreignKey},
			"certificate",
		},
		{"plaintext at a TLS port", kafkatest.TLS, []string{"security.protocol=PLAINTEXT"}, "no broker answers"},
		{"plaintext at a SASL port", kafkatest.SASL, []string{"security.protocol=PLAINTEXT"}, "no broker answers"},
		{"TLS at a SASL port without it", kafkatest.SASL, []string{"security.protocol=SSL", ca}, "no broker answers"},
		{"SASL at a plaintext port", "", scramLines("SASL_PLAINTEXT", "SCRAM-SHA-512", s.alice), "ILLEGAL_SASL_STATE"},
		{"SASL without TLS at a SASL_SSL port", kafkatest.SASLOverTLS, scramLines("SASL_PLAINTEXT", "SCRAM-SHA-512", s.alice), "no broker answers"},
	}
}

func TestRealWrongLoginsFailAtOnceWithOneLine(t *testing.T) {
	s := newSecureTopic(t)
	var told messages
	t.Cleanup(func() { told.log(t) })
	for _, l := range s.wrongLogins(t) {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr, took := s.consume(t, l)
			require.Equal(t, exitError, code, stderr)
			require.Empty(t, stdout)
			require.Regexp(t, l.want, errorLine(t, stderr))
			require.Less(t, took, within)
			told.add(t, l.name, code, stderr, took, s.names()...)
		})
	}
}
