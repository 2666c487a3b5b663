package rcconsumer

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Hook is a value that implements at least one of this package's hook
// interfaces or of kgo's. Hooks are given to [WithHooks], or to kgo.WithHooks if
// they implement one of kgo's. Those of this package are called with no lock
// held, from the consumer's own goroutines and from polls, and may be called
// from several at once. They must not block: fetching waits for them.
type Hook = kgo.Hook

// HookNewClient is called once by [New], when the consumer can be used and
// before anything is fetched or a callback of its group is called. A poll finds
// nothing; Close and leaving the group would wait for the hook itself.
//
// It is kgo.HookNewClient for a Consumer. A hook that has kgo's gets the client
// underneath, which cannot be used yet.
type HookNewClient interface{ OnNewClient(*Consumer) }

// HookClientClosed is called once, at the end of the first [Consumer.Close]. It
// must not call Close. It is kgo.HookClientClosed for a Consumer.
type HookClientClosed interface{ OnClientClosed(*Consumer) }

// HookAnomaly is called when the broker's list of aborted transactions and the
// log contradict each other.
type HookAnomaly interface{ OnAnomaly(Anomaly) }

// HookAbortedBatch is called for every batch that was dropped because its
// transaction was aborted, when its header is scanned.
type HookAbortedBatch interface {
	OnAbortedBatch(topic string, partition int32, b BatchInfo)
}

// HookFetchError is called for every error of a Fetch, ListOffsets,
// OffsetForLeaderEpoch or Metadata answer that the consumer retries on its own.
// topic is empty and partition -1 if a whole broker failed. The same error is
// told at most once a second per partition or broker.
type HookFetchError interface {
	OnFetchError(topic string, partition int32, err error)
}

// HookOffsetReset is called when the consumer moves a partition to an offset
// that nobody asked for: to the log start after records were deleted, to where
// the log was truncated, or by kgo.ConsumeResetOffset.
type HookOffsetReset interface {
	OnOffsetReset(topic string, partition int32, from, to int64)
}

// BatchInfo describes a batch by its header.
type BatchInfo struct {
	BaseOffset, LastOffset int64 // inclusive
	Records                int   // as the header claims
	Bytes                  int   // on the wire
	ProducerID             int64
	ProducerEpoch          int16
}

// Anomaly is a contradiction between the broker's list of aborted transactions
// and the log. Kinds:
//
//   - "missing": a marker in view aborts a transaction that the list lacks; its
//     records were dropped all the same.
//   - "contradicted": a marker in view commits records that the list would have
//     dropped (a stale, shifted or invented entry); they were delivered.
//   - "duplicate": the same entry came more than once; harmless.
//   - "leaked": an abort marker ends a transaction of which an earlier answer
//     delivered records: aborted data was handed out, because the list of that
//     answer did not name it.
type Anomaly struct {
	Kind, Topic string
	Partition   int32
	Offset      int64 // of the batch or marker where it shows
	ProducerID  int64
	Detail      string
}

func isHook(h any) bool {
	switch h.(type) {
	case HookNewClient, HookClientClosed, HookAnomaly, HookAbortedBatch, HookFetchError, HookOffsetReset:
		return true
	default:
		return false
	}
}

// each calls fn for every hook that implements T.
func each[T any](hooks []Hook, fn func(T)) {
	for _, h := range hooks {
		if t, ok := h.(T); ok {
			fn(t)
		}
	}
}

// eachKgo calls fn for every hook of kgo's that implements T.
func eachKgo[T any](hooks []kgo.Hook, fn func(T)) {
	for _, h := range hooks {
		if t, ok := h.(T); ok {
			fn(t)
		}
	}
}

func implements[T any, H any](hooks []H) bool {
	for _, h := range hooks {
		if _, ok := any(h).(T); ok {
			return true
		}
	}
	return false
}

// reporter tells log and hooks what the consumer does on its own.
type reporter struct {
	cfg *config
	// listen: somebody counts records in and out of the buffer.
	listen bool
	// wantsAborted: somebody wants to hear of every dropped batch.
	wantsAborted bool
	// wantsRead: somebody wants to hear of every decoded batch.
	wantsRead bool
}

func newReporter(cfg *config) *reporter {
	listen := implements[kgo.HookFetchRecordBuffered](cfg.kgoHooks) || implements[kgo.HookFetchRecordUnbuffered](cfg.kgoHooks)
	return &reporter{
		cfg: cfg, listen: listen,
		wantsAborted: implements[HookAbortedBatch](cfg.hooks),
		wantsRead:    implements[kgo.HookFetchBatchRead](cfg.kgoHooks),
	}
}

func (r *reporter) pollStart(ctx context.Context) {
	eachKgo(r.cfg.kgoHooks, func(h kgo.HookPollStart) { h.OnPollStart(ctx) })
}

func (r *reporter) buffered(records []*kgo.Record) {
	eachKgo(r.cfg.kgoHooks, func(h kgo.HookFetchRecordBuffered) {
		for _, rec := range records {
			h.OnFetchRecordBuffered(rec)
		}
	})
}

func (r *reporter) unbuffered(records []*kgo.Record, polled bool) {
	eachKgo(r.cfg.kgoHooks, func(h kgo.HookFetchRecordUnbuffered) {
		for _, rec := range records {
			h.OnFetchRecordUnbuffered(rec, polled)
		}
	})
}

// batchRead tells kgo's hooks of a batch that was decoded. Of the broker only
// the node ID is known. Dropped batches are not told, since nobody knows how
// large they would have been: see Stats.
func (r *reporter) batchRead(broker int32, topic string, partition int32, m kgo.FetchBatchMetrics) {
	eachKgo(r.cfg.kgoHooks, func(h kgo.HookFetchBatchRead) {
		h.OnFetchBatchRead(kgo.BrokerMetadata{NodeID: broker}, topic, partition, m)
	})
}

func (r *reporter) anomaly(a Anomaly) {
	r.log(kgo.LogLevelWarn, "the broker's list of aborted transactions contradicts the log",
		"kind", a.Kind, "topic", a.Topic, "partition", a.Partition, "offset", a.Offset, "producer_id", a.ProducerID, "detail", a.Detail)
	each(r.cfg.hooks, func(h HookAnomaly) { h.OnAnomaly(a) })
}

func (r *reporter) fetchError(topic string, partition int32, err error) {
	r.log(kgo.LogLevelInfo, "retrying after an error", "topic", topic, "partition", partition, "err", err)
	each(r.cfg.hooks, func(h HookFetchError) { h.OnFetchError(topic, partition, err) })
}

func (r *reporter) offsetReset(topic string, partition int32, from, to int64) {
	r.log(kgo.LogLevelWarn, "the partition was moved to another offset", "topic", topic, "partition", partition, "from", from, "to", to)
	each(r.cfg.hooks, func(h HookOffsetReset) { h.OnOffsetReset(topic, partition, from, to) })
}

func (r *reporter) log(level kgo.LogLevel, msg string, keyvals ...any) {
	switch {
	case r.cfg.slog != nil:
		r.cfg.slog.Log(context.Background(), slogLevel(level), msg, keyvals...)
	case r.cfg.logger != nil && r.cfg.logger.Level() >= level:
		r.cfg.logger.Log(level, msg, keyvals...)
	}
}

// once limits how often the same error is told.
type once struct {
	text string
	at   time.Time
}

// fresh reports whether err is another error than last time, or long enough ago.
func (o *once) fresh(err error, now time.Time) bool {
	text := err.Error()
	if text == o.text && now.Sub(o.at) < time.Second {
		return false
	}
	o.text, o.at = text, now
	return true
}
