package rcconsumer_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// refuseFetch makes the cluster answer OffsetFetches of partitions of [topic]
// with an error, count times or, with -1, for ever.
func (w *world) refuseFetch(err *kerr.Error, count int, partitions ...int32) {
	w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetFetch}, Topic: topic, Partitions: partitions, Err: err, Count: count})
}

// slowFetch makes every OffsetFetch take some time.
func (w *world) slowFetch(d time.Duration) {
	w.ControlKey(int16(kmsg.OffsetFetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		w.KeepControl()
		w.SleepControl(func() {
			select {
			case <-time.After(d):
			case <-w.over:
			}
		})
		return nil, nil, false
	})
}

// commits is a program that commits offsets of partitions 0, 1, ...
func commits(offsets ...int64) func(*twin) {
	return func(d *twin) { d.commitSync(d.t.Context(), eachAt(-1, offsets...), d.answered("before")) }
}

// readOn polls and commits like a careful program.
func readOn(d *twin) {
	d.state("begun")
	d.poll(3)
	d.state("polled")
	d.tick()
	d.poll(100)
	d.poll(100)
	d.tick()
	d.state("read")
}

func adjust(fn func(map[string]map[int32]kgo.Offset)) kgo.Opt {
	return kgo.AdjustFetchOffsetsFn(func(_ context.Context, all map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
		fn(all)
		return all, nil
	})
}

// Where reading begins, and what is committed then, is as in kgo.
func TestReadingBeginsWhereItDoesInKgo(t *testing.T) {
	tests := []struct {
		name    string
		before  []int64
		opts    []kgo.Opt
		program func(*twin)
	}{
		{"at the commit", []int64{4}, nil, readOn},
		{"at the end without a commit", nil, []kgo.Opt{kgo.ConsumeStartOffset(kgo.NewOffset().AtEnd())}, readOn},
		{"at the commit whatever the start", []int64{4}, []kgo.Opt{kgo.ConsumeStartOffset(kgo.NewOffset().AtEnd())}, readOn},
		{"at an offset without a commit", nil, []kgo.Opt{kgo.ConsumeStartOffset(kgo.NewOffset().At(5))}, readOn},
		{"behind a commit beyond the end", []int64{100}, []kgo.Opt{kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), manually}, func(d *twin) {
			d.poll(3)
			d.state("from the start")
			d.commitUncommitted()
			d.state("a commit goes back")
		}},
		{"at the end behind a commit beyond the end", []int64{100}, []kgo.Opt{kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd())}, func(d *twin) {
			d.poll(3)
		}},
		{"moved by the caller", []int64{4}, []kgo.Opt{adjust(func(all map[string]map[int32]kgo.Offset) {
			all[topic][0] = kgo.NewOffset().At(2)
		})}, readOn},
		{"moved by the caller, relative to the commit", []int64{4}, []kgo.Opt{adjust(func(all map[string]map[int32]kgo.Offset) {
			all[topic][0] = all[topic][0].Relative(-3)
		})}, readOn},
		{"moved by the caller, to the start", []int64{4}, []kgo.Opt{adjust(func(all map[string]map[int32]kgo.Offset) {
			all[topic][0] = kgo.NewOffset().AtStart()
		})}, readOn},
		{"the epoch removed by the caller", []int64{4}, []kgo.Opt{adjust(func(all map[string]map[int32]kgo.Offset) {
			all[topic][0] = all[topic][0].WithEpoch(-1)
		})}, readOn},
		{"a seek when assigned", []int64{4}, []kgo.Opt{calls(onPartitions{assigned: func(d *twin, _ map[string][]int32) {
			d.SetOffsets(eachAt(-1, 6))
		}})}, readOn},
		{"a seek when assigned without a commit", nil, []kgo.Opt{calls(onPartitions{assigned: func(d *twin, _ map[string][]int32) {
			d.SetOffsets(eachAt(-1, 6))
		}})}, readOn},
		{"a seek to the commit when assigned", []int64{4}, []kgo.Opt{calls(onPartitions{assigned: func(d *twin, _ map[string][]int32) {
			d.SetOffsets(eachAt(-1, 4))
		}})}, readOn},
		{"a seek wins over the caller's own start", []int64{4}, []kgo.Opt{
			calls(onPartitions{assigned: func(d *twin, _ map[string][]int32) { d.SetOffsets(eachAt(-1, 6)) }}),
			adjust(func(all map[string]map[int32]kgo.Offset) { all[topic][0] = kgo.NewOffset().At(1) }),
		}, readOn},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				w.produce(topic, 0, values(9)...)
				if test.before != nil {
					alike(t, w, commits(test.before...), manually)
				}
				alike(t, w, test.program, test.opts...)
			})
		})
	}
}

// kgo reads nothing of such a partition, and commits the place of the seek.
func TestAPartitionWithoutAStartIsReadAfterASeek(t *testing.T) {
	refused := func(w *world) []kgo.Opt {
		w.refuseFetch(kerr.TopicAuthorizationFailed, -1, 1)
		return nil
	}
	leftOut := func(*world) []kgo.Opt {
		return []kgo.Opt{adjust(func(all map[string]map[int32]kgo.Offset) { delete(all[topic], 1) })}
	}
	for name, without := range map[string]func(*world) []kgo.Opt{"refused by the coordinator": refused, "left out by the caller": leftOut} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, 2, func(t *testing.T, w *world) {
				w.produce(topic, 0, values(3)...)
				w.produce(topic, 1, values(9)...)
				c := w.member(without(w)...)
				if name == "refused by the coordinator" {
					err := failed(t, c)
					require.EqualValues(t, 1, err.Partition)
					require.ErrorIs(t, err.Err, kerr.TopicAuthorizationFailed)
				}
				require.Equal(t, span(0, 2), readOffsets(t, c, 3))
				silent(t, c, 10*time.Second)
				require.EqualValues(t, -1, w.committed(1))
				c.SetOffsets(map[string]map[int32]kgo.EpochOffset{topic: {1: {Epoch: -1, Offset: 7}}})
				require.Equal(t, span(7, 8), readOffsets(t, c, 2))
				silent(t, c, 10*time.Second)
				require.EqualValues(t, 9, w.committed(1))
			})
		})
	}
}

func TestASeekWhileTheCommitIsFetchedWins(t *testing.T) {
	for name, before := range map[string][]int64{"with a commit": {4}, "without": nil} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				w.produce(topic, 0, values(9)...)
				if before != nil {
					alike(t, w, commits(before...), manually)
				}
				w.slowFetch(8 * interval)
				alike(t, w, func(d *twin) {
					d.SetOffsets(eachAt(-1, 6))
					time.Sleep(8 * interval)
					readOn(d)
				}, manually)
			})
		})
	}
}

// Sources: redpanda#6423, librdkafka#3265: never taken for "no commit".
func TestAnUnstableCommitIsWaitedFor(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.produce(topic, 0, values(50)...)
		alike(t, w, commits(42), manually)
		seen := w.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetFetch}, Count: -1, Observe: true, When: func(req kmsg.Request) bool {
			return req.(*kmsg.OffsetFetchRequest).RequireStable
		}})
		for range 2 {
			w.refuseFetch(kerr.UnstableOffsetCommit, 3)
			alike(t, w, func(d *twin) {
				d.poll(3)
				time.Sleep(10 * interval)
				readOn(d)
			}, manually)
		}
		require.GreaterOrEqual(t, seen.Hits(), 4)
	})
}

func TestWithoutACommitAtCommittedIsAnErrorUntilASeek(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.produce(topic, 0, values(3)...)
		c := w.member(kgo.ConsumeStartOffset(kgo.NewOffset().AtCommitted()))
		require.ErrorContains(t, failed(t, c).Err, "no prior committed offset")
		silent(t, c, 10*time.Second)
		seek(c, 1)
		require.Equal(t, []int64{1, 2}, readOffsets(t, c, 2))
	})
}

func TestTheCallersStartIsSeenAndMayFail(t *testing.T) {
	inWorld(t, 1, 2, func(t *testing.T, w *world) {
		w.produce(topic, 0, values(9)...)
		start := kgo.NewOffset().At(3)
		var seen []kgo.Offset
		boom := errors.New("boom")
		c := w.member(kgo.ConsumeStartOffset(start), kgo.AdjustFetchOffsetsFn(func(_ context.Context, all map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
			if seen = append(seen, all[topic][0]); len(seen) < 3 {
				return nil, boom
			}
			return all, nil
		}))
		var failures int
		for _, err := range c.PollFetches(noWait).Errors() {
			var session *kgo.ErrGroupSession
			require.ErrorAs(t, err.Err, &session)
			require.ErrorIs(t, err.Err, boom)
			failures++
		}
		require.Equal(t, 2, failures)
		require.Equal(t, span(3, 8), readOffsets(t, c, 6))
		require.Equal(t, []kgo.Offset{start, start, start}, seen)
	})
}
