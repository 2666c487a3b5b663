package rcconsumer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestErrorsAreSortedAndSaidShortly(t *testing.T) {
	broker := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 9092}
	local := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 9), Port: 54321}
	opError := func(op string, err error) error {
		return fmt.Errorf("unable to dial: %w", &net.OpError{Op: op, Net: "tcp", Source: local, Addr: broker, Err: err})
	}
	other := CauseFetch
	for _, test := range []struct {
		err   error
		cause Cause
		text  string
	}{
		{opError("dial", os.NewSyscallError("connect", syscall.ECONNREFUSED)), other, "dial 10.0.0.1:9092: connection refused"},
		{opError("read", os.NewSyscallError("read", syscall.ECONNRESET)), other, "read 10.0.0.1:9092: connection reset by peer"},
		{opError("read", os.ErrDeadlineExceeded), other, "read 10.0.0.1:9092: timeout"},
		{opError("dial", &net.DNSError{Err: "no such host", Name: "kafka.internal", Server: "10.0.0.53", IsNotFound: true}), other, "no such host: kafka.internal"},
		{&net.DNSError{Err: "server misbehaving", Name: "kafka.internal"}, other, "host name cannot be resolved: kafka.internal"},
		{&net.OpError{Op: "remote error", Err: tls.AlertError(42)}, CauseAuthentication, "remote error: tls: bad certificate"},
		{tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, CauseAuthentication, "the broker does not speak TLS"},
		{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, CauseAuthentication, "certificate signed by unknown authority"},
		{&tls.CertificateVerificationError{Err: x509.CertificateInvalidError{}}, CauseAuthentication, "certificate not valid"},
		{fmt.Errorf("sasl: %w", kerr.SaslAuthenticationFailed), CauseAuthentication, "SASL_AUTHENTICATION_FAILED"},
		{fmt.Errorf("x: %w", io.EOF), other, "connection closed"},
		{context.DeadlineExceeded, other, "timeout"},
		{errors.New("unknown broker"), other, "the broker is not in the cluster's metadata"},
		{&kgo.ErrGroupSession{Err: kerr.GroupAuthorizationFailed}, CauseMissingRight, "GROUP_AUTHORIZATION_FAILED"},
		{kerr.TopicAuthorizationFailed, CauseMissingRight, "TOPIC_AUTHORIZATION_FAILED"},
		{kerr.UnknownTopicID, CauseTopic, "UNKNOWN_TOPIC_ID"},
		{kerr.NotLeaderForPartition, CauseLeader, "NOT_LEADER_FOR_PARTITION"},
		{kerr.CorruptMessage, CauseUnreadable, "CORRUPT_MESSAGE"},
		{&NoProgressError{Topic: "t", Offset: 7}, CauseUnreadable, "no complete batch at offset 7"},
		{&BatchError{Topic: "t", BaseOffset: 7, errs: []error{errors.New("secret record")}}, CauseUnreadable, "batch at offset 7 is damaged or not supported"},
		{&AnomalyError{Anomaly{Kind: "leaked", Offset: 7}}, CauseUnreadable, "offset 7: leaked entry in the list of aborted transactions"},
		{&VersionError{Request: "Fetch"}, CauseUnreadable, "the broker's version cannot carry the isolation level"},
		{&OffsetOutOfRangeError{Topic: "t"}, other, "OFFSET_OUT_OF_RANGE"},
		{kerr.KafkaStorageError, other, "KAFKA_STORAGE_ERROR"},
		{fmt.Errorf("x: %w", errLeftOut), other, errLeftOut.Error()},
		{errors.New("token for alice:hunter2 refused"), other, "an error of another kind, which polls or the log tell"},
		{opError("dial", errors.New("proxy alice:hunter2 refused")), other, "dial 10.0.0.1:9092: an error of another kind, which polls or the log tell"},
	} {
		require.Equal(t, test.cause, causeOf(test.err, other), "%v", test.err)
		require.Equal(t, test.text, brief(test.err), "%v", test.err)
	}
}
