package main

import (
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// ports is what is known of the ports that were dialed: a port that took a
// connection is behind no firewall. It is a hook of kgo's clients.
type ports struct {
	accepted atomic.Bool // one took a connection, TLS included
	answered atomic.Bool // a broker answered
}

// OnBrokerWrite implements [kgo.HookBrokerWrite]. The hook for connections comes too
// late: once the first answer is there, or is waited for no longer.
func (p *ports) OnBrokerWrite(_ kgo.BrokerMetadata, _ int16, _ int, _, _ time.Duration, err error) {
	if err == nil {
		p.accepted.Store(true)
	}
}

// took reports whether a port took the connection on which an error came.
func (p *ports) took(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op != "dial" {
		return true
	}
	return p.accepted.Load() && !isDial(err)
}

// isDial reports whether an error came before there was a connection.
func isDial(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// isForeign reports whether what kgo could not read is no frame of Kafka's, nor of
// TLS. kgo exports no error for it.
func isForeign(err error) bool {
	text := err.Error()
	return strings.Contains(text, "invalid large response size") && !strings.Contains(text, "tls alert")
}
