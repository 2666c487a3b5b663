package conformance

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Transaction timeouts for clusters that do not allow the usual one: the first
// that is tried, and the least.
const (
	modestTimeout = time.Minute
	leastTimeout  = time.Second
)

// tooLong are the errors that say that a cluster does not allow a timeout.
var tooLong = []*kerr.Error{kerr.InvalidTransactionTimeout}

// allowed cuts the timeout to what the cluster was found to allow.
func (w *producer) allowed() {
	if longest := time.Duration(w.t.run.longest.Load()); longest > 0 && w.timeout > longest {
		w.timeout, w.cut = longest, true
	}
}

// shorten cuts a timeout that was refused to what the coordinator says that it
// allows, or else to the next one to try, and reports whether there is one.
func (w *producer) shorten() bool {
	before := w.timeout
	allowed, ok, _ := w.t.brokerSetting(w.coordinator(), "transaction.max.timeout.ms")
	switch limit := time.Duration(allowed) * time.Millisecond; {
	case ok && limit > 0 && limit < before:
		w.timeout = limit
	case before > defaultTimeout:
		w.timeout = defaultTimeout
	case before > modestTimeout:
		w.timeout = modestTimeout
	default:
		w.timeout = max(before/2, leastTimeout)
	}
	w.cut = true
	return w.timeout < before
}

// outlived is the witness of what a script missed where the cluster does not
// allow transactions to last as long as it counts on: that none did.
func (t *trial) outlived() {
	t.mu.Lock()
	found, now, name := len(t.result.Findings) > 0, time.Now(), ""
	for _, at := range t.places {
		for _, pin := range at.pins {
			if pin.cut && pin.expires.Before(now) && (pin.ended.IsZero() || pin.expires.Before(pin.ended)) {
				name = pin.name
			}
		}
	}
	t.mu.Unlock()
	if found && name != "" {
		t.witness(false, "a transaction of %s was open for longer than the cluster may allow, which is %v", name, time.Duration(t.run.longest.Load()))
	}
}
