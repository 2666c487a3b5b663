package kafkatest

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// writeLimit is how long a writer waits for the cluster before it gives a
// transaction up.
const writeLimit = 90 * time.Second

// loadWriter is one producer of a [Load]. Only its own goroutine uses it,
// besides kgo's promises.
type loadWriter struct {
	load    *Load
	id      uint16
	txnID   string // empty: no transactions
	timeout time.Duration
	r       *rand.Rand
	client  *kgo.Client
	txn     uint32
	index   uint16

	replaced int // how often it went on with a new client
}

var loadCodecs = []kgo.CompressionCodec{
	kgo.NoCompression(), kgo.NoCompression(), kgo.Lz4Compression(), kgo.ZstdCompression(), kgo.SnappyCompression(), kgo.GzipCompression(),
}

func (w *loadWriter) connect() (err error) {
	opts := []kgo.Opt{
		kgo.SeedBrokers(w.load.cluster.Addrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0),
		kgo.MetadataMinAge(100 * time.Millisecond), kgo.ProduceRequestTimeout(5 * time.Second),
		kgo.RequestTimeoutOverhead(3 * time.Second),
		kgo.ProducerBatchCompression(loadCodecs[int(w.id)%len(loadCodecs)]),
	}
	if w.txnID != "" {
		opts = append(opts, kgo.TransactionalID(w.txnID), kgo.TransactionTimeout(w.timeout))
	}
	w.client, err = kgo.NewClient(opts...)
	return err
}

// replace goes on with a new client, as a service that was started again.
func (w *loadWriter) replace() {
	w.client.Close()
	if err := w.connect(); err != nil {
		panic(err) // the options are the same as before
	}
	w.replaced++
}

func (w *loadWriter) run() {
	for w.load.ctx.Err() == nil {
		if w.txnID == "" {
			w.plain()
		} else {
			w.transaction()
		}
		select {
		case <-w.load.ctx.Done():
		case <-time.After(30*time.Millisecond + time.Duration(w.r.Int64N(int64(w.load.config.Pause)))):
		}
	}
}

// plain writes a few records outside of transactions.
func (w *loadWriter) plain() {
	ctx, cancel := context.WithTimeout(context.Background(), writeLimit)
	defer cancel()
	w.index = 0
	w.txn++ // numbers only; the records are not transactional
	w.produce(1+w.r.IntN(10), nil)
	if err := w.client.Flush(ctx); err != nil {
		w.load.say("writer %d: flush: %v", w.id, err)
		w.replace()
	}
}

// produce writes records to partitions at random.
func (w *loadWriter) produce(n int, failed *atomic.Bool) {
	for range n {
		s := Stamp{Writer: w.id, Txn: w.txn, Index: w.index}
		w.index++
		rec := &kgo.Record{
			Topic: w.load.config.Topic, Partition: w.r.Int32N(w.load.config.Partitions),
			Key: s.key(), Value: s.Value(w.r.IntN(w.load.config.Padding)),
		}
		w.client.Produce(context.Background(), rec, func(r *kgo.Record, err error) {
			switch {
			case err == nil:
				w.load.ledger.note(r.Partition, Entry{r.Offset, s}, failed == nil)
			case failed != nil:
				failed.Store(true)
			}
		})
	}
}

// transaction writes one transaction and ends it at random.
func (w *loadWriter) transaction() {
	ctx, cancel := context.WithTimeout(context.Background(), writeLimit)
	defer cancel()
	if err := w.client.BeginTransaction(); err != nil {
		w.load.say("writer %d: begin: %v", w.id, err)
		w.replace()
		return
	}
	w.index = 0
	w.txn++
	key := TransactionKey{w.id, w.txn}
	w.load.ledger.change(key, func(*TransactionNote) {})
	var failed atomic.Bool
	wanted := w.r.IntN(100) < 65
	w.writeBatches(ctx, &failed)
	if wanted || w.r.IntN(2) == 0 {
		if err := w.client.Flush(ctx); err != nil {
			failed.Store(true)
		}
	}
	if wanted && !failed.Load() && w.commit(ctx, key) {
		return
	}
	w.abort(ctx)
}

// writeBatches writes in a few portions; in between the transaction rests.
func (w *loadWriter) writeBatches(ctx context.Context, failed *atomic.Bool) {
	for range 1 + w.r.IntN(4) {
		w.produce(1+w.r.IntN(12), failed)
		if w.r.IntN(3) == 0 {
			if err := w.client.Flush(ctx); err != nil {
				failed.Store(true)
			}
		}
	}
}

func (w *loadWriter) commit(ctx context.Context, key TransactionKey) bool {
	w.load.ledger.change(key, func(n *TransactionNote) { n.Asked = true })
	if err := w.client.EndTransaction(ctx, kgo.TryCommit); err != nil {
		w.load.say("writer %d, transaction %d: commit: %v", w.id, w.txn, err)
		return false
	}
	w.load.ledger.change(key, func(n *TransactionNote) { n.Confirmed = time.Now() })
	return true
}

func (w *loadWriter) abort(ctx context.Context) {
	err := w.client.AbortBufferedRecords(ctx)
	if err == nil {
		err = w.client.EndTransaction(ctx, kgo.TryAbort)
	}
	if err != nil {
		w.load.say("writer %d, transaction %d: abort: %v", w.id, w.txn, err)
		w.replace()
	}
}
