package rcconsumer_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rcconsumer"
)

// rules is a group member that does things at random, and what the rules allow
// to be committed of them.
type rules struct {
	t    *testing.T
	w    *world
	c    *rcconsumer.Consumer
	r    *rand.Rand
	mode string

	end     int64   // of the log
	records []int64 // committed records, in order

	start   int64 // where reading began or was moved to
	handed  int64 // one past the last record handed out; start if there is none
	done    int64 // records from here on are not worked on
	asked   bool  // something was committed by hand since the start
	rewound bool  // reading was moved since the group's commit changed
	held    int64 // what the group holds
	seen    []*kgo.Record
	log     []string
}

// bound is the lowest record from an offset on, or the end of the log: no commit
// may pass it.
func (m *rules) bound(from int64) int64 {
	i, _ := slices.BinarySearch(m.records, from)
	if i < len(m.records) {
		return max(m.records[i], from)
	}
	return max(m.end, from)
}

// write appends a batch and returns what it was.
func (m *rules) write() string {
	n := 1 + m.r.IntN(4)
	kind := m.r.IntN(3)
	if kind < 2 {
		for i := range int64(n) {
			m.records = append(m.records, m.end+i)
		}
	}
	m.end += int64(n)
	switch kind {
	case 0:
		m.w.produce(topic, 0, values(n)...)
		return fmt.Sprintf("plain %d", n)
	default:
		m.end++ // the marker
		m.w.begin(topic, 0, values(n)...)(kind == 1)
		return fmt.Sprintf("transaction of %d committed: %v", n, kind == 1)
	}
}

func (m *rules) poll() string {
	if m.mode == "plain" {
		m.done = max(m.done, m.handed)
	}
	time.Sleep(beat)
	rs := m.c.PollRecords(noWait, 1+m.r.IntN(5)).Records()
	for _, r := range rs {
		require.Equal(m.t, m.bound(m.handed), r.Offset, "%s", m.log)
		m.handed = r.Offset + 1
	}
	if m.mode == "greedy" {
		m.done = max(m.done, m.handed)
	}
	m.seen = append(m.seen, rs...)
	return fmt.Sprintf("polled %d", len(rs))
}

// pick is a record of those handed out since reading began here.
func (m *rules) pick() *kgo.Record {
	if len(m.seen) == 0 {
		return nil
	}
	return m.seen[m.r.IntN(len(m.seen))]
}

func (m *rules) mark() string {
	r := m.pick()
	if r == nil {
		return ""
	}
	m.c.MarkCommitRecords(r)
	if m.mode == "marks" {
		m.done = max(m.done, r.Offset+1)
	}
	return fmt.Sprintf("marked %d", r.Offset)
}

func (m *rules) commitAll() string {
	m.done = max(m.done, m.handed)
	require.NoError(m.t, m.c.CommitUncommittedOffsets(m.t.Context()))
	m.asked = true
	return "committed everything"
}

func (m *rules) commitRecord() string {
	r := m.pick()
	if r == nil {
		return ""
	}
	m.done = max(m.done, r.Offset+1)
	require.NoError(m.t, m.c.CommitRecords(m.t.Context(), r))
	m.asked = true
	return fmt.Sprintf("committed record %d", r.Offset)
}

func (m *rules) seek() string {
	to := m.r.Int64N(m.end + 1)
	seek(m.c, to)
	m.start, m.handed, m.done, m.seen = to, to, to, nil
	m.rewound, m.asked = true, false
	return fmt.Sprintf("sought %d", to)
}

func (m *rules) step() {
	what := ""
	switch m.r.IntN(11) {
	case 0, 1:
		what = m.write()
	case 2, 3, 4, 5:
		what = m.poll()
	case 6:
		what = m.mark()
	case 7:
		what = m.commitAll()
	case 8:
		what = m.commitRecord()
	case 9:
		if m.r.IntN(3) == 0 {
			what = m.seek()
		}
	case 10:
		time.Sleep(interval)
		what = "waited"
	}
	if what != "" {
		m.log = append(m.log, what)
	}
	m.check()
}

// check compares what the group holds with what the rules allow.
func (m *rules) check() {
	now := m.w.committed(0)
	if now == m.held {
		return
	}
	m.log = append(m.log, fmt.Sprintf("the group holds %d", now))
	require.LessOrEqual(m.t, now, m.bound(m.done), "a record that is not worked on: %s", m.log)
	require.LessOrEqual(m.t, now, m.bound(m.handed), "a record that was not handed out: %s", m.log)
	if now < m.held {
		require.True(m.t, m.rewound, "back without a seek: %s", m.log)
	}
	if m.mode == "manual" && now > m.bound(m.start) {
		require.True(m.t, m.asked, "nobody asked since reading began there: %s", m.log)
	}
	require.Equal(m.t, now, position(m.c).Committed)
	m.held, m.rewound = now, false
}

// finish reads and commits all there is: no lag is left.
func (m *rules) finish() {
	for len(m.records) > 0 && m.handed <= m.records[len(m.records)-1] {
		m.poll()
	}
	m.poll()
	m.c.MarkCommitRecords(m.seen...)
	if m.mode == "manual" || m.mode == "marks" {
		m.commitAll()
	}
	m.w.abort("the last")
	m.end += 2
	time.Sleep(2*interval + beat)
	require.EqualValues(m.t, m.end, m.w.committed(0), "%s", m.log)
	require.True(m.t, position(m.c).CaughtUp())
}

func TestRandomCommitsKeepTheRules(t *testing.T) {
	modes := map[string][]kgo.Opt{
		"plain": nil, "greedy": {kgo.GreedyAutoCommit()}, "marks": {kgo.AutoCommitMarks()}, "manual": {manually},
	}
	for mode, opts := range modes {
		for i := range 5 {
			t.Run(fmt.Sprint(mode, " ", i), func(t *testing.T) {
				inWorld(t, 1, 1, func(t *testing.T, w *world) {
					seed := rand.Uint64()
					t.Log("seed", seed)
					m := &rules{t: t, w: w, r: rand.New(rand.NewPCG(seed, 3)), mode: mode, held: -1}
					for range 5 {
						m.log = append(m.log, m.write())
					}
					m.c = w.member(opts...)
					for range 60 {
						m.step()
					}
					m.finish()
				})
			})
		}
	}
}
