package main

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"
)

// producer is a client that writes each slice of records as one batch, so
// that a log has the same layout every time. It also is a hook of that client,
// since kgo moves the first records of a topic to their partition one by one
// when the topic's metadata arrives; a flush in the middle of that would split
// the batch.
type producer struct {
	*kgo.Client
	buffered atomic.Int64
	wake     chan struct{} // capacity 1
}

func newProducer(opts []kgo.Opt) (*producer, error) {
	p := &producer{wake: make(chan struct{}, 1)}
	client, err := kgo.NewClient(append(slices.Clone(opts),
		kgo.ManualFlushing(),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.WithHooks(p),
	)...)
	if err != nil {
		return nil, err
	}
	p.Client = client
	return p, nil
}

// OnProduceRecordPartitioned implements [kgo.HookProduceRecordPartitioned].
func (p *producer) OnProduceRecordPartitioned(*kgo.Record, int32) {
	p.buffered.Add(1)
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// send writes the records and sets their offsets.
func (p *producer) send(ctx context.Context, records []*kgo.Record) error {
	p.buffered.Store(0)
	results := make(chan error, len(records))
	for _, r := range records {
		p.Produce(ctx, r, func(_ *kgo.Record, err error) { results <- err })
	}
	for p.buffered.Load() < int64(len(records)) {
		select {
		case <-p.wake:
		case err := <-results: // nothing was flushed: only a failure ends so early
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := p.Flush(ctx); err != nil {
		return err
	}
	for range records {
		if err := <-results; err != nil {
			return err
		}
	}
	return nil
}
