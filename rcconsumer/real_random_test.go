package rcconsumer_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/kafkatest"
	"example.com/readcommitted/rcconsumer"
)

var (
	randomFor  = flag.Duration("random-for", 15*time.Second, "how long the randomized run writes to a real cluster")
	randomSeed = flag.Uint64("random-seed", 0, "seed of the randomized run; 0 takes one from the clock")
)

// load writes at random until stop is called, which waits for all transactions
// to end.
type load struct {
	l          *ledger
	partitions int32
	fences     bool // now and then a producer is replaced in the middle of a transaction
	disturbed  bool // brokers fail meanwhile

	stopped chan struct{}
	once    sync.Once
	wg      sync.WaitGroup
}

// run starts writers, each with a random sequence of its own.
func (d *load) run(t *testing.T, seed uint64, transactional, plainOnes int) {
	t.Helper()
	d.stopped = make(chan struct{})
	for i := range transactional {
		id := kafkatest.Name(t)
		config := kafkatest.ProducerConfig{TransactionalID: id}
		if d.disturbed {
			config.Timeout = 5 * kafkatest.Limit // a batch may wait for minutes; that must not abort what is to be committed
		}
		w := d.l.writer(t, fmt.Sprintf("t%d", i), config)
		d.spawn(func(r *rand.Rand) { d.transaction(t, r, w, id) }, rand.New(rand.NewPCG(seed, uint64(i))))
	}
	for i := range plainOnes {
		w := d.l.plainWriter(t, fmt.Sprintf("p%d", i))
		d.spawn(func(r *rand.Rand) { d.batch(t, r, w) }, rand.New(rand.NewPCG(seed, uint64(1000+i))))
	}
}

func (d *load) spawn(step func(*rand.Rand), r *rand.Rand) {
	d.wg.Go(func() {
		for {
			select {
			case <-d.stopped:
				return
			default:
				step(r)
			}
		}
	})
}

func (d *load) stop() {
	d.once.Do(func() { close(d.stopped) })
	d.wg.Wait()
}

func (d *load) transaction(t *testing.T, r *rand.Rand, w *writer, id string) {
	w.begin([]fate{commit, commit, commit, abort, abort}[r.IntN(5)])
	fenced := d.fences && r.IntN(40) == 0
	if fenced {
		w.fate = abort
	}
	for range 1 + r.IntN(5) {
		if !d.disturbed {
			d.batch(t, r, w)
		} else if err := w.tryBatch(t, r.Int32N(d.partitions), 1+r.IntN(20)); err != nil {
			t.Logf("%s gives up transaction %d: %v", w.name, w.txn, err)
			w.abandon(t, id)
			return
		}
	}
	if fenced {
		w.abandon(t, id)
		return
	}
	w.end(t)
}

func (d *load) batch(t *testing.T, r *rand.Rand, w *writer) {
	w.codec = randomCodecs[r.IntN(len(randomCodecs))]
	w.batch(t, r.Int32N(d.partitions), 1+r.IntN(20))
}

var randomCodecs = []kgo.CompressionCodec{
	kgo.NoCompression(), kgo.NoCompression(), kgo.Lz4Compression(), kgo.ZstdCompression(), kgo.SnappyCompression(), kgo.GzipCompression(),
}

// drained polls until every partition is read to the end of the ledger.
func (h *harvest) drained(t *testing.T, l *ledger, partitions int32) {
	t.Helper()
	for p := range partitions {
		h.untilNext(t, l.topic, p, l.end(p))
	}
}

func TestRealRandomizedWritersAndReadersTellTheSame(t *testing.T) {
	const partitions, transactional, plainOnes = 4, 12, 2
	l := newLedger(t, kafkatest.Real(t, kafkatest.Config{}), kafkatest.TopicConfig{Partitions: partitions})
	seed := *randomSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-random-seed=%d", seed)
	d := load{l: l, partitions: partitions, fences: true}
	d.run(t, seed, transactional, plainOnes)
	t.Cleanup(d.stop) // also when the test fails

	live := newHarvest(newConsumer(t, l.c, kgo.ConsumeTopics(l.topic)))
	small := newHarvest(newConsumer(t, l.c, kgo.ConsumeTopics(l.topic), kgo.FetchMaxPartitionBytes(20_000), rcconsumer.BufferBytes(100_000)))
	started := time.Now()
	for time.Since(started) < *randomFor { // both read while the log is being written
		_ = live.poll(t.Context(), t, 0)
		_ = small.poll(t.Context(), t, 100)
		require.Empty(t, append(live.errs, small.errs...))
	}
	d.stop()
	took := time.Since(started)
	for p := range int32(partitions) {
		l.settle(t, p)
	}
	live.drained(t, l, partitions)
	small.drained(t, l, partitions)

	var committed, all int
	var stats rcconsumer.PartitionStats
	for p := range int32(partitions) {
		end := l.end(p)
		want := l.visible(p, false, 0, end)
		require.Equal(t, want, live.lines[l.topic][p], "partition %d, live reader", p)
		require.Equal(t, want, small.lines[l.topic][p], "partition %d, reader with a small buffer", p)
		require.Equal(t, want, l.kgoRead(t, p, 0, want[len(want)-1].Offset, kgo.ReadCommitted()), "partition %d, plain kgo", p)
		everything := l.visible(p, true, 0, end)
		require.Equal(t, everything, l.read(t, p, 0, end, rcconsumer.ReadUncommitted()), "partition %d at read_uncommitted", p)
		s := live.c.Stats()[l.topic][p]
		require.EqualValues(t, len(want), s.DeliveredRecords)
		require.EqualValues(t, len(everything)-len(want), s.AbortedRecords)
		require.Zero(t, s.Anomalies)
		committed, all = committed+len(want), all+len(everything)
		stats.AbortedBatches += s.AbortedBatches
		stats.DeliveredBatches += s.DeliveredBatches
		stats.ControlBatches += s.ControlBatches
	}
	t.Logf("%.1f s: %d records written, %d delivered in %d batches, %d dropped in %d batches, %d markers",
		took.Seconds(), all, committed, stats.DeliveredBatches, all-committed, stats.AbortedBatches, stats.ControlBatches)
}
