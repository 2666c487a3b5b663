package rcconsumer_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/kafkatest"
)

// fate is what becomes of a value, told by the value itself.
type fate string

const (
	plain   fate = "plain" // outside of any transaction
	commit  fate = "commit"
	abort   fate = "abort"
	exhaust fate = "timeout" // aborted by the coordinator
)

// line is one record of a log.
type line struct {
	Offset int64
	Value  string // producer/transaction/index/fate
}

func (l line) committed() bool {
	return strings.HasSuffix(l.Value, "/"+string(plain)) || strings.HasSuffix(l.Value, "/"+string(commit))
}

func (l line) transaction() string {
	parts := strings.SplitN(l.Value, "/", 3)
	return parts[0] + "/" + parts[1]
}

// ledger is the writers' own account of one topic: what they wrote, where, and
// how many offsets the log has by now, markers included.
type ledger struct {
	c     *kafkatest.Cluster
	topic string

	mu    sync.Mutex
	lines map[int32][]line
	ends  map[int32]int64
	void  map[string]bool // transactions ended otherwise than their values say, as producer/transaction
}

func newLedger(t *testing.T, c *kafkatest.Cluster, config kafkatest.TopicConfig) *ledger {
	t.Helper()
	return ledgerOf(c, c.Topic(t, config))
}

func ledgerOf(c *kafkatest.Cluster, topic string) *ledger {
	return &ledger{c: c, topic: topic, lines: map[int32][]line{}, ends: map[int32]int64{}, void: map[string]bool{}}
}

func (l *ledger) note(partition int32, base int64, values []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, v := range values {
		l.lines[partition] = append(l.lines[partition], line{base + int64(i), v})
	}
	l.ends[partition] += int64(len(values))
}

func (l *ledger) noteMarker(partition int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ends[partition]++
}

// end is where the partition's log ends, exclusive.
func (l *ledger) end(partition int32) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ends[partition]
}

// settle waits until every transaction of the partition has ended, and returns
// the end of the log.
func (l *ledger) settle(t *testing.T, partition int32) int64 {
	t.Helper()
	end := l.end(partition)
	l.c.WaitLSO(t, l.topic, partition, end)
	return end
}

// settleDisturbed is settle after brokers failed or leaders moved: a coordinator
// that does not know whether its marker was written writes it again.
func (l *ledger) settleDisturbed(t *testing.T, partition int32) int64 {
	t.Helper()
	kafkatest.Wait(t, "the end of all transactions", func(ctx context.Context) (string, bool) {
		lso, err := l.c.LSO(ctx, l.topic, partition)
		if err != nil {
			return err.Error(), false
		}
		hw, err := l.c.HW(ctx, l.topic, partition)
		if err != nil || lso < hw || lso < l.end(partition) {
			return fmt.Sprintf("last stable offset %d, high watermark %d, %v", lso, hw, err), false
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.ends[partition] = lso
		return "", true
	})
	return l.end(partition)
}

// visible is what a reader may see of [from, end).
func (l *ledger) visible(partition int32, uncommitted bool, from, end int64) []line {
	l.mu.Lock()
	defer l.mu.Unlock()
	var seen []line
	for _, n := range l.lines[partition] {
		if n.Offset >= from && n.Offset < end && (uncommitted || n.committed() && !l.void[n.transaction()]) {
			seen = append(seen, n)
		}
	}
	slices.SortFunc(seen, func(a, b line) int { return cmp.Compare(a.Offset, b.Offset) })
	return seen
}

// writer writes self-describing values. It is not safe for concurrent use.
type writer struct {
	l     *ledger
	p     *kafkatest.Producer
	name  string
	txn   int
	fate  fate
	index int
	parts map[int32]bool

	codec     kgo.CompressionCodec
	bulk      []byte   // key of every record, to make batches large
	keys      []string // keys of the records, in turn
	timestamp int64
}

// writer makes a transactional writer, or a plain one if it only writes batches
// of fate plain.
func (l *ledger) writer(t *testing.T, name string, config kafkatest.ProducerConfig) *writer {
	t.Helper()
	if config.TransactionalID == "" {
		config.TransactionalID = kafkatest.Name(t)
	}
	return &writer{l: l, p: l.c.Producer(t, config), name: name, parts: map[int32]bool{}}
}

// plainWriter makes a writer without transactions.
func (l *ledger) plainWriter(t *testing.T, name string) *writer {
	t.Helper()
	p := l.c.Producer(t, kafkatest.ProducerConfig{Idempotent: true})
	return &writer{l: l, p: p, name: name, fate: plain, parts: map[int32]bool{}}
}

// begin names the transaction that the next batches belong to.
func (w *writer) begin(f fate) *writer {
	w.txn++
	w.fate, w.index = f, 0
	return w
}

// batch writes n values as one batch.
func (w *writer) batch(t *testing.T, partition int32, n int) {
	t.Helper()
	values, b := w.next(n)
	base := w.p.Produce(t, w.l.topic, partition, b)
	w.l.note(partition, base, values)
	w.parts[partition] = true
}

// tryBatch is batch while brokers fail: an error that does not pass is returned,
// after which nobody knows whether the batch is in the log.
func (w *writer) tryBatch(t *testing.T, partition int32, n int) (err error) {
	t.Helper()
	if !w.parts[partition] && strings.HasPrefix(w.l.c.Local().Version(), "3.") {
		w.p.Add(t, w.l.topic, partition)
	}
	values, b := w.next(n)
	w.parts[partition] = true
	kafkatest.Within(t, 3*kafkatest.Limit, "a batch to be taken", func(ctx context.Context) (string, bool) {
		var base int64
		if base, err = w.p.TryProduce(ctx, w.l.topic, partition, b); err == nil {
			w.l.note(partition, base, values)
			return "", true
		}
		var broker *kerr.Error
		fatal := errors.As(err, &broker) && !broker.Retriable && !errors.Is(err, kerr.ConcurrentTransactions)
		return err.Error(), fatal
	})
	return err
}

// abandon has another producer take over, which aborts the transaction whatever
// its values say.
func (w *writer) abandon(t *testing.T, id string) {
	t.Helper()
	w.l.mu.Lock()
	w.l.void[fmt.Sprintf("%s/%d", w.name, w.txn)] = true
	w.l.mu.Unlock()
	w.p = w.l.c.Producer(t, kafkatest.ProducerConfig{TransactionalID: id, Timeout: 5 * kafkatest.Limit})
	w.ended()
}

// next makes the next n values, and their batch.
func (w *writer) next(n int) ([]string, kafkatest.Batch) {
	values := make([]string, n)
	for i := range values {
		values[i] = fmt.Sprintf("%s/%d/%d/%s", w.name, w.txn, w.index, w.fate)
		w.index++
	}
	b := kafkatest.Values(values...).With(w.codec)
	b.Timestamp = w.timestamp
	for i := range b.Records {
		b.Records[i].Key = w.bulk
		if len(w.keys) > 0 {
			b.Records[i].Key = []byte(w.keys[i%len(w.keys)])
		}
	}
	return values, b
}

// end ends the transaction as its fate says.
func (w *writer) end(t *testing.T) {
	t.Helper()
	if w.fate == commit {
		w.p.Commit(t)
	} else {
		w.p.Abort(t)
	}
	w.ended()
}

// ended notes the markers of a transaction that is over.
func (w *writer) ended() {
	for p := range w.parts {
		w.l.noteMarker(p)
	}
	clear(w.parts)
}

// whole writes a transaction of the given batches to one partition and ends it.
func (w *writer) whole(t *testing.T, partition int32, f fate, sizes ...int) {
	t.Helper()
	w.begin(f)
	for _, n := range sizes {
		w.batch(t, partition, n)
	}
	w.end(t)
}
