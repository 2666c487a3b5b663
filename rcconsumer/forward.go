package rcconsumer

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// What is here is the client's underneath, so that a program can do all with the
// one client that it reads with. What polls, seeks, marks, commits or knows of
// positions is never among it: that client reads nothing.

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

// TryProduce is kgo.Client.TryProduce of the client underneath.
func (c *Consumer) TryProduce(ctx context.Context, r *kgo.Record, promise func(*kgo.Record, error)) {
	c.cl.TryProduce(ctx, r, promise)
}

// BufferedProduceRecords is kgo.Client.BufferedProduceRecords of the client
// underneath.
func (c *Consumer) BufferedProduceRecords() int64 { return c.cl.BufferedProduceRecords() }

// BufferedProduceBytes is kgo.Client.BufferedProduceBytes of the client
// underneath.
func (c *Consumer) BufferedProduceBytes() int64 { return c.cl.BufferedProduceBytes() }

// AbortBufferedRecords is kgo.Client.AbortBufferedRecords of the client
// underneath: of records to be produced.
func (c *Consumer) AbortBufferedRecords(ctx context.Context) error {
	return c.cl.AbortBufferedRecords(ctx)
}

// UnsafeAbortBufferedRecords is kgo.Client.UnsafeAbortBufferedRecords of the
// client underneath: of records to be produced.
func (c *Consumer) UnsafeAbortBufferedRecords() { c.cl.UnsafeAbortBufferedRecords() }

// EnsureProduceConnectionIsOpen is kgo.Client.EnsureProduceConnectionIsOpen of
// the client underneath.
func (c *Consumer) EnsureProduceConnectionIsOpen(ctx context.Context, brokers ...int32) error {
	return c.cl.EnsureProduceConnectionIsOpen(ctx, brokers...)
}

// PurgeTopicsFromProducing is kgo.Client.PurgeTopicsFromProducing of the client
// underneath. Reading goes on.
func (c *Consumer) PurgeTopicsFromProducing(topics ...string) {
	c.cl.PurgeTopicsFromProducing(topics...)
}

// ProducerID is kgo.Client.ProducerID of the client underneath.
func (c *Consumer) ProducerID(ctx context.Context) (id int64, epoch int16, err error) {
	return c.cl.ProducerID(ctx)
}

// BeginTransaction is kgo.Client.BeginTransaction of the client underneath. What
// this consumer has read is no part of its transactions.
func (c *Consumer) BeginTransaction() error { return c.cl.BeginTransaction() }

// EndTransaction is kgo.Client.EndTransaction of the client underneath. It
// commits no offsets.
func (c *Consumer) EndTransaction(ctx context.Context, commit kgo.TransactionEndTry) error {
	return c.cl.EndTransaction(ctx, commit)
}

// EndAndBeginTransaction is kgo.Client.EndAndBeginTransaction of the client
// underneath. It commits no offsets.
func (c *Consumer) EndAndBeginTransaction(
	ctx context.Context, how kgo.EndBeginTxnHow, commit kgo.TransactionEndTry, onEnd func(context.Context, error) error,
) error {
	return c.cl.EndAndBeginTransaction(ctx, how, commit, onEnd)
}

// RequestSharded is kgo.Client.RequestSharded of the client underneath.
func (c *Consumer) RequestSharded(ctx context.Context, req kmsg.Request) []kgo.ResponseShard {
	return c.cl.RequestSharded(ctx, req)
}

// RequestCachedMetadata is kgo.Client.RequestCachedMetadata of the client
// underneath.
func (c *Consumer) RequestCachedMetadata(
	ctx context.Context, req *kmsg.MetadataRequest, limit time.Duration,
) (*kmsg.MetadataResponse, error) {
	return c.cl.RequestCachedMetadata(ctx, req, limit)
}

// Broker is kgo.Client.Broker of the client underneath.
func (c *Consumer) Broker(id int) *kgo.Broker { return c.cl.Broker(id) }

// DiscoveredBrokers is kgo.Client.DiscoveredBrokers of the client underneath.
func (c *Consumer) DiscoveredBrokers() []*kgo.Broker { return c.cl.DiscoveredBrokers() }

// SeedBrokers is kgo.Client.SeedBrokers of the client underneath.
func (c *Consumer) SeedBrokers() []*kgo.Broker { return c.cl.SeedBrokers() }

// UpdateSeedBrokers is kgo.Client.UpdateSeedBrokers of the client underneath.
func (c *Consumer) UpdateSeedBrokers(addrs ...string) error { return c.cl.UpdateSeedBrokers(addrs...) }

// Context is kgo.Client.Context of the client underneath: it ends with Close, or
// with the context of kgo.WithContext.
func (c *Consumer) Context() context.Context { return c.cl.Context() }

// ForceMetadataRefresh asks for metadata soon, of the topics that are read and
// of those that are produced to, as kgo.Client.ForceMetadataRefresh does.
func (c *Consumer) ForceMetadataRefresh() {
	c.meta.refresh()
	c.cl.ForceMetadataRefresh()
}

// PartitionLeader returns the leader that is known of a partition, and its
// epoch, as kgo.Client.PartitionLeader does: -1 and -1 if none is known. It
// knows the partitions that are read and the topics that are produced to.
func (c *Consumer) PartitionLeader(topic string, partition int32) (leader, leaderEpoch int32, err error) {
	if p := c.partition(topic, partition); p != nil {
		p.mu.Lock()
		leader, leaderEpoch = p.leader, p.leaderEpoch
		p.mu.Unlock()
		if leader != noLeader {
			return leader, leaderEpoch, nil
		}
	}
	return c.cl.PartitionLeader(topic, partition)
}

// MarkAcks does nothing, as kgo.Client.MarkAcks without a share group: [New]
// refuses those. It is here so that a program compiles.
func (c *Consumer) MarkAcks(kgo.AckStatus, ...*kgo.Record) {}

// FlushAcks does nothing, as kgo.Client.FlushAcks without a share group: [New]
// refuses those. It is here so that a program compiles.
func (c *Consumer) FlushAcks(context.Context) error { return nil }
