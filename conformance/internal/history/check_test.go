package history

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var t0 = time.Unix(1000, 0)

// story is a history that a test tells by hand, in one partition unless said.
type story struct {
	c     *Checker
	log   *Reader
	r, s  *Reader
	txns  map[string]*Transaction
	value map[string][][]byte
}

func newStory() *story {
	c := NewChecker(7, 2)
	return &story{
		c: c, log: c.Log(), r: c.Reader("r"), s: c.Reader("s"),
		txns: map[string]*Transaction{}, value: map[string][][]byte{},
	}
}

// begin starts a transaction of a producer that writes one batch to each of
// some partitions.
func (s *story) begin(name string, producer int, ending Ending, records int, partitions ...int) {
	plan := Txn{Ending: ending}
	if len(partitions) == 0 {
		partitions = []int{0}
	}
	for _, p := range partitions {
		plan.Writes = append(plan.Writes, Write{Partition: p, Records: records})
	}
	s.txns[name] = s.c.Begin(producer, 0, len(s.txns)+1, plan)
	for _, p := range partitions {
		s.value[fmt.Sprint(name, p)] = s.txns[name].Values(p, records, 3)
	}
}

func (s *story) records(name string, partition int, base int64, which ...int) []Record {
	var out []Record
	for i, v := range s.value[fmt.Sprint(name, partition)] {
		if len(which) == 0 || i >= which[0] && i < which[1] {
			out = append(out, Record{base + int64(i), v})
		}
	}
	return out
}

// logged shows a batch in the log, where it was acknowledged, of a producer ID
// that is its name's first letter.
func (s *story) logged(name string, partition int, base int64) {
	s.txns[name].Acknowledged(partition, base)
	s.log.Logged(partition, int64(name[0]), s.records(name, partition, base))
}

func (s *story) commit(name string, at time.Time) {
	s.txns[name].Committing(at)
	s.txns[name].Committed()
}

func (s *story) marked(name string, partition int, offset int64, fate Fate) {
	s.log.Marked(partition, int64(name[0]), offset, fate)
}

func (s *story) end() {
	for p := range 2 {
		for _, r := range s.c.readers {
			r.Finish(p, 1000)
		}
	}
}

func TestAnomalies(t *testing.T) {
	after := t0.Add(time.Second)
	for _, k := range []struct {
		name string
		tell func(*story)
		want []Kind
		by   string // the reader of the first anomaly
	}{
		{"a commit that both read", func(s *story) {
			s.begin("a", 1, Commit, 2)
			s.logged("a", 0, 0)
			s.commit("a", t0)
			s.marked("a", 0, 2, Committed)
			s.r.Read(0, after, s.records("a", 0, 0))
			s.s.Read(0, after, s.records("a", 0, 0))
		}, nil, ""},
		{"an abort that nobody reads", func(s *story) {
			s.begin("a", 1, Abort, 2)
			s.logged("a", 0, 0)
			s.txns["a"].Dead()
			s.marked("a", 0, 2, Aborted)
		}, nil, ""},
		{"an aborted record before one that is read", func(s *story) {
			s.begin("a", 1, Abort, 2)
			s.logged("a", 0, 0)
			s.txns["a"].Dead()
			s.marked("a", 0, 2, Aborted)
			s.begin("a2", 1, Commit, 1)
			s.logged("a2", 0, 3)
			s.commit("a2", t0)
			s.marked("a2", 0, 4, Committed)
			s.r.Read(0, after, s.records("a2", 0, 3))
			s.s.Read(0, after, s.records("a2", 0, 3))
		}, nil, ""},
		{"aborted read, G1a", func(s *story) {
			s.begin("a", 1, Abort, 2)
			s.logged("a", 0, 0)
			s.txns["a"].Dead()
			s.r.Read(0, after, s.records("a", 0, 0))
		}, []Kind{AbortedRead}, "r"},
		{"aborted read that the log decides later", func(s *story) {
			s.begin("a", 1, Leave, 1)
			s.logged("a", 0, 0)
			s.txns["a"].Committing(t0)
			s.r.Read(0, after, s.records("a", 0, 0))
			s.marked("a", 0, 1, Aborted)
		}, []Kind{AbortedRead}, "r"},
		{"aborted read of what its producer gave up", func(s *story) {
			s.begin("a", 1, Commit, 1)
			s.logged("a", 0, 0)
			s.txns["a"].Dead()
			s.marked("a", 0, 1, Aborted)
			s.s.Read(0, after, s.records("a", 0, 0))
		}, []Kind{AbortedRead}, "s"},
		{"dirty read of an open transaction", func(s *story) {
			s.begin("a", 1, Commit, 1)
			s.logged("a", 0, 0)
			s.r.Read(0, t0, s.records("a", 0, 0))
			s.s.Read(0, t0, s.records("a", 0, 0))
			s.commit("a", after)
			s.marked("a", 0, 1, Committed)
		}, []Kind{EarlyRead}, "r"},
		{"early read, known when the commit was sent", func(s *story) {
			s.begin("a", 1, Commit, 1)
			s.logged("a", 0, 0)
			s.commit("a", after)
			s.r.Read(0, t0, s.records("a", 0, 0))
			s.s.Read(0, after, s.records("a", 0, 0))
			s.marked("a", 0, 1, Committed)
		}, []Kind{EarlyRead}, "r"},
		{"a read at the moment of the commit", func(s *story) {
			s.begin("a", 1, Commit, 1)
			s.logged("a", 0, 0)
			s.commit("a", t0)
			s.r.Read(0, t0, s.records("a", 0, 0))
			s.s.Read(0, t0, s.records("a", 0, 0))
			s.marked("a", 0, 1, Committed)
		}, nil, ""},
		{"zombie: what was fenced has a COMMIT marker", func(s *story) {
			s.begin("a", 1, Zombie, 1)
			s.txns["a"].Dead()
			s.logged("a", 0, 0)
			s.marked("a", 0, 1, Committed)
			s.r.Read(0, after, s.records("a", 0, 0))
		}, []Kind{AbortedRead, WrongCommit}, ""},
		{"intermediate read, G1b", func(s *story) {
			s.begin("a", 1, Commit, 3)
			s.logged("a", 0, 0)
			s.commit("a", t0)
			s.marked("a", 0, 3, Committed)
			s.begin("a2", 1, Commit, 1)
			s.logged("a2", 0, 4)
			s.commit("a2", t0)
			s.marked("a2", 0, 5, Committed)
			s.r.Read(0, after, s.records("a", 0, 0, 0, 1))
			s.r.Read(0, after, s.records("a2", 0, 4))
			s.s.Read(0, after, append(s.records("a", 0, 0), s.records("a2", 0, 4)...))
		}, []Kind{Torn}, "r"},
		{"a hole within a transaction", func(s *story) {
			s.begin("a", 1, Commit, 3)
			s.logged("a", 0, 0)
			s.commit("a", t0)
			s.marked("a", 0, 3, Committed)
			all := s.records("a", 0, 0)
			s.r.Read(0, after, []Record{all[0], all[2]})
			s.s.Read(0, after, all)
		}, []Kind{Torn}, "r"},
		{"torn between partitions", func(s *story) {
			s.begin("a", 1, Leave, 1, 0, 1)
			s.txns["a"].Committing(t0)
			s.logged("a", 0, 0)
			s.logged("a", 1, 0)
			s.marked("a", 0, 1, Committed)
			s.marked("a", 1, 1, Aborted)
			s.r.Read(0, after, s.records("a", 0, 0))
			s.s.Read(0, after, s.records("a", 0, 0))
		}, []Kind{Torn}, ""},
		{"torn within a partition by two markers", func(s *story) {
			s.begin("a", 1, Leave, 2)
			s.txns["a"].Committing(t0)
			s.log.Logged(0, 'a', s.records("a", 0, 0, 0, 1))
			s.marked("a", 0, 1, Aborted)
			v := s.value["a0"][1]
			s.log.Logged(0, 'a', []Record{{2, v}})
			s.marked("a", 0, 3, Committed)
		}, []Kind{Lost, Moved, Torn}, ""},
		{"seen in one partition and not yet in another", func(s *story) {
			s.begin("a", 1, Commit, 1, 0, 1)
			s.logged("a", 0, 0)
			s.logged("a", 1, 0)
			s.commit("a", t0)
			s.marked("a", 0, 1, Committed)
			s.r.Read(0, after, s.records("a", 0, 0))
			s.s.Read(0, after, s.records("a", 0, 0))
			s.marked("a", 1, 1, Committed)
			s.r.Read(1, after, s.records("a", 1, 0))
			s.s.Read(1, after, s.records("a", 1, 0))
		}, nil, ""},
		{"writes in opposite orders, G0", func(s *story) {
			s.begin("a", 1, Commit, 1, 0, 1)
			s.begin("b", 2, Commit, 1, 0, 1)
			s.logged("a", 0, 0)
			s.logged("b", 0, 1)
			s.logged("b", 1, 0)
			s.logged("a", 1, 1)
			s.commit("a", t0)
			s.commit("b", t0)
			for _, n := range []string{"a", "b"} {
				for p := range 2 {
					s.marked(n, p, 2, Committed)
				}
			}
			for _, r := range []*Reader{s.r, s.s} {
				r.Read(0, after, append(s.records("a", 0, 0), s.records("b", 0, 1)...))
				r.Read(1, after, append(s.records("b", 1, 0), s.records("a", 1, 1)...))
			}
		}, nil, ""},
		{"lost by one reader", func(s *story) {
			s.begin("a", 1, Commit, 1)
			s.logged("a", 0, 0)
			s.commit("a", t0)
			s.marked("a", 0, 1, Committed)
			s.s.Read(0, after, s.records("a", 0, 0))
		}, []Kind{Lost}, "r"},
		{"lost, and decided after it was passed by", func(s *story) {
			s.begin("a", 1, Leave, 1)
			s.logged("a", 0, 0)
			s.txns["a"].Committing(t0)
			s.begin("a2", 1, Commit, 1)
			s.logged("a2", 0, 3)
			s.commit("a2", t0)
			s.r.Read(0, after, s.records("a2", 0, 3))
			s.s.Read(0, after, append(s.records("a", 0, 0), s.records("a2", 0, 3)...))
			s.marked("a", 0, 4, Committed)
		}, []Kind{Lost}, "r"},
		{"an acknowledged write that the log never has", func(s *story) {
			s.begin("a", 1, Commit, 1)
			s.txns["a"].Acknowledged(0, 5)
			s.commit("a", t0)
		}, []Kind{BrokenCommit, Lost}, ""},
		{"an acknowledged write that the log was read past", func(s *story) {
			s.begin("a", 1, Plain, 1)
			s.begin("a2", 1, Plain, 1)
			s.txns["a"].Committing(t0)
			s.txns["a2"].Committing(t0)
			s.log.Logged(0, -1, s.records("a2", 0, 1))
			s.txns["a"].Acknowledged(0, 0)
			s.r.Read(0, after, s.records("a2", 0, 1))
			s.s.Read(0, after, s.records("a2", 0, 1))
		}, []Kind{Lost}, ""},
		{"a write without an answer that never came", func(s *story) {
			s.begin("a", 1, Crash, 1)
			s.txns["a"].Dead()
			s.begin("a2", 1, Plain, 1)
			s.txns["a2"].Committing(t0)
		}, nil, ""},
		{"an acknowledged commit that was aborted", func(s *story) {
			s.begin("a", 1, Commit, 1)
			s.logged("a", 0, 0)
			s.commit("a", t0)
			s.marked("a", 0, 1, Aborted)
		}, []Kind{BrokenCommit}, ""},
		{"aborted records that read_uncommitted hides", func(s *story) {
			s.begin("a", 1, Abort, 1)
			s.txns["a"].Acknowledged(0, 0)
			s.txns["a"].Dead()
			s.marked("a", 0, 1, Aborted)
		}, nil, ""},
		{"a commit without an answer that was aborted, where read_uncommitted hides that", func(s *story) {
			s.begin("a", 1, Commit, 1)
			s.txns["a"].Acknowledged(0, 0)
			s.txns["a"].Committing(t0)
			s.marked("a", 0, 1, Aborted)
		}, nil, ""},
		{"the same where aborted records are shown", func(s *story) {
			s.begin("z", 3, Abort, 1)
			s.logged("z", 0, 0)
			s.marked("z", 0, 1, Aborted)
			s.begin("a", 1, Commit, 1)
			s.txns["a"].Acknowledged(0, 2)
			s.txns["a"].Committing(t0)
			s.marked("a", 0, 3, Aborted)
		}, []Kind{Lost}, ""},
		{"duplicate", func(s *story) {
			s.begin("a", 1, Commit, 1)
			s.logged("a", 0, 0)
			s.commit("a", t0)
			s.log.Logged(0, 'a', s.records("a", 0, 1))
			s.marked("a", 0, 2, Committed)
			both := append(s.records("a", 0, 0), s.records("a", 0, 1)...)
			s.r.Read(0, after, both)
			s.s.Read(0, after, both)
		}, []Kind{Duplicate}, ""},
		{"nonmonotonic send", func(s *story) {
			s.begin("a", 1, Plain, 1)
			s.begin("a2", 1, Plain, 1)
			s.txns["a"].Committing(t0)
			s.txns["a2"].Committing(t0)
			s.log.Logged(0, -1, append(s.records("a2", 0, 0), s.records("a", 0, 1)...))
		}, []Kind{Duplicate, Lost}, ""},
		{"nonmonotonic poll", func(s *story) {
			s.begin("a", 1, Commit, 2)
			s.logged("a", 0, 0)
			s.commit("a", t0)
			s.marked("a", 0, 2, Committed)
			s.r.Read(0, after, s.records("a", 0, 0))
			s.r.Read(0, after, s.records("a", 0, 0, 1, 2))
			s.s.Read(0, after, s.records("a", 0, 0))
		}, []Kind{Backwards}, "r"},
		{"inconsistent offsets of two readers", func(s *story) {
			s.begin("a", 1, Plain, 1)
			s.txns["a"].Committing(t0)
			s.r.Read(0, after, s.records("a", 0, 0))
			s.s.Read(0, after, s.records("a", 0, 1))
			s.log.Logged(0, -1, s.records("a", 0, 0))
		}, []Kind{Moved}, "s"},
		{"spurious offset of an acknowledgement", func(s *story) {
			s.begin("a", 1, Plain, 1)
			s.txns["a"].Committing(t0)
			s.log.Logged(0, -1, s.records("a", 0, 4))
			s.txns["a"].Acknowledged(0, 0)
			s.r.Read(0, after, s.records("a", 0, 4))
			s.s.Read(0, after, s.records("a", 0, 4))
		}, []Kind{Moved}, ""},
		{"garbage", func(s *story) { s.r.Read(0, after, []Record{{0, []byte("x")}}) }, []Kind{Garbage}, "r"},
		{"a record of another run", func(s *story) {
			s.begin("a", 1, Plain, 1)
			v := Value{Run: 8, Producer: 1, Count: 1, Partitions: 1, Number: 1}
			s.r.Read(0, after, []Record{{0, v.Encode(0)}})
		}, []Kind{Garbage}, "r"},
		{"a record of another partition", func(s *story) {
			s.begin("a", 1, Plain, 1, 1)
			s.txns["a"].Committing(t0)
			s.r.Read(0, after, s.records("a", 1, 0))
		}, []Kind{Garbage}, "r"},
		{"a record that was not written yet", func(s *story) {
			s.begin("a", 1, Plain, 1)
			s.txns["a"].Committing(t0)
			v := Value{Run: 7, Producer: 1, Count: 1, Partitions: 1, Number: 9}
			s.r.Read(0, after, []Record{{0, v.Encode(0)}})
		}, []Kind{Garbage}, "r"},
	} {
		t.Run(k.name, func(t *testing.T) {
			s := newStory()
			k.tell(s)
			s.end()
			found, all := s.c.Anomalies()
			require.Equal(t, k.want, Signature(found), "%v", found)
			require.GreaterOrEqual(t, all, len(found))
			if k.by != "" {
				require.Equal(t, k.by, found[0].Reader, "%v", found)
			}
			if len(k.want) > 0 {
				require.True(t, s.c.Saw(found[0].Reader))
			}
		})
	}
}

func TestHiddenRecordsAreCounted(t *testing.T) {
	s := newStory()
	s.begin("a", 1, Abort, 3)
	s.txns["a"].Acknowledged(0, 0)
	s.txns["a"].Dead()
	s.end()
	unjudged, hidden := s.c.Unjudged()
	require.Zero(t, unjudged)
	require.Equal(t, 3, hidden)
}

func TestAnomaliesAreCountedAndFewAreKept(t *testing.T) {
	c := NewChecker(7, 1)
	r := c.Reader("r")
	for i := range 50 {
		r.Read(0, t0, []Record{{int64(i), nil}})
	}
	found, all := c.Anomalies()
	require.Len(t, found, anomaliesKept)
	require.Equal(t, 50, all)
}

func TestLagIsThatOfTheSlowestReader(t *testing.T) {
	s := newStory()
	s.begin("a", 1, Plain, 5)
	s.txns["a"].Committing(t0)
	s.txns["a"].Acknowledged(0, 0)
	require.EqualValues(t, 5, s.c.Lag())
	s.log.Logged(0, -1, s.records("a", 0, 0))
	s.r.Read(0, t0, s.records("a", 0, 0, 0, 2))
	s.s.Passed(0, 5)
	require.EqualValues(t, 3, s.c.Lag())
	s.r.Leave()
	require.Zero(t, s.c.Lag())
}

func TestDigests(t *testing.T) {
	a, b := Digests{}, Digests{}
	for o := range int64(2500) {
		a.Add(o, []byte("x"))
		if o != 1500 {
			b.Add(o, []byte("x"))
		}
	}
	b.Add(9000, nil)
	require.Empty(t, a.Differ(a))
	require.Equal(t, []int64{1000, 9000}, a.Differ(b))
}
