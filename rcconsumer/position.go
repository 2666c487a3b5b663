package rcconsumer

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Position is where the consumer stands in one partition. Offsets are -1 where
// they are not known.
type Position struct {
	// Next is the next offset to read: one past the last record handed out,
	// extended over markers, aborted data, empty batches and holes that follow
	// it and have been fetched. It begins at the start offset.
	Next int64
	// NextEpoch is the leader epoch of the last batch that Next passed, or -1.
	NextEpoch int32

	LogStartOffset   int64 // first offset of the log, inclusive
	LastStableOffset int64 // bound of what a read_committed reader may see, exclusive
	HighWatermark    int64 // bound of what is replicated, exclusive
	Committed        int64 // the group's committed offset

	// UpdatedAt is the age of LastStableOffset and HighWatermark: when the last
	// Fetch answer came, or ListOffsets was asked. While the leader answers it
	// is at most [StableOffsetInterval] ago.
	UpdatedAt time.Time
	// StableSince is when LastStableOffset was first seen at its value, zero
	// while it is not known. While HeldBack is positive that is how long an
	// open transaction has held everybody back; an idle partition's stands
	// still as well.
	StableSince time.Time

	readTo          int64 // nothing is left below this offset, although Next is smaller
	readUncommitted bool
}

// end is the bound of what this reader may see, exclusive.
func (p Position) end() int64 {
	if p.readUncommitted {
		return p.HighWatermark
	}
	return p.LastStableOffset
}

// ReadableLag is how many offsets are left that may be read now: up to the last
// stable offset, or to the high watermark at read_uncommitted. It counts
// offsets, not records; markers and aborted data ahead count too.
func (p Position) ReadableLag() int64 {
	return max(0, p.end()-max(p.Next, p.readTo))
}

// HeldBack is how many offsets are withheld by transactions that have not
// ended: max(0, HighWatermark - LastStableOffset).
func (p Position) HeldBack() int64 {
	if p.LastStableOffset < 0 {
		return 0
	}
	return max(0, p.HighWatermark-p.LastStableOffset)
}

// CaughtUp reports whether nothing readable is left: the end is known and Next
// has reached it. It is also true if the broker twice had nothing between Next
// and the end, because compaction removed it.
func (p Position) CaughtUp() bool {
	return p.end() >= 0 && max(p.Next, p.readTo) >= p.end()
}

// Position returns where the consumer stands in a partition; false if the
// partition is not being read.
func (c *Consumer) Position(topic string, partition int32) (Position, bool) {
	p := c.partition(topic, partition)
	if p == nil {
		return Position{Next: -1, NextEpoch: -1, LogStartOffset: -1, LastStableOffset: -1, HighWatermark: -1, Committed: -1}, false
	}
	return p.position(), true
}

// Positions returns where the consumer stands in all partitions it reads.
func (c *Consumer) Positions() map[string]map[int32]Position {
	return collect(c, (*partition).position)
}

// collect asks every partition one question.
func collect[T any](c *Consumer, ask func(*partition) T) map[string]map[int32]T {
	all := make(map[string]map[int32]T)
	for _, p := range c.allPartitions() {
		if all[p.topic] == nil {
			all[p.topic] = make(map[int32]T)
		}
		all[p.topic][p.id] = ask(p)
	}
	return all
}

// SetOffsets moves partitions to other offsets. What is buffered of them is
// dropped and an answer that is on its way changes nothing. A partition that is
// not being read and a negative offset are skipped, as in kgo. It ends the rest
// of a partition that an error has stopped.
//
// An epoch >= 0 is the leader epoch of the record in front of the offset. The
// leader is asked first whether its log still has it, and a *kgo.ErrDataLoss is
// handed out if not (KIP-320); -1 goes to the offset unasked.
func (c *Consumer) SetOffsets(offsets map[string]map[int32]kgo.EpochOffset) {
	for topic, ps := range offsets {
		for id, eo := range ps {
			p := c.partition(topic, id)
			if p == nil || eo.Offset < 0 {
				continue
			}
			p.mu.Lock()
			p.soughtLocked(eo)
			p.mu.Unlock()
			c.pokeLeader(p)
			c.resets.poke()
		}
	}
}

// soughtLocked moves the partition where the caller wants it.
func (p *partition) soughtLocked(to kgo.EpochOffset) {
	if p.phase == assigned {
		p.sought = &to
		return
	}
	p.seekLocked(to.Offset, to.Epoch)
	p.progress.move(to, true)
}
