package rcconsumer_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// On topics without transactions there is nothing invisible, and what is
// committed is what kgo commits.
func TestCommitsOfPlainTopicsAreThoseOfKgo(t *testing.T) {
	tests := []struct {
		name    string
		opts    []kgo.Opt
		program func(*twin)
	}{
		{"auto-commit commits what earlier polls returned", []kgo.Opt{noteCommits()}, func(d *twin) {
			d.tick()
			d.state("before any poll")
			d.poll(4)
			d.tick()
			d.state("the latest poll is not committed")
			d.poll(4)
			d.tick()
			d.state("the one before it is")
			d.poll(4)
			d.poll(4)
			d.tick()
			d.state("a poll without records counts as one")
			d.note("leave: %v", d.LeaveGroupContext(d.t.Context()))
			d.state("left")
		}},
		{"the last commit on close leaves out the latest poll", []kgo.Opt{noteCommits()}, func(d *twin) {
			d.poll(3)
			d.poll(3)
			d.Close()
			d.state("closed")
		}},
		{"a poll whose context has ended counts as one", nil, func(d *twin) {
			d.poll(3)
			d.PollRecords(ended(), 1)
			d.tick()
			d.state("after it")
		}},
		{"greedy auto-commit commits the latest poll", []kgo.Opt{kgo.GreedyAutoCommit(), noteCommits()}, func(d *twin) {
			d.poll(4)
			d.tick()
			d.state("a poll")
			d.poll(2)
			d.Close()
			d.state("closed")
		}},
		{"a commit of the caller's goes ahead of auto-commit", nil, func(d *twin) {
			d.poll(5)
			d.state("polled")
			d.commitUncommitted()
			d.state("committed")
			d.tick()
			d.state("auto-commit does not set it back")
			d.commitUncommitted()
			d.poll(2)
			d.tick()
			d.state("another poll")
		}},
		{"nothing is committed unless asked for", []kgo.Opt{manually}, func(d *twin) {
			d.poll(3)
			d.poll(3)
			d.tick()
			d.state("polled")
			d.Close()
			d.state("closed")
		}},
		{"manual commits", []kgo.Opt{manually}, func(d *twin) {
			d.commitUncommitted()
			d.state("nothing to commit")
			d.poll(6)
			d.commitRecords(d.seen[0], d.seen[2], d.seen[1])
			d.state("some records")
			d.commitRecords()
			d.state("no records")
			d.commitUncommitted()
			d.state("everything")
			d.commitMarked()
			d.commitSync(d.t.Context(), nil, d.answered("sync of nothing"))
			d.commitSync(d.t.Context(), map[string]map[int32]kgo.EpochOffset{topic: {}}, d.answered("sync of no partition"))
		}},
		{"records of several partitions", []kgo.Opt{manually}, func(d *twin) {
			d.poll(100)
			var rs []*kgo.Record
			for _, r := range d.seen {
				if r.Offset < 2 {
					rs = append(rs, r)
				}
			}
			d.commitRecords(rs...)
			d.state("two of each")
			d.commitUncommitted()
			d.state("all")
		}},
		{"another epoch of the same offset is committed", []kgo.Opt{manually}, func(d *twin) {
			d.poll(3)
			d.commitSync(d.t.Context(), eachAt(-1, 3), d.answered("sync"))
			d.state("without an epoch")
			d.commitUncommitted()
			d.state("with the epoch")
		}},
		{"marks", []kgo.Opt{kgo.AutoCommitMarks(), noteCommits()}, func(d *twin) {
			d.MarkCommitOffsets(eachAt(1, 3))
			d.state("nothing polled, nothing committed: nothing to mark")
			d.poll(8)
			d.tick()
			d.state("nothing marked")
			d.MarkCommitRecords(d.seen[1], d.seen[4], d.seen[3])
			d.state("marked: the highest counts")
			d.MarkCommitRecords(d.seen[2])
			d.state("marks do not go back")
			d.tick()
			d.state("committed")
			d.MarkCommitRecords(d.seen[5])
			d.commitMarked()
			d.state("committed at once")
			d.MarkCommitOffsets(eachAt(1, 7))
			d.MarkCommitOffsets(eachAt(1, 1))
			d.state("offsets")
			d.MarkCommitOffsets(eachAt(1, 11))
			d.state("ahead of what was polled")
			d.tick()
			d.note("committed ahead: %v", d.held())
			d.Close()
			d.state("closed")
		}},
		{"the start may be marked", []kgo.Opt{kgo.AutoCommitMarks()}, func(d *twin) {
			d.poll(3)
			d.MarkCommitOffsets(eachAt(1, 0))
			d.state("marked")
			d.tick()
			d.state("committed")
		}},
		{"marks after a seek", []kgo.Opt{kgo.AutoCommitMarks()}, func(d *twin) {
			d.poll(8)
			d.MarkCommitRecords(d.seen[7])
			d.tick()
			d.state("marked")
			d.SetOffsets(eachAt(-1, 3))
			d.state("sought")
			d.tick()
			d.state("the place of the seek is committed")
			d.poll(2)
			d.MarkCommitRecords(d.seen[8])
			d.state("marked again")
			d.commitMarked()
			d.state("committed")
		}},
		{"nothing is committed unless asked for by a transactional member", []kgo.Opt{kgo.TransactionalID("p"), noteCommits()}, func(d *twin) {
			d.poll(3)
			d.poll(3)
			d.tick()
			d.state("polled")
			d.commitUncommitted()
			d.poll(3)
			d.tick()
			d.state("committed by hand")
			d.Close()
			d.state("closed")
		}},
		{"nor greedily", []kgo.Opt{kgo.TransactionalID("g"), kgo.GreedyAutoCommit(), noteCommits()}, func(d *twin) {
			d.poll(3)
			d.tick()
			d.state("polled")
			d.Close()
			d.state("closed")
		}},
		{"a commit of everything goes ahead of marks", []kgo.Opt{kgo.AutoCommitMarks()}, func(d *twin) {
			d.poll(5)
			d.MarkCommitRecords(d.seen[1])
			d.commitUncommitted()
			d.state("everything")
			d.MarkCommitRecords(d.seen[3])
			d.tick()
			d.state("the mark does not set it back")
		}},
		{"a seek without a commit", nil, func(d *twin) {
			d.SetOffsets(eachAt(-1, 5))
			d.state("sought")
			d.tick()
			d.state("the place of the seek is committed")
			d.poll(2)
			d.poll(2)
			d.tick()
			d.state("read on")
		}},
		{"a seek to the start that was never committed", []kgo.Opt{manually}, func(d *twin) {
			d.poll(4)
			d.SetOffsets(eachAt(-1, 0))
			d.state("sought")
			d.commitUncommitted()
			d.state("committed")
		}},
		{"a seek back", nil, func(d *twin) {
			d.poll(8)
			d.commitUncommitted()
			d.SetOffsets(eachAt(-1, 2))
			d.state("sought")
			d.poll(3)
			d.tick()
			d.state("the place of the seek is committed")
			d.poll(1)
			d.tick()
			d.state("read on")
		}},
		{"a seek to what is committed", []kgo.Opt{manually}, func(d *twin) {
			d.poll(4)
			d.commitUncommitted()
			d.poll(4)
			d.SetOffsets(d.CommittedOffsets())
			d.state("sought")
		}},
		{"records that are committed already, after a seek", nil, func(d *twin) {
			d.poll(8)
			d.commitUncommitted()
			d.SetOffsets(eachAt(-1, d.seen[len(d.seen)-1].Offset))
			d.commitRecords(d.poll(1)...)
			d.state("polled again")
			d.tick()
			d.state("auto-commit does not set it back")
		}},
		{"a commit set back by the caller", []kgo.Opt{noteCommits()}, func(d *twin) {
			d.poll(5)
			d.commitUncommitted()
			d.commitSync(d.t.Context(), eachAt(1, 2), d.answered("sync"))
			d.state("set back")
			d.tick()
			d.state("auto-commit goes on where it was")
		}},
		{"a commit set back behind marks", []kgo.Opt{kgo.AutoCommitMarks(), noteCommits()}, func(d *twin) {
			d.poll(5)
			d.MarkCommitRecords(d.seen[0])
			d.commitUncommitted()
			d.commitSync(d.t.Context(), eachAt(1, 2), d.answered("sync"))
			d.state("set back")
			d.tick()
			d.state("auto-commit goes on where it was")
		}},
		{"a pause", nil, func(d *twin) {
			d.poll(3)
			d.PauseFetchPartitions(map[string][]int32{topic: {0, 1}})
			d.poll(3)
			d.tick()
			d.state("paused")
			d.ResumeFetchPartitions(map[string][]int32{topic: {0, 1}})
			d.poll(3)
			d.tick()
			d.state("resumed")
		}},
		{"seeks to nowhere", []kgo.Opt{manually}, func(d *twin) {
			d.poll(3)
			d.SetOffsets(map[string]map[int32]kgo.EpochOffset{topic: {0: {Offset: -2}, 7: {Offset: 1}}, "other": {0: {Offset: 1}}})
			d.state("no such partition")
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, 1, 2, func(t *testing.T, w *world) {
				w.produce(topic, 0, values(12)...)
				if test.name == "records of several partitions" {
					w.produce(topic, 1, values(12)...)
				}
				alike(t, w, test.program, test.opts...)
				w.produce(topic, 0, values(12)...)
				alike(t, w, func(d *twin) { // the same groups go on
					d.state("again")
					test.program(d)
				}, test.opts...)
			})
		})
	}
}

// random is a program of random steps.
func random(seed uint64, steps int) func(*twin) {
	return func(d *twin) {
		r := rand.New(rand.NewPCG(seed, 0)) // the same for both
		for range steps {
			switch r.IntN(9) {
			case 0, 1, 2:
				d.poll(1 + r.IntN(4))
			case 3:
				d.tick()
			case 4:
				d.commitUncommitted()
			case 5:
				d.commitMarked()
			case 6:
				if k := r.IntN(8); len(d.seen) > k {
					d.MarkCommitRecords(d.seen[len(d.seen)-1-k])
				}
			case 7:
				d.SetOffsets(eachAt(-1, r.Int64N(30)))
				d.seen = nil
			case 8:
				d.commitRecords(d.seen...)
			}
			d.state("then")
		}
		d.Close()
		d.state("closed")
	}
}

func TestCommitsOfPlainTopicsAreThoseOfKgoAtRandom(t *testing.T) {
	modes := map[string][]kgo.Opt{
		"plain": nil, "greedy": {kgo.GreedyAutoCommit()}, "marks": {kgo.AutoCommitMarks()}, "manual": {manually},
	}
	for name, opts := range modes {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				w.produce(topic, 0, values(40)...)
				for range 4 {
					seed := rand.Uint64()
					t.Log("seed", seed)
					alike(t, w, random(seed, 25), opts...)
				}
			})
		})
	}
}

// Offsets may be on their way in a transaction, and a commit beside it would
// count for more: not even the markers behind a commit are passed.
func TestTransactionalMemberPassesNoMarkersByItself(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.begin(topic, 0, "a", "b")(true)
		before := w.client(inGroup(kgo.DisableAutoCommit())...)
		before.CommitOffsetsSync(t.Context(), map[string]map[int32]kgo.EpochOffset{topic: {0: {Epoch: -1, Offset: 2}}}, nil)
		before.Close()
		require.Equal(t, int64(2), w.committed(0))
		c := w.consumer(inGroup(kgo.TransactionalID("m"), kgo.AutoCommitInterval(time.Second))...)
		eventually(t, "the marker", func() bool { return position(c).Next == 3 })
		time.Sleep(10 * time.Second)
		require.Equal(t, int64(2), w.committed(0))
		require.NoError(t, c.CommitUncommittedOffsets(t.Context()))
		require.Equal(t, int64(3), w.committed(0), "but on request")
		w.begin(topic, 0, "c")(false)
		eventually(t, "what was aborted", func() bool { return position(c).Next == 5 })
		time.Sleep(10 * time.Second)
		c.Close()
		require.Equal(t, int64(3), w.committed(0))
	})
}

// kgo takes everything that was polled for marked then, and commits it.
func TestTransactionalMemberCommitsItsMarksOnRequestAlone(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.produce(topic, 0, numbers(1, 6)...)
		c := w.consumer(inGroup(kgo.TransactionalID("m"), kgo.AutoCommitMarks(), kgo.AutoCommitInterval(time.Second))...)
		c.MarkCommitRecords(read(t, c, 6)[1])
		time.Sleep(5 * time.Second)
		require.Equal(t, int64(-1), w.committed(0))
		require.NoError(t, c.CommitMarkedOffsets(t.Context()))
		require.Equal(t, int64(2), w.committed(0))
		c.Close()
		require.Equal(t, int64(2), w.committed(0))
	})
}
