package rcconsumer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/pass"
)

// causeOf is what an error says by itself, otherwise what its place says.
func causeOf(err error, otherwise Cause) Cause {
	switch {
	case isDenied(err):
		return CauseMissingRight
	case isLogin(err):
		return CauseAuthentication
	case is(err, kerr.UnknownTopicOrPartition, kerr.UnknownTopicID, kerr.InconsistentTopicID, kerr.InvalidTopicException):
		return CauseTopic
	case is(err, kerr.LeaderNotAvailable, kerr.NotLeaderForPartition, kerr.UnknownLeaderEpoch, kerr.FencedLeaderEpoch, kerr.ReplicaNotAvailable):
		return CauseLeader
	case isUnreadable(err):
		return CauseUnreadable
	default:
		return otherwise
	}
}

func is(err error, any ...*kerr.Error) bool {
	for _, e := range any {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

func isDenied(err error) bool {
	return is(err, kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed, kerr.ClusterAuthorizationFailed, kerr.TransactionalIDAuthorizationFailed)
}

// isLogin reports whether the two sides do not accept each other. Of alerts that
// the other side sends the type alone tells.
func isLogin(err error) bool {
	var (
		alert  tls.AlertError
		record tls.RecordHeaderError
		cert   *tls.CertificateVerificationError
		opErr  *net.OpError
	)
	return is(err, kerr.SaslAuthenticationFailed, kerr.UnsupportedSaslMechanism, kerr.IllegalSaslState, kerr.SecurityDisabled) ||
		errors.As(err, &alert) || errors.As(err, &record) || errors.As(err, &cert) ||
		errors.As(err, &opErr) && opErr.Op == "remote error" // how crypto/tls wraps an alert
}

func isUnreadable(err error) bool {
	var (
		batch    *BatchError
		progress *NoProgressError
		anomaly  *AnomalyError
		version  *VersionError
	)
	return errors.As(err, &batch) || errors.As(err, &progress) || errors.As(err, &anomaly) || errors.As(err, &version) ||
		errors.Is(err, kerr.CorruptMessage)
}

// isTransport reports whether a request got no answer at all.
func isTransport(err error) bool {
	var (
		netErr    net.Error
		kafka     *kerr.Error
		errno     syscall.Errno
		firstRead *kgo.ErrFirstReadEOF
	)
	if errors.As(err, &kafka) {
		return false
	}
	return errors.As(err, &netErr) || errors.As(err, &errno) || errors.As(err, &firstRead) || kgo.IsRetryableBrokerErr(err) || errors.Is(err, context.DeadlineExceeded) ||
		isUnknownBroker(err)
}

// isCancelled reports whether a request ended because its sender had no more use
// for the answer, which says nothing of a broker.
func isCancelled(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, kgo.ErrClientClosed) || hasText(err, "operation was canceled")
}

func hasText(err error, any ...string) bool {
	text := err.Error()
	for _, t := range any {
		if strings.Contains(text, t) {
			return true
		}
	}
	return false
}

// brief says what an error is in words that stay the same while it does, and
// that are known to hold no data and no secret: an error of somebody else's
// type, such as a login callback's, may hold anything.
func brief(err error) string {
	var (
		kafka *kerr.Error
		opErr *net.OpError
		dns   *net.DNSError
	)
	switch {
	case errors.As(err, &kafka):
		return kafka.Message
	case isUnreadable(err):
		return briefUnreadable(err)
	case errors.As(err, &dns):
		return briefDNS(dns)
	case errors.As(err, &opErr) && opErr.Op == "remote error":
		return opErr.Error() // a TLS alert
	case errors.As(err, &opErr) && opErr.Addr != nil:
		return fmt.Sprintf("%s %s: %s", opErr.Op, opErr.Addr, briefCause(opErr))
	default:
		return briefCause(err)
	}
}

func briefDNS(err *net.DNSError) string {
	if err.IsNotFound {
		return "no such host: " + err.Name
	}
	return "host name cannot be resolved: " + err.Name
}

// briefCause leaves addresses out: a local port is another one each time.
func briefCause(err error) string {
	var (
		errno     syscall.Errno
		cert      *tls.CertificateVerificationError
		authority x509.UnknownAuthorityError
		record    tls.RecordHeaderError
		alert     tls.AlertError
		firstRead *kgo.ErrFirstReadEOF
		netErr    net.Error
	)
	switch {
	case errors.As(err, &firstRead):
		return "closed at once, as happens if one side speaks TLS or SASL and the other does not"
	case errors.As(err, &authority):
		return "certificate signed by unknown authority"
	case errors.As(err, &cert):
		return "certificate not valid"
	case errors.As(err, &record):
		return "the broker does not speak TLS"
	case errors.As(err, &alert):
		return alert.Error()
	case errors.As(err, &errno):
		return errno.Error()
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		return "timeout"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return "connection closed"
	default:
		return briefKnown(err)
	}
}

// briefKnown knows errors by their text that are not exported, and ours.
func briefKnown(err error) string {
	switch {
	case isTooLarge(err):
		return "an answer is larger than BrokerMaxReadBytes"
	case isUnknownBroker(err):
		return "the broker is not in the cluster's metadata"
	case hasText(err, "connection has died"):
		return "connection closed"
	}
	for _, known := range []error{errLeftOut, errNegativeOffset, errDiverging, errNoCommittedOffset, errNoGroupOffset, errSilent} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return "an error of another kind, which polls or the log tell"
}

func briefUnreadable(err error) string {
	var (
		batch    *BatchError
		progress *NoProgressError
		anomaly  *AnomalyError
	)
	switch {
	case errors.As(err, &batch):
		return fmt.Sprintf("batch at offset %d %s", batch.BaseOffset, briefBatch(err))
	case errors.As(err, &progress):
		return fmt.Sprintf("no complete batch at offset %d", progress.Offset)
	case errors.As(err, &anomaly):
		return fmt.Sprintf("offset %d: %s entry in the list of aborted transactions", anomaly.Anomaly.Offset, anomaly.Anomaly.Kind)
	default:
		return "the broker's version cannot carry the isolation level"
	}
}

func briefBatch(err error) string {
	if pass.IsTooLarge(err) {
		return "is too large"
	}
	return "is damaged or not supported"
}
