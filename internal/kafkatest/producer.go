package kafkatest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// ProducerConfig says what a producer is. The zero value is a plain one,
// neither idempotent nor transactional.
type ProducerConfig struct {
	// TransactionalID makes the producer transactional; see [Name].
	TransactionalID string

	// Idempotent gives a producer without TransactionalID a producer ID.
	Idempotent bool

	// Timeout is the transaction timeout. The default is 1 minute.
	Timeout time.Duration

	// TransactionVersion is the protocol of KIP-890: 1 with AddPartitionsToTxn
	// and EndTxn v4, 2 with Produce v12 and EndTxn v5, where each transaction
	// has an epoch of its own. The default is what the cluster has.
	TransactionVersion int16
}

// Producer writes batches as told, one request each, and ends transactions as
// told; nothing is repeated, merged or done in the background. A transaction
// begins with its first batch. One that is not ended stays open.
type Producer struct {
	cluster *Cluster
	config  ProducerConfig
	client  *kgo.Client

	id       int64
	epoch    int16
	sequence map[topicPartition]int32
	added    map[topicPartition]bool // part of the open transaction
}

type topicPartition struct {
	topic     string
	partition int32
}

// Producer makes a producer. A transactional one fences earlier ones of its
// transactional ID and aborts their open transaction, if there is one.
func (c *Cluster) Producer(t testing.TB, config ProducerConfig) *Producer {
	t.Helper()
	if config.Timeout == 0 {
		config.Timeout = time.Minute
	}
	if config.TransactionVersion == 0 {
		config.TransactionVersion = c.transactionVersion(t)
	}
	p := c.newProducer(config)
	p.client = c.Client(t, kgo.MaxVersions(producerVersions(config.TransactionVersion)))
	if config.Idempotent || config.TransactionalID != "" {
		p.id, p.epoch = p.init(t)
	}
	return p
}

// Produce writes a batch without producer ID and returns its base offset.
func (c *Cluster) Produce(t testing.TB, topic string, partition int32, b Batch) int64 {
	t.Helper()
	return c.newProducer(ProducerConfig{}).Produce(t, topic, partition, b)
}

// newProducer is a producer without producer ID on the cluster's own client.
func (c *Cluster) newProducer(config ProducerConfig) *Producer {
	return &Producer{
		cluster:  c,
		config:   config,
		client:   c.client,
		id:       -1,
		epoch:    -1,
		sequence: map[topicPartition]int32{},
		added:    map[topicPartition]bool{},
	}
}

// producerVersions are the highest request versions of a transaction version.
func producerVersions(transactionVersion int16) *kversion.Versions {
	versions := kversion.Stable()
	versions.SetMaxKeyVersion(int16(kmsg.AddPartitionsToTxn), 3) // above are for brokers
	versions.SetMaxKeyVersion(int16(kmsg.Produce), 12)           // above need a topic ID
	if transactionVersion < 2 {
		versions.SetMaxKeyVersion(int16(kmsg.Produce), 11)
		versions.SetMaxKeyVersion(int16(kmsg.EndTxn), 4)
	}
	return versions
}

// Fence takes over a transactional ID as a new instance of its producer would:
// an open transaction is aborted, the old producer is refused from then on. It
// returns when the abort marker is on its way; wait for the last stable offset.
func (c *Cluster) Fence(t testing.TB, transactionalID string) (producerID int64, epoch int16) {
	t.Helper()
	p := c.Producer(t, ProducerConfig{TransactionalID: transactionalID})
	return p.id, p.epoch
}

// ID is the producer ID, -1 for a plain producer.
func (p *Producer) ID() int64 { return p.id }

// Epoch is the epoch of the next batch, -1 for a plain producer.
func (p *Producer) Epoch() int16 { return p.epoch }

// Produce writes a batch with acks=all and returns its base offset. For a
// transactional producer it is part of the transaction, which it begins if
// none is open.
func (p *Producer) Produce(t testing.TB, topic string, partition int32, b Batch) int64 {
	t.Helper()
	tp := topicPartition{topic, partition}
	if p.transactional() && p.config.TransactionVersion < 2 && !p.added[tp] {
		p.Add(t, topic, partition)
	}
	var base int64
	retry(t, "produce", func(ctx context.Context) (err error) {
		base, err = p.TryProduce(ctx, topic, partition, b)
		if isTransport(err) && !neverSent(err) && p.id < 0 {
			t.Fatalf("produce without producer ID cannot be repeated: %v", err)
		}
		return err
	})
	return base
}

// TryProduce is one attempt of [Producer.Produce], for errors that a test
// wants to see. It does not send AddPartitionsToTxn.
func (p *Producer) TryProduce(ctx context.Context, topic string, partition int32, b Batch) (base int64, err error) {
	tp := topicPartition{topic, partition}
	producer := identity{id: p.id, epoch: p.epoch, sequence: -1, transactional: p.transactional()}
	if p.id >= 0 {
		producer.sequence = p.sequence[tp]
	}
	raw, err := b.encode(producer)
	if err != nil {
		return 0, err
	}
	base, err = p.send(ctx, tp, raw)
	if err != nil {
		return 0, err
	}
	p.added[tp] = true
	p.sequence[tp] += int32(len(b.Records))
	return base, nil
}

func (p *Producer) send(ctx context.Context, tp topicPartition, raw []byte) (base int64, err error) {
	metadata, err := p.cluster.partition(ctx, tp.topic, tp.partition)
	if err != nil {
		return 0, err
	}
	req := kmsg.NewPtrProduceRequest()
	req.Acks = -1
	req.TimeoutMillis = int32(p.replication().Milliseconds())
	if p.transactional() {
		req.TransactionID = &p.config.TransactionalID
	}
	reqPartition := kmsg.NewProduceRequestTopicPartition()
	reqPartition.Partition, reqPartition.Records = tp.partition, raw
	reqTopic := kmsg.NewProduceRequestTopic()
	reqTopic.Topic = tp.topic
	reqTopic.Partitions = append(reqTopic.Partitions, reqPartition)
	req.Topics = append(req.Topics, reqTopic)
	resp, err := p.client.Broker(int(metadata.Leader)).Request(ctx, req)
	if err != nil {
		return 0, err
	}
	for _, rt := range resp.(*kmsg.ProduceResponse).Topics {
		for _, rp := range rt.Partitions {
			return rp.BaseOffset, kerr.ErrorForCode(rp.ErrorCode)
		}
	}
	return 0, kerr.UnknownTopicOrPartition
}

// replication is how long a broker may wait for its replicas before it answers
// REQUEST_TIMED_OUT. With a producer ID a batch can be sent again without being
// written twice, so that a leader that lost its replicas need not be waited for.
func (p *Producer) replication() time.Duration {
	if p.id >= 0 {
		return Limit / 6
	}
	return Limit
}

// Add makes a partition part of the transaction without writing to it. It gets
// a marker all the same.
func (p *Producer) Add(t testing.TB, topic string, partition int32) {
	t.Helper()
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = p.config.TransactionalID, p.id, p.epoch
	reqTopic := kmsg.NewAddPartitionsToTxnRequestTopic()
	reqTopic.Topic, reqTopic.Partitions = topic, []int32{partition}
	req.Topics = append(req.Topics, reqTopic)
	retry(t, "add partition to transaction", func(ctx context.Context) error {
		resp, err := req.RequestWith(ctx, p.client)
		if err != nil {
			return err
		}
		for _, rt := range resp.Topics {
			for _, rp := range rt.Partitions {
				return kerr.ErrorForCode(rp.ErrorCode)
			}
		}
		return kerr.ErrorForCode(resp.ErrorCode)
	})
	p.added[topicPartition{topic, partition}] = true
}

// Commit commits the open transaction. The markers may not be visible when it
// returns: wait for the last stable offset.
func (p *Producer) Commit(t testing.TB) { t.Helper(); p.end(t, true) }

// Abort aborts the open transaction, like [Producer.Commit].
func (p *Producer) Abort(t testing.TB) { t.Helper(); p.end(t, false) }

func (p *Producer) end(t testing.TB, commit bool) {
	t.Helper()
	require.True(t, p.transactional(), "a producer without transactional ID has no transaction to end")
	retry(t, "end transaction", func(ctx context.Context) error { return p.TryEnd(ctx, commit) })
}

// TryEnd is one attempt to end the transaction, for errors that a test wants
// to see.
func (p *Producer) TryEnd(ctx context.Context, commit bool) error {
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = p.config.TransactionalID, p.id, p.epoch
	req.Commit = commit
	resp, err := req.RequestWith(ctx, p.client)
	if err != nil {
		return err
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return err
	}
	clear(p.added)
	if resp.Version >= 5 && resp.ProducerID >= 0 { // a new epoch starts at sequence 0
		p.id, p.epoch = resp.ProducerID, resp.ProducerEpoch
		clear(p.sequence)
	}
	return nil
}

func (p *Producer) transactional() bool { return p.config.TransactionalID != "" }

func (p *Producer) init(t testing.TB) (id int64, epoch int16) {
	t.Helper()
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionTimeoutMillis = int32(p.config.Timeout.Milliseconds())
	if p.transactional() {
		req.TransactionalID = &p.config.TransactionalID
	}
	retry(t, "init producer ID", func(ctx context.Context) error {
		resp, err := req.RequestWith(ctx, p.client)
		if err != nil {
			return err
		}
		id, epoch = resp.ProducerID, resp.ProducerEpoch
		return kerr.ErrorForCode(resp.ErrorCode)
	})
	return id, epoch
}

// transactionVersion is the finalized level of the feature "transaction.version",
// 1 where the cluster has no such feature.
func (c *Cluster) transactionVersion(t testing.TB) int16 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Limit)
	defer cancel()
	resp, err := kmsg.NewPtrApiVersionsRequest().RequestWith(ctx, c.client)
	require.NoError(t, err)
	for _, f := range resp.FinalizedFeatures {
		if f.Name == "transaction.version" {
			return max(f.MaxVersionLevel, 1)
		}
	}
	return 1
}
