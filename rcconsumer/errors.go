package rcconsumer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/pass"
)

// BatchError is handed out when a batch cannot be read: it is damaged, in a
// format or codec that is not known, or decompresses to more than
// kgo.MaxDecompressBatchBytes. Records in front of it were handed out before;
// the position stays in front of it. To go on behind it, call SetOffsets with
// LastOffset+1 (if LastOffset is not -1; it is what the damaged header says).
//
// It unwraps to the cause, a *batchdecode.Error of class ErrCorrupt,
// ErrUnsupported or ErrTooLarge, and in the last case also to a
// *kgo.ErrDecompressTooLarge, which kgo returns there.
type BatchError struct {
	Topic      string
	Partition  int32
	BaseOffset int64 // first offset of the batch, inclusive, or last of a message set of format v0 or v1; -1 if unknown
	LastOffset int64 // last offset of the batch, inclusive; -1 if unknown

	errs []error
}

func (e *BatchError) Error() string {
	msg := fmt.Sprintf("topic %s partition %d: batch at offset %d: %v", e.Topic, e.Partition, e.BaseOffset, e.errs[0])
	for _, err := range e.errs[1:] {
		if _, ok := err.(*kgo.ErrDecompressTooLarge); ok { //nolint:errorlint // our own element, never wrapped
			msg += " (limit set by MaxDecompressBatchBytes)"
		}
	}
	return msg
}

func (e *BatchError) Unwrap() []error { return e.errs }

// batchError names the batch of a decoding error.
func batchError(topic string, partition, leaderEpoch int32, err error) error {
	base, last := pass.BatchOf(err)
	e := &BatchError{Topic: topic, Partition: partition, BaseOffset: base, LastOffset: last, errs: []error{err}}
	if pass.IsTooLarge(err) {
		e.errs = append(e.errs, &kgo.ErrDecompressTooLarge{
			Topic: topic, Partition: partition, Offset: base, Epoch: leaderEpoch, NextOffset: last + 1,
		})
	}
	return e
}

// OffsetOutOfRangeError is handed out, once, when the offset to read is not in
// the log and kgo.NoResetOffset forbids to move. The partition then rests until
// SetOffsets. It unwraps to kerr.OffsetOutOfRange.
type OffsetOutOfRangeError struct {
	Topic     string
	Partition int32
	Offset    int64 // the offset that was to be read
	Start     int64 // log start offset, inclusive
	End       int64 // high watermark, exclusive
}

func (e *OffsetOutOfRangeError) Error() string {
	return fmt.Sprintf("topic %s partition %d: offset %d is out of range: the log has %d up to %d, exclusive",
		e.Topic, e.Partition, e.Offset, e.Start, e.End)
}

func (*OffsetOutOfRangeError) Unwrap() error { return kerr.OffsetOutOfRange }

// LogTruncationError is handed out, once, when the log was truncated somewhere
// in front of the offset to read, the leader cannot say where, and
// kgo.NoResetOffset forbids to move. The partition then rests until SetOffsets.
// It unwraps to kerr.OffsetOutOfRange, as which other reset policies treat it.
// A truncation at a known place is told by a *kgo.ErrDataLoss instead.
type LogTruncationError struct {
	Topic     string
	Partition int32
	Offset    int64 // the offset that was to be read
	Epoch     int32 // leader epoch of the record in front of it
}

func (e *LogTruncationError) Error() string {
	return fmt.Sprintf("topic %s partition %d: the log was truncated in front of offset %d, at a place that is not known: the leader has no record of leader epoch %d",
		e.Topic, e.Partition, e.Offset, e.Epoch)
}

func (*LogTruncationError) Unwrap() error { return kerr.OffsetOutOfRange }

// NoProgressError is handed out when a broker keeps answering a Fetch with
// bytes that hold no complete batch at or above the fetch offset. The consumer
// goes on asking, seldom.
type NoProgressError struct {
	Topic     string
	Partition int32
	Offset    int64 // fetch offset
	Bytes     int   // record bytes in the answer
}

func (e *NoProgressError) Error() string {
	return fmt.Sprintf("topic %s partition %d: the broker answered a fetch at offset %d with %d bytes that hold no complete batch at or above it",
		e.Topic, e.Partition, e.Offset, e.Bytes)
}

// VersionError is handed out when a broker answered with a version of a request
// that cannot carry the isolation level.
type VersionError struct {
	Request   string
	Got, Need int16
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("the broker speaks %s version %d; at least %d is needed, below it the isolation level is lost", e.Request, e.Got, e.Need)
}

// AnomalyError is handed out under [AnomalyFail].
type AnomalyError struct{ Anomaly Anomaly }

func (e *AnomalyError) Error() string {
	a := e.Anomaly
	return fmt.Sprintf("topic %s partition %d offset %d: %s entry in the list of aborted transactions, producer %d: %s",
		a.Topic, a.Partition, a.Offset, a.Kind, a.ProducerID, a.Detail)
}

func slogLevel(l kgo.LogLevel) slog.Level {
	switch l {
	case kgo.LogLevelError:
		return slog.LevelError
	case kgo.LogLevelWarn:
		return slog.LevelWarn
	case kgo.LogLevelInfo:
		return slog.LevelInfo
	default:
		return slog.LevelDebug
	}
}

// isTransient reports whether an error of a request or an answer may go away by
// itself, so that it is retried in silence.
func isTransient(err error) bool {
	var netErr net.Error
	return kerr.IsRetriable(err) || kgo.IsRetryableBrokerErr(err) || errors.As(err, &netErr) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errLeftOut) || isUnknownBroker(err)
}

// isUnknownBroker reports whether a request was for a broker that metadata does
// not name just then, for which kgo exports no error.
func isUnknownBroker(err error) bool { return strings.Contains(err.Error(), "unknown broker") }

// isTooLarge reports whether an answer is larger than kgo.BrokerMaxReadBytes,
// for which kgo exports no error.
func isTooLarge(err error) bool { return strings.Contains(err.Error(), "BrokerMaxReadBytes") }
