package rcconsumer_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/rcconsumer"
)

// anomalyHook notes anomalies and dropped batches.
type anomalyHook struct {
	mu      sync.Mutex
	all     []rcconsumer.Anomaly
	dropped []rcconsumer.BatchInfo
}

func (h *anomalyHook) OnAnomaly(a rcconsumer.Anomaly) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, a)
}

func (h *anomalyHook) OnAbortedBatch(_ string, _ int32, b rcconsumer.BatchInfo) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dropped = append(h.dropped, b)
}

func (h *anomalyHook) seen() []rcconsumer.Anomaly {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.all)
}

type contradiction struct {
	name    string
	log     batchtest.Log
	list    []kmsg.FetchResponseTopicPartitionAbortedTransaction
	batches int
	want    []int64
	next    int64
	anomaly rcconsumer.Anomaly
	before  []int64 // handed out in front of the anomaly under AnomalyFail
}

// Sources: AutoMQ/automq#754 and nisshi-io/nisshi#689 (entries that are
// missing), KAFKA-7866 and linkedin/kafka#267 (stale and doubled ones).
func contradictions() []contradiction {
	entry := func(kind string) rcconsumer.Anomaly {
		return rcconsumer.Anomaly{Kind: kind, Topic: topic, Offset: 2, ProducerID: 1}
	}
	return []contradiction{
		{
			name: "missing",
			log: batchtest.Log{
				batchtest.Data(0, 1), batchtest.Data(2, 3).Txn(1), batchtest.Abort(4, 1), batchtest.Data(5, 5),
			},
			list: batchtest.Aborted(), want: []int64{0, 1, 5}, next: 6,
			anomaly: entry("missing"), before: []int64{0, 1},
		},
		{
			name: "contradicted",
			log: batchtest.Log{
				batchtest.Data(0, 1), batchtest.Data(2, 3).Txn(1), batchtest.Commit(4, 1), batchtest.Data(5, 5),
			},
			list: batchtest.Aborted(1, 2), want: []int64{0, 1, 2, 3, 5}, next: 6,
			anomaly: entry("contradicted"), before: []int64{0, 1},
		},
		{
			name: "duplicate",
			log: batchtest.Log{
				batchtest.Data(0, 1), batchtest.Data(2, 3).Txn(1), batchtest.Abort(4, 1), batchtest.Data(5, 5),
			},
			list: batchtest.Aborted(1, 2, 1, 2), want: []int64{0, 1, 5}, next: 6,
			anomaly: entry("duplicate"),
		},
		{
			name: "leaked",
			log: batchtest.Log{
				batchtest.Data(0, 1), batchtest.Data(2, 3).Txn(1), batchtest.Abort(4, 1), batchtest.Data(5, 5),
			},
			list: batchtest.Aborted(), batches: 1, want: []int64{0, 1, 2, 3, 5}, next: 6,
			anomaly: entry("leaked"), before: []int64{0, 1, 2, 3},
		},
	}
}

func TestLogIsBelievedOverTheListAndTheDifferenceTold(t *testing.T) {
	for _, test := range contradictions() {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				f := w.forge(0, test.log...)
				f.aborted, f.batches = test.list, test.batches
				var hook anomalyHook
				c := w.consumer(startAt(0), rcconsumer.WithHooks(&hook))
				require.Equal(t, test.want, readOffsets(t, c, len(test.want)))
				untilNext(t, c, test.next)
				all := hook.seen()
				require.Len(t, all, 1)
				require.NotEmpty(t, all[0].Detail)
				all[0].Detail = ""
				require.Equal(t, test.anomaly, all[0])
				require.Equal(t, int64(1), c.Stats()[topic][0].Anomalies)
			})
		})
	}
}

func TestAnomalyStopsThePartitionIfThePolicySaysSo(t *testing.T) {
	for _, test := range contradictions() {
		if test.before == nil {
			continue // harmless, see below
		}
		t.Run(test.name, func(t *testing.T) {
			if test.name == "duplicate" { // harmless
				inWorld(t, 1, 1, func(t *testing.T, w *world) {
					f := w.forge(0, test.log...)
					f.aborted, f.batches = test.list, test.batches
					c := w.consumer(startAt(0), rcconsumer.OnAnomalyDo(rcconsumer.AnomalyFail))
					require.Equal(t, test.want, readOffsets(t, c, len(test.want)))
					silent(t, c, 10*time.Second)
				})
				return
			}
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				f := w.forge(0, test.log...)
				f.aborted, f.batches = test.list, test.batches
				c := w.consumer(startAt(0), rcconsumer.OnAnomalyDo(rcconsumer.AnomalyFail))
				var got []int64
				var e *rcconsumer.AnomalyError
				for e == nil {
					fs := poll(c, patience)
					require.False(t, timedOut(fs))
					got = append(got, offsets(fs)...)
					if err := fs.Err(); err != nil {
						require.ErrorAs(t, err, &e)
					}
				}
				require.Equal(t, test.before, got)
				require.Equal(t, test.anomaly.Kind, e.Anomaly.Kind)
				next := position(c).Next
				silent(t, c, 10*time.Second)
				require.Equal(t, next, position(c).Next)
				require.LessOrEqual(t, next, int64(4), "the position stays in front")
				seek(c, 5)
				require.Equal(t, []int64{5}, readOffsets(t, c, 1))
			})
		})
	}
}

func TestDuplicateEntryStopsNothing(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 1), batchtest.Data(2, 3).Txn(1), batchtest.Abort(4, 1), batchtest.Data(5, 5)).aborted = batchtest.Aborted(1, 2, 1, 2)
		c := w.consumer(startAt(0), rcconsumer.OnAnomalyDo(rcconsumer.AnomalyFail))
		require.Equal(t, []int64{0, 1, 5}, readOffsets(t, c, 3))
		require.Equal(t, int64(1), c.Stats()[topic][0].Anomalies)
	})
}

// Sources: twmb/franz-go#758, redpanda#18852: a reader at read_uncommitted must
// not apply the list.
func TestReadUncommittedDeliversAllUpToTheHighWatermark(t *testing.T) {
	for name, opt := range map[string]kgo.Opt{
		"ours": rcconsumer.ReadUncommitted(), "kgo's": kgo.FetchIsolationLevel(kgo.ReadUncommitted()),
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				f := w.forge(0, batchtest.Data(0, 1).Txn(1), batchtest.Abort(2, 1), batchtest.Data(3, 4).Txn(2))
				f.aborted, f.lso = batchtest.Aborted(1, 0, 1, 0, 2, 3), 3
				var hook anomalyHook
				c := w.consumer(startAt(0), opt, rcconsumer.WithHooks(&hook))
				require.Equal(t, []int64{0, 1, 3, 4}, readOffsets(t, c, 4))
				require.Equal(t, int8(0), w.asks(f)[0].isolation)
				require.Empty(t, hook.seen())
				p := position(c)
				require.Equal(t, []int64{5, 3, 5, 0}, []int64{p.Next, p.LastStableOffset, p.HighWatermark, p.ReadableLag()})
				require.True(t, p.CaughtUp())
			})
		})
	}
}

func TestControlRecordsAreDeliveredOnlyIfAsked(t *testing.T) {
	log := []batchtest.Entry{
		batchtest.Data(0, 1).Txn(1), batchtest.Commit(2, 1), batchtest.Data(3, 3).Txn(1), batchtest.Abort(4, 1),
		batchtest.EmptyControl(5, 1), batchtest.Data(6, 6),
	}
	for _, uncommitted := range []bool{false, true} {
		t.Run(map[bool]string{false: "read_committed", true: "read_uncommitted"}[uncommitted], func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				w.forge(0, log...).aborted = batchtest.Aborted(1, 3)
				opts := []kgo.Opt{startAt(0)}
				want := []int64{0, 1, 2, 4, 6}
				if uncommitted {
					opts, want = append(opts, rcconsumer.ReadUncommitted()), []int64{0, 1, 2, 3, 4, 6}
				}
				c := w.consumer(append(opts, kgo.KeepControlRecords())...)
				var got, control []int64
				for _, r := range read(t, c, len(want)) {
					got = append(got, r.Offset)
					if r.Attrs.IsControl() {
						control = append(control, r.Offset)
					}
				}
				require.Equal(t, want, got)
				require.Equal(t, []int64{2, 4}, control)
				stats := c.Stats()[topic][0]
				require.Equal(t, int64(len(want)-2), stats.DeliveredRecords, "control records are no deliveries")
			})
		})
	}
}

func TestDroppedBatchesAreToldByTheirHeaders(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		dropped := batchtest.Data(1, 3).Txn(7).Epoch(4)
		w.forge(0, batchtest.Data(0, 0), dropped, batchtest.Abort(4, 7)).aborted = batchtest.Aborted(7, 1)
		var hook anomalyHook
		c := w.consumer(startAt(0), rcconsumer.WithHooks(&hook))
		untilNextAfter(t, c, 5)
		hook.mu.Lock()
		defer hook.mu.Unlock()
		require.Equal(t, []rcconsumer.BatchInfo{{
			BaseOffset: 1, LastOffset: 3, Records: 3, Bytes: len(dropped.Bytes()), ProducerID: 7, ProducerEpoch: 4,
		}}, hook.dropped)
	})
}

// untilNextAfter reads everything up to an offset.
func untilNextAfter(t *testing.T, c *rcconsumer.Consumer, next int64) {
	t.Helper()
	for position(c).Next < next {
		require.NoError(t, poll(c, patience).Err())
	}
}
