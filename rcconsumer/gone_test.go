package rcconsumer

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// A service that reads many topics for a while each must not remember them all.
func TestErrorsOfTopicsNoLongerNamedAreForgotten(t *testing.T) {
	m := newMetadata(nil)
	request := key{partition: -1}
	for _, k := range []key{request, {topic: "a", partition: -1}, {topic: "b", partition: 3}} {
		m.told[k] = toldError{text: "denied"}
	}
	m.forgetTold(nil, true)
	require.Len(t, m.told, 3)
	m.forgetTold([]string{"b", "c"}, false)
	require.Len(t, m.told, 2)
	require.Contains(t, m.told, request)
	require.Contains(t, m.told, key{topic: "b", partition: 3})
}

// Whoever looked a partition up before it was released may still be at work on
// it: nothing of that takes effect.
func TestReleasedPartitionIsNotTakenUpByThoseWhoStillHoldIt(t *testing.T) {
	cfg, err := readConfig(nil)
	require.NoError(t, err)
	cl, err := kgo.NewClient(kgo.SeedBrokers("127.0.0.1:1"))
	require.NoError(t, err)
	c := newConsumer(cfg)
	c.open(cl)
	defer c.Close()
	start := offsetSpec{at: atStart, epoch: -1}
	p := c.ensure("t", 0, start)
	other := c.ensure("t", 1, start)
	for _, q := range []*partition{p, other} {
		q.leads(1, 0)
		c.place(q)
	}
	require.Len(t, c.broker(1).turn(), 2)

	c.offer(p, true, false)

	c.release(p)
	require.Empty(t, c.out.ready)
	require.Equal(t, []*partition{other}, c.broker(1).turn())
	require.Nil(t, c.partition("t", 0))
	c.place(p) // a leader that was learned of before
	require.Equal(t, []*partition{other}, c.broker(1).turn())
	changed, _ := p.leads(2, 5)
	require.False(t, changed)
	require.True(t, c.identify(p, [16]byte{1}))
	require.Zero(t, p.topicID)
	p.mu.Lock()
	p.seekLocked(7, 1)
	p.beginLocked(start)
	require.Equal(t, resting, p.phase)
	p.mu.Unlock()

	again := c.ensure("t", 0, start)
	require.NotSame(t, p, again)
	require.Same(t, again, c.ensure("t", 0, start))
	c.release(p) // a second time, late
	require.Same(t, again, c.partition("t", 0))
	c.ensure("u", 0, start)
	c.releaseTopic("t")
	c.releaseTopic("u")
	require.Empty(t, c.parts)
	require.Empty(t, c.broker(1).turn())
}
