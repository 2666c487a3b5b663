package conformance

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/mutant"
	"example.com/readcommitted/conformance/internal/wire"
	"example.com/readcommitted/internal/kafkatest"
)

// deleter is a cluster that deletes as answer says; it notes how many things each
// request named.
type deleter struct {
	there    map[string]bool
	requests []int
	answer   func(d *deleter, names []string) (map[string]int16, error)
}

func (d *deleter) ask(_ context.Context, names []string) (map[string]int16, error) {
	d.requests = append(d.requests, len(names))
	return d.answer(d, names)
}

func (d *deleter) delete(names ...string) map[string]int16 {
	codes := map[string]int16{}
	for _, name := range names {
		codes[name] = 0
		delete(d.there, name)
	}
	return codes
}

func TestManyAreDeletedWithOneRequest(t *testing.T) {
	for _, c := range []struct {
		name     string
		answer   func(d *deleter, names []string) (map[string]int16, error)
		left     map[string]error
		requests int // at most
	}{
		{"all", func(d *deleter, names []string) (map[string]int16, error) { return d.delete(names...), nil }, nil, 3},
		{"all but one that may not", func(d *deleter, names []string) (map[string]int16, error) {
			codes := d.delete(names...)
			if slices.Contains(names, "n-007") {
				codes["n-007"], d.there["n-007"] = kerr.TopicAuthorizationFailed.Code, true
			}
			return codes, nil
		}, map[string]error{"n-007": kerr.TopicAuthorizationFailed}, 3},
		{"one only later", func(d *deleter, names []string) (map[string]int16, error) {
			first := slices.Contains(names, "n-006")
			codes := d.delete(names...)
			if first {
				codes["n-007"], d.there["n-007"] = kerr.NonEmptyGroup.Code, true
			}
			return codes, nil
		}, nil, 4},
		{"one never", func(d *deleter, names []string) (map[string]int16, error) {
			codes := d.delete(names...)
			if slices.Contains(names, "n-007") {
				codes["n-007"], d.there["n-007"] = kerr.NonEmptyGroup.Code, true
			}
			return codes, nil
		}, map[string]error{"n-007": kerr.NonEmptyGroup}, 1000},
		{"many take too long", func(d *deleter, names []string) (map[string]int16, error) {
			d.delete(names[0]) // carried out all the same
			if len(names) > 10 {
				return nil, fmt.Errorf("request: %w", wire.ErrTimeout)
			}
			return d.delete(names...), nil
		}, nil, 50},
		{"only the first is looked at", func(d *deleter, names []string) (map[string]int16, error) { return d.delete(names[0]), nil }, nil, 130},
		{"no answer names anything", func(d *deleter, names []string) (map[string]int16, error) {
			d.delete(names...)
			return nil, nil
		}, nil, 130},
		{"nothing of the kind", func(*deleter, []string) (map[string]int16, error) {
			return nil, wire.ErrUnsupported
		}, map[string]error{"n-000": wire.ErrUnsupported, "n-119": wire.ErrUnsupported}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := &deleter{there: map[string]bool{}, answer: c.answer}
			for i := range 120 {
				d.there[fmt.Sprintf("n-%03d", i)] = true
			}
			r := &run{config: Config{Slow: 0.02}}
			left := r.deleteAll(t.Context(), slices.Sorted(maps.Keys(d.there)), d.ask)
			require.Equal(t, slices.Sorted(maps.Keys(d.there)), slices.Sorted(maps.Keys(left)), "what is told is what is there")
			for name, want := range c.left {
				require.ErrorIs(t, left[name], want)
			}
			require.LessOrEqual(t, len(d.requests), c.requests, "%v", d.requests)
		})
	}
}

// A clean-up that is out of time names everything that is still there.
func TestWhatTheCleanUpHadNoTimeForIsNamed(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	d := &deleter{there: map[string]bool{"a": true, "b": true}, answer: func(*deleter, []string) (map[string]int16, error) {
		cancel()
		return nil, wire.ErrTimeout
	}}
	r := &run{config: Config{Slow: 1}}
	require.Len(t, r.deleteAll(ctx, []string{"a", "b"}, d.ask), 2)
	require.Len(t, d.requests, 1)
}

func TestCleanUpHasTheTimeThatItTakes(t *testing.T) {
	slow := &run{config: Config{Slow: 3}}
	require.Equal(t, 3*(time.Minute+100*time.Second), slow.cleaningLimit(200))
	fast := &run{config: Config{Slow: 0.1}}
	require.Equal(t, time.Minute, fast.cleaningLimit(0))
}

// Topics and groups go with few requests, and once each.
func TestCleanUpTakesFewRequests(t *testing.T) {
	t.Parallel()
	requests := map[kmsg.Key]int{}
	c := kafkatest.Fake(t, kafkatest.Config{})
	proxy, err := mutant.New(t.Context(), c.Addrs(), mutant.Damage{
		Keys: []kmsg.Key{kmsg.DeleteTopics, kmsg.DeleteGroups, kmsg.FindCoordinator}, Request: func(c *mutant.Call) { requests[kmsg.Key(c.Request.Key())]++ },
	})
	require.NoError(t, err)
	t.Cleanup(proxy.Close)
	r, err := newRun(t.Context(), Config{Options: []kgo.Opt{kgo.SeedBrokers(proxy.Addrs()...)}, RunID: newRunID(t), AllowAdmin: true})
	require.NoError(t, err)
	defer r.client.Close()
	report := r.judge(t.Context(), []*Scenario{scenario(func(t *trial) {
		t.witness(true, "")
		for range 12 {
			p := t.partition()
			t.plain(p, 1)
			g := t.group()
			g.commit(p, 1)
		}
	})})
	require.Equal(t, Pass, report.Results[0].Outcome, report.Results[0].Reason)
	require.Empty(t, report.Left)
	require.Equal(t, 1, requests[kmsg.DeleteTopics])
	require.Equal(t, 1, requests[kmsg.DeleteGroups])
}
