package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/picture"
	"example.com/readcommitted/rcconsumer"
)

const demoHelp = `Write transactions of every kind to one partition, draw it, and read it at
read_committed: while a transaction is open, and after it ended. What arrives
is compared with what was written; a difference is an error. Two consumer groups
read along, one of this consumer and one of a plain kgo client, and what they
committed and their lag is shown.

Without -b the broker runs inside this process and nothing has to be
installed. With -b, or bootstrap.servers in -X or -F, the demo runs on that cluster, in a topic and groups of its own
that it removes at the end. RCC_BROKERS is not used: a demo writes.`

// demoTimeout bounds one read of a demo.
const demoTimeout = 30 * time.Second

// demoScript is what the demo writes before it reads. The loader's
// transaction stays open, and holds back what follows it.
var demoScript = []step{
	{"plain", send, 4},
	{"orders", send, 5},
	{"orders", commit, 0},
	{"billing", send, 4},
	{"billing", abort, 0},
	{"orders", send, 3},
	{"billing", send, 3},
	{"orders", send, 2},
	{"billing", send, 3},
	{"orders", commit, 0},
	{"billing", abort, 0},
	// Here the groups are compared for the first time, behind an aborted tail.
	{"plain", send, 2},
	{"loader", send, 6},
	{"audit", send, 3},
	{"audit", commit, 0},
	{"plain", send, 3},
}

// demoAborted is how many of its steps lead to where the log ends with aborted
// records.
const demoAborted = 11

func newDemoCommand(a *app) *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "show what read_committed means, without a broker",
		Long:  demoHelp,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				if err := strayProperty(args[0]); err != nil {
					return err
				}
				return &usageError{err: fmt.Errorf("unexpected argument %q", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context(), keep) },
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "with -b: leave the topic and the groups on the cluster")
	return cmd
}

func (a *app) demo(ctx context.Context, keep bool) (err error) {
	cluster, err := a.openDemo(ctx, keep)
	if err != nil {
		return err
	}
	defer func() {
		closeErr := cluster.close(ctx)
		if closeErr == nil || err == nil {
			err = errors.Join(err, closeErr)
			return
		}
		a.warn("%s", oneLine(closeErr.Error())) // the first error decides the exit code
	}()
	a.begin("reading at read_committed: %s/0 from 0%s", cluster.topic, cluster.where())
	d := &demo{
		app: a, cluster: cluster,
		script: newScript(cluster.topic, cluster.prefix, cluster.admin, cluster.opts),
	}
	defer func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		d.script.close(ending)
	}()
	if d.groups, err = cluster.openGroups(); err != nil {
		return err
	}
	defer d.groups.close()
	return d.run(ctx)
}

// where tells which broker a demo uses and what becomes of its topic.
func (c *demoCluster) where() string {
	switch {
	case c.fake != nil:
		return ", on a broker in this process"
	case c.keep:
		ours, kgos := c.groupNames()
		return fmt.Sprintf("; the topic is kept, and the groups %s and %s", ours, kgos)
	}
	return "; the topic is removed at the end, and two groups"
}

// demo is one run: what was written, and two readers of it.
type demo struct {
	app         *app
	cluster     *demoCluster
	script      *script
	committed   *demoReader
	uncommitted *demoReader
	groups      *demoGroups
	lags        []demoLag
	counted     rcconsumer.PartitionStats // of committed, at the end of the stage before
}

func (d *demo) run(ctx context.Context) error {
	if err := d.script.play(ctx, demoScript[:demoAborted]...); err != nil {
		return err
	}
	if err := d.compare(ctx, "after billing aborted"); err != nil {
		return err
	}
	if err := d.script.play(ctx, demoScript[demoAborted:]...); err != nil {
		return err
	}
	var err error
	if d.committed, err = d.open(nil); err != nil {
		return err
	}
	defer d.committed.consumer.Close()
	if d.uncommitted, err = d.open([]kgo.Opt{rcconsumer.ReadUncommitted(), kgo.KeepControlRecords()}); err != nil {
		return err
	}
	defer d.uncommitted.consumer.Close()

	report := demoReport{Schema: demoSchema, Topic: d.cluster.topic}
	if err := d.readBoth(ctx, &report); err != nil {
		return err
	}
	report.finish(d)
	if err := d.app.printDemo(report); err != nil {
		return err
	}
	if len(report.Differences) > 0 {
		return fmt.Errorf("%s between what was written and what was read", plural(int64(len(report.Differences)), "difference"))
	}
	return nil
}

// readBoth reads while a transaction is open, ends it, and reads on.
func (d *demo) readBoth(ctx context.Context, report *demoReport) error {
	before, err := d.stage(ctx, "while loader's transaction is open")
	if err != nil {
		return err
	}
	report.Timeline = d.timeline(before)
	if err := d.compare(ctx, "while loader is open"); err != nil {
		return err
	}
	if err := d.script.play(ctx, step{"loader", commit, 0}); err != nil {
		return err
	}
	after, err := d.stage(ctx, "after loader committed")
	if err != nil {
		return err
	}
	if err := d.compare(ctx, "after loader committed"); err != nil {
		return err
	}
	report.Stages, report.Groups = []demoStage{before, after}, d.lags
	return nil
}

// compare notes where the groups stand.
func (d *demo) compare(ctx context.Context, title string) error {
	row, err := d.groups.compare(ctx, title, d.script)
	if ctx.Err() != nil {
		return errInterrupted
	}
	d.lags = append(d.lags, row)
	return err
}

// stage reads both consumers as far as their isolation level lets them.
func (d *demo) stage(ctx context.Context, title string) (demoStage, error) {
	stable, high := d.script.stable(), d.script.high
	if _, err := d.uncommitted.readTo(ctx, d.cluster.topic, high, high); err != nil {
		return demoStage{}, err
	}
	records, err := d.committed.readTo(ctx, d.cluster.topic, stable, high)
	if err != nil {
		return demoStage{}, err
	}
	pos, _ := d.committed.consumer.Position(d.cluster.topic, 0)
	stats := d.committed.consumer.Stats()[d.cluster.topic][0]
	before := d.counted
	d.counted = stats
	return newDemoStage(title, records, pos, before, stats), nil
}

// timeline draws what the reader of everything saw.
func (d *demo) timeline(s demoStage) picture.Timeline {
	b := picture.NewBuilder(d.cluster.topic, 0, 0)
	for name, client := range d.script.clients {
		if id, _, err := client.ProducerID(context.Background()); err == nil && name != plainProducer {
			b.Name(id, name)
		}
	}
	for _, r := range d.uncommitted.records {
		if !r.Attrs.IsControl() {
			b.Record(r.Offset, r.ProducerID, r.Attrs.IsTransactional())
			continue
		}
		var key kmsg.ControlRecordKey
		if err := key.ReadFrom(r.Key); err == nil {
			b.Marker(r.Offset, r.ProducerID, int16(key.Type))
		}
	}
	return b.Timeline(s.HighWatermark,
		picture.Mark{Name: "next", Offset: s.Next},
		picture.Mark{Name: "last stable offset", Offset: s.LastStableOffset},
		picture.Mark{Name: "high watermark", Offset: s.HighWatermark},
	)
}
