package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rcconsumer"
)

// memberPart is what a read of a group's member knows of a partition besides.
type memberPart struct {
	away   bool // taken away, and not back yet
	marked bool // something was marked to be committed in this assignment

	// What earlier assignments came to.
	position rcconsumer.Position // where the last one ended
	stats    rcconsumer.PartitionStats
	advanced int64 // offsets by which the commit moved
}

// follow brings the read up to what happened in the group.
func (r *read) follow() {
	m := r.member
	if m == nil {
		return
	}
	for _, e := range m.take() {
		switch {
		case e.assigned != nil:
			r.assigned(e.assigned)
		case e.left != nil:
			r.departed(e.left)
		case e.commit != nil:
			m.app.warn("group %s: a commit failed, trying again: %v", m.group, e.commit)
		case e.joined:
			if m.joined {
				m.rebalances++
			}
			m.joined, m.told = true, ""
		}
	}
}

// assigned takes up partitions. One that was here before keeps the end that it
// got then, and begins where the group is now.
func (r *read) assigned(windows []window) {
	a := r.member.app
	resume := make(map[string][]int32)
	for i := range windows {
		w := &windows[i]
		p := r.byName[w.topic][w.partition]
		if p == nil {
			p = r.add(*w)
		} else {
			w.until = p.until
			p.window = *w
			p.done = p.empty()
			resume[p.topic] = append(resume[p.topic], p.partition)
		}
		p.away, p.marked, p.last = false, false, nil
		if w.note != "" {
			a.warn("%s", w.note)
		}
	}
	r.member.consumer.ResumeFetchPartitions(resume)
	a.say("assigned: %s", describe(windows))
}

// departed books what was read of partitions that were taken away. They are not
// waited for any more.
func (r *read) departed(left []departure) {
	var revoked, lost []string
	for _, d := range left {
		p := r.byName[d.topic][d.partition]
		if p == nil || p.away {
			continue
		}
		p.position = d.position
		p.advanced += p.moved(d.position)
		p.stats = sumStats(p.stats, d.stats)
		p.away = true
		if d.lost {
			lost = append(lost, p.name())
		} else {
			revoked = append(revoked, p.name())
		}
	}
	slices.Sort(revoked)
	slices.Sort(lost)
	if len(revoked) > 0 {
		r.member.app.say("revoked: %s", strings.Join(revoked, ", "))
	}
	if len(lost) > 0 {
		r.member.app.warn("lost: %s; what was printed since the last commit will be read again", strings.Join(lost, ", "))
	}
}

// moved is by how many offsets the group's commit moved in this assignment.
func (p *partitionRead) moved(pos rcconsumer.Position) int64 {
	before := p.from
	if p.hasCommit {
		before = p.committed
	}
	return max(0, pos.Committed-before)
}

// markPrinted marks what is out to be committed, and lets rebalances go on.
func (r *read) markPrinted() {
	if r.member == nil {
		return
	}
	for _, p := range r.partitions {
		if !p.away {
			r.mark(p)
		}
	}
	r.member.consumer.AllowRebalance()
}

// mark marks up to the last record that is out. The consumer takes a mark over
// markers and aborted data behind it, up to the next record that it has handed
// out. Where nothing but such data came, the mark is the position itself.
func (r *read) mark(p *partitionRead) {
	if p.last != nil {
		r.member.consumer.MarkCommitRecords(p.last)
		p.last, p.marked = nil, true
		return
	}
	pos, ok := r.source.Position(p.topic, p.partition)
	if !ok || p.marked || p.pending > 0 {
		return
	}
	at := kgo.EpochOffset{Epoch: pos.NextEpoch, Offset: pos.Next}
	if p.until != noEnd && at.Offset > p.until { // a record there may have been handed out, and was not printed
		at = kgo.EpochOffset{Epoch: -1, Offset: p.until}
	}
	if at.Offset > p.from {
		r.member.consumer.MarkCommitOffsets(map[string]map[int32]kgo.EpochOffset{p.topic: {p.partition: at}})
		p.marked = true
	}
}

// commitPrinted makes the last commit: what is out, and nothing else. It works
// after ctx was canceled too. While a rebalance runs the group takes no commits;
// then it is asked again.
func (r *read) commitPrinted(ctx context.Context) error {
	m := r.member
	r.markPrinted()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	for {
		err := m.consumer.CommitMarkedOffsets(ctx)
		if err == nil {
			return nil
		}
		again := errors.Is(err, kerr.RebalanceInProgress) || kerr.IsRetriable(err)
		if !again || !sleep(ctx, askAgain) {
			return fmt.Errorf("group %s: commit of what was printed: %w", m.group, authorized(err))
		}
	}
}

// where is where the read stands in a partition, or stood when it was taken
// away; false if that is not known.
func (r *read) where(p *partitionRead) (rcconsumer.Position, bool) {
	if p.away {
		return p.position, true
	}
	return r.source.Position(p.topic, p.partition)
}

// tellStall says that a member has nothing to read.
func (m *membership) tellStall(r *read) {
	if m == nil {
		return
	}
	for _, p := range r.partitions {
		if !p.away {
			return
		}
	}
	m.app.say("waiting: group %s has assigned no partition to this member", m.group)
}

// summarize is the last line of a member's summary.
func (m *membership) summarize(r *read) {
	var offsets, partitions int64
	for _, p := range r.partitions {
		advanced := p.advanced
		if pos, ok := r.source.Position(p.topic, p.partition); ok && !p.away {
			advanced += p.moved(pos)
		}
		if advanced > 0 {
			offsets += advanced
			partitions++
		}
	}
	m.app.say("group %s: committed offsets advanced by %d in %s, %s", m.group, offsets,
		plural(partitions, "partition"), plural(m.rebalances, "rebalance"))
}

// sumStats adds up two assignments of a partition.
func sumStats(a, b rcconsumer.PartitionStats) rcconsumer.PartitionStats {
	return rcconsumer.PartitionStats{
		DeliveredBatches: a.DeliveredBatches + b.DeliveredBatches,
		DeliveredRecords: a.DeliveredRecords + b.DeliveredRecords,
		DeliveredBytes:   a.DeliveredBytes + b.DeliveredBytes,
		AbortedBatches:   a.AbortedBatches + b.AbortedBatches,
		AbortedRecords:   a.AbortedRecords + b.AbortedRecords,
		AbortedBytes:     a.AbortedBytes + b.AbortedBytes,
		ControlBatches:   a.ControlBatches + b.ControlBatches,
		FetchedBytes:     a.FetchedBytes + b.FetchedBytes,
		Anomalies:        a.Anomalies + b.Anomalies,
	}
}
