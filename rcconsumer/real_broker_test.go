package rcconsumer_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"example.com/readcommitted/internal/kafkatest"
	"example.com/readcommitted/rcconsumer"
)

// noLeaks fails a test that leaves goroutines behind. Call it first.
func noLeaks(t *testing.T) {
	t.Helper()
	current := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, append(kafkatest.LeakOptions(), current)...) })
}

func TestRealKilledBrokerIsReadOnWhenItIsBack(t *testing.T) {
	noLeaks(t)
	l := newLedger(t, kafkatest.Real(t, kafkatest.Config{Control: true}), kafkatest.TopicConfig{})
	node := l.c.Local().Node(0)
	w, c := l.writer(t, "w", kafkatest.ProducerConfig{}), l.plainWriter(t, "plain")
	for range 10 {
		w.whole(t, 0, commit, 5)
		w.whole(t, 0, abort, 5, 5)
		c.batch(t, 0, 2)
	}
	l.settle(t, 0)
	w.begin(commit).batch(t, 0, 3) // open over the restart

	consumer := newConsumer(t, l.c, from(l.topic, 0, at(0)))
	h := newHarvest(consumer)
	for h.total() < 12 {
		require.NoError(t, h.poll(t.Context(), t, 4))
	}
	require.NoError(t, node.Kill())
	for range 3 {
		require.NoError(t, h.poll(t.Context(), t, 4), "what is buffered is still handed out")
	}
	require.NoError(t, node.Start(t.Context()))

	w.batch(t, 0, 2)
	w.end(t)
	w.whole(t, 0, abort, 4)
	w.whole(t, 0, commit, 4)
	end := l.settle(t, 0)
	require.Equal(t, l.visible(0, false, 0, end), h.untilNext(t, l.topic, 0, end))

	// Once more, with a reader that waits at the end.
	require.NoError(t, node.Kill())
	require.NoError(t, node.Start(t.Context()))
	c.batch(t, 0, 3)
	end = l.settle(t, 0)
	require.Equal(t, l.visible(0, false, 0, end), h.untilNext(t, l.topic, 0, end))
	l.agree(t, 0, 0, end)
}

func TestRealHangingTransactionIsVisibleInThePosition(t *testing.T) {
	t.Parallel() // KAFKA-14884, KIP-890: nobody will end it
	cluster := kafkatest.Real(t, kafkatest.Config{Settings: kafkatest.HangSettings(), Private: true})
	l := newLedger(t, cluster, kafkatest.TopicConfig{})
	c := l.plainWriter(t, "plain")
	c.batch(t, 0, 5)
	hung := []string{"hung/1/0/abort", "hung/1/1/abort"}
	producerID, epoch, base := cluster.Hang(t, l.topic, 0, kafkatest.Values(hung...))
	l.note(0, base, hung)
	c.batch(t, 0, 3)
	cluster.WaitHW(t, l.topic, 0, 10)
	cluster.WaitLSO(t, l.topic, 0, 5)

	consumer := newConsumer(t, cluster, from(l.topic, 0, at(0)))
	h := newHarvest(consumer)
	h.untilNext(t, l.topic, 0, 5)
	h.until(t, "the ends", func() bool { pos, _ := consumer.Position(l.topic, 0); return pos.HighWatermark == 10 })
	first, _ := consumer.Position(l.topic, 0)
	h.quiet(t, time.Second)
	var pos rcconsumer.Position
	h.until(t, "another answer", func() bool {
		pos, _ = consumer.Position(l.topic, 0)
		return pos.UpdatedAt.After(first.UpdatedAt)
	})
	require.EqualValues(t, 5, pos.Next)
	require.EqualValues(t, 5, pos.HeldBack())
	require.Equal(t, first.StableSince, pos.StableSince, "nothing has moved since")

	cluster.WriteMarker(t, l.topic, 0, producerID, epoch, false)
	l.noteMarker(0)
	end := l.settle(t, 0)
	require.Equal(t, l.visible(0, false, 0, end), h.untilNext(t, l.topic, 0, end))
	l.agree(t, 0, 0, end)
}
