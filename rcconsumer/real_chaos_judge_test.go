package rcconsumer_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// stamp is what the value of every record says: who wrote it.
type stamp struct {
	writer, index uint16
	txn           uint32 // 0 outside of transactions
}

func (s stamp) String() string {
	return fmt.Sprintf("writer %d, transaction %d, record %d", s.writer, s.txn, s.index)
}

// value makes a record's value; padding follows a blank.
func (s stamp) value(padding int) []byte {
	return fmt.Appendf(nil, "%d/%d/%d %s", s.writer, s.txn, s.index, strings.Repeat("x", padding))
}

// stampOf is the opposite of value.
func stampOf(value []byte) (s stamp, err error) {
	text, _, _ := strings.Cut(string(value), " ")
	parts := strings.Split(text, "/")
	if len(parts) != 3 {
		return s, fmt.Errorf("value %.40q bears no stamp", value)
	}
	var n [3]uint64
	for i, bits := range []int{16, 32, 16} {
		if n[i], err = strconv.ParseUint(parts[i], 10, bits); err != nil {
			return s, fmt.Errorf("value %.40q: %w", value, err)
		}
	}
	return stamp{writer: uint16(n[0]), txn: uint32(n[1]), index: uint16(n[2])}, nil
}

// entry is a record of one partition.
type entry struct {
	offset int64
	stamp
}

// logged is a record in the log, and what became of it.
type logged struct {
	entry
	producerID int64
	fate       fate // plain, commit or abort; empty while its transaction is open
}

func (l logged) visible(uncommitted bool) bool {
	return uncommitted || l.fate == plain || l.fate == commit
}

// session is what a reader got of one partition from an assignment on. A reader
// without a group has one for each partition.
type session struct {
	member string
	start  int64 // where it had to begin, inclusive
	got    []entry
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

// maxFindings bounds the lines of one verdict; the counts go on.
const maxFindings = 20

func (v *verdict) wrong() int { return v.leaks + v.losses + v.gaps + v.breaks + v.duplicates }

// partitionJudge compares what one reader got of one partition with the log.
type partitionJudge struct {
	*verdict
	partition int32
	log       []logged
	wanted    []logged // the part of the log that the reader has to see
	seen      []int    // how often it saw each
}

// judge adds to v what a reader did with a partition. Each session has to hold
// all that is visible from its start on, without a gap, up to its own end; all
// sessions together have to hold everything.
func (v *verdict) judge(partition int32, log []logged, uncommitted bool, sessions []session) {
	j := partitionJudge{verdict: v, partition: partition, log: log}
	for _, l := range log {
		if l.visible(uncommitted) {
			j.wanted = append(j.wanted, l)
		}
	}
	j.seen = make([]int, len(j.wanted))
	for _, s := range sessions {
		j.session(s)
	}
	for i, n := range j.seen {
		if n == 0 {
			j.add(&j.losses, 1, "lost", j.wanted[i].entry, "never delivered")
		}
	}
}

// add counts n records and says what is wrong with them, the first being e.
func (j *partitionJudge) add(count *int, n int, kind string, e entry, format string, args ...any) {
	*count += n
	if len(j.lines) < maxFindings {
		j.lines = append(j.lines, fmt.Sprintf("%s: partition %d offset %d (%v): %s; written %s",
			kind, j.partition, e.offset, e.stamp, fmt.Sprintf(format, args...), j.when.at(j.partition, e.offset)))
	}
}

func (j *partitionJudge) session(s session) {
	next, _ := find(j.wanted, s.start)
	last := s.start - 1
	for _, e := range s.got {
		j.delivered++
		i, found := find(j.wanted, e.offset)
		switch {
		case !found || j.wanted[i].stamp != e.stamp:
			j.add(&j.leaks, 1, "leaked", e, "delivered to %s; %s", s.member, j.inLog(e))
			continue
		case e.offset <= last && i < next && j.seen[i] > 0:
			j.add(&j.duplicates, 1, "duplicate", e, "delivered to %s after offset %d; the session began at %d", s.member, last, s.start)
			continue
		case e.offset <= last:
			j.add(&j.breaks, 1, "out of order", e, "delivered to %s after offset %d; the session began at %d", s.member, last, s.start)
		case i > next:
			j.add(&j.gaps, i-next, "gap", j.wanted[next].entry, "the first of %d missing in front of offset %d, delivered to %s; the session began at %d",
				i-next, e.offset, s.member, s.start)
		}
		if j.seen[i]++; j.seen[i] > 1 {
			j.repeats++
		}
		next, last = i+1, e.offset
	}
}

// inLog says what the log has at an offset that should not have been delivered.
func (j *partitionJudge) inLog(e entry) string {
	i, found := find(j.log, e.offset)
	if !found {
		return "the log has no record there"
	}
	if l := j.log[i]; l.stamp == e.stamp {
		return fmt.Sprintf("in the log it is %q, producer ID %d", l.fate, l.producerID)
	}
	return fmt.Sprintf("the log has another record there (%v)", j.log[i].stamp)
}

func find(log []logged, offset int64) (int, bool) {
	return slices.BinarySearchFunc(log, offset, func(l logged, o int64) int {
		switch {
		case l.offset < o:
			return -1
		case l.offset > o:
			return 1
		}
		return 0
	})
}

func TestChaosJudgeSeesEveryKindOfMistake(t *testing.T) {
	// Offsets 0, 1 committed, 2 aborted, 4 plain, 5 committed; 3 and 6 are markers.
	log := []logged{
		{entry{0, stamp{1, 0, 1}}, 7, commit},
		{entry{1, stamp{1, 1, 1}}, 7, commit},
		{entry{2, stamp{2, 0, 1}}, 8, abort},
		{entry{4, stamp{3, 0, 0}}, 9, plain},
		{entry{5, stamp{1, 2, 1}}, 7, commit},
	}
	pick := func(start int64, offsets ...int64) session {
		s := session{member: "m", start: start}
		for _, o := range offsets {
			e := entry{offset: o, stamp: stamp{9, 9, 9}}
			if i, ok := find(log, o); ok {
				e = log[i].entry
			}
			s.got = append(s.got, e)
		}
		return s
	}
	wrongStamp := pick(0, 0, 1, 4, 5)
	wrongStamp.got[1].txn++
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
