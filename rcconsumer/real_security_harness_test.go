package rcconsumer_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	saslplain "github.com/twmb/franz-go/pkg/sasl/plain"

	"example.com/readcommitted/internal/kafkatest"
	"example.com/readcommitted/rcconsumer"
)

// watch sees what a client does and says: connections, requests, errors, and
// every line of its log.
type watch struct {
	mu       sync.Mutex
	dials    []error // of every connection, also of those that were refused
	requests map[int16]int
	errs     []error // that are retried
	log      bytes.Buffer
}

func newWatch() *watch { return &watch{requests: map[int16]int{}} }

// opts make a client be watched. The inner pace of metadata is kgo's default.
func (w *watch) opts() []kgo.Opt {
	return []kgo.Opt{
		kgo.WithHooks(w), kgo.WithLogger(kgo.BasicLogger(w, kgo.LogLevelDebug, nil)), kgo.MetadataMinAge(5 * time.Second),
	}
}

func (w *watch) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(b)
}

func (w *watch) OnBrokerConnect(_ kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dials = append(w.dials, err)
}

func (w *watch) OnBrokerWrite(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, _ error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests[key]++
}

func (w *watch) OnFetchError(_ string, _ int32, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.errs = append(w.errs, err)
}

// connections is how often a connection was tried.
func (w *watch) connections() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.dials)
}

// sent is how many requests were sent, with those of authentication.
func (w *watch) sent() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, count := range w.requests {
		n += count
	}
	return n
}

// fetches is how many of them were Fetch.
func (w *watch) fetches() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.requests[int16(kmsg.Fetch)]
}

// kinds are the numbers of requests by name, for a log line.
func (w *watch) kinds() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []string
	for _, key := range slices.Sorted(maps.Keys(w.requests)) {
		all = append(all, fmt.Sprintf("%s:%d", kmsg.NameForKey(key), w.requests[key]))
	}
	return strings.Join(all, " ")
}

// told reports whether such an error was told to hooks.
func (w *watch) told(is func(error) bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.errs, is)
}

// failures are the errors that were told to hooks.
func (w *watch) failures() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprint(w.errs)
}

// said is how often a text is in the log.
func (w *watch) said(text string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Count(w.log.String(), text)
}

// keeps requires that no secret is in a log line, an error or a text.
func (w *watch) keeps(t *testing.T, secrets []string, more ...string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	require.NotEmpty(t, w.log.String(), "the log is captured")
	all := append(slices.Clone(more), w.log.String())
	for _, err := range slices.Concat(w.dials, w.errs) {
		all = append(all, fmt.Sprint(err))
	}
	for _, secret := range secrets {
		b := []byte(secret)
		for _, form := range []string{secret, base64.StdEncoding.EncodeToString(b), hex.EncodeToString(b), fmt.Sprintf("%d", b)} {
			for _, text := range all {
				require.False(t, strings.Contains(text, form), "a secret is told:\n%s", text)
			}
		}
	}
}

// entrance is a way into a secured cluster.
type entrance struct {
	name      string
	opts      []kgo.Opt
	principal string // "" may do everything
	secrets   []string
}

func enter(c *kafkatest.SecuredCluster, l kafkatest.Listener, opts ...kgo.Opt) []kgo.Opt {
	return append([]kgo.Opt{kgo.SeedBrokers(c.ListenerAddrs(l)...)}, opts...)
}

func byPlain(user, password string) kgo.Opt {
	return kgo.SASL(saslplain.Auth{User: user, Pass: password}.AsMechanism())
}

// entrances are all ways in, each by somebody else.
func entrances(t *testing.T, c *kafkatest.SecuredCluster) []entrance {
	t.Helper()
	certs, first, second := c.Certificates, c.User(t), c.User(t)
	inside := kgo.DialTLSConfig(kafkatest.ClientTLS(certs.CA))
	_, key := certs.Client.PEM(t)
	byScram := func(name string, u kafkatest.User, m sasl.Mechanism, l kafkatest.Listener, opts ...kgo.Opt) entrance {
		return entrance{name, enter(c, l, append(opts, kgo.SASL(m))...), u.Name, []string{u.Password}}
	}
	return []entrance{
		{"TLS", enter(c, kafkatest.TLS, inside), "", nil},
		{
			"mutual TLS", enter(c, kafkatest.MutualTLS, kgo.DialTLSConfig(kafkatest.ClientTLS(certs.CA, certs.Client))),
			kafkatest.ClientName,
			[]string{strings.Split(key, "\n")[1]},
		},
		{
			"PLAIN over TLS", enter(c, kafkatest.SASLOverTLS, inside, byPlain(kafkatest.PlainUser, kafkatest.PlainPassword)),
			kafkatest.PlainUser,
			[]string{kafkatest.PlainPassword},
		},
		byScram("SCRAM-SHA-256 over TLS", first, first.SHA256(), kafkatest.SASLOverTLS, inside),
		byScram("SCRAM-SHA-512 over TLS", second, second.SHA512(), kafkatest.SASLOverTLS, inside),
		byScram("SCRAM-SHA-512", second, second.SHA512(), kafkatest.SASL),
	}
}

// together runs tests at the same time, however few processors there are: they
// wait most of the time.
func together(t *testing.T, tests map[string]func(*testing.T)) {
	t.Helper()
	var all sync.WaitGroup
	for name, test := range tests {
		all.Go(func() { t.Run(name, test) })
	}
	all.Wait()
}

// addReader adds the test of a reader: of one without a group, or of a member by
// each group protocol.
func addReader(
	tests map[string]func(*testing.T), c *kafkatest.SecuredCluster, name string, grouped bool,
	check func(*testing.T, *kafkatest.SecuredCluster, []kgo.Opt),
) {
	if !grouped {
		tests[name] = func(t *testing.T) { check(t, c, nil) }
		return
	}
	for protocol, opts := range protocols(c.Cluster) {
		tests[name+", "+protocol] = func(t *testing.T) { check(t, c, opts) }
	}
}

// secured makes a consumer that comes in by opts and is watched.
func secured(t *testing.T, c *kafkatest.SecuredCluster, opts ...kgo.Opt) (*rcconsumer.Consumer, *watch) {
	t.Helper()
	w := newWatch()
	return newConsumer(t, c.Cluster, append(w.opts(), opts...)...), w
}
