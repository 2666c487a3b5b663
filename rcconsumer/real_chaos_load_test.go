package rcconsumer_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/kafkatest"
)

// writeLimit is how long a writer waits for the cluster before it gives a
// transaction up.
const writeLimit = 90 * time.Second

// chaosLoad writes with plain kgo producers, which outlive all faults, and
// keeps their ledger.
type chaosLoad struct {
	c          *kafkatest.Cluster
	topic      string
	partitions int32
	ledger     *chaosLedger
	say        func(format string, args ...any)

	ctx     context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	writers []*chaosWriter
}

// chaosWriter is one producer. Only its own goroutine uses it, besides kgo's
// promises.
type chaosWriter struct {
	d       *chaosLoad
	id      uint16
	txnID   string // empty: no transactions
	timeout time.Duration
	r       *rand.Rand
	cl      *kgo.Client
	txn     uint32
	index   uint16

	replaced int // how often it went on with a new client
}

func (d *chaosLoad) start(t *testing.T, seed uint64, transactional, plainOnes int) {
	d.ctx, d.cancel = context.WithCancel(t.Context())
	for i := range transactional + plainOnes {
		w := &chaosWriter{d: d, id: uint16(i), r: rand.New(rand.NewPCG(seed, uint64(i)))}
		if i < transactional {
			w.txnID = fmt.Sprintf("%s-%d", d.topic, i)
			// Some end by their timeout when the cluster is away for long.
			w.timeout = []time.Duration{10 * time.Second, 40 * time.Second}[i%2]
		}
		require.NoError(t, w.connect())
		d.writers = append(d.writers, w)
		d.wg.Go(w.run)
	}
}

// stop ends the writing; then every transactional ID is taken over, which ends
// what was left open.
func (d *chaosLoad) stop(t *testing.T) {
	t.Helper()
	d.cancel()
	d.wg.Wait()
	for _, w := range d.writers {
		if w.txnID != "" {
			w.cl.Close()
			require.NoError(t, w.connect())
			kafkatest.Wait(t, "a new producer for "+w.txnID, func(ctx context.Context) (string, bool) {
				_, _, err := w.cl.ProducerID(ctx)
				return fmt.Sprint(err), err == nil
			})
		}
		w.cl.Close()
	}
}

// abandon ends the writing when the test has failed.
func (d *chaosLoad) abandon() {
	d.cancel()
	d.wg.Wait()
	for _, w := range d.writers {
		w.cl.Close()
	}
}

func (w *chaosWriter) connect() (err error) {
	opts := []kgo.Opt{
		kgo.SeedBrokers(w.d.c.Addrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0),
		kgo.MetadataMinAge(100 * time.Millisecond), kgo.ProduceRequestTimeout(5 * time.Second),
		kgo.RequestTimeoutOverhead(3 * time.Second),
		kgo.ProducerBatchCompression(randomCodecs[int(w.id)%len(randomCodecs)]),
	}
	if w.txnID != "" {
		opts = append(opts, kgo.TransactionalID(w.txnID), kgo.TransactionTimeout(w.timeout))
	}
	w.cl, err = kgo.NewClient(opts...)
	return err
}

// replace goes on with a new client, as a service that was started again.
func (w *chaosWriter) replace() {
	w.cl.Close()
	if err := w.connect(); err != nil {
		panic(err) // the options are the same as before
	}
	w.replaced++
}

func (w *chaosWriter) run() {
	for w.d.ctx.Err() == nil {
		if w.txnID == "" {
			w.plain()
		} else {
			w.transaction()
		}
		select {
		case <-w.d.ctx.Done():
		case <-time.After(time.Duration(30+w.r.IntN(200)) * time.Millisecond):
		}
	}
}

// plain writes a few records outside of transactions.
func (w *chaosWriter) plain() {
	ctx, cancel := context.WithTimeout(context.Background(), writeLimit)
	defer cancel()
	w.index = 0
	w.txn++ // numbers only; the records are not transactional
	w.produce(1+w.r.IntN(10), nil)
	if err := w.cl.Flush(ctx); err != nil {
		w.d.say("writer %d: flush: %v", w.id, err)
		w.replace()
	}
}

// produce writes records to partitions at random.
func (w *chaosWriter) produce(n int, failed *atomic.Bool) {
	for range n {
		s := stamp{writer: w.id, txn: w.txn, index: w.index}
		w.index++
		rec := &kgo.Record{Topic: w.d.topic, Partition: w.r.Int32N(w.d.partitions), Value: s.value(w.r.IntN(200))}
		w.cl.Produce(context.Background(), rec, func(r *kgo.Record, err error) {
			switch {
			case err == nil:
				w.d.ledger.note(r.Partition, entry{r.Offset, s})
			case failed != nil:
				failed.Store(true)
			}
		})
	}
}

// transaction writes one transaction and ends it at random.
func (w *chaosWriter) transaction() {
	ctx, cancel := context.WithTimeout(context.Background(), writeLimit)
	defer cancel()
	if err := w.cl.BeginTransaction(); err != nil {
		w.d.say("writer %d: begin: %v", w.id, err)
		w.replace()
		return
	}
	w.index = 0
	w.txn++
	key := transactionKey{w.id, w.txn}
	w.d.ledger.change(key, func(*transactionNote) {})
	var failed atomic.Bool
	wanted := w.r.IntN(100) < 65
	w.writeBatches(ctx, &failed)
	if wanted || w.r.IntN(2) == 0 {
		if err := w.cl.Flush(ctx); err != nil {
			failed.Store(true)
		}
	}
	if wanted && !failed.Load() && w.commit(ctx, key) {
		return
	}
	w.abort(ctx)
}

// writeBatches writes in a few portions; in between the transaction rests.
func (w *chaosWriter) writeBatches(ctx context.Context, failed *atomic.Bool) {
	for range 1 + w.r.IntN(4) {
		w.produce(1+w.r.IntN(12), failed)
		if w.r.IntN(3) == 0 {
			if err := w.cl.Flush(ctx); err != nil {
				failed.Store(true)
			}
		}
	}
}

func (w *chaosWriter) commit(ctx context.Context, key transactionKey) bool {
	w.d.ledger.change(key, func(n *transactionNote) { n.asked = true })
	if err := w.cl.EndTransaction(ctx, kgo.TryCommit); err != nil {
		w.d.say("writer %d, transaction %d: commit: %v", w.id, w.txn, err)
		return false
	}
	w.d.ledger.change(key, func(n *transactionNote) { n.confirmed = true })
	return true
}

func (w *chaosWriter) abort(ctx context.Context) {
	err := w.cl.AbortBufferedRecords(ctx)
	if err == nil {
		err = w.cl.EndTransaction(ctx, kgo.TryAbort)
	}
	if err != nil {
		w.d.say("writer %d, transaction %d: abort: %v", w.id, w.txn, err)
		w.replace()
	}
}
