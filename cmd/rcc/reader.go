package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rcconsumer"
)

// source is the part of [rcconsumer.Consumer] that a read needs.
type source interface {
	PollRecords(ctx context.Context, maxPollRecords int) kgo.Fetches
	PauseFetchPartitions(topicPartitions map[string][]int32) map[string][]int32
	Position(topic string, partition int32) (rcconsumer.Position, bool)
	Stats() map[string]map[int32]rcconsumer.PartitionStats
}

const (
	pollRecords = 10_000          // records per poll, so that output and progress move
	stallAfter  = 5 * time.Second // without any answer that moved a position
)

// progress is told how many offsets, markers and gaps included, are behind.
type progress interface{ moved(offsets int64) }

// partitionRead is the state of one window while it is read.
type partitionRead struct {
	window
	printed, markers int64
	done             bool

	pending int         // records handed to the printer that are not out
	last    *kgo.Record // the last one that is out; a member takes it to commit it
	memberPart
}

// read prints records until every window is read, the count is reached, or
// something ends it early.
type read struct {
	source     source
	partitions []*partitionRead
	byName     map[string]map[int32]*partitionRead
	out        printer
	member     *membership // nil without a group
	refused    *refusals   // nil: nobody listens for them
	// uncommitted says that the source reads to the high watermark.
	uncommitted bool
	left        int64 // records still to print; -1 without a limit
	progress    progress
	stalled     func(*partitionRead, rcconsumer.Position)
	stallAfter  time.Duration
	told        bool // stalled was called since a position moved
}

// newRead prepares a read; a count of 0 means no limit.
func newRead(src source, windows []window, form appendRecord, out io.Writer, count int64) *read {
	if count == 0 {
		count = -1
	}
	r := &read{
		source: src,
		byName: make(map[string]map[int32]*partitionRead),
		out:    printer{out: out, form: form},
		left:   count,

		stallAfter: stallAfter,
	}
	for _, w := range windows {
		r.add(w)
	}
	return r
}

// add takes up one more window.
func (r *read) add(w window) *partitionRead {
	p := &partitionRead{window: w, done: w.empty()}
	r.partitions = append(r.partitions, p)
	if r.byName[w.topic] == nil {
		r.byName[w.topic] = make(map[int32]*partitionRead)
	}
	r.byName[w.topic][w.partition] = p
	return p
}

// run reads to the end. Records that arrived before an error are printed
// before it is returned. A canceled context gives [errInterrupted].
func (r *read) run(ctx context.Context) error {
	for !r.finished() {
		fetches := r.poll(ctx)
		r.follow()
		if err := r.printAll(fetches); err != nil {
			return err
		}
		r.markPrinted()
		if ctx.Err() != nil {
			return errInterrupted
		}
		if err := r.fetchError(fetches); err != nil {
			return err
		}
		if err := r.refused.err(); err != nil {
			return err
		}
		r.settle()
	}
	return nil
}

// printAll prints fetches; when it returns without an error all of it is out.
func (r *read) printAll(fetches kgo.Fetches) error {
	var failed error
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		if failed == nil {
			failed = r.print(p)
		}
	})
	if failed != nil {
		return failed
	}
	return r.out.flush()
}

// poll waits for records or for moved positions. If neither comes it tells
// the user what the read waits for, once per stall.
func (r *read) poll(ctx context.Context) kgo.Fetches {
	most := pollRecords
	if r.left >= 0 {
		most = int(min(r.left, pollRecords))
	}
	waiting, cancel := context.WithTimeout(ctx, r.stallAfter)
	defer cancel()
	defer r.member.wakes(cancel)()
	defer r.refused.wakes(cancel)()
	fetches := r.source.PollRecords(waiting, most)
	if waiting.Err() == nil || fetches.NumRecords() > 0 {
		r.told = false
	} else if ctx.Err() == nil && !r.told && errors.Is(waiting.Err(), context.DeadlineExceeded) {
		r.told = true
		r.tellStall()
	}
	return fetches
}

func (r *read) tellStall() {
	if r.stalled == nil {
		return
	}
	for _, p := range r.partitions {
		if pos, ok := r.source.Position(p.topic, p.partition); ok && !p.done {
			r.stalled(p, pos)
		}
	}
	r.member.tellStall(r)
}

// print writes the records of one partition that lie in its window.
func (r *read) print(f kgo.FetchTopicPartition) error {
	p := r.byName[f.Topic][f.Partition]
	if p == nil {
		return nil
	}
	for _, record := range f.Records {
		if r.left == 0 || p.until != noEnd && record.Offset >= p.until {
			break
		}
		if err := r.out.add(p, &f.FetchPartition, record); err != nil {
			return err
		}
		if r.left > 0 {
			r.left--
		}
	}
	return nil
}

// fetchError returns the first error among the fetches with its place. The
// end of our own waiting is none.
func (r *read) fetchError(fetches kgo.Fetches) error {
	for _, e := range fetches.Errors() {
		if e.Partition < 0 && (errors.Is(e.Err, context.DeadlineExceeded) || errors.Is(e.Err, context.Canceled)) {
			continue
		}
		if r.member.survives(e.Err) {
			continue
		}
		if e.Topic == "" || strings.Contains(e.Err.Error(), e.Topic) {
			return r.member.named(e.Err) // the consumer's own errors say where
		}
		if pos, ok := r.source.Position(e.Topic, e.Partition); ok {
			return fmt.Errorf("%s/%d at offset %d: %w", e.Topic, e.Partition, pos.Next, e.Err)
		}
		return fmt.Errorf("%s/%d: %w", e.Topic, e.Partition, e.Err)
	}
	return nil
}

// settle finds the windows that are read. What counts is the position: the
// last offsets of a window may be markers, aborted data or compacted away, and
// no record will ever come from there.
func (r *read) settle() {
	pause := make(map[string][]int32)
	var behind int64
	for _, p := range r.partitions {
		pos, ok := r.source.Position(p.topic, p.partition)
		if ok && !p.done && p.until != noEnd {
			p.done = pos.Next >= p.until || pos.CaughtUp() && r.end(pos) >= p.until
			if p.done {
				pause[p.topic] = append(pause[p.topic], p.partition)
			}
		}
		switch {
		case p.until == noEnd:
		case p.done:
			behind += max(0, p.until-p.from)
		case ok:
			behind += max(0, pos.Next-p.from)
		}
	}
	if len(pause) > 0 {
		r.source.PauseFetchPartitions(pause)
	}
	if r.progress != nil {
		r.progress.moved(behind)
	}
}

// end is the offset up to which the isolation level shows the log.
func (r *read) end(pos rcconsumer.Position) int64 {
	if r.uncommitted {
		return pos.HighWatermark
	}
	return pos.LastStableOffset
}

func (r *read) finished() bool {
	if r.left == 0 {
		return true
	}
	read := 0
	for _, p := range r.partitions {
		if p.away {
			continue
		}
		if !p.done {
			return false
		}
		read++
	}
	return read > 0 || r.member == nil // a member without partitions waits for some
}
