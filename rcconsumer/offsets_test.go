package rcconsumer_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/rcconsumer"
)

// singles is a log with one batch an offset, so that a fetch can begin anywhere.
func singles(first, last int64) batchtest.Log {
	var log batchtest.Log
	for o := first; o <= last; o++ {
		log = append(log, batchtest.Data(o, o))
	}
	return log
}

// forgeRange forges a log from 10 to the last stable offset 40, with a high
// watermark of 50.
func forgeRange(w *world) *forged {
	f := w.forge(0, singles(10, 39)...)
	w.change(func() { f.start, f.lso, f.hw = 10, 40, 50 })
	return f
}

// firstAsk is where the first successful fetch of a client begins: ours, or
// that of kgo itself.
func firstAsk(t *testing.T, plain bool, opts ...kgo.Opt) (offset int64) {
	t.Helper()
	makeWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := forgeRange(w)
		if plain {
			w.client(append(opts, kgo.FetchIsolationLevel(kgo.ReadCommitted()))...)
		} else {
			w.consumer(opts...)
		}
		offset = -1
		eventually(t, "a fetch within the log", func() bool {
			for _, a := range w.asks(f) {
				if offset < 0 && a.offset >= f.start && a.offset <= f.hw {
					offset = a.offset
				}
			}
			return offset >= 0
		})
	})
	return offset
}

func TestStartOffsets(t *testing.T) {
	o := kgo.NewOffset
	tests := []struct {
		name    string
		offset  kgo.Offset
		want    int64
		differs string // why kgo itself starts elsewhere
	}{
		{"start", o().AtStart(), 10, ""},
		{"end is the last stable offset", o().AtEnd(), 40, ""}, // confluentinc/librdkafka#3423
		{"exact", o().At(20), 20, ""},
		{"exact between last stable offset and high watermark", o().At(45), 45, ""},
		{"exact and relative", o().At(20).Relative(5), 25, ""},
		{"exact below the start", o().At(5), 10, ""},
		{"exact beyond the end", o().At(60), 40, "kgo goes to the log start, its documentation says the nearest bound"},
		{"exact and relative below zero", o().At(5).Relative(-20), 10, ""},
		{"start and relative", o().AtStart().Relative(3), 13, ""},
		{"start and relative beyond the end", o().AtStart().Relative(100), 40, ""},
		{"end and relative", o().AtEnd().Relative(-5), 35, ""},
		{"end and relative below the start", o().AtEnd().Relative(-100), 10, ""},
		{"end and relative beyond the end", o().AtEnd().Relative(5), 40, ""},
		{"after a time", o().AfterMilli(batchtest.Timestamp(25)), 25, ""},
		{"after a time before the log", o().AfterMilli(batchtest.Timestamp(0)), 10, ""},
		{"after a time beyond the log", o().AfterMilli(batchtest.Timestamp(1000)), 40, ""},
		{"look back", kgo.LookbackOffset(10 * time.Millisecond), 29, ""},
		{"look back beyond the start", kgo.LookbackOffset(time.Hour), 10, ""},
		{"no reset", kgo.NoResetOffset(), 40, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, firstAsk(t, false, startFrom(test.offset)))
			theirs := firstAsk(t, true, startFrom(test.offset))
			if test.differs != "" {
				require.NotEqual(t, test.want, theirs, "no longer: %s", test.differs)
				return
			}
			require.Equal(t, test.want, theirs, "kgo")
		})
	}
}

// Which option decides where whole topics start is kgo's to say.
func TestStartOfWholeTopicsFollowsTheOptions(t *testing.T) {
	tests := []struct {
		name string
		opts []kgo.Opt
		want int64
	}{
		{"nothing", nil, 10},
		{"start offset", []kgo.Opt{kgo.ConsumeStartOffset(kgo.NewOffset().AtEnd())}, 40},
		{"reset offset alone", []kgo.Opt{kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd())}, 40},
		{"a rewind alone", []kgo.Opt{kgo.ConsumeResetOffset(kgo.RewindOffset(time.Minute))}, 10},
		{"both", []kgo.Opt{
			kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd()), kgo.ConsumeStartOffset(kgo.NewOffset().At(20)),
		}, 20},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			opts := append([]kgo.Opt{kgo.ConsumeTopics(topic)}, test.opts...)
			t.Parallel()
			require.Equal(t, test.want, firstAsk(t, false, opts...))
			require.Equal(t, test.want, firstAsk(t, true, opts...), "kgo")
		})
	}
}

// loss is what a client does when the log shrinks or grows away under it.
type loss struct {
	asked  int64 // where it goes on
	lost   *kgo.ErrDataLoss
	failed bool // OFFSET_OUT_OF_RANGE was handed out
}

// poller is what our consumer and kgo's client have in common.
type poller interface {
	PollFetches(context.Context) kgo.Fetches
}

// lose reads the log up to its end at 40, then replaces its bounds and sees
// what a client does at its next fetch.
func lose(t *testing.T, plain bool, start, end int64, opts ...kgo.Opt) (l loss, moves [][2]int64) {
	t.Helper()
	makeWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0, singles(10, 39)...)
		f.start = 10
		opts = append(opts, startAt(10))
		var c poller
		var hook resetHook
		if plain {
			c = w.client(append(opts, kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.FetchMaxWait(500*time.Millisecond))...)
		} else {
			c = w.consumer(append(opts, rcconsumer.WithHooks(&hook))...)
		}
		for next := int64(10); next < 40; {
			c.PollFetches(t.Context()).EachRecord(func(r *kgo.Record) { next = r.Offset + 1 })
		}
		asked := len(w.asks(f))
		w.change(func() {
			f.start, f.lso, f.hw = start, end, end
			f.log = singles(start, end-1)
		})
		l.asked = -1
		until := time.Now().Add(10 * time.Second)
		for time.Now().Before(until) && (l.asked < 0 || l.lost == nil) {
			ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
			for _, e := range c.PollFetches(ctx).Errors() {
				l.failed = l.failed || errors.Is(e.Err, kerr.OffsetOutOfRange)
				if !errors.As(e.Err, &l.lost) && l.failed {
					until = time.Now()
				}
			}
			cancel()
			for _, a := range w.asks(f)[asked:] {
				if l.asked < 0 && a.offset >= start && a.offset <= end {
					l.asked = a.offset
				}
			}
		}
		moves = hook.all()
		if c, ok := c.(*rcconsumer.Consumer); ok && l.asked >= 0 {
			eventually(t, "the new ends", func() bool {
				return position(c).HighWatermark == end && position(c).LastStableOffset == end
			})
		}
	})
	return l, moves
}

// Sources: twmb/franz-go#621, #628 and #1428 (loss at the end),
// tulios/kafkajs#1144 (retention passed the reader).
func TestOffsetOutOfRangeFollowsTheResetPolicyOfKgo(t *testing.T) {
	policies := []struct {
		name string
		opts []kgo.Opt
	}{
		{"default", nil},
		{"start", []kgo.Opt{kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())}},
		{"end", []kgo.Opt{kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd())}},
		{"exact", []kgo.Opt{kgo.ConsumeResetOffset(kgo.NewOffset().At(15))}},
		{"rewind of nearly nothing", []kgo.Opt{kgo.ConsumeResetOffset(kgo.RewindOffset(20 * time.Millisecond))}},
		{"after a time", []kgo.Opt{kgo.ConsumeResetOffset(kgo.NewOffset().AfterMilli(batchtest.Timestamp(18)))}},
	}
	bounds := []struct {
		name       string
		start, end int64
		lost       bool
	}{
		{"the log lost its end", 10, 30, true},
		{"the log lost all but its beginning", 10, 12, true},
		{"the log starts behind", 45, 50, false},
	}
	for _, policy := range policies {
		for _, b := range bounds {
			t.Run(policy.name+"/"+b.name, func(t *testing.T) {
				t.Parallel()
				ours, moves := lose(t, false, b.start, b.end, policy.opts...)
				theirs, _ := lose(t, true, b.start, b.end, policy.opts...)
				require.GreaterOrEqual(t, ours.asked, b.start)
				require.Equal(t, theirs.asked, ours.asked)
				require.Equal(t, b.lost, theirs.lost != nil)
				require.Equal(t, b.lost, ours.lost != nil)
				if b.lost {
					require.Equal(t, [2]int64{theirs.lost.ConsumedTo, theirs.lost.ResetTo}, [2]int64{ours.lost.ConsumedTo, ours.lost.ResetTo})
				}
				require.Equal(t, [][2]int64{{40, ours.asked}}, moves)
			})
		}
	}
}

func TestNoResetOffsetFailsOnceAndRests(t *testing.T) {
	for _, test := range []struct {
		name       string
		start, end int64
	}{{"beyond the end", 10, 30}, {"below the start", 45, 50}} {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				f := w.forge(0, singles(10, 39)...)
				f.start = 10
				c := w.consumer(startAt(10), kgo.ConsumeResetOffset(kgo.NoResetOffset()))
				readOffsets(t, c, 30)
				change := func(start, end int64) {
					w.change(func() { f.start, f.lso, f.hw, f.log = start, end, end, singles(start, end-1) })
				}
				change(test.start, test.end)
				for range 2 { // the second time after SetOffsets
					e := failed(t, c)
					require.ErrorIs(t, e.Err, kerr.OffsetOutOfRange)
					var out *rcconsumer.OffsetOutOfRangeError
					require.ErrorAs(t, e.Err, &out)
					require.Equal(t, rcconsumer.OffsetOutOfRangeError{Topic: topic, Offset: 40, Start: test.start, End: test.end}, *out)
					silent(t, c, 10*time.Second)
					require.Zero(t, w.during(time.Minute))
					seek(c, 40)
				}
				require.ErrorIs(t, failed(t, c).Err, kerr.OffsetOutOfRange)
				seek(c, test.start)
				require.Equal(t, span(test.start, test.end-1), readOffsets(t, c, int(test.end-test.start)))
			})
		})
	}
}

// Source: redpanda#1574, a range check against the last stable offset; a reset
// would skip or repeat data.
func TestOffsetThatIsInTheLogIsNeverReset(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := forgeRange(w)
		var hook resetHook
		c := w.consumer(startAt(10), rcconsumer.WithHooks(&hook), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
		require.Equal(t, span(10, 39), readOffsets(t, c, 30))
		refused := 0
		w.change(func() {
			f.script = func(a ask) *kmsg.FetchResponseTopicPartition {
				if a.offset != 40 || refused == 6 {
					return nil
				}
				refused++
				return failure(kerr.OffsetOutOfRange)
			}
		})
		silent(t, c, 20*time.Second)
		w.change(func() { f.log, f.lso = append(f.log, singles(40, 49)...), 50 })
		require.Equal(t, span(40, 49), readOffsets(t, c, 10))
		require.Empty(t, hook.all())
		require.Equal(t, 6, refused)
	})
}

func TestOffsetRefusedForEverIsAskedForSeldom(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := forgeRange(w)
		f.script = func(ask) *kmsg.FetchResponseTopicPartition { return failure(kerr.OffsetOutOfRange) }
		c := w.consumer(startAt(20))
		time.Sleep(10 * time.Second)
		require.LessOrEqual(t, w.during(10*time.Second), 6)
		require.Equal(t, int64(20), position(c).Next)
	})
}

// Sources: KAFKA-2334 and redpanda#11130, OFFSET_NOT_AVAILABLE right after an
// election; Kafka's OffsetFetcherTest testListOffsetSendsReadCommitted.
func TestOffsetsAreListedAtTheIsolationLevelUntilTheyAreKnown(t *testing.T) {
	for _, uncommitted := range []bool{false, true} {
		t.Run(map[bool]string{false: "read_committed", true: "read_uncommitted"}[uncommitted], func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				forgeRange(w)
				refuse := 5
				w.editList = func(_ *kmsg.ListOffsetsRequest, resp *kmsg.ListOffsetsResponse) {
					if refuse--; refuse >= 0 {
						resp.Topics[0].Partitions[0].ErrorCode = kerr.OffsetNotAvailable.Code
					}
				}
				opts, want, level := []kgo.Opt{startFrom(kgo.NewOffset().AtEnd())}, int64(40), int8(1)
				if uncommitted {
					opts, want, level = append(opts, rcconsumer.ReadUncommitted()), 50, 0
				}
				c := w.consumer(opts...)
				untilNext(t, c, want)
				require.Empty(t, c.PollFetches(noWait))
				w.mu.Lock()
				defer w.mu.Unlock()
				for _, l := range w.lists {
					require.Equal(t, level, l.IsolationLevel)
				}
			})
		})
	}
}

func TestErrorOfListOffsetsThatStaysIsHandedOut(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		forgeRange(w)
		denied := true
		w.editList = func(_ *kmsg.ListOffsetsRequest, resp *kmsg.ListOffsetsResponse) {
			if denied {
				resp.Topics[0].Partitions[0].ErrorCode = kerr.TopicAuthorizationFailed.Code
			}
		}
		c := w.consumer(startFrom(kgo.NewOffset().AtEnd().Relative(-5)))
		for range 2 {
			require.ErrorIs(t, failed(t, c).Err, kerr.TopicAuthorizationFailed)
			require.Equal(t, int64(-1), position(c).Next, "nothing is known yet")
		}
		before := 0
		w.see(func() { before = len(w.lists) })
		time.Sleep(20 * time.Second)
		w.see(func() {
			require.LessOrEqual(t, len(w.lists)-before, 12+8, "the look-up's and the sampler's")
			denied = false
		})
		require.Equal(t, span(35, 39), readPast(t, c, 5))
	})
}

// Source: KAFKA-7703, an earlier look-up that wins over a later one.
func TestSetOffsetsWinsOverALookUpOnItsWay(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		forgeRange(w)
		var c *rcconsumer.Consumer
		w.editList = func(*kmsg.ListOffsetsRequest, *kmsg.ListOffsetsResponse) {
			if c != nil {
				seek(c, 38)
				c = nil
			}
		}
		w.mu.Lock() // holds the answer back until the consumer is known
		cons := w.consumer(startFrom(kgo.NewOffset().AtStart()))
		c = cons
		w.mu.Unlock()
		require.Equal(t, span(38, 39), readOffsets(t, cons, 2))
		silent(t, cons, 5*time.Second)
	})
}

func TestSetOffsetsSkipsWhatItCannotMove(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		forgeRange(w)
		c := w.consumer(startAt(20))
		readOffsets(t, c, 20)
		seek(c, -1)
		c.SetOffsets(map[string]map[int32]kgo.EpochOffset{topic: {7: {Offset: 1}}, "other": {0: {Offset: 1}}})
		silent(t, c, 5*time.Second)
		require.Equal(t, int64(40), position(c).Next)
		require.Len(t, c.Positions(), 1)
		seek(c, 10)
		require.Equal(t, int64(10), position(c).Next)
		require.Equal(t, span(10, 39), readOffsets(t, c, 30))
	})
}
