package rcconsumer_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/kafkatest"
	"example.com/readcommitted/rcconsumer"
)

// newConsumer makes a consumer of the engine under test; polls return also when
// only the position moved.
func newConsumer(t *testing.T, c *kafkatest.Cluster, opts ...kgo.Opt) *rcconsumer.Consumer {
	t.Helper()
	base := []kgo.Opt{kgo.SeedBrokers(c.Addrs()...), rcconsumer.ReturnOnProgress(), kgo.MetadataMinAge(50 * time.Millisecond)}
	consumer, err := rcconsumer.New(append(base, opts...)...)
	require.NoError(t, err)
	t.Cleanup(consumer.Close)
	return consumer
}

// from makes a consumer start at an exact offset of one partition.
func from(topic string, partition int32, o kgo.Offset) kgo.Opt {
	return kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {partition: o}})
}

func at(offset int64) kgo.Offset { return kgo.NewOffset().At(offset) }

// harvest is what a consumer handed out so far.
type harvest struct {
	c     *rcconsumer.Consumer
	lines map[string]map[int32][]line
	errs  []error
	limit time.Duration
}

func newHarvest(c *rcconsumer.Consumer) *harvest {
	return &harvest{c: c, lines: map[string]map[int32][]line{}, limit: kafkatest.Limit}
}

// poll polls once, and checks on the way that offsets ascend. An error of the
// context is returned, those of partitions are kept in errs.
func (h *harvest) poll(ctx context.Context, t *testing.T, maxRecords int) error {
	t.Helper()
	fetches := h.c.PollRecords(ctx, maxRecords)
	var ended error
	fetches.EachError(func(_ string, partition int32, err error) {
		if partition == -1 && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			ended = err
		} else {
			h.errs = append(h.errs, err)
		}
	})
	fetches.EachRecord(func(r *kgo.Record) {
		if h.lines[r.Topic] == nil {
			h.lines[r.Topic] = map[int32][]line{}
		}
		seen := h.lines[r.Topic][r.Partition]
		if n := len(seen); n > 0 {
			require.Greater(t, r.Offset, seen[n-1].Offset, "%s/%d: offsets handed out ascend", r.Topic, r.Partition)
		}
		h.lines[r.Topic][r.Partition] = append(seen, line{r.Offset, string(r.Value)})
	})
	return ended
}

// until polls until done says so.
func (h *harvest) until(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), h.limit)
	defer cancel()
	for !done() {
		look, stop := context.WithTimeout(ctx, time.Second) // what is waited for may come without progress of the reader
		err := h.poll(look, t, 0)
		stop()
		if ctx.Err() != nil {
			require.NoError(t, err, "%s; positions %+v, errors %v", what, h.c.Positions(), h.errs)
		}
	}
}

// untilNext polls until the position of a partition reaches end; no error may
// come on the way.
func (h *harvest) untilNext(t *testing.T, topic string, partition int32, end int64) []line {
	t.Helper()
	h.until(t, fmt.Sprintf("%s/%d: position %d", topic, partition, end), func() bool {
		require.Empty(t, h.errs)
		pos, ok := h.c.Position(topic, partition)
		return ok && pos.Next >= end
	})
	return h.lines[topic][partition]
}

// quiet polls for d, in which nothing may come but progress.
func (h *harvest) quiet(t *testing.T, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	before := h.total()
	for h.poll(ctx, t, 0) == nil {
		require.Empty(t, h.errs)
		require.Equal(t, before, h.total(), "records came where none can be read")
	}
}

func (h *harvest) total() int {
	n := 0
	for _, ps := range h.lines {
		for _, lines := range ps {
			n += len(lines)
		}
	}
	return n
}

// read reads [from, end) of a partition with the consumer under test.
func (l *ledger) read(t *testing.T, partition int32, start, end int64, opts ...kgo.Opt) []line {
	t.Helper()
	c := newConsumer(t, l.c, append([]kgo.Opt{from(l.topic, partition, at(start))}, opts...)...)
	defer c.Close()
	got := newHarvest(c).untilNext(t, l.topic, partition, end)
	pos, _ := c.Position(l.topic, partition)
	require.Equal(t, end, pos.Next, "position at the end")
	require.Zero(t, c.Stats()[l.topic][partition].Anomalies, "a correct broker contradicts itself nowhere")
	return got
}

// kgoRead reads a partition with plain kgo until it has seen offset last.
func (l *ledger) kgoRead(t *testing.T, partition int32, start, last int64, isolation kgo.IsolationLevel) []line {
	t.Helper()
	cl := l.c.Client(t, from(l.topic, partition, at(start)), kgo.FetchIsolationLevel(isolation), kgo.FetchMaxWait(200*time.Millisecond))
	defer cl.Close()
	ctx, cancel := context.WithTimeout(t.Context(), kafkatest.Limit)
	defer cancel()
	var got []line
	for len(got) == 0 || got[len(got)-1].Offset < last {
		fetches := cl.PollFetches(ctx)
		require.NoError(t, fetches.Err(), "plain kgo, so far %v", got)
		fetches.EachRecord(func(r *kgo.Record) { got = append(got, line{r.Offset, string(r.Value)}) })
	}
	return got
}

// agree reads [start, end) at both isolation levels: the consumer under test,
// the writers' account and plain kgo have to tell the same.
func (l *ledger) agree(t *testing.T, partition int32, start, end int64) {
	t.Helper()
	for _, level := range []struct {
		name        string
		uncommitted bool
		isolation   kgo.IsolationLevel
	}{{"read_committed", false, kgo.ReadCommitted()}, {"read_uncommitted", true, kgo.ReadUncommitted()}} {
		want := l.visible(partition, level.uncommitted, start, end)
		got := l.read(t, partition, start, end, kgo.FetchIsolationLevel(level.isolation))
		require.Equal(t, want, got, "%s from %d: the consumer and the writers' account", level.name, start)
		if len(want) > 0 {
			theirs := l.kgoRead(t, partition, start, want[len(want)-1].Offset, level.isolation)
			require.Equal(t, theirs, got, "%s from %d: the consumer and plain kgo", level.name, start)
		}
	}
}
