package rcconsumer

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// What health costs while all is well: no allocation, and no lock that brokers
// share.
func TestHealthCostsNothingPerAnswer(t *testing.T) {
	w, b := newWatch(func() {}), newBroker(nil, 1)
	p := &partition{c: &Consumer{cfg: config{ours: ours{stableInterval: time.Second}}}}
	c := new(Consumer)
	w.mu.Lock() // whoever needs it would hang
	defer w.mu.Unlock()
	per := testing.AllocsPerRun(1000, func() {
		w.OnBrokerWrite(kgo.BrokerMetadata{}, int16(kmsg.Fetch), 100, 0, 0, nil)
		w.OnBrokerRead(kgo.BrokerMetadata{}, int16(kmsg.Fetch), 100, 0, 0, nil)
		b.sends(time.Second)
		b.answered()
		b.ails.ended()
		p.ails.fetch.ended()
		p.heldLocked(true, w.began)
		c.stir()
	})
	require.Zero(t, per)
}

// What the client itself has no more use for says nothing of a broker.
func TestCancelledDialIsNoFailure(t *testing.T) {
	w := newWatch(func() {})
	w.OnBrokerConnect(kgo.BrokerMetadata{NodeID: 1}, 0, nil, fmt.Errorf("unable to dial: %w", context.Canceled))
	w.OnGroupManageError(context.Canceled)
	require.False(t, w.outage.on() || w.group.look().on())
	require.Empty(t, w.dials)
	w.OnBrokerConnect(kgo.BrokerMetadata{NodeID: 1}, 0, nil, io.EOF)
	require.True(t, w.outage.on())
	require.Len(t, w.dials, 1)
	w.OnBrokerConnect(kgo.BrokerMetadata{NodeID: 1}, 0, nil, nil)
	require.Empty(t, w.dials)
}

func BenchmarkHealthPerAnswer(b *testing.B) {
	w, br := newWatch(func() {}), newBroker(nil, 1)
	b.ReportAllocs()
	for b.Loop() {
		w.OnBrokerWrite(kgo.BrokerMetadata{}, int16(kmsg.Fetch), 100, 0, 0, nil)
		w.OnBrokerRead(kgo.BrokerMetadata{}, int16(kmsg.Fetch), 100, 0, 0, nil)
		br.sends(time.Second)
		br.answered()
		br.ails.ended()
	}
}
