package rcconsumer_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rcconsumer"
)

// style is a way to commit all that was polled.
type style struct {
	name   string
	opts   []kgo.Opt
	commit func(*testing.T, *rcconsumer.Consumer, []*kgo.Record)
}

var styles = []style{
	{"plain", nil, func(_ *testing.T, c *rcconsumer.Consumer, _ []*kgo.Record) {
		c.PollFetches(ended()) // takes nothing, and what was polled before counts as worked on
		time.Sleep(interval + beat)
	}},
	{"greedy", []kgo.Opt{kgo.GreedyAutoCommit()}, func(*testing.T, *rcconsumer.Consumer, []*kgo.Record) {
		time.Sleep(interval + beat)
	}},
	{"marks", []kgo.Opt{kgo.AutoCommitMarks()}, func(_ *testing.T, c *rcconsumer.Consumer, rs []*kgo.Record) {
		c.MarkCommitRecords(rs...)
		time.Sleep(interval + beat)
	}},
	{"marks committed at once", []kgo.Opt{kgo.AutoCommitMarks()}, func(t *testing.T, c *rcconsumer.Consumer, rs []*kgo.Record) {
		c.MarkCommitRecords(rs...)
		require.NoError(t, c.CommitMarkedOffsets(t.Context()))
	}},
	{"everything by hand", []kgo.Opt{manually}, func(t *testing.T, c *rcconsumer.Consumer, _ []*kgo.Record) {
		require.NoError(t, c.CommitUncommittedOffsets(t.Context()))
	}},
	{"records by hand", []kgo.Opt{manually}, func(t *testing.T, c *rcconsumer.Consumer, rs []*kgo.Record) {
		require.NoError(t, c.CommitRecords(t.Context(), rs...))
	}},
}

// inStyles runs a test for every way to commit.
func inStyles(t *testing.T, test func(*testing.T, *world, style)) {
	for _, s := range styles {
		t.Run(s.name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) { test(t, w, s) })
		})
	}
}

// member is a member of the group of these tests that has fetched all there is.
func (w *world) member(opts ...kgo.Opt) *rcconsumer.Consumer {
	w.t.Helper()
	c := w.consumer(append(inGroup(kgo.AutoCommitInterval(interval), kgo.FetchMaxWait(100*time.Millisecond)), opts...)...)
	time.Sleep(5*interval + beat)
	return c
}

// take takes at most n of the records that are buffered.
func take(t *testing.T, c *rcconsumer.Consumer, n int) []*kgo.Record {
	t.Helper()
	time.Sleep(beat)
	fs := c.PollRecords(noWait, n)
	require.NoError(t, fs.Err())
	return fs.Records()
}

// abort writes an aborted batch.
func (w *world) abort(values ...string) { w.begin(topic, 0, values...)(false) }

// commit writes a committed batch.
func (w *world) commit(values ...string) { w.begin(topic, 0, values...)(true) }

// Source: confluentinc/librdkafka#2539, #3917: a lag of 1 for ever.
func TestCommitsPassTrailingMarkers(t *testing.T) {
	inStyles(t, func(t *testing.T, w *world, s style) {
		w.commit("a", "b", "c", "d", "e")
		c := w.member(s.opts...)
		s.commit(t, c, take(t, c, 0))
		require.EqualValues(t, 6, w.committed(0))
		require.Nil(t, c.UncommittedOffsets())
		require.Nil(t, c.MarkedOffsets())
		require.Equal(t, eachAt(1, 6), c.CommittedOffsets())
		w.commit("f")
		w.abort("g", "h")
		s.commit(t, c, take(t, c, 0))
		require.EqualValues(t, 11, w.committed(0))
	})
}

func TestAnAbortedTailThatArrivesLaterIsPassedAtTheInterval(t *testing.T) {
	inStyles(t, func(t *testing.T, w *world, s style) {
		w.commit("a", "b")
		c := w.member(s.opts...)
		s.commit(t, c, take(t, c, 0))
		w.abort("c", "d")
		time.Sleep(interval + beat)
		require.EqualValues(t, 6, w.committed(0), "without a poll")
		end := w.begin(topic, 0, "e")
		time.Sleep(interval + beat)
		require.EqualValues(t, 6, w.committed(0), "an open transaction")
		end(false)
		time.Sleep(interval + beat)
		require.EqualValues(t, 8, w.committed(0))
	})
}

// Sources: KAFKA-6607, spring-kafka#1587, zio/zio-kafka#1778, reactor-kafka#278,
// KAFKA-17600: one record per poll.
func TestCommitsOfOneRecordPerPollPassNoRecord(t *testing.T) {
	inStyles(t, func(t *testing.T, w *world, s style) {
		w.commit("a", "b", "c")  // 0-2, marker 3
		w.abort("d")             // 4, marker 5
		w.produce(topic, 0, "e") // 6
		w.abort("f")             // 7, marker 8
		c := w.member(s.opts...)
		for i, want := range []int64{1, 2, 6, 9} {
			rs := take(t, c, 1)
			require.Len(t, rs, 1)
			s.commit(t, c, rs)
			require.EqualValues(t, want, w.committed(0), "after record %d", i)
		}
	})
}

// Source: confluentinc/librdkafka#3400: stored when fetched, not when taken.
func TestCommitsDoNotPassRecordsNobodyTook(t *testing.T) {
	inStyles(t, func(t *testing.T, w *world, s style) {
		w.commit("a", "b", "c", "d") // 0-3, marker 4
		w.commit("e", "f")           // 5-6, marker 7
		w.commit("g")                // 8, marker 9
		c := w.member(s.opts...)
		s.commit(t, c, take(t, c, 2))
		require.EqualValues(t, 2, w.committed(0), "the rest of the batch is decoded")
		s.commit(t, c, take(t, c, 2))
		require.EqualValues(t, 5, w.committed(0), "more is buffered")
		c.PauseFetchTopics(topic)
		time.Sleep(2 * interval)
		s.commit(t, c, take(t, c, 0))
		require.EqualValues(t, 5, w.committed(0), "paused")
		c.ResumeFetchTopics(topic)
		s.commit(t, c, take(t, c, 2))
		require.EqualValues(t, 8, w.committed(0))
		c.Close()
		require.EqualValues(t, 8, w.committed(0))
	})
}

func TestClosingCommitsWhatEarlierPollsReturned(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.commit("a", "b") // marker 2
		w.abort("c")       // 3, marker 4
		w.commit("d")      // 5, marker 6
		c := w.member()
		take(t, c, 2)
		take(t, c, 1)
		c.Close()
		require.EqualValues(t, 5, w.committed(0))
	})
}

func TestAGroupThatNeverCommittedIsNotMadeTo(t *testing.T) {
	for name, opt := range map[string]kgo.Opt{"manual": manually, "marks": kgo.AutoCommitMarks()} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				w.abort("a")
				w.commit("b")
				w.abort("c")
				c := w.member(opt)
				time.Sleep(2 * interval)
				take(t, c, 0)
				time.Sleep(2 * interval)
				c.Close()
				require.EqualValues(t, -1, w.committed(0))
			})
		})
	}
}

// What was committed before a seek says nothing of records handed out after it.
func TestAManualCommitDoesNotMoveByItselfAfterASeek(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.produce(topic, 0, "a", "b")
		c := w.member(manually)
		take(t, c, 0)
		require.NoError(t, c.CommitUncommittedOffsets(t.Context()))
		seek(c, 1)
		require.Len(t, take(t, c, 0), 1)
		w.abort("c", "d") // 2-3, marker 4
		time.Sleep(2 * interval)
		require.EqualValues(t, 5, position(c).Next)
		require.EqualValues(t, 2, w.committed(0), "record 1 was handed out again and may not be done")
		require.NoError(t, c.CommitUncommittedOffsets(t.Context()))
		require.EqualValues(t, 5, w.committed(0))
		seek(c, 5)
		w.abort("e") // 5, marker 6
		time.Sleep(interval + beat)
		require.EqualValues(t, 7, w.committed(0), "nothing was handed out since")
		seek(c, 0)
		require.Len(t, take(t, c, 0), 2)
		require.NoError(t, c.CommitUncommittedOffsets(t.Context()))
		w.abort("f") // 7, marker 8
		time.Sleep(interval + beat)
		require.EqualValues(t, 9, w.committed(0), "committed again, though there was nothing to send")
	})
}

func TestAMarkCoversEarlierRecordsAndPassesWhatFollowsIt(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.commit("a", "b")       // 0-1, marker 2
		w.produce(topic, 0, "c") // 3
		w.abort("d")             // 4, marker 5
		w.produce(topic, 0, "e") // 6
		w.abort("f")             // 7, marker 8
		c := w.member(kgo.AutoCommitMarks())
		rs := take(t, c, 0)
		require.Len(t, rs, 4)
		for i, want := range []int64{1, 3, 6, 9} {
			c.MarkCommitRecords(rs[i])
			require.EqualValues(t, want, c.MarkedOffsets()[topic][0].Offset)
		}
		c.MarkCommitRecords(rs[0])
		require.EqualValues(t, 9, c.MarkedOffsets()[topic][0].Offset)
		c.MarkCommitOffsets(eachAt(-1, 20))
		require.EqualValues(t, 20, c.MarkedOffsets()[topic][0].Offset, "ahead of the position")
		time.Sleep(interval + beat)
		require.EqualValues(t, 20, w.committed(0))
		w.produce(topic, 0, "g")
		c.MarkCommitRecords(take(t, c, 0)...)
		time.Sleep(interval + beat)
		require.EqualValues(t, 20, w.committed(0), "and it does not go back")
	})
}

// Source: notes of franz-go 1.20.6: Azure Event Hubs has epoch -1 everywhere,
// also where a commit has none.
func TestMarksGoByOffsetWhateverTheEpoch(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.produce(topic, 0, values(4)...)
		c := w.member(kgo.AutoCommitMarks())
		take(t, c, 0)
		for i, epoch := range []int32{-1, 7, 0, -1} {
			c.MarkCommitOffsets(eachAt(epoch, int64(i+1)))
			require.NoError(t, c.CommitMarkedOffsets(t.Context()))
			require.EqualValues(t, i+1, w.committed(0))
		}
	})
}

func TestCommitRecordsDoesNotGoBackUnlessReadingDid(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.produce(topic, 0, values(6)...)
		c := w.member(manually)
		rs := take(t, c, 0)
		require.NoError(t, c.CommitRecords(t.Context(), rs...))
		require.NoError(t, c.CommitRecords(t.Context(), rs[1]))
		require.EqualValues(t, 6, w.committed(0))
		seek(c, 0)
		rs = take(t, c, 0)
		require.NoError(t, c.CommitRecords(t.Context(), rs[1]))
		require.EqualValues(t, 2, w.committed(0), "after a seek it does")
		c.CommitOffsetsSync(t.Context(), eachAt(-1, 1), nil)
		require.EqualValues(t, 1, w.committed(0), "an offset that the caller names is committed as it is")
	})
}

// The epoch committed is the marker's, which is not that of the data when the
// leader changed in between: twmb/franz-go#1530.
func TestTheCommittedEpochIsThatOfTheLastBatchPassed(t *testing.T) {
	inStyles(t, func(t *testing.T, w *world, s style) {
		end := w.begin(topic, 0, "a", "b")
		epoch := w.PartitionInfo(topic, 0).Epoch
		require.NoError(t, w.MoveTopicPartition(topic, 0, 0))
		end(true)
		c := w.member(s.opts...)
		rs := take(t, c, 0)
		require.Equal(t, epoch, rs[1].LeaderEpoch)
		s.commit(t, c, rs)
		held := w.GroupInfo("g").Commits[topic][0]
		require.EqualValues(t, 3, held.Offset)
		require.Equal(t, epoch+1, held.LeaderEpoch)
		require.Equal(t, position(c).NextEpoch, held.LeaderEpoch)
	})
}

func TestCommitThroughMarkersFalseStopsBehindTheRecord(t *testing.T) {
	inStyles(t, func(t *testing.T, w *world, s style) {
		w.commit("a", "b")
		c := w.member(append([]kgo.Opt{rcconsumer.CommitThroughMarkers(false)}, s.opts...)...)
		s.commit(t, c, take(t, c, 0))
		w.abort("c")
		time.Sleep(2 * interval)
		require.EqualValues(t, 2, w.committed(0))
		c.Close()
		require.EqualValues(t, 2, w.committed(0))
	})
}

func TestControlRecordsHandedOutAreNothingToCommit(t *testing.T) {
	inStyles(t, func(t *testing.T, w *world, s style) {
		w.commit("a", "b") // marker 2
		w.abort("c")       // 3, marker 4
		w.commit("d")      // 5, marker 6
		c := w.member(append([]kgo.Opt{kgo.KeepControlRecords()}, s.opts...)...)
		rs := take(t, c, 2)
		s.commit(t, c, rs)
		require.EqualValues(t, 2, w.committed(0), "the marker is not handed out yet")
		rs = take(t, c, 0)
		require.Equal(t, []int64{2, 4, 5, 6}, offsetsIn(rs))
		s.commit(t, c, rs[:1])
		if s.name == "marks" || s.name == "marks committed at once" || s.name == "records by hand" {
			require.EqualValues(t, 5, w.committed(0), "markers behind it are passed, handed out or not")
			s.commit(t, c, rs[2:3])
		}
		require.EqualValues(t, 7, w.committed(0))
		w.abort("e")
		rs = take(t, c, 0)
		s.commit(t, c, rs)
		require.EqualValues(t, 9, w.committed(0))
	})
}

func TestAMarkerIsMarkedLikeARecord(t *testing.T) {
	inStyles(t, func(t *testing.T, w *world, s style) {
		w.commit("a", "b") // marker 2
		c := w.member(append([]kgo.Opt{kgo.KeepControlRecords()}, s.opts...)...)
		rs := take(t, c, 0)
		require.Equal(t, []int64{0, 1, 2}, offsetsIn(rs))
		s.commit(t, c, rs)
		require.EqualValues(t, 3, w.committed(0))
	})
}

func offsetsIn(rs []*kgo.Record) (all []int64) {
	for _, r := range rs {
		all = append(all, r.Offset)
	}
	return all
}
