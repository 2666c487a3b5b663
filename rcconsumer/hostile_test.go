package rcconsumer_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/rcconsumer"
)

// liar answers a Fetch with anything but a wrong log: parts of it from anywhere,
// damaged, cut, with absurd ends, errors of every kind.
type liar struct {
	*rand.Rand
	log  []batchtest.Entry
	list []kmsg.FetchResponseTopicPartitionAbortedTransaction
}

// absurd are ends of a log that no broker has.
var absurd = []int64{math.MinInt64, -2, -1, 0, 1, 30, 1 << 40, math.MaxInt64 - 1, math.MaxInt64}

func (l *liar) end() int64 { return absurd[l.IntN(len(absurd))] }

// after is the index of the first entry that ends above an offset.
func (l *liar) after(offset int64) int {
	for i, e := range l.log {
		if (batchtest.Log{e}).End() > offset {
			return i
		}
	}
	return len(l.log)
}

// listed is the list for bytes that begin with an entry of the log: a broker
// leaves out what ended before. The marker is 5 offsets behind its first offset.
func (l *liar) listed(offset int64, first int) (list []kmsg.FetchResponseTopicPartitionAbortedTransaction) {
	from := min(offset, batchtest.Log(l.log[:first]).End())
	for _, a := range l.list {
		if a.FirstOffset+5 >= from {
			list = append(list, a)
		}
	}
	return list
}

func (l *liar) part(a ask) *kmsg.FetchResponseTopicPartition {
	first := l.after(a.offset)
	if l.IntN(8) == 0 {
		first = l.IntN(first + 1) // batches that were read already
	}
	some := batchtest.Log(l.log[first:min(first+l.IntN(5), len(l.log))])
	sp := some.Partition(l.listed(a.offset, first))
	switch l.IntN(12) {
	case 0:
		sp = failure(kerr.OffsetOutOfRange)
	case 1:
		sp = failure(kerr.UnknownServerError)
		sp.ErrorCode = int16(l.IntN(140) - 2)
		if l.IntN(8) == 0 {
			sp.CurrentLeader.LeaderID, sp.CurrentLeader.LeaderEpoch = int32(l.IntN(4)-1), int32(l.IntN(9)-1)
		}
	case 2:
		if n := len(sp.RecordBatches); n > 0 {
			sp.RecordBatches = sp.RecordBatches[:l.IntN(n)]
		}
	case 3:
		if len(some) > 0 { // the first 16 bytes of a batch are under no CRC
			last := len(some[len(some)-1].Bytes())
			sp.RecordBatches[len(sp.RecordBatches)-last+16+l.IntN(last-16)] ^= 1 << l.IntN(8)
		}
	case 4:
		sp.RecordBatches = append(sp.RecordBatches, make([]byte, l.IntN(100))...)
	case 5:
		sp.RecordBatches = nil
	case 6:
		sp.PreferredReadReplica = int32(l.IntN(4))
	case 7:
		if end := l.end(); end < 0 || end >= a.offset { // below it says that the log was truncated
			sp.DivergingEpoch.Epoch, sp.DivergingEpoch.EndOffset = int32(l.IntN(9)), end
		}
		sp.SnapshotID.EndOffset = l.end()
	}
	if l.IntN(2) == 0 {
		sp.HighWatermark, sp.LastStableOffset, sp.LogStartOffset = l.end(), l.end(), l.end()
	}
	return sp
}

// response spoils what is around the partitions.
func (l *liar) response(_ *kmsg.FetchRequest, resp *kmsg.FetchResponse) {
	resp.ThrottleMillis = []int32{math.MinInt32, -1, 0, 0, 0, 300}[l.IntN(6)]
	resp.SessionID = int32(l.Uint32())
	if l.IntN(20) == 0 {
		resp.ErrorCode = int16(l.IntN(140) - 2)
	}
	if len(resp.Topics) == 0 {
		return
	}
	t := &resp.Topics[0]
	switch l.IntN(8) {
	case 0:
		resp.Topics = append(resp.Topics, *t) // twice
	case 1:
		stranger := *t
		stranger.Topic, stranger.TopicID = "", [16]byte{1, 2, 3}
		resp.Topics = append([]kmsg.FetchResponseTopic{stranger, {}}, *t)
	case 2:
		other := batchtest.Log{batchtest.Data(0, 99)}.Partition(nil)
		other.Partition = math.MaxInt32 - int32(l.IntN(2))
		t.Partitions = append([]kmsg.FetchResponseTopicPartition{*other}, t.Partitions...)
	case 3:
		other := batchtest.Log{batchtest.Data(0, 99)}.Partition(nil)
		other.Partition = -1
		t.Partitions = append(t.Partitions, *other)
	case 4:
		t.Partitions = nil
	case 5:
		resp.Topics = nil
	}
}

// variedLog is 100 batches of all kinds, and what is to be delivered of them.
func variedLog(uncommitted bool) (log []batchtest.Entry, list []int64, visible []int64) {
	deliver := func(first, last int64) { visible = append(visible, span(first, last)...) }
	for base := int64(0); base < 400; base += 40 {
		log = append(log,
			batchtest.Data(base, base+4),
			batchtest.Data(base+5, base+9).Txn(1).Codec(batchtest.Snappy),
			batchtest.Data(base+10, base+14).Txn(2),
			batchtest.Abort(base+15, 2),
			batchtest.Commit(base+16, 1),
			batchtest.MessageV1(base+17, base+22).Codec(batchtest.Gzip),
			batchtest.Empty(base+23, base+24),
			batchtest.Data(base+25, base+29).Codec(batchtest.LZ4).Keep(base+25, base+27),
			batchtest.Data(base+30, base+30).Txn(2),
			batchtest.Commit(base+31, 2), // and a hole up to base+39
		)
		list = append(list, 2, base+10)
		deliver(base, base+9)
		if uncommitted {
			deliver(base+10, base+14)
		}
		deliver(base+17, base+22)
		visible = append(visible, base+25, base+27, base+30)
	}
	return log, list, visible
}

// Whatever a broker answers, as long as what is whole comes from the log: each
// record is delivered once, in order, and positions never go back.
func TestNoAnswerMakesRecordsGetLostOrComeTwice(t *testing.T) {
	seeds := uint64(20)
	if raceDetector {
		seeds = 5
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			inWorld(t, 1, 2, func(t *testing.T, w *world) {
				readFromLiar(t, w, seed, false)
				readFromLiar(t, w, seed, true, rcconsumer.ReadUncommitted())
			})
		})
	}
}

func readFromLiar(t *testing.T, w *world, seed uint64, uncommitted bool, opts ...kgo.Opt) {
	log, list, visible := variedLog(uncommitted)
	l := &liar{rand.New(rand.NewPCG(seed, 1)), log, batchtest.Aborted(list...)}
	w.forge(1)
	f := w.forge(0, log...)
	f.aborted, f.script = l.list, l.part
	w.change(func() { w.edit = l.response })
	c := w.consumer(append(opts, startAt(0))...)
	defer c.Close()
	users := rand.New(rand.NewPCG(seed, 2)) // its own, since fetches come at their own times
	var got []int64
	next := int64(0)
	for until := time.Now().Add(time.Hour); len(got) < len(visible) && time.Now().Before(until); {
		fs := c.PollRecords(shortly(t), 1+users.IntN(9))
		got = append(got, offsets(fs)...)
		require.LessOrEqual(t, len(got), len(visible))
		require.Equal(t, append([]int64(nil), visible[:len(got)]...), got)
		at := position(c).Next
		require.GreaterOrEqual(t, at, next)
		next = at
		if len(got) > 0 {
			require.Greater(t, next, got[len(got)-1])
		}
		if len(got) < len(visible) {
			require.LessOrEqual(t, next, visible[len(got)])
		}
		switch users.IntN(12) {
		case 0:
			c.PauseFetchTopics(topic)
			c.ResumeFetchTopics(topic)
		case 1:
			seek(c, next)
		}
	}
	require.Equal(t, visible, got)
	require.Zero(t, c.Stats()[topic][0].Anomalies, "its lists were right")
}

// shortly is a context that lets a poll wait for a second.
func shortly(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	t.Cleanup(cancel)
	return ctx
}
