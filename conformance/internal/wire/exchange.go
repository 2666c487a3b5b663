package wire

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Exchange is one request and what became of it.
type Exchange struct {
	Broker  int32  // who was asked; -1 for a bootstrap address
	Address string // host:port
	Conn    uint64 // which connection, unique within a Client

	Sent, Received time.Time // Received is zero without an answer
	Request        kmsg.Request
	Response       kmsg.Response // nil without a readable answer
	Bytes          []byte        // the answer's body as it came, also an unreadable one
	Err            error         // what ended the exchange instead of an answer
}

// Took is how long the answer took.
func (e *Exchange) Took() time.Duration { return e.Received.Sub(e.Sent) }

// ThrottleMillis is for how long the broker says that it throttles the client.
func (e *Exchange) ThrottleMillis() int32 {
	if throttled, ok := e.Response.(kmsg.ThrottleResponse); ok && e.Response != nil {
		millis, _ := throttled.Throttle()
		return millis
	}
	return 0
}

// Throttled reports whether the answer came from a broker that throttles the
// client. Such an answer says nothing about what the broker holds: a throttled
// Fetch is empty.
func (e *Exchange) Throttled() bool { return e.ThrottleMillis() > 0 }
