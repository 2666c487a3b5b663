package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rcconsumer"
)

const consumeHelp = `Print the records of topics, at read_committed unless told otherwise.

--from   start, end, OFFSET, -N (N offsets before the end), or @TIME
--until  stable (last stable offset), hw (high watermark), OFFSET, @TIME, or
         never; sampled once at the start, per partition, and exclusive
@TIME    RFC 3339, Unix milliseconds, or relative such as @-1h

The end of a read is reached by its position, not by a record: a partition
whose last offsets are markers or aborted data ends too. A read until hw waits
for the transactions that are open below it.

With -g it reads as a member of a consumer group, which assigns the partitions.
It begins where the group has committed; --from counts where there is no commit.
--until is sampled when a partition is assigned for the first time. The read
ends when all partitions that the member has by then are read; those taken away
are not waited for, and a member without partitions waits for some.
What was printed is committed, and what lies behind it unseen: markers and
aborted data. That is done every 5 seconds, when a partition is taken away, and
before the command ends, also by an interrupt, -n or a closed pipe. Records that
were not printed are never committed.

With -J every record is one JSON object on a line. -f takes the record
formatter of franz-go, such as '%t/%p@%o %k %v\n'.`

// consumeFlags are the flags of one consume command.
type consumeFlags struct {
	from, until *boundValue
	partitions  partitionsValue
	group       string
	count       int64
	format      string
	isolation   choice
	markers     bool
}

func newConsumeCommand(a *app) *cobra.Command {
	f := &consumeFlags{
		from: fromValue(), until: untilValue(),
		isolation: choice{words: []string{"read_committed", "read_uncommitted"}, value: "read_committed"},
	}
	cmd := &cobra.Command{
		Use:   "consume TOPIC...",
		Short: "print the records of topics",
		Long:  consumeHelp,
		Example: `  rcc consume orders --until stable
  rcc consume orders -o -100 -e hw -J | jq .value
  rcc consume orders -p 0,3 -o @-1h -n 10 -f '%o %v\n'
  rcc consume orders payments -g billing --until stable`,
		Args: func(cmd *cobra.Command, args []string) error {
			if f.count < 1 && cmd.Flags().Changed("count") {
				return &usageError{err: fmt.Errorf("count %d: want 1 or more", f.count)}
			}
			if f.group == "" && cmd.Flags().Changed("group") {
				return &usageError{err: fmt.Errorf("a group without a name")}
			}
			return f.check(a, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.configure(); err != nil {
				return err
			}
			if a.config.Isolation != "" && !cmd.Flags().Changed("isolation-level") {
				f.isolation.value = a.config.Isolation
			}
			return a.consume(cmd.Context(), f, args)
		},
	}
	f.register(cmd.Flags())
	return cmd
}

func (f *consumeFlags) register(flags *pflag.FlagSet) {
	flags.VarP(f.from, "from", "o", "where to begin")
	flags.VarP(f.until, "until", "e", "where to end")
	flags.VarP(&f.partitions, "partitions", "p", "read only these partitions, of every topic")
	flags.StringVarP(&f.group, "group", "g", "", "read as a member of this consumer `GROUP`, and commit what was printed")
	flags.Int64VarP(&f.count, "count", "n", 0, "end after `COUNT` records")
	flags.StringVarP(&f.format, "format", "f", "", "form of a record, as a `FORMAT` of franz-go")
	flags.Var(&f.isolation, "isolation-level", "what to read")
	flags.BoolVar(&f.markers, "markers", false, "print commit and abort markers too")
}

// check finds what is wrong with a command line before anything is dialed.
func (f *consumeFlags) check(a *app, topics []string) error {
	for _, topic := range topics { // no topic has a = in its name
		if err := strayProperty(topic); err != nil {
			return err
		}
	}
	switch {
	case len(topics) == 0:
		return &usageError{err: fmt.Errorf("no topic"), hint: "give one or more topics: rcc consume TOPIC..."}
	case slices.Contains(topics, ""):
		return &usageError{err: fmt.Errorf("a topic without a name")}
	case f.group != "" && len(f.partitions.list) > 0:
		return &usageError{err: fmt.Errorf("partitions and group exclude each other"), hint: "a group assigns the partitions: leave out -p or -g"}
	case f.format != "" && a.wantJSON():
		return &usageError{err: fmt.Errorf("format and JSON output exclude each other")}
	case f.until.kind == atOffset && f.from.kind == atOffset && f.until.n < f.from.n:
		return &usageError{err: fmt.Errorf("until %d is below from %d", f.until.n, f.from.n)}
	}
	return nil
}

func (a *app) consume(ctx context.Context, f *consumeFlags, args []string) error {
	form, err := a.recordForm(f)
	if err != nil {
		return err
	}
	seeds, err := a.seeds()
	if err != nil {
		return err
	}
	req := request{
		topics: unique(args), partitions: f.partitions.list,
		from: f.from.bound, until: f.until.bound,
		uncommitted: f.isolation.value == "read_uncommitted",
	}
	if f.group != "" {
		return a.consumeAsMember(ctx, f, form, seeds, req)
	}
	return a.consumeWindows(ctx, f, form, seeds, req)
}

// consumeWindows reads what the bounds mean now, without a group.
func (a *app) consumeWindows(ctx context.Context, f *consumeFlags, form appendRecord, seeds []string, req request) error {
	opts := a.clientOptions("consume", seeds)
	windows, err := a.plan(ctx, seeds, opts, req)
	if err != nil {
		return err
	}
	a.begin("reading at %s: %s", f.isolation.value, describe(windows))
	for _, w := range windows {
		if w.note != "" {
			a.warn("%s", w.note)
		}
	}
	if !slices.ContainsFunc(windows, func(w window) bool { return !w.empty() }) {
		a.say("nothing to read")
		return nil
	}
	refused := &refusals{}
	opts = append(opts, rcconsumer.WithHooks(refused))
	consumer, err := rcconsumer.New(append(opts, readerOptions(req, windows, f.markers)...)...)
	if err != nil {
		return err
	}
	defer consumer.Close()
	r := newRead(consumer, windows, form, a.stdout, f.count)
	r.uncommitted, r.refused = req.uncommitted, refused
	return a.readAll(ctx, r)
}

// plan asks the cluster what there is to read.
func (a *app) plan(ctx context.Context, seeds []string, opts []kgo.Opt, req request) ([]window, error) {
	admin, err := a.connect(ctx, seeds, opts)
	if err != nil {
		return nil, err
	}
	defer admin.Close()
	return sample(ctx, admin, req)
}

// readerOptions make a consumer of exactly the windows. Offsets that vanish
// while it reads are an error: a reset would leave a gap that nobody sees.
func readerOptions(req request, windows []window, markers bool) []kgo.Opt {
	assigned := make(map[string]map[int32]kgo.Offset)
	for _, w := range windows {
		if w.empty() {
			continue
		}
		if assigned[w.topic] == nil {
			assigned[w.topic] = make(map[int32]kgo.Offset)
		}
		assigned[w.topic][w.partition] = kgo.NewOffset().At(w.from)
	}
	return append(commonOptions(req, markers), kgo.ConsumePartitions(assigned))
}

// commonOptions are those of a consumer with and without a group.
func commonOptions(req request, markers bool) []kgo.Opt {
	opts := []kgo.Opt{
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		rcconsumer.ReturnOnProgress(),
	}
	if markers {
		opts = append(opts, kgo.KeepControlRecords())
	}
	if req.uncommitted {
		opts = append(opts, rcconsumer.ReadUncommitted())
	}
	return opts
}

// readAll runs a read with a progress bar and a summary, which also ends a
// read that failed or was interrupted.
func (a *app) readAll(ctx context.Context, r *read) error {
	r.stalled = a.tellStall
	progress := a.newBar(r.partitions)
	if progress != nil {
		r.progress = progress
	}
	err := r.run(ctx)
	if progress != nil {
		progress.close()
	}
	if r.member != nil {
		err = a.endMember(ctx, r, err)
	}
	a.summarize(r)
	return err
}

// tellStall says what a read waits for. A read without end has nothing to
// wait for but records, unless a transaction withholds some.
func (a *app) tellStall(p *partitionRead, pos rcconsumer.Position) {
	if held := pos.HeldBack(); held > 0 && pos.CaughtUp() {
		a.say("waiting: %s stands at its last stable offset %d, %s held back by an open transaction", p.name(), pos.LastStableOffset, plural(held, "offset"))
		return
	}
	if p.until == noEnd {
		return
	}
	a.say("waiting: %s stands at %d, the read ends at %d", p.name(), pos.Next, p.until)
}

// recordForm chooses how records are printed.
func (a *app) recordForm(f *consumeFlags) (appendRecord, error) {
	switch {
	case a.wantJSON():
		return appendJSON, nil
	case f.format != "":
		return formatAppender(f.format, isTerminal(a.stdout))
	}
	return textAppender(a.colored(a.stdout)), nil
}

func unique(words []string) []string {
	var out []string
	seen := make(map[string]bool)
	for _, w := range words {
		if !seen[w] {
			out = append(out, w)
		}
		seen[w] = true
	}
	return out
}
