package rcconsumer

import (
	"context"
	"math"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// CommitUncommittedOffsets commits everything handed out and waits: up to
// [Position.Next] of every partition that has something new. It returns the
// first error. Without a group it returns an error.
//
// What was handed out last must have been worked on: this is for a loop that
// polls, works and commits. Of partitions that have been revoked since, and after
// LeaveGroup, there is nothing to commit, which is no error; CommitRecords says
// that its records could not be committed. In all commits a nil context is one that ends with
// Close.
func (c *Consumer) CommitUncommittedOffsets(ctx context.Context) error {
	if c.group == nil {
		return c.cl.CommitUncommittedOffsets(ctx)
	}
	return c.group.commits.wait(ctx, c.group.commits.allUncommitted())
}

// CommitMarkedOffsets commits what was marked and waits; it returns the first
// error. Without kgo.AutoCommitMarks it does nothing.
func (c *Consumer) CommitMarkedOffsets(ctx context.Context) error {
	if !c.marking() {
		return nil
	}
	return c.group.commits.wait(ctx, c.group.commits.marked())
}

// CommitRecords commits that records have been worked on, and all records of
// their partitions in front of them, and waits. It returns the first error. It
// also passes the markers and aborted data behind the last of them. Records in
// front of what is committed change nothing. A partition that is not this
// member's any more is refused with REBALANCE_IN_PROGRESS.
func (c *Consumer) CommitRecords(ctx context.Context, rs ...*kgo.Record) error {
	if c.group == nil {
		return c.cl.CommitRecords(ctx, rs...)
	}
	s := &c.group.commits
	all := s.explicit(lastOf(rs))
	for k, cl := range all {
		if cl.p == nil {
			continue
		}
		cl.p.mu.Lock()
		cl.at, cl.exact = cl.p.pastLocked(cl.at), false
		cl.p.mu.Unlock()
		all[k] = cl
	}
	return s.wait(ctx, all)
}

// lastOf is one past the last of the records, by partition.
func lastOf(rs []*kgo.Record) map[string]map[int32]kgo.EpochOffset {
	last := make(map[string]map[int32]kgo.EpochOffset)
	for _, r := range rs {
		ps := last[r.Topic]
		if ps == nil {
			ps = make(map[int32]kgo.EpochOffset)
			last[r.Topic] = ps
		}
		if at, ok := ps[r.Partition]; !ok || r.Offset >= at.Offset {
			ps[r.Partition] = kgo.EpochOffset{Epoch: r.LeaderEpoch, Offset: r.Offset + 1}
		}
	}
	return last
}

func (s *commits) wait(ctx context.Context, all claims) (err error) {
	s.sync(ctx, all, func(_ *Consumer, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, failed error) {
		if err = failed; err == nil {
			err = firstCommitError(resp)
		}
	})
	return err
}

// CommitOffsetsSync commits exactly these offsets, waits, and calls onDone
// before it returns. Partitions of consumed topics that are not this member's
// are not sent; their answer is REBALANCE_IN_PROGRESS. Errors are as with
// kgo.Client.CommitOffsetsSync. onDone may be nil and must not commit.
func (c *Consumer) CommitOffsetsSync(
	ctx context.Context, offsets map[string]map[int32]kgo.EpochOffset,
	onDone func(*Consumer, *kmsg.OffsetCommitRequest, *kmsg.OffsetCommitResponse, error),
) {
	done := ifAny(onDone)
	if c.group == nil || count(offsets) == 0 {
		c.cl.CommitOffsetsSync(ctx, nil, c.forKgo(done))
		return
	}
	c.group.commits.sync(ctx, c.group.commits.explicit(offsets), done)
}

// CommitOffsets is [Consumer.CommitOffsetsSync] without the wait for the
// answer. Commits reach the group in the order in which they were called.
func (c *Consumer) CommitOffsets(
	ctx context.Context, offsets map[string]map[int32]kgo.EpochOffset,
	onDone func(*Consumer, *kmsg.OffsetCommitRequest, *kmsg.OffsetCommitResponse, error),
) {
	done := ifAny(onDone)
	if c.group == nil || count(offsets) == 0 {
		c.cl.CommitOffsets(ctx, nil, c.forKgo(done))
		return
	}
	c.group.commits.async(ctx, c.group.commits.explicit(offsets), done)
}

func ifAny(fn commitFunc) commitFunc {
	if fn != nil {
		return fn
	}
	return func(*Consumer, *kmsg.OffsetCommitRequest, *kmsg.OffsetCommitResponse, error) {}
}

func (c *Consumer) forKgo(fn commitFunc) func(*kgo.Client, *kmsg.OffsetCommitRequest, *kmsg.OffsetCommitResponse, error) {
	return func(_ *kgo.Client, req *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
		fn(c, req, resp, err)
	}
}

func count(offsets map[string]map[int32]kgo.EpochOffset) (n int) {
	for _, ps := range offsets {
		n += len(ps)
	}
	return n
}

// marking reports whether records are marked for commits.
func (c *Consumer) marking() bool {
	return c.group != nil && c.cfg.commitMode.marks()
}

// MarkCommitRecords marks records for the next commit, under
// kgo.AutoCommitMarks; it does nothing otherwise. A mark covers all records of
// its partition in front of it. Marks never go back, and a record that was
// handed out before a seek or in an earlier assignment, beyond what has been
// handed out since, marks nothing.
func (c *Consumer) MarkCommitRecords(rs ...*kgo.Record) {
	if !c.marking() {
		return
	}
	for len(rs) > 0 {
		last, n := rs[0], 1 // the records of one partition most often stand together
		for ; n < len(rs) && rs[n].Partition == last.Partition && rs[n].Topic == last.Topic; n++ {
			if rs[n].Offset > last.Offset {
				last = rs[n]
			}
		}
		c.mark(last.Topic, last.Partition, kgo.EpochOffset{Epoch: last.LeaderEpoch, Offset: last.Offset + 1}, false)
		rs = rs[n:]
	}
}

// MarkCommitOffsets marks offsets for the next commit, as
// [Consumer.MarkCommitRecords] does for records. An offset is the next one to
// read; it may lie ahead of what was handed out. As in kgo a partition of which
// nothing was read cannot be marked unless the group had a commit for it or
// SetOffsets moved it.
func (c *Consumer) MarkCommitOffsets(offsets map[string]map[int32]kgo.EpochOffset) {
	if !c.marking() {
		return
	}
	for topic, ps := range offsets {
		for id, at := range ps {
			c.mark(topic, id, at, true)
		}
	}
}

// mark marks an offset; a chosen one may lie ahead of the position, one that
// comes from a record may not.
func (c *Consumer) mark(topic string, id int32, at kgo.EpochOffset, chosen bool) {
	p := c.partition(topic, id)
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !chosen:
		p.progress.setMark(at, p.pos.Next)
	case p.progress.begun(p.pos.Next):
		p.progress.setMark(at, math.MaxInt64)
	}
}

// UncommittedOffsets returns what [Consumer.CommitUncommittedOffsets] would
// commit now; nil if there is nothing.
func (c *Consumer) UncommittedOffsets() map[string]map[int32]kgo.EpochOffset {
	if c.group == nil {
		return nil
	}
	return c.group.commits.uncommitted().orNil()
}

// MarkedOffsets returns what [Consumer.CommitMarkedOffsets] would commit now;
// nil if there is nothing, or without kgo.AutoCommitMarks.
func (c *Consumer) MarkedOffsets() map[string]map[int32]kgo.EpochOffset {
	if !c.marking() {
		return nil
	}
	return c.group.commits.marked().orNil()
}

// CommittedOffsets returns what the group holds of the partitions that are
// read, as fetched when they were assigned or committed since; nil if there is
// nothing. Commits of other programs are not seen.
func (c *Consumer) CommittedOffsets() map[string]map[int32]kgo.EpochOffset {
	if c.group == nil {
		return nil
	}
	return c.group.commits.gather(func(p *partition) (kgo.EpochOffset, bool) {
		return p.progress.committed, p.progress.committed.Offset >= 0
	}).orNil()
}

func (all claims) orNil() map[string]map[int32]kgo.EpochOffset {
	if len(all) == 0 {
		return nil
	}
	return all.offsets()
}
