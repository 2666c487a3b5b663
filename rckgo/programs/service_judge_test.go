package programs

import (
	"fmt"
	"slices"
	"sort"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/internal/kafkatest"
)

// ingested is a line that the service wrote.
type ingested struct {
	Topic     string    `json:"topic"`
	Partition int32     `json:"partition"`
	Offset    int64     `json:"offset"`
	Session   int64     `json:"session"`
	Seq       int64     `json:"seq"`
	Key       []byte    `json:"key"`
	Value     []byte    `json:"value_sha256"`
	At        time.Time `json:"at"`
}

// sessionKey names a partition's assignment to a process.
type sessionKey struct {
	instance string
	session  int64
}

// begun is where an assignment began.
type begun struct {
	partition int32
	offset    int64 // the group's commit, or the log's start
}

// committed is a record that a reader at read_committed has to get.
type committed struct {
	offset     int64
	key, value string // the value's hash
}

// groupLog is what the processes of a group wrote.
type groupLog struct {
	begins  map[sessionKey]begun
	lines   map[sessionKey][]ingested
	count   int                      // of lines
	offsets map[int32]map[int64]bool // that are in lines
}

func newGroupLog() *groupLog {
	return &groupLog{begins: map[sessionKey]begun{}, lines: map[sessionKey][]ingested{}, offsets: map[int32]map[int64]bool{}}
}

// judgement is what is wrong with what a group ingested, and how much it was.
type judgement struct {
	records, repeats                             int
	strangers, altered, lost, misplaced, doubled int
	lines                                        []string
}

func (j *judgement) wrong(count *int, format string, args ...any) {
	*count++
	if len(j.lines) < kafkatest.MaxFindings {
		j.lines = append(j.lines, fmt.Sprintf(format, args...))
	}
}

// judge holds a group's lines against what it had to ingest. In a session the
// n-th record is the n-th that can be seen from the session's start on; all
// sessions together have all records. A record that is in two sessions was read
// again from a commit on.
func judge(log *groupLog, wanted map[int32][]committed) *judgement {
	j := &judgement{}
	seen := map[int32][]int{}
	for p, records := range wanted {
		seen[p] = make([]int, len(records))
	}
	for key, lines := range log.lines {
		j.session(key, log.begins, lines, wanted, seen)
	}
	for p, counts := range seen {
		for i, n := range counts {
			if n == 0 {
				j.wrong(&j.lost, "lost: partition %d offset %d", p, wanted[p][i].offset)
			}
			j.repeats += max(0, n-1)
		}
	}
	return j
}

func (j *judgement) session(key sessionKey, begins map[sessionKey]begun, lines []ingested, wanted map[int32][]committed, seen map[int32][]int) {
	begin, found := begins[key]
	if !found {
		j.wrong(&j.misplaced, "misplaced: %v has %d lines and never began", key, len(lines))
	}
	records := wanted[begin.partition]
	first := place(records, begin.offset)
	taken := map[int64]bool{}
	for _, l := range lines {
		j.records++
		i := place(wanted[l.Partition], l.Offset)
		if i == len(wanted[l.Partition]) || wanted[l.Partition][i].offset != l.Offset {
			j.wrong(&j.strangers, "not committed: partition %d offset %d, ingested by %v", l.Partition, l.Offset, key)
			continue
		}
		if w := wanted[l.Partition][i]; w.key != string(l.Key) || w.value != string(l.Value) {
			j.wrong(&j.altered, "altered: partition %d offset %d, ingested by %v", l.Partition, l.Offset, key)
		}
		if found && (l.Partition != begin.partition || int64(i) != int64(first)+l.Seq-1) {
			j.wrong(&j.misplaced, "misplaced: partition %d offset %d is number %d of %v, which began at %+v", l.Partition, l.Offset, l.Seq, key, begin)
		}
		if taken[l.Offset] {
			j.wrong(&j.doubled, "doubled: partition %d offset %d, by %v", l.Partition, l.Offset, key)
		}
		taken[l.Offset] = true
		seen[l.Partition][i]++
	}
}

// place is the index of the first record at an offset or after it.
func place(records []committed, offset int64) int {
	return sort.Search(len(records), func(i int) bool { return records[i].offset >= offset })
}

func TestServiceJudgeSeesEveryKindOfMistake(t *testing.T) {
	wanted := map[int32][]committed{0: {{0, "k", "v"}, {1, "k", "v"}, {4, "k", "v"}, {5, "k", "v"}}}
	key := func(session int64) sessionKey { return sessionKey{"a", session} }
	pick := func(log *groupLog, session, start int64, offsets ...int64) {
		log.begins[key(session)] = begun{0, start}
		for i, o := range offsets {
			log.lines[key(session)] = append(log.lines[key(session)],
				ingested{Offset: o, Session: session, Seq: int64(i) + 1, Key: []byte("k"), Value: []byte("v")})
		}
	}
	tests := []struct {
		name string
		fill func(*groupLog)
		want judgement
	}{
		{"all", func(l *groupLog) { pick(l, 1, 0, 0, 1, 4, 5) }, judgement{records: 4}},
		{"lanes that overtake each other", func(l *groupLog) {
			pick(l, 1, -2, 0, 1, 4, 5)
			slices.Reverse(l.lines[key(1)])
		}, judgement{records: 4}},
		{"killed before a lane had written", func(l *groupLog) {
			pick(l, 1, 0, 0, 1, 4)
			l.lines[key(1)] = slices.Delete(l.lines[key(1)], 1, 2)
			pick(l, 2, 1, 1, 4, 5)
		}, judgement{records: 5, repeats: 1}},
		{"aborted", func(l *groupLog) { pick(l, 1, 0, 0, 1, 4, 5, 2) }, judgement{records: 5, strangers: 1}},
		{"end missing", func(l *groupLog) { pick(l, 1, 0, 0, 1) }, judgement{records: 2, lost: 2}},
		{"hole", func(l *groupLog) { pick(l, 1, 0, 0, 4, 5); pick(l, 2, 1, 1) }, judgement{records: 4, misplaced: 2}},
		{"twice", func(l *groupLog) { pick(l, 1, 0, 0, 1, 4, 5, 5) }, judgement{records: 5, repeats: 1, misplaced: 1, doubled: 1}},
		{"committed beyond what was ingested", func(l *groupLog) { pick(l, 1, 0, 0); pick(l, 2, 4, 4, 5) }, judgement{records: 3, lost: 1}},
		{"below the commit", func(l *groupLog) { pick(l, 1, 0, 0, 1); pick(l, 2, 4, 1, 4, 5) }, judgement{records: 5, repeats: 1, misplaced: 3}},
		{"other value", func(l *groupLog) { pick(l, 1, 0, 0, 1, 4, 5); l.lines[key(1)][2].Value = []byte("w") }, judgement{records: 4, altered: 1}},
		{"no start", func(l *groupLog) { pick(l, 1, 0, 0, 1, 4, 5); delete(l.begins, key(1)) }, judgement{records: 4, misplaced: 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			log := newGroupLog()
			test.fill(log)
			got := judge(log, wanted)
			wrong := got.strangers + got.altered + got.lost + got.misplaced + got.doubled
			require.Len(t, got.lines, wrong)
			got.lines = nil
			require.Equal(t, &test.want, got)
		})
	}
}
