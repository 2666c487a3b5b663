package rcconsumer

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// DefaultBufferBytes is how much fetched data a consumer holds at most unless
// [BufferBytes] says otherwise, in bytes.
const DefaultBufferBytes = 128 << 20

// ours are the values of this package's own options.
type ours struct {
	bufferBytes       int64
	returnOnProgress  bool
	hooks             []Hook // of this package, in the order given
	slog              *slog.Logger
	anomalyPolicy     AnomalyPolicy
	commitRecordsOnly bool
	stableInterval    time.Duration
	maxPollInterval   time.Duration // 0: not limited
	blockedAfter      time.Duration
	callbacks
}

// adjustFunc is what kgo.AdjustFetchOffsetsFn takes.
type adjustFunc = func(context.Context, map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error)

// option is one of ours: to kgo it is an option that changes nothing, so users
// keep all options in one slice.
type option struct {
	kgo.Opt
	name  string
	apply func(*ours) error
	hooks []Hook // of WithHooks alone
}

func newOption(name string, apply func(*ours) error) kgo.Opt {
	return option{Opt: kgo.WithHooks(), name: name, apply: apply}
}

// ReadUncommitted switches filtering off: aborted data is delivered and the
// consumer reads to the high watermark, exclusive. It is the same as
// kgo.FetchIsolationLevel(kgo.ReadUncommitted()); the last of several isolation
// options counts.
func ReadUncommitted() kgo.Opt { return kgo.FetchIsolationLevel(kgo.ReadUncommitted()) }

// BufferBytes bounds the memory that the consumer holds of data not yet handed
// out: fetched bytes, decompressed batches and their records, in bytes. The
// default is [DefaultBufferBytes]. One batch always passes, however large, so
// that a small bound slows a consumer down but never stops it.
//
// Fetched bytes count from the moment they are asked for. New refuses a bound
// below 1.
func BufferBytes(n int64) kgo.Opt {
	return newOption("BufferBytes", func(o *ours) error {
		if n < 1 {
			return fmt.Errorf("BufferBytes(%d): must be at least 1", n)
		}
		o.bufferBytes = n
		return nil
	})
}

// ReturnOnProgress makes polls return also when there is no record to return
// but the position of a partition moved over markers, aborted data or
// compacted offsets, or the partition turned out to be read to its end
// ([Position.CaughtUp]). Such a poll returns no fetches at all (len 0); ask
// [Consumer.Position]. Without this option, as in kgo, a poll with a live
// context returns records or errors only.
func ReturnOnProgress() kgo.Opt {
	return newOption("ReturnOnProgress", func(o *ours) error { o.returnOnProgress = true; return nil })
}

// WithSlog sends the consumer's own log lines to l: retried errors, resets,
// anomalies. Without it they go to the logger given by kgo.WithLogger, if any.
func WithSlog(l *slog.Logger) kgo.Opt {
	return newOption("WithSlog", func(o *ours) error { o.slog = l; return nil })
}

// AnomalyPolicy is what the consumer does about an [Anomaly] besides counting
// it, logging it and calling hooks.
type AnomalyPolicy uint8

const (
	// AnomalyLog goes on. This is the default: what the log itself says has
	// already decided what was delivered.
	AnomalyLog AnomalyPolicy = iota
	// AnomalyFail hands out the records in front of the anomaly, then an
	// [*AnomalyError]; the partition rests until SetOffsets. A duplicate entry
	// is harmless and fails nothing.
	AnomalyFail
)

// OnAnomalyDo chooses what follows an anomaly.
func OnAnomalyDo(p AnomalyPolicy) kgo.Opt {
	return newOption("OnAnomalyDo", func(o *ours) error {
		if p > AnomalyFail {
			return fmt.Errorf("OnAnomalyDo(%d): unknown policy", p)
		}
		o.anomalyPolicy = p
		return nil
	})
}
