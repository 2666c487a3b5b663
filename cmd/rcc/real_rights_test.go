package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"

	"example.com/readcommitted/internal/kafkatest"
)

func TestRealMissingRightsFailAtOnceWithOneLine(t *testing.T) {
	s := newSecureTopic(t)
	var told messages
	t.Cleanup(func() { told.log(t) })
	const topicDenied, groupDenied = "TOPIC_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED"
	for _, tt := range []struct {
		name         string
		topic, group kadm.ACLOperation // OpUnknown: none
		asMember     bool
		want         string
	}{
		{"topic DESCRIBE", kadm.OpUnknown, kadm.OpUnknown, false, topicDenied},
		{"topic READ", kadm.OpDescribe, kadm.OpUnknown, false, topicDenied},
		{"topic DESCRIBE, in a group", kadm.OpUnknown, kadm.OpRead, true, topicDenied},
		{"topic READ, in a group", kadm.OpDescribe, kadm.OpRead, true, topicDenied},
		{"group DESCRIBE", kadm.OpRead, kadm.OpUnknown, true, groupDenied},
		{"group READ", kadm.OpRead, kadm.OpDescribe, true, groupDenied},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			user, group := s.User(t), kafkatest.Name(t)
			if tt.topic != kadm.OpUnknown {
				s.Grant(t, user.Name, kafkatest.OnTopic(tt.topic, s.topic))
			}
			if tt.group != kadm.OpUnknown {
				s.Grant(t, user.Name, kafkatest.OnGroup(tt.group, group))
			}
			var more []string
			if tt.asMember {
				more = []string{"-g", group}
			}
			l := login{listener: kafkatest.SASL, lines: scramLines("SASL_PLAINTEXT", "SCRAM-SHA-512", user)}
			code, stdout, stderr, took := s.consume(t, l, more...)
			require.Equal(t, exitError, code, stderr)
			require.Empty(t, stdout)
			require.Contains(t, errorLine(t, stderr), tt.want)
			require.NotContains(t, stderr, user.Password)
			require.Less(t, took, within)
			told.add(t, "without "+tt.name, code, stderr, took, s.topic, "orders", group, "billing", user.Name, "alice")
		})
	}
}

// Names mean to rcc what they mean to Java's own tools: both read the same file,
// and with it the same records.
func TestRealPropertiesFileServesJavaToo(t *testing.T) {
	s := newSecureTopic(t)
	for name, l := range map[string]login{
		"SCRAM over TLS": {listener: kafkatest.SASLOverTLS, lines: s.javaSCRAM()},
		"mutual TLS":     {listener: kafkatest.MutualTLS, lines: s.javaMutualTLS(t)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			group := kafkatest.Name(t)
			for _, user := range []string{s.alice.Name, kafkatest.ClientName} {
				s.Grant(t, user, kafkatest.OnTopic(kadm.OpRead, s.topic), kafkatest.OnGroup(kadm.OpRead, group))
			}
			code, stdout, stderr, _ := s.consume(t, l)
			require.Equal(t, exitOK, code, stderr)

			file := filepath.Join(t.TempDir(), "client.properties")
			require.NoError(t, os.WriteFile(file, []byte(strings.Join(l.lines, "\n")+"\n"), 0o600))
			flag := "--command-config"
			if strings.HasPrefix(s.Local().Version(), "3.") {
				flag = "--consumer.config"
			}
			theirs, err := s.Local().Tool(t.Context(), "org.apache.kafka.tools.consumer.ConsoleConsumer",
				"--bootstrap-server", s.ListenerAddrs(l.listener)[0], "--topic", s.topic, "--from-beginning", "--group", group,
				"--isolation-level", "read_committed", "--max-messages", "1", "--timeout-ms", "20000", flag, file)
			require.NoError(t, err)
			require.Equal(t, theirs, stdout)
			require.Equal(t, "committed\n", stdout)
		})
	}
}
