package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// noEnd is the until of a window that is read for as long as records come.
const noEnd = -1

// window is what one partition is read for: the offsets that the bounds of
// the command line meant at the start of the run. They are sampled once, so a
// busy topic does not move the end of a bounded read.
type window struct {
	topic     string
	partition int32
	// logStart is inclusive; stable and high are exclusive.
	logStart, stable, high int64
	// from is inclusive, until exclusive or noEnd.
	from, until int64
	committed   int64 // of the group, if hasCommit
	hasCommit   bool
	note        string // why from is not what was asked for
}

func (w window) name() string { return fmt.Sprintf("%s/%d", w.topic, w.partition) }

// empty reports whether there is nothing to read, now or later.
func (w window) empty() bool { return w.until != noEnd && w.from >= w.until }

func (w window) String() string {
	if w.until == noEnd {
		return fmt.Sprintf("%s from %d", w.name(), w.from)
	}
	return fmt.Sprintf("%s from %d until %d", w.name(), w.from, w.until)
}

// request is what the user asked to read.
type request struct {
	topics      []string
	partitions  []int32 // of every topic; empty means all
	from, until bound   // from counts where there is no commit
	uncommitted bool
}

// sample asks the brokers for the offsets that bounds are measured from and
// returns one window per partition, by topic in the order given, then by
// number.
func sample(ctx context.Context, admin *kadm.Client, req request) ([]window, error) {
	topics, err := describeTopics(ctx, admin, req.topics)
	if err != nil {
		return nil, err
	}
	chosen, err := choosePartitions(topics, req)
	if err != nil {
		return nil, err
	}
	return measure(ctx, admin, req, chosen)
}

// measure turns the bounds into offsets of the chosen partitions.
func measure(ctx context.Context, admin *kadm.Client, req request, chosen []window) ([]window, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var topics []string
	for _, w := range chosen {
		topics = append(topics, w.topic)
	}
	ask := asker{ctx: ctx, admin: admin, topics: unique(topics), chosen: chosen}
	starts := ask.list("log start offset", admin.ListStartOffsets)
	stables := ask.list("last stable offset", admin.ListCommittedOffsets)
	highs := ask.list("high watermark", admin.ListEndOffsets)
	fromTimes, untilTimes := ask.listTime(req.from), ask.listTime(req.until)
	if ask.err != nil {
		return nil, ask.err
	}
	for i := range chosen {
		w := &chosen[i]
		w.logStart, w.stable, w.high = offsetOf(starts, w), offsetOf(stables, w), offsetOf(highs, w)
		w.resolve(req, offsetOf(fromTimes, w), offsetOf(untilTimes, w))
	}
	return chosen, nil
}

// choosePartitions makes a bare window for each partition to read.
func choosePartitions(topics kadm.TopicDetails, req request) ([]window, error) {
	var chosen []window
	for _, topic := range req.topics {
		known := topics[topic].Partitions
		for _, p := range req.partitions {
			if _, ok := known[p]; !ok {
				return nil, fmt.Errorf("partition %s/%d does not exist: the topic has partitions 0 to %d", topic, p, len(known)-1)
			}
		}
		for _, p := range known.Numbers() {
			if len(req.partitions) == 0 || slices.Contains(req.partitions, p) {
				chosen = append(chosen, window{topic: topic, partition: p})
			}
		}
	}
	return chosen, nil
}

// askAgain is the pause before a question is asked again.
const askAgain = 200 * time.Millisecond

// asker lists offsets and keeps the first error. While a leader is being
// elected no broker can answer: such a question is asked again for as long as
// the context allows.
type asker struct {
	ctx    context.Context
	admin  *kadm.Client
	topics []string
	chosen []window
	err    error
}

func (a *asker) list(what string, list func(context.Context, ...string) (kadm.ListedOffsets, error)) kadm.ListedOffsets {
	for a.err == nil {
		listed, err := list(a.ctx, a.topics...)
		if err = a.missing(what, listed, err); err == nil {
			return listed
		}
		if !kerr.IsRetriable(err) || !sleep(a.ctx, askAgain) {
			a.err = err
		}
	}
	return nil
}

// missing is the error of the first chosen partition without an offset.
func (a *asker) missing(what string, listed kadm.ListedOffsets, err error) error {
	for _, w := range a.chosen {
		o, ok := listed.Lookup(w.topic, w.partition)
		switch {
		case ok && o.Err == nil:
			continue
		case ok:
			err = o.Err
		case err == nil:
			if err = listed[w.topic][-1].Err; err == nil { // -1 stands for the whole topic
				err = fmt.Errorf("no answer")
			}
		}
		return fmt.Errorf("%s of %s: %w", what, w.name(), authorized(err))
	}
	return nil
}

// sleep reports whether the time passed before the context ended.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (a *asker) listTime(b bound) kadm.ListedOffsets {
	if b.kind != atTime {
		return nil
	}
	ms := max(0, b.when.UnixMilli()) // below zero the protocol has other meanings
	return a.list("offset at "+b.text, func(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
		return a.admin.ListOffsetsAfterMilli(ctx, ms, topics...)
	})
}

func offsetOf(listed kadm.ListedOffsets, w *window) int64 {
	o, _ := listed.Lookup(w.topic, w.partition)
	return o.Offset
}

// resolve turns the bounds into offsets of this partition. A start outside
// the log moves to the nearest offset that exists, with a note; an end may
// lie beyond the log, the read then waits for it.
func (w *window) resolve(req request, fromTime, untilTime int64) {
	end := w.stable
	if req.uncommitted {
		end = w.high
	}
	w.from = w.begin(req.from, end, fromTime)
	if w.from < w.logStart {
		w.note = fmt.Sprintf("%s: offset %d is below the log start, reading from %d", w.name(), w.from, w.logStart)
		w.from = w.logStart
	} else if w.from > w.high && !w.hasCommit {
		w.note = fmt.Sprintf("%s: offset %d is beyond the end, reading from %d", w.name(), w.from, w.high)
		w.from = w.high
	}
	switch req.until.kind {
	case atStable:
		w.until = w.stable
	case atHigh:
		w.until = w.high
	case atOffset:
		w.until = req.until.n
	case atTime:
		w.until = untilTime
	case never, fromStart, fromEnd, beforeEnd:
		w.until = noEnd
	}
}

// begin is where the window begins, as it was asked for. A commit beyond the end
// stays as it is: a new leader may be about to learn how far its log reaches.
func (w *window) begin(from bound, end, fromTime int64) int64 {
	if w.hasCommit {
		return w.committed
	}
	switch from.kind {
	case fromEnd:
		return end
	case beforeEnd:
		return max(w.logStart, end-from.n)
	case atTime:
		return fromTime
	case atOffset:
		return from.n
	default:
		return w.logStart
	}
}

// describe tells what a read covers, in one line however many partitions
// there are.
func describe(windows []window) string {
	const most = 4
	if len(windows) <= most {
		words := make([]string, len(windows))
		for i, w := range windows {
			words[i] = w.String()
		}
		return strings.Join(words, ", ")
	}
	var offsets int64
	for _, w := range windows {
		if w.until == noEnd {
			return fmt.Sprintf("%d partitions, no end", len(windows))
		}
		offsets += max(0, w.until-w.from)
	}
	return fmt.Sprintf("%d partitions, %d offsets", len(windows), offsets)
}
