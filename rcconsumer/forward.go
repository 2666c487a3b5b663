package rcconsumer

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Produce is kgo.Client.Produce of the client underneath, for programs that
// share one client for reading and writing.
func (c *Consumer) Produce(ctx context.Context, r *kgo.Record, promise func(*kgo.Record, error)) {
	c.cl.Produce(ctx, r, promise)
}

// ProduceSync is kgo.Client.ProduceSync of the client underneath.
func (c *Consumer) ProduceSync(ctx context.Context, rs ...*kgo.Record) kgo.ProduceResults {
	return c.cl.ProduceSync(ctx, rs...)
}

// Flush is kgo.Client.Flush of the client underneath: it waits for what was
// produced.
func (c *Consumer) Flush(ctx context.Context) error { return c.cl.Flush(ctx) }

// Request is kgo.Client.Request of the client underneath.
func (c *Consumer) Request(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	return c.cl.Request(ctx, req)
}
