package clientconf

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// memory reads files from a map.
func memory(files map[string]string) func(string) ([]byte, fs.FileMode, error) {
	return func(name string) ([]byte, fs.FileMode, error) {
		text, ok := files[name]
		if !ok {
			return nil, 0, fs.ErrNotExist
		}
		return []byte(text), 0o600, nil
	}
}

// load loads one file f and arguments.
func load(file string, arguments ...string) (*Config, error) {
	return Load(Sources{Files: []string{"f"}, Arguments: arguments, read: memory(map[string]string{"f": file})})
}

// option reads back what a client was told.
func option(t *testing.T, c *Config, opt any) any {
	t.Helper()
	client, err := kgo.NewClient(c.Options()...)
	require.NoError(t, err)
	defer client.Close()
	return client.OptValue(opt)
}

func TestSettingsReachTheClient(t *testing.T) {
	c, err := load(`
		bootstrap.servers = a:9092, b ,[::1]:9093
		client.id=me
		client.rack=rack-1
		isolation.level=READ_UNCOMMITTED
		fetch.min.bytes=2
		fetch.max.bytes=200000000
		fetch.wait.max.ms=123
		fetch.message.max.bytes=456
		socket.timeout.ms=7000
		socket.connection.setup.timeout.ms=8000
		metadata.max.age.ms=900
		connections.max.idle.ms=10000`)
	require.NoError(t, err)
	require.Equal(t, []string{"a:9092", "b", "[::1]:9093"}, c.Brokers)
	require.Equal(t, "read_uncommitted", c.Isolation)
	require.Equal(t, "PLAINTEXT", c.Protocol)
	require.Equal(t, 8*time.Second, c.DialTimeout)
	require.Empty(t, c.Warnings)
	for _, want := range []struct{ opt, value any }{
		{kgo.ClientID, "me"},
		{kgo.Rack, "rack-1"},
		{kgo.FetchMinBytes, int32(2)},
		{kgo.FetchMaxBytes, int32(200_000_000)},
		{kgo.BrokerMaxReadBytes, int32(400_000_000)},
		{kgo.FetchMaxWait, 123 * time.Millisecond},
		{kgo.FetchMaxPartitionBytes, int32(456)},
		{kgo.RequestTimeoutOverhead, 7 * time.Second},
		{kgo.DialTimeout, 8 * time.Second},
		{kgo.MetadataMaxAge, 900 * time.Millisecond},
		{kgo.ConnIdleTimeout, 10 * time.Second},
	} {
		require.Equal(t, want.value, option(t, c, want.opt))
	}
}

func TestLaterSourcesCount(t *testing.T) {
	files := memory(map[string]string{
		"1": "client.rack=first\nisolation.level=read_committed\nbootstrap.servers=a:1\nclient.rack=first again",
		"2": "client.rack=second\nbootstrap.servers=b:1",
	})
	c, err := Load(Sources{Files: []string{"1", "2"}, read: files})
	require.NoError(t, err)
	require.Equal(t, "second", option(t, c, kgo.Rack))
	require.Equal(t, []string{"b:1"}, c.Brokers)
	require.Equal(t, "read_committed", c.Isolation)

	c, err = Load(Sources{Files: []string{"1"}, read: files, Arguments: []string{
		"client.rack=third", "client.rack=fourth", "metadata.broker.list=c:1", "isolation.level=",
	}})
	require.NoError(t, err)
	require.Equal(t, "fourth", option(t, c, kgo.Rack))
	require.Equal(t, []string{"c:1"}, c.Brokers)
	require.Empty(t, c.Isolation, "an empty value takes a property back")
}

// Of things that can be given in several forms, a later source replaces the
// form, too.
func TestLaterSourcesReplaceOtherForms(t *testing.T) {
	jaas := `sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="bob" password="b";`
	c, err := load("security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n"+jaas, "sasl.username=alice", "sasl.password=a")
	require.NoError(t, err)
	require.Equal(t, "alice", c.User)

	c, err = load("security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.username=alice\nsasl.password=a", jaas)
	require.NoError(t, err)
	require.Equal(t, "bob", c.User)

	_, err = load("security.protocol=SSL\nssl.ca.location=/missing", "ssl.ca.pem="+readStore(t, "cert.pem"))
	require.NoError(t, err)
}

func TestProblems(t *testing.T) {
	for _, tt := range []struct {
		name, file string
		arguments  []string
		want       string
	}{
		{"unknown", "clientid=a\nclient.ide=b", nil, "f:1: unknown property; did you mean client.id?\nf:2: client.ide: unknown property; did you mean client.id?"},
		{"unknown argument", "", []string{"client.ide=b"}, "-X client.ide: unknown property; did you mean client.id?"},
		{
			"what may be part of a secret is not shown", "MIIEvQIBADANBg=\nuser name\nx.Y=1", nil,
			"f:1: unknown property\nf:2: unknown property\nf:3: unknown property",
		},
		{"refused", "ssl.cipher.suites=a", nil, "f:1: ssl.cipher.suites: not supported; Go chooses the cipher suites; ssl.enabled.protocols can ask for TLSv1.3"},
		{"group", "", []string{"group.id=g"}, "-X group.id: means nothing to this command; give the group with -g GROUP"},
		{"start", "", []string{"auto.offset.reset=earliest"}, "-X auto.offset.reset: means nothing to this command; --from says where to begin: start, end, OFFSET, -N or @TIME"},
		{"number", "fetch.min.bytes=0\nfetch.max.wait.ms=many", nil, "f:1: fetch.min.bytes: want a number from 1 to 2147483647\nf:2: fetch.max.wait.ms: want a number from 10 to 300000"},
		{"receive", "fetch.max.bytes=2000\nreceive.message.max.bytes=1999", nil, "f:2: receive.message.max.bytes: less than fetch.max.bytes, which is 2000"},
		{"brokers", "bootstrap.servers=a:b", nil, "f:1: bootstrap.servers: want HOST:PORT,..."},
		{"brokers with a scheme", "bootstrap.servers=SSL://a:1", nil, "f:1: bootstrap.servers: want HOST:PORT,...; leave out what is in front of ://; security.protocol says it"},
		{"isolation", "isolation.level=commited", nil, "f:1: isolation.level: want read_committed, read_uncommitted"},
		{"client.id", "client.id=" + strings.Repeat("a", 257), nil, "f:1: client.id: longer than 256 bytes"},
		{"protocol", "security.protocol=TLS", nil, "f:1: security.protocol: want PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"},
		{
			"files first, then arguments, by line", "security.protocol=SASL_SSL\nsasl.mechanism=GSSAPI\nfetch.min.bytes=x",
			[]string{"linger.ms=1", "fetch.max.bytes=x"},
			"f:2: sasl.mechanism: GSSAPI is not supported; use PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512, or a client certificate (security.protocol SSL)\n" +
				"f:3: fetch.min.bytes: want a number from 1 to 2147483647\n" +
				"-X linger.ms: means nothing to this command; it is a setting of producers\n" +
				"-X fetch.max.bytes: want a number from 1 to 536870912",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load(Sources{
				Files: []string{"f"}, Arguments: tt.arguments, read: memory(map[string]string{"f": tt.file}),
				Suggest: func(word string, _ []string) string {
					if strings.HasPrefix(word, "client") {
						return "client.id"
					}
					return ""
				},
			})
			require.Equal(t, tt.want, withHints(err))
		})
	}
}

// withHints is an error with its hints.
func withHints(err error) string {
	e, ok := err.(*Error) //nolint:errorlint // never wrapped
	if !ok {
		return "no problem"
	}
	var lines []string
	for _, p := range e.Problems {
		line := p.String()
		if p.Hint != "" {
			line += "; " + p.Hint
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestSharedFilesAreReadAsFarAsTheyMeanSomething(t *testing.T) {
	c, err := load("group.id=g\nlinger.ms=5\nclient.id=me\nlog.thread.name=true\nlinger.ms=6\nschema.registry.basic.auth.user.info=u:p\nsasl.kerberos.service.name=kafka")
	require.NoError(t, err)
	require.Equal(t, []Ignored{{File: "f", Keys: []string{
		"group.id", "linger.ms", "log.thread.name", "sasl.kerberos.service.name", "schema.registry.basic.auth.user.info",
	}}}, c.Ignored)
}

// Suggestions come from names that are known, and every known name has a
// meaning of one kind.
func TestEveryNameHasOneMeaning(t *testing.T) {
	for _, name := range knownNames() {
		k, _, advice := classify(name)
		require.NotEqual(t, unknown, k, name)
		require.Equal(t, k != effective, advice != "", "%s: advice %q", name, advice)
		require.Regexp(t, `^[a-z0-9._]+$`, name)
	}
	for name := range idleNames {
		require.False(t, used[name], name)
		require.NotContains(t, synonyms, name)
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing")
	_, err := Load(Sources{Files: []string{missing, dir}})
	require.ErrorContains(t, err, missing+": no such file or directory")
	require.ErrorContains(t, err, dir+": is a directory")

	big := filepath.Join(dir, "big")
	require.NoError(t, os.WriteFile(big, make([]byte, maxFileBytes+1), 0o600))
	_, err = Load(Sources{Files: []string{big}})
	require.ErrorContains(t, err, "larger than 8 MiB")
}

func TestFilesWithSecretsAreOthersBusiness(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("file modes say nothing on Windows")
	}
	path := filepath.Join(t.TempDir(), "client.properties")
	text := "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.username=alice\nsasl.password=hunter2\n"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	require.NoError(t, os.Chmod(path, 0o600))
	c, err := Load(Sources{Files: []string{path}})
	require.NoError(t, err)
	require.Empty(t, c.Warnings)

	require.NoError(t, os.Chmod(path, 0o644))
	c, err = Load(Sources{Files: []string{path}})
	require.NoError(t, err)
	require.Equal(t, []string{path + " holds secrets, and other users can read it (mode 0644); mode 0600 keeps it to you"}, c.Warnings)

	require.NoError(t, os.WriteFile(path, []byte("client.id=me\n"), 0o644))
	c, err = Load(Sources{Files: []string{path}})
	require.NoError(t, err)
	require.Empty(t, c.Warnings, "there is no secret in it")
}
