package clientconf

import (
	"math"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	fetchMaxBytes   = "fetch.max.bytes"
	receiveMaxBytes = "receive.message.max.bytes"
	setupTimeout    = "socket.connection.setup.timeout.ms"

	// kgo refuses an answer of more bytes, unless told otherwise.
	defaultReceiveMax = 100 << 20
)

// tunings are the numbers that kgo has an option for. Their bounds, inclusive,
// are kgo's.
var tunings = []struct {
	name     string
	min, max int64
	options  func(n int64) []kgo.Opt
}{
	{"fetch.min.bytes", 1, math.MaxInt32, func(n int64) []kgo.Opt { return []kgo.Opt{kgo.FetchMinBytes(int32(n))} }},
	{fetchMaxBytes, 1, 512 << 20, fetchBytes},
	{"max.partition.fetch.bytes", 1, 512 << 20, func(n int64) []kgo.Opt { return []kgo.Opt{kgo.FetchMaxPartitionBytes(int32(n))} }},
	{receiveMaxBytes, 1000, 1 << 30, func(n int64) []kgo.Opt { return []kgo.Opt{kgo.BrokerMaxReadBytes(int32(max(n, 1<<10)))} }},
	{"fetch.max.wait.ms", 10, 300_000, func(n int64) []kgo.Opt { return []kgo.Opt{kgo.FetchMaxWait(milliseconds(n))} }},
	{"request.timeout.ms", 100, 900_000, func(n int64) []kgo.Opt { return []kgo.Opt{kgo.RequestTimeoutOverhead(milliseconds(n))} }},
	{"connections.max.idle.ms", 100, 900_000, func(n int64) []kgo.Opt { return []kgo.Opt{kgo.ConnIdleTimeout(milliseconds(n))} }},
	{"metadata.max.age.ms", 100, 3_600_000, metadataAge},
	{setupTimeout, 10, 600_000, func(n int64) []kgo.Opt { return []kgo.Opt{kgo.DialTimeout(milliseconds(n))} }},
}

// fetchBytes asks for answers of a size, and lets them in.
func fetchBytes(n int64) []kgo.Opt {
	opts := []kgo.Opt{kgo.FetchMaxBytes(int32(n))}
	if 2*n > defaultReceiveMax { // one batch may go beyond
		opts = append(opts, kgo.BrokerMaxReadBytes(int32(2*n)))
	}
	return opts
}

// metadataAge keeps kgo's lower bound below the upper one.
func metadataAge(n int64) []kgo.Opt {
	age := milliseconds(n)
	opts := []kgo.Opt{kgo.MetadataMaxAge(age)}
	if age < 5*time.Second {
		opts = append(opts, kgo.MetadataMinAge(age))
	}
	return opts
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// tune reads the numbers.
func (l *loader) tune() {
	for _, t := range tunings {
		s, ok := l.get(t.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(s.value, 10, 64)
		if err != nil || n < t.min || n > t.max {
			l.add(s, "", "want a number from %d to %d", t.min, t.max)
			continue
		}
		l.config.use(t.options(n)...)
		if t.name == setupTimeout {
			l.config.DialTimeout = milliseconds(n)
		}
	}
	l.checkReceive()
}

// checkReceive compares what may come with what is asked for.
func (l *loader) checkReceive() {
	s, ok := l.get(receiveMaxBytes)
	if !ok {
		return
	}
	received, err := strconv.ParseInt(s.value, 10, 64)
	asked := int64(50 << 20) // kgo's default
	if v := l.value(fetchMaxBytes); v != "" && err == nil {
		asked, err = strconv.ParseInt(v, 10, 64)
	}
	if err == nil && received < asked {
		l.add(s, "", "less than %s, which is %d", fetchMaxBytes, asked)
	}
}
