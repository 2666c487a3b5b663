package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rcconsumer"
)

// demoGroups are two consumer groups on the topic of a demo, with one member
// each: a consumer of ours and a plain kgo client. Both read at read_committed
// and commit whatever they were handed.
type demoGroups struct {
	cluster    *demoCluster
	ours, kgos string // names
	consumer   *rcconsumer.Consumer
	client     *kgo.Client
	returned   int64 // offset of the last record that kgo returned
}

// demoLag is where the two groups stand, each having committed all it could
// read. Lag is what Kafka's tools show: high watermark less committed offset.
type demoLag struct {
	Title            string `json:"title"`
	Partition        int32  `json:"partition"`
	HighWatermark    int64  `json:"high_watermark"`
	LastStableOffset int64  `json:"last_stable_offset"`
	Committed        int64  `json:"committed_offset"`
	Lag              int64  `json:"lag"`
	KgoCommitted     int64  `json:"kgo_committed_offset"`
	KgoLag           int64  `json:"kgo_lag"`
}

// groupNames are the names of the groups on a topic.
func (c *demoCluster) groupNames() (ours, kgos string) { return c.topic + "-rcc", c.topic + "-kgo" }

// openGroups lets both members join, which takes a while on a cluster: they do
// it while the demo writes.
func (c *demoCluster) openGroups() (*demoGroups, error) {
	c.grouped = true
	g := &demoGroups{cluster: c, returned: -1}
	g.ours, g.kgos = c.groupNames()
	opts := append([]kgo.Opt{
		kgo.ConsumeTopics(c.topic), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(100 * time.Millisecond),
	}, c.opts...)
	var err error
	if g.consumer, err = rcconsumer.New(append(opts, kgo.ConsumerGroup(g.ours), rcconsumer.ReturnOnProgress())...); err != nil {
		return nil, err
	}
	if g.client, err = kgo.NewClient(append(opts, kgo.ConsumerGroup(g.kgos))...); err != nil {
		g.consumer.Close()
		return nil, err
	}
	return g, nil
}

// compare lets both members read and commit all that is readable, and asks the
// cluster where that leaves them.
func (g *demoGroups) compare(ctx context.Context, title string, s *script) (demoLag, error) {
	ctx, cancel := context.WithTimeout(ctx, demoTimeout)
	defer cancel()
	if err := g.readOurs(ctx, s.stable()); err != nil {
		return demoLag{}, fmt.Errorf("group %s: %w", g.ours, err)
	}
	if err := g.readKgos(ctx, s.lastReadable()); err != nil {
		return demoLag{}, fmt.Errorf("group %s: %w", g.kgos, err)
	}
	row := demoLag{Title: title, HighWatermark: s.high, LastStableOffset: s.stable()}
	var err error
	if row.Committed, err = g.committed(ctx, g.ours); err == nil {
		row.KgoCommitted, err = g.committed(ctx, g.kgos)
	}
	row.Lag, row.KgoLag = row.HighWatermark-row.Committed, row.HighWatermark-row.KgoCommitted
	return row, err
}

func (g *demoGroups) readOurs(ctx context.Context, until int64) error {
	for {
		if pos, ok := g.consumer.Position(g.cluster.topic, 0); ok && pos.Next >= until {
			return g.consumer.CommitUncommittedOffsets(ctx)
		}
		if err := g.consumer.PollFetches(ctx).Err(); err != nil {
			return err
		}
	}
}

func (g *demoGroups) readKgos(ctx context.Context, last int64) error {
	for g.returned < last {
		fetches := g.client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		fetches.EachRecord(func(r *kgo.Record) { g.returned = r.Offset })
	}
	return g.client.CommitUncommittedOffsets(ctx)
}

func (g *demoGroups) committed(ctx context.Context, group string) (int64, error) {
	offsets, err := g.cluster.admin.FetchOffsets(ctx, group)
	if err != nil {
		return 0, fmt.Errorf("commits of group %s: %w", group, authorized(err))
	}
	o, ok := offsets.Lookup(g.cluster.topic, 0)
	if !ok {
		return 0, fmt.Errorf("group %s has committed nothing", group)
	}
	return o.At, o.Err
}

func (g *demoGroups) close() {
	g.consumer.Close()
	g.client.Close()
}

// deleteGroups removes both groups.
func (c *demoCluster) deleteGroups(ctx context.Context) error {
	if !c.grouped {
		return nil
	}
	ours, kgos := c.groupNames()
	deleted, failed := c.admin.DeleteGroups(ctx, ours, kgos)
	var left []error
	for _, group := range []string{ours, kgos} {
		err := failed
		if d, ok := deleted[group]; ok {
			err = d.Err
		}
		if err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
			left = append(left, fmt.Errorf("group %s is left behind: %w", group, authorized(err)))
		}
	}
	return errors.Join(left...)
}

// lastReadable is the offset of the last record that read_committed shows now.
func (s *script) lastReadable() int64 {
	last := int64(-1)
	for _, b := range s.batches {
		if b.last < s.stable() && b.outcome != "aborted" {
			last = max(last, b.last)
		}
	}
	return last
}

// lagText writes the comparison, and why the groups differ.
func lagText(b *strings.Builder, topic string, rows []demoLag) {
	fmt.Fprintf(b, "\ngroups on %s/0 that committed all they could read; lag as Kafka's tools see it\n", topic)
	b.WriteString("                           high    last         rcc      plain kgo\n" +
		"                           water  stable   commit  lag   commit  lag\n")
	differ := false
	for _, r := range rows {
		fmt.Fprintf(b, "  %-23s %6d %7d  %7d %4d  %7d %4d\n", r.Title,
			r.HighWatermark, r.LastStableOffset, r.Committed, r.Lag, r.KgoCommitted, r.KgoLag)
		differ = differ || r.Lag != r.KgoLag
	}
	if differ {
		b.WriteString("  kgo commits one past the last record that it returned: what follows unseen,\n" +
			"  markers and aborted records, stays its lag. rcc commits its position, which has\n" +
			"  passed them. What an open transaction holds back is lag of both.\n")
	}
}
