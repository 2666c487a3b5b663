package rcconsumer

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/internal/pass"
)

// Source: datastax/starlight-for-kafka#31 and #65: state about aborted
// transactions grew without bound. 100,000 one-record transactions, each of a
// producer of its own, every tenth committed; the last marker of an answer is in
// the next one. Nothing of them may stay. Runs alone, since it weighs the heap.
func TestNothingIsKeptOfTransactionsThatEnded(t *testing.T) {
	const transactions, perAnswer = 100_000, 1000
	c, err := New(kgo.SeedBrokers("127.0.0.1:1"))
	require.NoError(t, err)
	defer c.Close()
	p := c.ensure("t", 0, offsetSpec{at: 0, epoch: -1})
	scanner := new(pass.Scanner)
	var settled uint64
	records := 0
	for first := int64(0); first < transactions; first += perAnswer {
		part := answerOf(first, perAnswer)
		p.mu.Lock()
		gen := p.gen
		p.mu.Unlock()
		l := newLease(c.budget, 0)
		c.accept(&answer{wanted: &wanted{p: p, gen: gen}, part: part, version: 12, lease: l, scanner: scanner})
		l.drop()
		for fs := c.PollFetches(nil); !fs.Empty(); fs = c.PollFetches(nil) { //nolint:staticcheck // the nil context takes what is there
			require.NoError(t, fs.Err())
			records += fs.NumRecords()
		}
		if first == transactions/10 {
			settled = heap()
		}
	}
	require.Equal(t, transactions/10, records)
	pos := p.position()
	require.EqualValues(t, 2*transactions-1, pos.Next, "the last marker is still to come")
	require.Zero(t, p.statistics().Anomalies)
	require.Less(t, heap(), settled+256<<10, "bytes on the heap, nine tenths of the transactions later")
	runtime.KeepAlive(scanner)
}

// answerOf is an answer with n transactions, from the marker of the one before
// it to the data of the last. Its list names the aborted ones only.
func answerOf(first int64, n int) *kmsg.FetchResponseTopicPartition {
	var log batchtest.Log
	var list []int64
	for i := first; i < first+int64(n); i++ {
		producer, offset := 1000+i, 2*i
		if i > 0 {
			log = append(log, marker(offset-1, producer-1))
		}
		log = append(log, batchtest.Data(offset, offset).Txn(producer))
		if !committed(producer) {
			list = append(list, producer, offset)
		}
	}
	part := log.Partition(batchtest.Aborted(list...))
	part.LastStableOffset++ // the last one has ended
	part.HighWatermark++
	return part
}

func committed(producer int64) bool { return producer%10 == 9 }

func marker(offset, producer int64) batchtest.Batch {
	if committed(producer) {
		return batchtest.Commit(offset, producer)
	}
	return batchtest.Abort(offset, producer)
}

func heap() uint64 {
	runtime.GC()
	runtime.GC() // the second frees what the first has finalized
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
