package rcconsumer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/kafkatest"
	"example.com/readcommitted/rcconsumer"
)

func TestRealTransactionsSpanSegments(t *testing.T) {
	t.Parallel() // AutoMQ/automq#754: the list was cut at the end of a segment
	l := newLedger(t, kafkatest.Real(t, kafkatest.Config{}), kafkatest.TopicConfig{
		Config: map[string]string{"segment.bytes": "1048576"}, // the least that 4.x takes
	})
	a, b, c := l.writer(t, "a", kafkatest.ProducerConfig{}), l.writer(t, "b", kafkatest.ProducerConfig{}), l.plainWriter(t, "c")
	for _, w := range []*writer{a, b, c} {
		w.bulk = bytes.Repeat([]byte{'k'}, 50_000)
	}
	a.begin(abort)
	b.begin(commit)
	for i := range 10 { // 500 kB each round
		a.batch(t, 0, 4)
		b.batch(t, 0, 4)
		c.batch(t, 0, 2)
		if i == 5 {
			b.end(t)
			b.begin(abort)
		}
	}
	a.end(t)
	b.end(t)
	a.whole(t, 0, commit, 2)
	end := l.settle(t, 0)
	l.agree(t, 0, 0, end)
	for _, opts := range [][]kgo.Opt{{kgo.FetchMaxPartitionBytes(1)}, {rcconsumer.BufferBytes(1)}} {
		for start := int64(0); start < end; start += 17 {
			require.Equal(t, l.visible(0, false, start, end), l.read(t, 0, start, end, opts...), "from %d", start)
		}
	}
}

func TestRealDeleteRecordsIntoAnAbortedRun(t *testing.T) {
	t.Parallel() // KAFKA-8306: the log starts within a batch of a transaction that began before
	l := newLedger(t, kafkatest.Real(t, kafkatest.Config{}), kafkatest.TopicConfig{})
	w := l.writer(t, "w", kafkatest.ProducerConfig{})
	w.whole(t, 0, commit, 3)
	w.whole(t, 0, abort, 10, 10)
	w.whole(t, 0, commit, 2, 10)
	end := l.settle(t, 0)
	const logStart = 9 // inside the first aborted batch
	l.c.DeleteRecords(t, l.topic, 0, logStart)

	l.agree(t, 0, logStart, end)
	var moved resetHook
	c := newConsumer(t, l.c, from(l.topic, 0, at(0)), rcconsumer.WithHooks(&moved))
	require.Equal(t, l.visible(0, false, logStart, end), newHarvest(c).untilNext(t, l.topic, 0, end))
	require.Equal(t, [][2]int64{{0, logStart}}, moved.all())

	l.c.DeleteRecords(t, l.topic, 0, end-4) // inside a committed batch
	l.agree(t, 0, end-4, end)
}

func TestRealDeleteRecordsWhileReadingGoesOnAtTheLogStart(t *testing.T) {
	t.Parallel()
	l := newLedger(t, kafkatest.Real(t, kafkatest.Config{}), kafkatest.TopicConfig{})
	w := l.writer(t, "w", kafkatest.ProducerConfig{})
	for range 20 {
		w.whole(t, 0, commit, 3)
		w.whole(t, 0, abort, 2)
	}
	end := l.settle(t, 0)
	var moved resetHook
	c := newConsumer(t, l.c, from(l.topic, 0, at(0)), rcconsumer.WithHooks(&moved),
		rcconsumer.BufferBytes(1), kgo.FetchMaxPartitionBytes(1))
	h := newHarvest(c)
	h.until(t, "some records", func() bool { return h.total() >= 6 })
	const logStart = 100
	l.c.DeleteRecords(t, l.topic, 0, logStart)

	got := h.untilNext(t, l.topic, 0, end)
	jumps := moved.all()
	require.Len(t, jumps, 1)
	require.EqualValues(t, logStart, jumps[0][1])
	want := append(l.visible(0, false, 0, jumps[0][0]), l.visible(0, false, logStart, end)...)
	require.Equal(t, want, got, "everything in front of the jump, then everything from the log start")
	require.Less(t, jumps[0][0], int64(logStart))
}

func TestRealNoResetOffsetReportsDeletedRecordsOnceAndRests(t *testing.T) {
	t.Parallel()
	l := newLedger(t, kafkatest.Real(t, kafkatest.Config{}), kafkatest.TopicConfig{})
	w := l.plainWriter(t, "w")
	w.batch(t, 0, 10)
	w.batch(t, 0, 10)
	end := l.settle(t, 0)
	l.c.DeleteRecords(t, l.topic, 0, 10)
	c := newConsumer(t, l.c, from(l.topic, 0, at(4)), kgo.ConsumeResetOffset(kgo.NoResetOffset()))
	h := newHarvest(c)
	h.until(t, "the error", func() bool { return len(h.errs) > 0 })
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	for h.poll(ctx, t, 0) == nil {
		continue
	}
	require.Len(t, h.errs, 1, "one error for one change of state")
	var outOfRange *rcconsumer.OffsetOutOfRangeError
	require.ErrorAs(t, h.errs[0], &outOfRange)
	require.ErrorIs(t, h.errs[0], kerr.OffsetOutOfRange)
	require.Equal(t, rcconsumer.OffsetOutOfRangeError{Topic: l.topic, Offset: 4, Start: 10, End: end}, *outOfRange)
	require.Zero(t, h.total())

	h.errs = nil
	c.SetOffsets(map[string]map[int32]kgo.EpochOffset{l.topic: {0: {Offset: 12, Epoch: -1}}})
	require.Equal(t, l.visible(0, false, 12, end), h.untilNext(t, l.topic, 0, end))
}

func TestRealCompactedTopicWithAbortedValues(t *testing.T) {
	t.Parallel() // KAFKA-5443: the last records of a batch may be gone
	l := newLedger(t, kafkatest.Real(t, kafkatest.Config{}), kafkatest.TopicConfig{Config: map[string]string{
		"cleanup.policy": "compact", "segment.bytes": "1048576", "min.cleanable.dirty.ratio": "0.001",
		"max.compaction.lag.ms": "1000", "delete.retention.ms": "100",
	}})
	w := l.writer(t, "w", kafkatest.ProducerConfig{})
	w.timestamp = time.Now().UnixMilli()
	w.keys = []string{"k0", "k1", "k2"}
	for range 8 {
		w.whole(t, 0, commit, 3, 2)
		w.whole(t, 0, abort, 4)
		w.whole(t, 0, commit, 1)
	}
	w.keys, w.bulk = nil, bytes.Repeat([]byte{'r'}, 700_000)
	w.whole(t, 0, commit, 1) // fills the segment, so that the cleaner may have it
	w.whole(t, 0, commit, 1)
	w.whole(t, 0, abort, 1)
	end := l.settle(t, 0)

	all := l.visible(0, true, 0, end)
	last := l.visible(0, false, 0, end)
	lastOffset := last[len(last)-1].Offset
	kafkatest.Wait(t, "the cleaner", func(context.Context) (string, bool) {
		left := l.read(t, 0, 0, end, rcconsumer.ReadUncommitted())
		return fmt.Sprintf("%d of %d records are left", len(left), len(all)), len(left) < len(all)/3
	})
	// The cleaner may run again between two readers: they must agree some time.
	kafkatest.Wait(t, "both readers to agree", func(context.Context) (string, bool) {
		ours := l.read(t, 0, 0, end)
		theirs := l.kgoRead(t, 0, 0, lastOffset, kgo.ReadCommitted())
		require.Subset(t, last, ours, "nothing but committed values")
		require.Contains(t, ours, last[len(last)-1])
		return fmt.Sprintf("ours %v, theirs %v", ours, theirs), fmt.Sprint(ours) == fmt.Sprint(theirs)
	})
	for start := range lastOffset + 1 {
		got := l.read(t, 0, start, end, kgo.FetchMaxWait(10*time.Millisecond))
		require.Subset(t, last, got, "from %d", start)
		require.NotEmpty(t, got, "from %d", start)
	}
}

func TestRealBatchAboveTheDecompressionLimitStopsThePartition(t *testing.T) {
	t.Parallel()
	l := newLedger(t, kafkatest.Real(t, kafkatest.Config{}), kafkatest.TopicConfig{})
	for name, codec := range map[string]kgo.CompressionCodec{"gzip": kgo.GzipCompression(), "zstd": kgo.ZstdCompression()} {
		w := l.writer(t, name, kafkatest.ProducerConfig{})
		w.codec = codec
		start := l.end(0)
		w.whole(t, 0, commit, 2)
		w.bulk = make([]byte, 200_000) // compresses well
		w.whole(t, 0, abort, 3)        // aborted: never decompressed
		big := l.end(0)
		w.whole(t, 0, commit, 2)
		w.bulk = nil
		w.whole(t, 0, commit, 2)
		end := l.settle(t, 0)

		c := newConsumer(t, l.c, from(l.topic, 0, at(start)), kgo.MaxDecompressBatchBytes(100_000))
		h := newHarvest(c)
		h.until(t, "the error", func() bool { return len(h.errs) > 0 })
		require.Equal(t, l.visible(0, false, start, big), h.lines[l.topic][0], name)
		var batch *rcconsumer.BatchError
		require.ErrorAs(t, h.errs[0], &batch)
		require.Equal(t, [2]int64{big, big + 1}, [2]int64{batch.BaseOffset, batch.LastOffset})
		var tooLarge *kgo.ErrDecompressTooLarge
		require.True(t, errors.As(h.errs[0], &tooLarge))
		pos, _ := c.Position(l.topic, 0)
		require.Equal(t, big, pos.Next, "the position stays in front of it")

		h.errs = nil
		c.SetOffsets(map[string]map[int32]kgo.EpochOffset{l.topic: {0: {Offset: batch.LastOffset + 1, Epoch: -1}}})
		h.untilNext(t, l.topic, 0, end)
		require.Equal(t, append(l.visible(0, false, start, big), l.visible(0, false, big+2, end)...), h.lines[l.topic][0])
		c.Close()
	}
}
