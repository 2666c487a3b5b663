package rcconsumer_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/rcconsumer"
)

// groupClient is what kgo's client and our consumer have in common.
type groupClient interface {
	PollRecords(context.Context, int) kgo.Fetches
	SetOffsets(map[string]map[int32]kgo.EpochOffset)
	MarkCommitRecords(...*kgo.Record)
	MarkCommitOffsets(map[string]map[int32]kgo.EpochOffset)
	CommitRecords(context.Context, ...*kgo.Record) error
	CommitMarkedOffsets(context.Context) error
	CommitUncommittedOffsets(context.Context) error
	UncommittedOffsets() map[string]map[int32]kgo.EpochOffset
	MarkedOffsets() map[string]map[int32]kgo.EpochOffset
	CommittedOffsets() map[string]map[int32]kgo.EpochOffset
	PauseFetchPartitions(map[string][]int32) map[string][]int32
	ResumeFetchPartitions(map[string][]int32)
	LeaveGroupContext(context.Context) error
	Close()
}

// doneFunc is what a commit calls, without the client that the two disagree on.
type doneFunc = func(*kmsg.OffsetCommitRequest, *kmsg.OffsetCommitResponse, error)

// twin is a member of a group of its own: kgo's or ours. What it sees is noted,
// to be compared with what the other one sees.
type twin struct {
	groupClient
	t     *testing.T
	w     *world
	group string
	ours  bool
	seen  []*kgo.Record // everything polled
	*journal
}

type journal struct {
	mu    sync.Mutex
	notes []string
}

// with is the twin as a callback sees it.
func (d *twin) with(cl groupClient) *twin {
	return &twin{groupClient: cl, t: d.t, w: d.w, group: d.group, ours: d.ours, journal: d.journal}
}

// interval is between two auto-commits of a twin.
const interval = time.Second

// beat is how long things take that a twin waits for. No sum of some of them is
// a multiple of the interval: what runs at both times would run in any order.
const beat = interval/5 + time.Millisecond + time.Nanosecond

// alike runs a program on kgo and on ours, and requires that they see the same.
// opts are for both.
func alike(t *testing.T, w *world, program func(*twin), opts ...kgo.Opt) {
	t.Helper()
	theirs := w.twin("kgo", false, program, opts...)
	ours := w.twin("ours", true, program, opts...)
	require.NotEmpty(t, theirs)
	require.Empty(t, parted(theirs, ours))
}

// twin runs a program on one of the two and returns what it noted. A group may
// have been used before: the program then goes on from its commits.
func (w *world) twin(group string, ours bool, program func(*twin), opts ...kgo.Opt) []string {
	w.t.Helper()
	d := &twin{t: w.t, w: w, group: group, ours: ours, journal: new(journal)}
	all := append(w.opts(), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(100*time.Millisecond))
	all = append(all, d.options(opts)...)
	if ours {
		c, err := rcconsumer.New(all...)
		require.NoError(w.t, err)
		d.groupClient = c
	} else {
		cl, err := kgo.NewClient(all...)
		require.NoError(w.t, err)
		d.groupClient = cl
	}
	defer d.Close()
	time.Sleep(5*interval + beat) // both have joined and fetched all there is
	program(d)
	return d.notes
}

// callback options of a program, for both.
type (
	onCommitted  struct{ kgo.Opt }
	onPartitions struct {
		assigned, revoked, lost func(*twin, map[string][]int32)
	}
	partitionsOpt struct {
		kgo.Opt
		onPartitions
	}
)

// noteCommits notes what the callback of auto-commits is told.
func noteCommits() kgo.Opt { return onCommitted{kgo.WithHooks()} }

// calls sets the functions that a group calls.
func calls(fns onPartitions) kgo.Opt { return partitionsOpt{kgo.WithHooks(), fns} }

func (d *twin) options(opts []kgo.Opt) []kgo.Opt {
	all := []kgo.Opt{kgo.AutoCommitInterval(interval)}
	for _, o := range opts {
		switch o := o.(type) {
		case onCommitted:
			if d.ours {
				all = append(all, rcconsumer.AutoCommitCallback(func(_ *rcconsumer.Consumer, req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
					d.answered("auto")(req, resp, err)
				}))
			} else {
				all = append(all, kgo.AutoCommitCallback(func(_ *kgo.Client, req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
					d.answered("auto")(req, resp, err)
				}))
			}
		case partitionsOpt:
			all = append(all, d.partitionOptions(o.onPartitions)...)
		default:
			all = append(all, o)
		}
	}
	return all
}

func (d *twin) partitionOptions(fns onPartitions) (all []kgo.Opt) {
	add := func(
		fn func(*twin, map[string][]int32),
		theirs func(func(context.Context, *kgo.Client, map[string][]int32)) kgo.GroupOpt,
		ours func(func(context.Context, *rcconsumer.Consumer, map[string][]int32)) kgo.GroupOpt,
	) {
		switch {
		case fn == nil:
		case d.ours:
			all = append(all, ours(func(_ context.Context, c *rcconsumer.Consumer, ps map[string][]int32) {
				fn(d.with(c), ps)
			}))
		default:
			all = append(all, theirs(func(_ context.Context, cl *kgo.Client, ps map[string][]int32) {
				fn(d.with(cl), ps)
			}))
		}
	}
	add(fns.assigned, kgo.OnPartitionsAssigned, rcconsumer.OnPartitionsAssigned)
	add(fns.revoked, kgo.OnPartitionsRevoked, rcconsumer.OnPartitionsRevoked)
	add(fns.lost, kgo.OnPartitionsLost, rcconsumer.OnPartitionsLost)
	return all
}

// manually switches auto-commit off.
var manually = kgo.DisableAutoCommit()

func (d *journal) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notes = append(d.notes, fmt.Sprintf(format, args...))
}

// state notes everything that can be asked of commits.
func (d *twin) state(when string) {
	d.note("%s: uncommitted %v marked %v committed %v, the group holds %v",
		when, d.UncommittedOffsets(), d.MarkedOffsets(), d.CommittedOffsets(), d.held())
}

// held is what the cluster holds for the group.
func (d *twin) held() map[string]map[int32]kgo.EpochOffset {
	all := make(map[string]map[int32]kgo.EpochOffset)
	if g := d.w.GroupInfo(d.group); g != nil {
		for topic, ps := range g.Commits {
			all[topic] = make(map[int32]kgo.EpochOffset)
			for id, c := range ps {
				all[topic][id] = kgo.EpochOffset{Epoch: c.LeaderEpoch, Offset: c.Offset}
			}
		}
	}
	return all
}

// poll takes at most n records of what is buffered.
func (d *twin) poll(n int) []*kgo.Record {
	time.Sleep(beat) // what was asked for last has arrived
	fs := d.PollRecords(noWait, n)
	var got []int64
	rs := fs.Records()
	for _, r := range rs {
		got = append(got, r.Offset)
	}
	slices.Sort(got) // the order of partitions is nobody's promise
	d.note("polled %v, errors %v", got, fs.Errors())
	d.seen = append(d.seen, rs...)
	return rs
}

// tick lets auto-commit have its turn.
func (d *twin) tick() { time.Sleep(interval + beat) }

func (d *twin) commitUncommitted() {
	d.note("commit uncommitted: %v", d.CommitUncommittedOffsets(d.t.Context()))
}

func (d *twin) commitMarked() { d.note("commit marked: %v", d.CommitMarkedOffsets(d.t.Context())) }

func (d *twin) commitRecords(rs ...*kgo.Record) {
	d.note("commit records: %v", d.CommitRecords(d.t.Context(), rs...))
}

// answered notes what a commit calls back with.
func (d *twin) answered(what string) doneFunc {
	return func(req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
		d.note("%s: asked %v answered %v error %v", what, asked(req), answers(resp), err)
	}
}

func (d *twin) commitSync(ctx context.Context, offsets map[string]map[int32]kgo.EpochOffset, done doneFunc) {
	if d.ours {
		d.groupClient.(*rcconsumer.Consumer).CommitOffsetsSync(ctx, offsets, func(_ *rcconsumer.Consumer, req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
			done(req, resp, err)
		})
		return
	}
	d.groupClient.(*kgo.Client).CommitOffsetsSync(ctx, offsets, func(_ *kgo.Client, req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
		done(req, resp, err)
	})
}

func (d *twin) commitAsync(ctx context.Context, offsets map[string]map[int32]kgo.EpochOffset, done doneFunc) {
	if d.ours {
		d.groupClient.(*rcconsumer.Consumer).CommitOffsets(ctx, offsets, func(_ *rcconsumer.Consumer, req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
			done(req, resp, err)
		})
		return
	}
	d.groupClient.(*kgo.Client).CommitOffsets(ctx, offsets, func(_ *kgo.Client, req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
		done(req, resp, err)
	})
}

// asked is a request as topic, partition and offset.
func asked(req *kmsg.OffsetCommitRequest) (all []string) {
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			all = append(all, fmt.Sprintf("%s/%d@%d e%d", t.Topic, p.Partition, p.Offset, p.LeaderEpoch))
		}
	}
	slices.Sort(all)
	return all
}

// answers is a response as topic, partition and error.
func answers(resp *kmsg.OffsetCommitResponse) (all []string) {
	if resp == nil {
		return []string{"none"}
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			all = append(all, fmt.Sprintf("%s/%d %v", t.Topic, p.Partition, kerr.ErrorForCode(p.ErrorCode)))
		}
	}
	slices.Sort(all)
	return all
}

// eachAt names offsets of partitions 0, 1, ... of [topic].
func eachAt(epoch int32, all ...int64) map[string]map[int32]kgo.EpochOffset {
	ps := make(map[int32]kgo.EpochOffset)
	for id, o := range all {
		ps[int32(id)] = kgo.EpochOffset{Epoch: epoch, Offset: o}
	}
	return map[string]map[int32]kgo.EpochOffset{topic: ps}
}

// ended is a context that has ended.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// values are n values of records.
func values(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprint(i))
	}
	return all
}

// parted is what two twins noted, up to the first place where they differ.
func parted(theirs, ours []string) string {
	for i := range max(len(theirs), len(ours)) {
		a, b := "nothing", "nothing"
		if i < len(theirs) {
			a = theirs[i]
		}
		if i < len(ours) {
			b = ours[i]
		}
		if a != b {
			return fmt.Sprintf("after\n  %s\nkgo\n  %s\nours\n  %s", strings.Join(theirs[:min(i, len(theirs))], "\n  "), a, b)
		}
	}
	return ""
}
