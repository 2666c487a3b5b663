package rcconsumer_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/rcconsumer"
)

// Where reading stops at an offset a seek is what goes on, and health says where.
func TestHealthTellsWhereReadingStops(t *testing.T) {
	t.Parallel()
	stopped, unreadable := rcconsumer.CauseStopped, rcconsumer.CauseUnreadable
	for _, test := range []struct {
		name  string
		cause rcconsumer.Cause
		text  string
		log   []batchtest.Entry
		opts  []kgo.Opt
	}{
		{"damaged", unreadable, "t/0 (batch at offset 10 is damaged or not supported)", damaged(batchtest.Data(10, 19).Flip(-3)), nil},
		{"undecodable", unreadable, "t/0 (batch at offset 10 is damaged or not supported)", damaged(badRecords()), nil},
		{
			"too large", stopped, "t/0 (batch at offset 10 is too large)",
			damaged(batchtest.Data(10, 19).Size(1000).Codec(batchtest.Gzip)),
			[]kgo.Opt{kgo.MaxDecompressBatchBytes(5000)},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				f := w.forge(0, test.log...)
				p := w.patient(append(test.opts, startAt(0))...)
				h, first := p.ails(t, test.cause)
				require.Contains(t, first.Text, test.text)
				require.True(t, h.Ready && h.Live)
				for range 200 {
					time.Sleep(300 * time.Millisecond)
					_, r := p.ails(t, test.cause)
					require.Equal(t, first.Since, r.Since, "it is fetched again and again, which is no success")
				}
				seek(p.Consumer, 20)
				p.well(t)
				w.change(func() { f.log = batchtest.Log{batchtest.Data(0, 29)} })
				seek(p.Consumer, 0)
				for range 1000 {
					require.Empty(t, p.Health().Reasons, "it is another reading")
					time.Sleep(time.Millisecond)
				}
			})
		})
	}
}

func TestHealthTellsOfAnAnomalyThatStops(t *testing.T) {
	test := contradictions()[0]
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0, test.log...)
		f.aborted, f.batches = test.list, test.batches
		p := w.patient(startAt(0), rcconsumer.OnAnomalyDo(rcconsumer.AnomalyFail))
		_, r := p.ails(t, rcconsumer.CauseStopped)
		require.Contains(t, r.Text, "entry in the list of aborted transactions")
		seek(p.Consumer, 5)
		p.well(t)
	})
}

func TestHealthTellsOfATopicThatIsAnotherAndMayNotBeReadAnew(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		p := w.patient(kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NoResetOffset()), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()))
		p.well(t)
		require.NoError(t, w.DeleteTopic(topic))
		require.NoError(t, w.CreateTopic(topic, 1, nil))
		p.ails(t, rcconsumer.CauseStopped, "t/0 (UNKNOWN_TOPIC_ID)")
		seek(p.Consumer, 0)
		p.well(t)
	})
}

func TestHealthTellsOfAStartThatTheGroupDoesNotHave(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.produce(topic, 0, values(3)...)
		committed := kgo.ConsumeStartOffset(kgo.NewOffset().AtCommitted())
		for _, opts := range [][]kgo.Opt{{startFrom(kgo.NewOffset().AtCommitted())}, inGroup(committed)} {
			p := w.patient(opts...)
			p.ails(t, rcconsumer.CauseStopped, "t/0 (partition has no prior committed offset)")
			seek(p.Consumer, 1)
			p.well(t)
		}
	})
}

func TestHealthTellsOfEpochsThatCannotBeAskedFor(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 4))
		w.refuseEnds(kerr.KafkaStorageError, 5)
		p := w.patient(atEpoch(0, 0))
		p.ails(t, rcconsumer.CauseListOffsets, "t/0 (KAFKA_STORAGE_ERROR)")
		p.well(t)
	})
}

// An answer that brings nothing usable, and one that contradicts ListOffsets.
func TestHealthTellsOfAnswersThatMakeNoSense(t *testing.T) {
	for name, test := range map[string]struct {
		cause  rcconsumer.Cause
		text   string
		script func(ask) *kmsg.FetchResponseTopicPartition
	}{
		"bytes below the fetch offset": {
			rcconsumer.CauseUnreadable, "t/0 (no complete batch at offset 5)",
			func(ask) *kmsg.FetchResponseTopicPartition { return batchtest.Log{batchtest.Data(0, 4)}.Partition(nil) },
		},
		"out of a range that it is in": {
			rcconsumer.CauseFetch, "t/0 (OFFSET_OUT_OF_RANGE)",
			func(ask) *kmsg.FetchResponseTopicPartition { return failure(kerr.OffsetOutOfRange) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				f := w.forge(0, batchtest.Data(0, 4))
				p := w.patient(startAt(5))
				p.well(t)
				w.change(func() { f.script = test.script })
				_, first := p.ails(t, test.cause, test.text)
				time.Sleep(time.Minute)
				_, r := p.ails(t, test.cause)
				require.Equal(t, first.Since, r.Since)
				recovers(w, p)
				p.well(t)
			})
		})
	}
}

// Data is a success like an answer without any.
func TestDataEndsAStreak(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0)
		p := w.patient(startAt(0))
		p.well(t)
		fails(kerr.KafkaStorageError)(w, p)
		p.ails(t, rcconsumer.CauseFetch)
		w.change(func() {
			w.slow = 100 * time.Millisecond
			f.script = func(a ask) *kmsg.FetchResponseTopicPartition {
				return batchtest.Log{batchtest.Data(a.offset, a.offset)}.Partition(nil)
			}
		})
		p.well(t)
	})
}

// A seek ends the search for an offset, and what was amiss with it.
func TestSeekEndsWhatWasAmissWithTheSearchForAnOffset(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 4))
		refuseListing := func(_ *kmsg.ListOffsetsRequest, resp *kmsg.ListOffsetsResponse) {
			for i := range resp.Topics {
				for k := range resp.Topics[i].Partitions {
					resp.Topics[i].Partitions[k].ErrorCode = kerr.UnknownServerError.Code
				}
			}
		}
		w.see(func() { w.editList = refuseListing })
		p := w.patient(startFrom(kgo.NewOffset().AtEnd()))
		p.ails(t, rcconsumer.CauseListOffsets, "t/0 (UNKNOWN_SERVER_ERROR)")
		seek(p.Consumer, 0)
		p.well(t)

		w.refuseEnds(kerr.KafkaStorageError, 1000)
		p.SetOffsets(map[string]map[int32]kgo.EpochOffset{topic: {0: {Epoch: 0, Offset: 5}}})
		p.ails(t, rcconsumer.CauseListOffsets, "t/0 (KAFKA_STORAGE_ERROR)")
		seek(p.Consumer, 5)
		p.well(t)
	})
}
