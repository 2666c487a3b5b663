package clientconf

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Config is what the properties come to.
type Config struct {
	Brokers   []string // bootstrap addresses, none if no property gives them
	Isolation string   // read_committed, read_uncommitted, or "" if no property says it

	Protocol  string // PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL
	Mechanism string // of SASL, "" without
	User      string // of SASL, "" without

	Authorities       string // the property that gives them, "" if the system's count
	ClientCertificate bool   // whether the client has one to show

	// DialTimeout bounds one connection attempt; 0 if no property says it.
	DialTimeout time.Duration

	Warnings []string  // what makes the connection less safe than it looks
	Ignored  []Ignored // what has no effect, by file

	options []kgo.Opt
}

// Ignored are properties of a file that mean nothing here.
type Ignored struct {
	File string
	Keys []string // sorted
}

// Options are kgo's options for everything but the brokers and the isolation
// level.
func (c *Config) Options() []kgo.Opt { return slices.Clone(c.options) }

// TLS reports whether connections are encrypted.
func (c *Config) TLS() bool { return c.Protocol == "SSL" || c.Protocol == "SASL_SSL" }

// SASL reports whether the client logs in.
func (c *Config) SASL() bool { return strings.HasPrefix(c.Protocol, "SASL_") }

func (c *Config) warn(format string, args ...any) {
	c.Warnings = append(c.Warnings, fmt.Sprintf(format, args...))
}

func (c *Config) use(opts ...kgo.Opt) { c.options = append(c.options, opts...) }

// build turns the settings that count into the configuration.
func (l *loader) build() {
	l.brokers()
	l.identity()
	l.isolation()
	l.tune()
	l.exclude()
	l.secure()
}

func (l *loader) brokers() {
	s, ok := l.get(bootstrapServers)
	if !ok {
		return
	}
	for address := range strings.SplitSeq(s.value, ",") {
		address = strings.TrimSpace(address)
		if address == "" {
			continue
		}
		if problem, hint := CheckAddress(address); problem != "" {
			l.add(s, hint, "%s", problem)
			return
		}
		l.config.Brokers = append(l.config.Brokers, address)
	}
}

// CheckAddress says what is wrong with the address of a bootstrap broker, and
// what to do instead if that is known; problem is "" for a good one. The address
// is not shown: where other programs take URLs there may be a password in it.
func CheckAddress(address string) (problem, hint string) {
	switch {
	case strings.Contains(address, "://"):
		hint = "leave out what is in front of ://; security.protocol says it"
	case strings.Contains(address, "@"):
		hint = "leave out what is in front of @; sasl.username and sasl.password say it"
	case strings.Contains(address, ";"):
		hint = "put commas between addresses"
	case validAddress(address):
		return "", ""
	}
	return "want HOST:PORT,...", hint
}

// validAddress reports whether kgo would take an address: with a port, or with
// Kafka's default one.
func validAddress(address string) bool {
	if address == "" || strings.ContainsAny(address, " \t/@") || kgo.ValidateOpts(kgo.SeedBrokers(address)) != nil {
		return false
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return !strings.HasSuffix(address, ":") // without a port, or IPv6 without brackets
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

// Limits of kgo, in bytes.
const (
	maxClientID = 256
	maxRack     = 512
)

func (l *loader) identity() {
	if s, ok := l.get(clientID); ok {
		if len(s.value) > maxClientID {
			l.add(s, "", "longer than %d bytes", maxClientID)
		}
		l.config.use(kgo.ClientID(s.value))
	}
	if s, ok := l.get(clientRack); ok {
		if len(s.value) > maxRack {
			l.add(s, "", "longer than %d bytes", maxRack)
		}
		l.config.use(kgo.Rack(s.value))
	}
}

func (l *loader) isolation() {
	s, ok := l.get(isolationLevel)
	if !ok {
		return
	}
	l.config.Isolation = l.word(s, "read_committed", "read_uncommitted")
}

// word returns a value that must be one of a few words, however it is spelled.
// Otherwise it reports a problem and returns "".
func (l *loader) word(s setting, words ...string) string {
	for _, word := range words {
		if strings.EqualFold(s.value, word) {
			return word
		}
	}
	l.add(s, "", "want %s", strings.Join(words, ", "))
	return ""
}
