package rcconsumer_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/rcconsumer"
)

// ailment is something that goes wrong, and right again.
type ailment struct {
	name    string
	cause   rcconsumer.Cause
	text    string // what the reason contains
	unready bool
	opts    []kgo.Opt
	begin   func(*world, *patient)
	end     func(*world, *patient)
}

// fails scripts partition 0 to answer Fetch with an error.
func fails(err *kerr.Error) func(*world, *patient) {
	return func(w *world, _ *patient) {
		w.change(func() {
			w.forged[0].script = func(ask) *kmsg.FetchResponseTopicPartition { return failure(err) }
		})
	}
}

func recovers(w *world, _ *patient) { w.change(func() { w.forged[0].script = nil }) }

// faulty has a fault until the end.
func faulty(f kfake.Fault) (begin, end func(*world, *patient)) {
	f.Count = -1
	var remove func()
	return func(w *world, _ *patient) { remove = w.Fault(f).Remove }, func(*world, *patient) { remove() }
}

var readingAilments = []ailment{
	{
		name: "no broker can be dialled", cause: rcconsumer.CauseUnreachable, text: "dial 127.0.0.1:9092", unready: true,
		begin: func(_ *world, p *patient) { p.l.cut(refusal()) }, end: func(_ *world, p *patient) { p.l.mend() },
	},
	{
		name: "one broker cannot be reached", cause: rcconsumer.CauseBroker, text: "broker 1 (closed at once",
		begin: func(w *world, _ *patient) { w.change(func() { w.broken[1] = true }) },
		end:   func(w *world, _ *patient) { w.change(func() { w.broken[1] = false }) },
	},
	{
		name: "one broker does not answer", cause: rcconsumer.CauseBroker, text: "broker 1 (timeout)",
		begin: func(w *world, _ *patient) { w.change(func() { w.mute[1] = true }) },
		end:   func(w *world, _ *patient) { w.change(func() { w.mute[1] = false }) },
	},
	{
		name: "metadata cannot be had", cause: rcconsumer.CauseMetadata, text: "metadata cannot be had",
		begin: func(w *world, p *patient) { w.see(func() { w.deaf = true }); p.AddConsumeTopics("new") },
		end:   func(w *world, p *patient) { w.see(func() { w.deaf = false }); p.PurgeTopicsFromConsuming("new") },
	},
	{
		name: "a topic does not exist", cause: rcconsumer.CauseTopic, text: "later (UNKNOWN_TOPIC_OR_PARTITION)",
		begin: func(_ *world, p *patient) { p.AddConsumeTopics("later") },
		end:   func(_ *world, p *patient) { p.PurgeTopicsFromConsuming("later") },
	},
	{
		name: "leaders are not known", cause: rcconsumer.CauseLeader, text: "t/0 (NOT_LEADER_FOR_PARTITION)",
		begin: fails(kerr.NotLeaderForPartition), end: recovers,
	},
	{
		name: "no right to read a topic", cause: rcconsumer.CauseMissingRight, text: "t/0 (TOPIC_AUTHORIZATION_FAILED)",
		begin: fails(kerr.TopicAuthorizationFailed), end: recovers,
	},
	{
		name: "Fetch fails otherwise", cause: rcconsumer.CauseFetch, text: "t/0 (KAFKA_STORAGE_ERROR)",
		begin: fails(kerr.KafkaStorageError), end: recovers,
	},
	{
		name: "a broker cannot read its log", cause: rcconsumer.CauseUnreadable, text: "t/0 (CORRUPT_MESSAGE)",
		begin: fails(kerr.CorruptMessage), end: recovers,
	},
	{
		name: "an open transaction", cause: rcconsumer.CauseBlocked, text: "t/0 (last stable offset 5, high watermark 8)",
		opts: []kgo.Opt{rcconsumer.BlockedAfter(20 * time.Second)},
		begin: func(w *world, _ *patient) {
			w.change(func() {
				f := w.forged[0]
				f.log, f.hw = append(f.log, batchtest.Data(f.hw, f.hw+2)), f.hw+3
			})
		},
		end: func(w *world, _ *patient) { w.change(func() { w.forged[0].lso = w.forged[0].hw }) },
	},
	{
		name: "offsets cannot be listed", cause: rcconsumer.CauseListOffsets, text: "t/2 (UNKNOWN_SERVER_ERROR)",
		begin: func(w *world, p *patient) {
			w.see(func() {
				w.editList = func(_ *kmsg.ListOffsetsRequest, resp *kmsg.ListOffsetsResponse) {
					for i := range resp.Topics {
						for k := range resp.Topics[i].Partitions {
							resp.Topics[i].Partitions[k].ErrorCode = kerr.UnknownServerError.Code
						}
					}
				}
			})
			third := map[string]map[int32]kgo.Offset{topic: {2: kgo.NewOffset().AtEnd()}}
			p.RemoveConsumePartitions(map[string][]int32{topic: {2}})
			p.AddConsumePartitions(third)
		},
		end: func(w *world, _ *patient) { w.see(func() { w.editList = nil }) },
	},
	{
		name: "an offset is gone and nobody may move", cause: rcconsumer.CauseStopped, text: "t/0 (OFFSET_OUT_OF_RANGE)",
		opts:  []kgo.Opt{kgo.ConsumeResetOffset(kgo.NoResetOffset())},
		begin: func(_ *world, p *patient) { seek(p.Consumer, 99) },
		end:   func(_ *world, p *patient) { seek(p.Consumer, 5) },
	},
	{
		name: "nobody polls", cause: rcconsumer.CauseNotPolled, text: "records wait for a poll: t/0",
		begin: func(_ *world, p *patient) { p.rests(); seek(p.Consumer, 0) },
		end:   func(_ *world, p *patient) { p.polls() },
	},
}

// Each thing that would be retried without a word is told with its age, which
// grows, ends with the first success, and begins anew the next time.
func TestHealthTellsWhatGoesWrongAndForHowLong(t *testing.T) {
	t.Parallel()
	for _, a := range readingAilments {
		t.Run(a.name, func(t *testing.T) {
			inWorld(t, 2, 3, func(t *testing.T, w *world) {
				for p := range int32(3) {
					w.forge(p, batchtest.Data(0, 4))
				}
				starts := map[string]map[int32]kgo.Offset{topic: {0: at5, 1: at5, 2: at5}}
				comesAndGoes(t, w, a, w.patient(append(a.opts, kgo.ConsumePartitions(starts))...))
			})
		})
	}
}

var at5 = kgo.NewOffset().At(5)

func comesAndGoes(t *testing.T, w *world, a ailment, p *patient) {
	t.Helper()
	p.well(t)
	began := time.Now()
	a.begin(w, p)
	h, first := p.ails(t, a.cause, a.text)
	require.Equal(t, !a.unready, h.Ready, "%q", h.Reasons)
	require.True(t, h.Live)
	for range 3 {
		time.Sleep(20 * time.Second)
		h, r := p.ails(t, a.cause)
		require.Equal(t, first.Since, r.Since, "%q", h.Reasons)
		require.Equal(t, first.Text, r.Text)
		require.Equal(t, time.Since(r.Since), r.Age)
		require.Equal(t, !a.unready, h.Ready, "%q", h.Reasons)
		require.True(t, h.Live)
	}
	require.WithinDuration(t, began, first.Since, time.Minute)
	a.end(w, p)
	p.well(t)
	time.Sleep(time.Minute)
	p.well(t)

	again := time.Now()
	a.begin(w, p)
	h, r := p.ails(t, a.cause)
	require.False(t, r.Since.Before(again), "%q", h.Reasons)
	a.end(w, p)
	p.well(t)
}
