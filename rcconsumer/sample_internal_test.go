package rcconsumer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// An answer of the sampler counts only for the log it was asked about; a seek or
// a pause meanwhile does not make it less true.
func TestSampleOfAnEarlierLeaderOrLogIsDropped(t *testing.T) {
	tests := []struct {
		name  string
		while func(*partition)
		want  int64
	}{
		{"nothing happened", func(*partition) {}, 90},
		{"a seek", func(p *partition) { p.seekLocked(7, -1) }, 90},
		{"a pause", func(p *partition) { p.rewindLocked() }, 90},
		{"a new leader", func(p *partition) { p.setLeaderLocked(2, 4) }, 50},
		{"a new epoch", func(p *partition) { p.setLeaderLocked(1, 4) }, 50},
		{"a truncation", func(p *partition) { p.forgetEndsLocked(0, 60) }, -1},
		{"a recreated topic", func(p *partition) { p.beginAnewLocked(&notices{}) }, -1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := New(kgo.SeedBrokers("127.0.0.1:1"))
			require.NoError(t, err)
			defer c.Close()
			p := c.ensure("t", 0, offsetSpec{at: 0, epoch: -1})
			p.mu.Lock()
			p.setLeaderLocked(1, 3)
			p.endsLocked(3, 0, 50, 70)
			p.pos.UpdatedAt = time.Now().Add(-time.Hour)
			m := sample{p: p, lineage: p.lineage, epoch: 3}
			test.while(p)
			p.mu.Unlock()
			asked := time.Now().Add(-time.Second)
			require.NoError(t, c.sampled(m, asked, listed{offset: 90}, listed{offset: 95}))
			require.Equal(t, test.want, p.position().LastStableOffset)
			require.Equal(t, test.want == 90, asked.Equal(p.position().UpdatedAt), "as old as the question")
			heard := time.Now()
			p.mu.Lock()
			p.pos.UpdatedAt = heard
			p.mu.Unlock()
			require.NoError(t, c.sampled(m, asked, listed{offset: 90}, listed{offset: 95}))
			require.True(t, heard.Equal(p.position().UpdatedAt), "a Fetch answer came meanwhile")
		})
	}
}

// A partition joins a question early enough that the next one is in time.
func TestPartitionsOfALeaderAreAskedForTogether(t *testing.T) {
	c := &Consumer{cfg: config{ours: ours{stableInterval: 10 * time.Second}}, parts: make(map[string]map[int32]*partition)}
	s := newSampler(c)
	now := time.Now()
	for id, age := range []time.Duration{9 * time.Second, 2 * time.Second, 1 * time.Second} {
		p := c.ensure("t", int32(id), offsetSpec{at: 0, epoch: -1})
		p.leader, p.began, p.pos.UpdatedAt = 1, now.Add(-time.Hour), now.Add(-age)
	}
	due, _ := s.due(now)
	require.Len(t, due[1], 2, "the youngest one can wait eight seconds more")
	due, next := s.due(now.Add(time.Hour))
	require.Empty(t, due, "one question at a time")
	require.Equal(t, 8*time.Second, next)

	s.done(1, now, nil)
	due, next = s.due(now.Add(time.Second))
	require.Empty(t, due)
	require.Equal(t, 7*time.Second, next, "eight seconds after the last question")
	due, _ = s.due(now.Add(8 * time.Second))
	require.Len(t, due[1], 3)
}

// Within a session a broker leaves out partitions whose high watermark has not
// changed. Whether the last stable offset has is not always told by that.
func TestPartitionLeftOutOfASessionIsSampledIfItsStableOffsetMayHaveMoved(t *testing.T) {
	for _, test := range []struct {
		name    string
		opts    []kgo.Opt
		offset  int64
		lso, hw int64
		fresh   bool
	}{
		{"blocked at the last stable offset", nil, 50, 50, 70, true},
		{"read to the end", []kgo.Opt{ReadUncommitted()}, 70, 70, 70, true},
		{"read past an open transaction", []kgo.Opt{ReadUncommitted()}, 70, 50, 70, false},
		{"ends not known", nil, 50, -1, -1, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := New(append(test.opts, kgo.SeedBrokers("127.0.0.1:1"))...)
			require.NoError(t, err)
			defer c.Close()
			p := c.ensure("t", 0, offsetSpec{at: test.offset, epoch: -1})
			p.mu.Lock()
			defer p.mu.Unlock()
			p.endsLocked(0, 0, test.lso, test.hw)
			long := time.Now().Add(-time.Hour)
			p.pos.UpdatedAt = long
			p.unchangedLocked(0, &notices{})
			require.Equal(t, test.fresh, p.pos.UpdatedAt.After(long))
		})
	}
}
