package rcconsumer_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/internal/kafkatest"
)

// session is what a reader got of one partition from an assignment on. A reader
// without a group has one for each partition.
type session struct {
	member string
	start  int64 // where it had to begin, inclusive
	got    []kafkatest.Entry
}

// verdict is what a reader did wrong, and how much it did.
type verdict struct {
	delivered, leaks, losses, gaps, breaks, duplicates int
	repeats                                            int // delivered again in a later session
	lines                                              []string
	when                                               when
}

// when tells at which time of a run a partition had grown to an offset.
type when func(partition int32, offset int64) string

func (w when) at(partition int32, offset int64) string {
	if w == nil {
		return ""
	}
	return w(partition, offset)
}

func (v *verdict) wrong() int { return v.leaks + v.losses + v.gaps + v.breaks + v.duplicates }

// partitionJudge compares what one reader got of one partition with the log.
type partitionJudge struct {
	*verdict
	partition int32
	log       []kafkatest.Logged
	wanted    []kafkatest.Logged // the part of the log that the reader has to see
	seen      []int              // how often it saw each
}

// judge adds to v what a reader did with a partition. Each session has to hold
// all that is visible from its start on, without a gap, up to its own end; all
// sessions together have to hold everything.
func (v *verdict) judge(partition int32, log []kafkatest.Logged, uncommitted bool, sessions []session) {
	j := partitionJudge{verdict: v, partition: partition, log: log}
	for _, l := range log {
		if uncommitted || l.Visible() {
			j.wanted = append(j.wanted, l)
		}
	}
	j.seen = make([]int, len(j.wanted))
	for _, s := range sessions {
		j.session(s)
	}
	for i, n := range j.seen {
		if n == 0 {
			j.add(&j.losses, 1, "lost", j.wanted[i].Entry, "never delivered")
		}
	}
}

// add counts n records and says what is wrong with them, the first being e.
func (j *partitionJudge) add(count *int, n int, kind string, e kafkatest.Entry, format string, args ...any) {
	*count += n
	if len(j.lines) < kafkatest.MaxFindings {
		j.lines = append(j.lines, fmt.Sprintf("%s: partition %d offset %d (%v): %s; written %s",
			kind, j.partition, e.Offset, e.Stamp, fmt.Sprintf(format, args...), j.when.at(j.partition, e.Offset)))
	}
}

func (j *partitionJudge) session(s session) {
	next, _ := kafkatest.Find(j.wanted, s.start)
	last := s.start - 1
	for _, e := range s.got {
		j.delivered++
		i, found := kafkatest.Find(j.wanted, e.Offset)
		switch {
		case !found || j.wanted[i].Stamp != e.Stamp:
			j.add(&j.leaks, 1, "leaked", e, "delivered to %s; %s", s.member, j.inLog(e))
			continue
		case e.Offset <= last && i < next && j.seen[i] > 0:
			j.add(&j.duplicates, 1, "duplicate", e, "delivered to %s after offset %d; the session began at %d", s.member, last, s.start)
			continue
		case e.Offset <= last:
			j.add(&j.breaks, 1, "out of order", e, "delivered to %s after offset %d; the session began at %d", s.member, last, s.start)
		case i > next:
			j.add(&j.gaps, i-next, "gap", j.wanted[next].Entry, "the first of %d missing in front of offset %d, delivered to %s; the session began at %d",
				i-next, e.Offset, s.member, s.start)
		}
		if j.seen[i]++; j.seen[i] > 1 {
			j.repeats++
		}
		next, last = i+1, e.Offset
	}
}

// inLog says what the log has at an offset that should not have been delivered.
func (j *partitionJudge) inLog(e kafkatest.Entry) string {
	i, found := kafkatest.Find(j.log, e.Offset)
	if !found {
		return "the log has no record there"
	}
	if l := j.log[i]; l.Stamp == e.Stamp {
		return fmt.Sprintf("in the log it is %q, producer ID %d", l.Fate, l.ProducerID)
	}
	return fmt.Sprintf("the log has another record there (%v)", j.log[i].Stamp)
}

// record is one of the logs that the judge is tried with.
func record(offset int64, writer, index uint16, txn uint32, fate kafkatest.Fate) kafkatest.Logged {
	stamp := kafkatest.Stamp{Writer: writer, Index: index, Txn: txn}
	return kafkatest.Logged{Entry: kafkatest.Entry{Offset: offset, Stamp: stamp}, ProducerID: int64(writer) + 6, Fate: fate}
}

func TestChaosJudgeSeesEveryKindOfMistake(t *testing.T) {
	// Offsets 0, 1 committed, 2 aborted, 4 plain, 5 committed; 3 and 6 are markers.
	log := []kafkatest.Logged{
		record(0, 1, 0, 1, kafkatest.Committed),
		record(1, 1, 1, 1, kafkatest.Committed),
		record(2, 2, 0, 1, kafkatest.Aborted),
		record(4, 3, 0, 0, kafkatest.Plain),
		record(5, 1, 2, 1, kafkatest.Committed),
	}
	pick := func(start int64, offsets ...int64) session {
		s := session{member: "m", start: start}
		for _, o := range offsets {
			e := record(o, 9, 9, 9, kafkatest.Plain).Entry
			if i, ok := kafkatest.Find(log, o); ok {
				e = log[i].Entry
			}
			s.got = append(s.got, e)
		}
		return s
	}
	wrongStamp := pick(0, 0, 1, 4, 5)
	wrongStamp.got[1].Txn++
	tests := []struct {
		name     string
		sessions []session
		want     verdict
	}{
		{"all", []session{pick(0, 0, 1, 4, 5)}, verdict{delivered: 4}},
		{"aborted record", []session{pick(0, 0, 1, 2, 4, 5)}, verdict{delivered: 5, leaks: 1}},
		{"no record in the log", []session{pick(0, 0, 1, 3, 4, 5)}, verdict{delivered: 5, leaks: 1}},
		{"another record", []session{wrongStamp}, verdict{delivered: 4, leaks: 1, losses: 1, gaps: 1}},
		{"hole", []session{pick(0, 0, 4, 5)}, verdict{delivered: 3, losses: 1, gaps: 1}},
		{"end missing", []session{pick(0, 0, 1)}, verdict{delivered: 2, losses: 2}},
		{"twice", []session{pick(0, 0, 1, 1, 4, 5)}, verdict{delivered: 5, duplicates: 1}},
		{"back", []session{pick(0, 0, 4, 1, 5)}, verdict{delivered: 4, breaks: 1, gaps: 2}},
		{"below the start", []session{pick(0, 0, 1), pick(4, 1, 4, 5)}, verdict{delivered: 5, duplicates: 1}},
		{"again from the commit", []session{pick(0, 0, 1), pick(1, 1, 4, 5)}, verdict{delivered: 5, repeats: 1}},
		{"commit beyond what was delivered", []session{pick(0, 0), pick(3, 4, 5)}, verdict{delivered: 3, losses: 1}},
		{"hole that another session fills", []session{pick(0, 0, 4), pick(1, 1, 4, 5)}, verdict{delivered: 5, gaps: 1, repeats: 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got verdict
			got.judge(0, log, false, test.sessions)
			require.Equal(t, got.wrong() > 0, len(got.lines) > 0)
			got.lines = nil
			require.Equal(t, test.want, got)
		})
	}
}
