package kafkatest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// patience is how long an exchange is done again. A coordinator that died, or was
// stopped, may need more than a minute to end what it had begun.
const patience = 3 * Limit

// retry does an exchange again for as long as the error is one that passes
// with time. Any other error fails the test. The exchange has to stand being
// done twice.
func retry(t testing.TB, what string, exchange func(context.Context) error) {
	t.Helper()
	Within(t, patience, what, func(ctx context.Context) (string, bool) {
		err := exchange(ctx)
		if err != nil && !passes(err) {
			t.Fatalf("%s: %v", what, err)
		}
		return fmt.Sprint(err), err == nil
	})
}

// passes reports whether an error passes with time: an election, a coordinator
// that loads, a transaction whose markers are still being written, a broker
// that comes back.
func passes(err error) bool {
	if isTransport(err) || kgo.IsRetryableBrokerErr(err) || strings.HasSuffix(err.Error(), "unknown broker") {
		return true // the last is kgo's, of a broker that metadata does not name just then
	}
	var broker *kerr.Error
	// kerr does not count this one: kgo has retries of its own for it.
	return errors.As(err, &broker) && (broker.Retriable || broker.Code == kerr.ConcurrentTransactions.Code)
}

// isTransport reports whether an exchange broke off, so that nobody knows
// whether the broker carried it out.
func isTransport(err error) bool {
	var netErr net.Error
	return errors.Is(err, io.EOF) || errors.As(err, &netErr) && !errors.Is(err, context.DeadlineExceeded)
}

// neverSent reports whether the broker cannot have carried an exchange out,
// because there was no connection to it.
func neverSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
