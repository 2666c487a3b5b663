package rcconsumer_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/kafkatest"
	"example.com/readcommitted/rcconsumer"
)

// mixed writes about 300 offsets: interleaved transactions of two producers,
// committed and aborted, with plain batches between.
func mixed(t *testing.T, l *ledger) (end int64) {
	t.Helper()
	a, b, c := l.writer(t, "a", kafkatest.ProducerConfig{}), l.writer(t, "b", kafkatest.ProducerConfig{}), l.plainWriter(t, "c")
	fates := []fate{commit, abort, abort, commit, abort}
	for i := 0; l.end(0) < 250; i++ {
		a.begin(fates[i%5]).batch(t, 0, 1+i%7)
		b.begin(fates[i%3]).batch(t, 0, 12)
		a.batch(t, 0, 21-i%7)
		if i%2 == 0 {
			c.batch(t, 0, 3)
		}
		a.end(t)
		b.batch(t, 0, 6)
		b.end(t)
	}
	l.settle(t, 0)
	c.batch(t, 0, int(300-l.end(0)))
	return l.settle(t, 0)
}

func TestRealEveryStartOffsetGivesTheRestOfTheLog(t *testing.T) {
	t.Parallel() // zendesk/ruby-kafka#635: a batch that begins before the start offset is delivered in part
	l := newLedger(t, kafkatest.Real(t, kafkatest.Config{}), kafkatest.TopicConfig{})
	end := mixed(t, l)
	require.EqualValues(t, 300, end)
	l.agree(t, 0, 0, end)

	tests := []struct {
		name        string
		uncommitted bool
		opts        []kgo.Opt
	}{
		{"read_committed", false, nil},
		{"read_committed, one batch per fetch", false, []kgo.Opt{kgo.FetchMaxPartitionBytes(1)}},
		{"read_uncommitted", true, []kgo.Opt{kgo.FetchIsolationLevel(kgo.ReadUncommitted())}},
		{"read_uncommitted, one batch per fetch", true, []kgo.Opt{kgo.FetchIsolationLevel(kgo.ReadUncommitted()), kgo.FetchMaxPartitionBytes(1)}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newConsumer(t, l.c, append(test.opts, from(l.topic, 0, at(end)), kgo.FetchMaxWait(10*time.Millisecond))...)
			newHarvest(c).untilNext(t, l.topic, 0, end)
			for start := range end {
				c.SetOffsets(map[string]map[int32]kgo.EpochOffset{l.topic: {0: {Offset: start, Epoch: -1}}})
				require.Equal(t, l.visible(0, test.uncommitted, start, end), newHarvest(c).untilNext(t, l.topic, 0, end), "from %d", start)
			}
			for start := int64(0); start <= end; start += 50 { // the same without a seek
				require.Equal(t, l.visible(0, test.uncommitted, start, end), l.read(t, 0, start, end, test.opts...), "from %d", start)
			}
		})
	}
}

// Times of the three batches that blocked writes, in milliseconds.
const (
	early  = 1_700_000_000_000
	middle = early + 60_000
	late   = early + 120_000
)

// blocked writes plain 0-4 (early), an open transaction 5-8 (middle) and plain
// 9-11 (late): the last stable offset is 5, the high watermark 12.
func blocked(t *testing.T, l *ledger, f fate) *writer {
	t.Helper()
	w, c := l.writer(t, "w", kafkatest.ProducerConfig{}), l.plainWriter(t, "plain")
	c.timestamp, w.timestamp = early, middle
	c.batch(t, 0, 5)
	w.begin(f).batch(t, 0, 4)
	c.timestamp = late
	c.batch(t, 0, 3)
	l.c.WaitHW(t, l.topic, 0, 12)
	l.c.WaitLSO(t, l.topic, 0, 5)
	return w
}

func TestRealStartOffsetsAreWithinWhatMayBeRead(t *testing.T) {
	t.Parallel()
	cluster := kafkatest.Real(t, kafkatest.Config{})
	tests := []struct {
		name  string
		start kgo.Offset
		next  int64 // where it starts at read_committed, while the transaction is open
	}{
		{"end is the last stable offset", kgo.NewOffset().AtEnd(), 5}, // confluentinc/librdkafka#3423
		{"before the end", kgo.NewOffset().AtEnd().Relative(-2), 3},
		{"after the end", kgo.NewOffset().AtEnd().Relative(5), 5},
		{"start", kgo.NewOffset().AtStart(), 0},
		{"after the start", kgo.NewOffset().AtStart().Relative(3), 3},
		{"time of the second plain record", kgo.NewOffset().AfterMilli(early + 1), 1},
		{"time of undecided data", kgo.NewOffset().AfterMilli(middle), 5},
		{"time past everything", kgo.NewOffset().AfterMilli(late + time.Hour.Milliseconds()), 5},
		{"exactly the last stable offset", at(5), 5},
	}
	for _, test := range tests {
		for _, f := range []fate{commit, abort} {
			t.Run(test.name+", then "+string(f), func(t *testing.T) {
				t.Parallel()
				l := newLedger(t, cluster, kafkatest.TopicConfig{})
				w := blocked(t, l, f)
				c := newConsumer(t, cluster, from(l.topic, 0, test.start), kgo.FetchMaxWait(100*time.Millisecond))
				h := newHarvest(c)
				h.until(t, "the start offset", func() bool {
					pos, ok := c.Position(l.topic, 0)
					return ok && pos.CaughtUp()
				})
				require.Equal(t, l.visible(0, false, test.next, 5), h.lines[l.topic][0])
				w.end(t)
				end := l.settle(t, 0)
				want := l.visible(0, false, test.next, end)
				require.Equal(t, want, h.untilNext(t, l.topic, 0, end))
				require.Equal(t, l.kgoRead(t, 0, test.next, want[len(want)-1].Offset, kgo.ReadCommitted()), want)
			})
		}
	}
}

func TestRealReadUncommittedReachesTheHighWatermark(t *testing.T) {
	t.Parallel() // twmb/franz-go#758: the list of aborted transactions is not for this reader
	l := newLedger(t, kafkatest.Real(t, kafkatest.Config{}), kafkatest.TopicConfig{})
	w := blocked(t, l, abort)
	c := newConsumer(t, l.c, from(l.topic, 0, at(0)), rcconsumer.ReadUncommitted())
	h := newHarvest(c)
	require.Equal(t, l.visible(0, true, 0, 12), h.untilNext(t, l.topic, 0, 12))
	pos, _ := c.Position(l.topic, 0)
	require.True(t, pos.CaughtUp())
	w.end(t)
	l.plainWriter(t, "later").batch(t, 0, 1)
	end := l.settle(t, 0)
	require.Equal(t, l.visible(0, true, 0, end), h.untilNext(t, l.topic, 0, end))

	late := newConsumer(t, l.c, from(l.topic, 0, kgo.NewOffset().AtEnd()), rcconsumer.ReadUncommitted())
	newHarvest(late).until(t, "the end", func() bool { pos, _ := late.Position(l.topic, 0); return pos.Next == end })
}

func TestRealStartAboveTheLastStableOffsetWaitsWithoutSpinning(t *testing.T) {
	t.Parallel() // the broker answers empty at once there, whatever wait was asked for
	l := newLedger(t, kafkatest.Real(t, kafkatest.Config{}), kafkatest.TopicConfig{})
	w := blocked(t, l, commit)
	var sent requests
	c := newConsumer(t, l.c, from(l.topic, 0, at(7)), kgo.WithHooks(&sent))
	h := newHarvest(c)
	h.until(t, "the ends", func() bool {
		pos, ok := c.Position(l.topic, 0)
		return ok && pos.LastStableOffset >= 0
	})
	before := sent.fetches()
	h.quiet(t, 2*time.Second)
	require.LessOrEqual(t, sent.fetches()-before, 12, "fetches in 2 s")
	pos, _ := c.Position(l.topic, 0)
	require.EqualValues(t, 7, pos.Next)
	require.EqualValues(t, 7, pos.HeldBack())

	w.end(t)
	end := l.settle(t, 0)
	require.Equal(t, l.visible(0, false, 7, end), h.untilNext(t, l.topic, 0, end))
}

func TestRealIdleTopicIsAskedOncePerMaxWait(t *testing.T) {
	t.Parallel()
	l := newLedger(t, kafkatest.Real(t, kafkatest.Config{}), kafkatest.TopicConfig{Partitions: 10})
	var sent requests
	c := newConsumer(t, l.c, kgo.ConsumeTopics(l.topic), kgo.FetchMaxWait(400*time.Millisecond), kgo.WithHooks(&sent))
	h := newHarvest(c)
	h.until(t, "the ends of all partitions", func() bool {
		caught := 0
		for _, pos := range c.Positions()[l.topic] {
			if pos.CaughtUp() {
				caught++
			}
		}
		return caught == 10
	})
	before := sent.total()
	h.quiet(t, 2*time.Second)
	require.LessOrEqual(t, sent.total()-before, 8, "requests of any kind in 2 s")
	l.plainWriter(t, "plain").batch(t, 7, 1)
	require.Equal(t, l.visible(7, false, 0, 1), h.untilNext(t, l.topic, 7, 1))
}
