package rcconsumer

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"example.com/readcommitted/internal/pass"
)

// PartitionLag is how far the consumer is behind in one partition.
type PartitionLag struct {
	Topic     string
	Partition int32
	// Position has the lag in offsets: ReadableLag is what this reader is
	// behind, HeldBack what open transactions withhold from every reader.
	// They are two things; their sum is the distance to the high watermark.
	Position
	// OldestUnread is the age of the oldest record that was not handed out:
	// now less its timestamp, or that of its batch's header while the batch is
	// not decoded, which may be that of a record in front of it.
	//
	//   - 0: nothing readable is left ([Position.CaughtUp]).
	//   - -1: not known, because the record is not in the buffer (not fetched
	//     yet, or the partition is paused) or has no timestamp.
	//
	// Of an unread record it is at least 1 ns, also where its timestamp lies
	// in the future. It is the producer's clock against this machine's, or the
	// broker's on topics with LogAppendTime.
	OldestUnread time.Duration
}

// unknownAge is the age of a record that is not known.
const unknownAge time.Duration = -1

// Lag returns how far the consumer is behind in each partition that it reads,
// sorted by topic and partition. Each partition's numbers are of one moment.
func (c *Consumer) Lag() []PartitionLag {
	all := c.allPartitions()
	lags := make([]PartitionLag, 0, len(all))
	for _, p := range all {
		lags = append(lags, p.lag(time.Now()))
	}
	slices.SortFunc(lags, func(a, b PartitionLag) int {
		return cmp.Or(strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return lags
}

func (p *partition) lag(now time.Time) PartitionLag {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := PartitionLag{Topic: p.topic, Partition: p.id, Position: p.pos}
	ms, buffered := p.oldestLocked()
	switch {
	case buffered && ms >= 0:
		l.OldestUnread = max(1, now.Sub(time.UnixMilli(ms)))
	case buffered || !p.pos.CaughtUp():
		l.OldestUnread = unknownAge
	}
	return l
}

// oldestLocked is the timestamp of the oldest buffered record in milliseconds,
// negative if it has none; false if no record is buffered.
func (p *partition) oldestLocked() (ms int64, buffered bool) {
	for _, q := range p.queue {
		switch {
		case q.decoded.open():
			return q.decoded.records[0].Timestamp.UnixMilli(), true
		case len(q.kept) > 0:
			return firstTimestamp(q.kept[0]), true
		}
	}
	return -1, false
}

// firstTimestamp is that of the first record of a batch, in milliseconds, as
// its header has it. A message set of format v0 or v1 has that of its last one.
func firstTimestamp(k pass.Kept) int64 {
	if k.Batch.IsLogAppendTime() {
		return k.Batch.MaxTimestamp()
	}
	return k.Batch.BaseTimestamp()
}
