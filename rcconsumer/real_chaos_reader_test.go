package rcconsumer_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/kafkatest"
	"example.com/readcommitted/rcconsumer"
)

// chaosReader is what reads while the cluster is disturbed: one consumer, or a
// group of them.
type chaosReader interface {
	name() string
	uncommitted() bool
	// next is the offset a partition is read at, -1 if nobody reads it now.
	next(partition int32) int64
	// stop ends the reading and waits for it. The methods below come after it.
	stop()
	// sessions are what was read, in the order of the sessions' starts.
	sessions(partition int32) []session
	// dropped is how many aborted records were dropped, as headers claim.
	dropped() int64
	// words are the last lines that its consumers logged.
	words() string
}

// lastWords keeps the last lines of a consumer's log.
type lastWords struct {
	mu    sync.Mutex
	lines []string
}

func (w *lastWords) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines[max(0, len(w.lines)-99):], string(b))
	return len(b), nil
}

func (w *lastWords) words() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.lines, "")
}

// logger is the option that has a consumer log to w.
func (w *lastWords) logger() kgo.Opt {
	return rcconsumer.WithSlog(slog.New(slog.NewTextHandler(w, nil)))
}

// directReader is a consumer without a group.
type directReader struct {
	lastWords
	x      *chaos
	label  string
	dirty  bool // reads at read_uncommitted
	c      *rcconsumer.Consumer
	cancel context.CancelFunc
	wg     sync.WaitGroup
	got    map[int32]*session
	stats  map[int32]rcconsumer.PartitionStats
}

// direct starts to read the topic from its start with a consumer of its own.
func (x *chaos) direct(label string, maxRecords int, opts ...kgo.Opt) *directReader {
	d := &directReader{x: x, label: label, got: map[int32]*session{}}
	base := []kgo.Opt{
		kgo.SeedBrokers(x.cluster.Addrs()...), kgo.MetadataMinAge(50 * time.Millisecond), kgo.ConsumeTopics(x.topic),
		rcconsumer.WithHooks(&chaosHooks{x, label}), d.logger(),
	}
	var err error
	d.c, err = rcconsumer.New(append(base, opts...)...)
	require.NoError(x.t, err)
	var ctx context.Context
	ctx, d.cancel = context.WithCancel(x.t.Context())
	d.wg.Go(func() {
		for ctx.Err() == nil {
			d.take(ctx, d.c.PollRecords(ctx, maxRecords))
		}
	})
	return d
}

func (d *directReader) take(ctx context.Context, fetches kgo.Fetches) {
	if ctx.Err() == nil {
		fetches.EachError(func(_ string, partition int32, err error) {
			d.x.problem("%s: partition %d: %v", d.label, partition, err)
		})
	}
	fetches.EachRecord(func(r *kgo.Record) {
		s := d.got[r.Partition]
		if s == nil {
			s = &session{member: d.label}
			d.got[r.Partition] = s
		}
		d.x.append(s, r)
	})
}

// append notes a record that was delivered.
func (x *chaos) append(s *session, r *kgo.Record) {
	st, err := kafkatest.StampOf(r.Value)
	if err != nil {
		x.problem("%s: partition %d offset %d: %v", s.member, r.Partition, r.Offset, err)
	}
	s.got = append(s.got, kafkatest.Entry{Offset: r.Offset, Stamp: st})
}

func (d *directReader) name() string      { return d.label }
func (d *directReader) uncommitted() bool { return d.dirty }

func (d *directReader) next(partition int32) int64 {
	p, _ := d.c.Position(d.x.topic, partition)
	return p.Next
}

func (d *directReader) stop() {
	d.cancel()
	d.wg.Wait()
	d.stats = d.c.Stats()[d.x.topic]
	d.c.Close()
}

func (d *directReader) sessions(partition int32) []session {
	if s := d.got[partition]; s != nil {
		return []session{*s}
	}
	return nil
}

func (d *directReader) dropped() (n int64) {
	for _, s := range d.stats {
		n += s.AbortedRecords
	}
	return n
}

// chaosHooks tell of what must not happen: brokers that lose nothing give no
// reason to move a partition, nor to contradict the log.
type chaosHooks struct {
	x     *chaos
	label string
}

func (h *chaosHooks) OnAnomaly(a rcconsumer.Anomaly) { h.x.problem("%s: anomaly %+v", h.label, a) }

func (h *chaosHooks) OnOffsetReset(_ string, partition int32, from, to int64) {
	h.x.problem("%s: partition %d was moved from %d to %d", h.label, partition, from, to)
}
