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

// staysFresh looks at a partition's ends while d passes.
func staysFresh(t *testing.T, c *rcconsumer.Consumer, partition int32, d, most time.Duration) {
	t.Helper()
	for until := time.Now().Add(d); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		p, _ := c.Position(topic, partition)
		require.LessOrEqual(t, time.Since(p.UpdatedAt), most)
	}
}

// asked is how many ListOffsets came.
func (w *world) asked() (n int) {
	w.see(func() { n = len(w.lists) })
	return n
}

// Sources: KAFKA-7535 and Karafka's page of stable offsets; a reader that does
// not fetch must still be able to say how far it is behind and who holds it back.
func TestEndsStayFreshWhereNoFetchBringsThem(t *testing.T) {
	hour := kgo.FetchMaxWait(time.Hour)
	pause := func(c *rcconsumer.Consumer) { c.PauseFetchTopics(topic) }
	tests := []struct {
		name   string
		start  int64
		opts   []kgo.Opt
		script func(ask) *kmsg.FetchResponseTopicPartition
		then   func(*rcconsumer.Consumer)
	}{
		{"paused", 20, nil, nil, pause},
		{"paused at the end", 40, nil, nil, pause},
		{"idle at the end under a long wait", 40, []kgo.Opt{hour}, nil, nil},
		{"blocked under a long wait", 40, []kgo.Opt{hour}, nil, nil},
		{"in error", 20, nil, always(failure(kerr.KafkaStorageError)), nil},
		{"denied", 20, nil, always(failure(kerr.TopicAuthorizationFailed)), nil},
		{"damaged", 20, nil, always(batchtest.Log{batchtest.Data(20, 29).Cut(1)}.Partition(nil)), nil},
		{"resting", 70, []kgo.Opt{kgo.ConsumeResetOffset(kgo.NoResetOffset())}, nil, nil},
		{"waiting for room", 20, []kgo.Opt{rcconsumer.BufferBytes(100)}, nil, nil},
		{"waiting for room of its own", 20, []kgo.Opt{kgo.FetchMaxPartitionBytes(100)}, nil, nil},
		{"never fetched", 20, nil, nil, pause},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				f := forgeRange(w)
				f.script = test.script
				from := kgo.NewOffset().At(test.start)
				if test.name == "resting" {
					from = kgo.NoResetOffset().At(test.start)
				}
				c := w.consumer(append(test.opts, startFrom(from))...)
				if test.name != "never fetched" {
					eventually(t, "a fetch", func() bool { return w.count() > 0 })
				}
				if test.then != nil {
					test.then(c)
				}
				eventually(t, "the ends", func() bool { return position(c).LastStableOffset == 40 })
				staysFresh(t, c, 0, time.Minute, 5*time.Second)
				w.change(func() { f.hw = 60 })
				staysFresh(t, c, 0, 5*time.Second, 5*time.Second)
				require.Equal(t, int64(60), position(c).HighWatermark)
				require.Equal(t, int64(20), position(c).HeldBack())
			})
		})
	}
}

func TestEndsThatFetchKeepsFreshAreNotAskedFor(t *testing.T) {
	for name, start := range map[string]int64{"idle": 50, "blocked": 40, "reading": 10} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, 2, func(t *testing.T, w *world) {
				f := forgeRange(w)
				if name == "idle" {
					w.change(func() { f.lso = 50 })
				}
				w.forge(1)
				c := w.consumer(startAt(start))
				eventually(t, "a fetch", func() bool { return position(c).LastStableOffset > 0 })
				staysFresh(t, c, 0, time.Minute, time.Second)
				require.Zero(t, w.asked())
			})
		})
	}
}

// What the sampler costs: two requests a leader every four seconds, however
// many partitions.
func TestSamplingCostsTwoRequestsALeader(t *testing.T) {
	const partitions, brokers = 200, 3
	inWorld(t, brokers, partitions, func(t *testing.T, w *world) {
		for p := range int32(partitions) {
			w.forge(p, batchtest.Data(0, 4))
		}
		c := w.consumer(kgo.ConsumeTopics(topic))
		eventually(t, "all partitions", func() bool { return len(c.Positions()[topic]) == partitions })
		c.PauseFetchTopics(topic)
		time.Sleep(10 * time.Second)
		w.see(func() { w.lists, w.listers = nil, nil })
		fetches := w.count()
		for range 60 * 10 {
			for _, p := range c.Positions()[topic] {
				require.LessOrEqual(t, time.Since(p.UpdatedAt), 5*time.Second)
			}
			time.Sleep(100 * time.Millisecond)
		}
		require.Equal(t, fetches, w.count())
		w.see(func() {
			perLeader := make(map[int32]int)
			levels := make(map[int8]int)
			for i, l := range w.lists {
				perLeader[w.listers[i]]++
				levels[l.IsolationLevel]++
				require.GreaterOrEqual(t, len(l.Topics[0].Partitions), partitions/brokers)
			}
			require.Len(t, perLeader, brokers)
			for leader, n := range perLeader {
				require.LessOrEqual(t, n, 2*(60/4+1), "leader %d", leader)
				require.GreaterOrEqual(t, n, 2*(60/4-1), "leader %d", leader)
			}
			require.InDelta(t, levels[0], levels[1], brokers)
		})
	})
}

func TestSilentBrokerDoesNotAgeTheEndsOfOthers(t *testing.T) {
	inWorld(t, 2, 2, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 4))
		w.forge(1, batchtest.Data(0, 4))
		c := w.consumer(kgo.ConsumeTopics(topic))
		read(t, c, 10)
		w.change(func() { w.muteList = map[int32]bool{0: true} })
		c.PauseFetchTopics(topic)
		staysFresh(t, c, 1, time.Minute, 5*time.Second)
		p, _ := c.Position(topic, 0)
		require.Greater(t, time.Since(p.UpdatedAt), 50*time.Second, "its age says so")
		w.change(func() { w.muteList = nil })
		eventually(t, "the broker's answer", func() bool { return time.Since(position(c).UpdatedAt) < time.Second })
		staysFresh(t, c, 0, time.Minute, 5*time.Second)
	})
}

// Sources: redpanda#7458 (OFFSET_NOT_AVAILABLE from ListOffsets), KAFKA-2334.
func TestErrorOfTheSamplerIsRetriedAndNotHandedOut(t *testing.T) {
	for _, code := range []*kerr.Error{kerr.OffsetNotAvailable, kerr.KafkaStorageError, kerr.TopicAuthorizationFailed} {
		t.Run(code.Message, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				f := forgeRange(w)
				var hook errorHook
				c := w.consumer(startAt(40), rcconsumer.WithHooks(&hook))
				eventually(t, "the ends", func() bool { return position(c).LastStableOffset == 40 })
				c.PauseFetchTopics(topic)
				w.change(func() {
					f.lso = 45
					w.editList = func(_ *kmsg.ListOffsetsRequest, resp *kmsg.ListOffsetsResponse) {
						resp.Topics[0].Partitions[0].ErrorCode = code.Code
						resp.Topics[0].Partitions[0].Offset = -1
					}
				})
				silent(t, c, time.Minute)
				require.Equal(t, int64(40), position(c).LastStableOffset)
				require.False(t, hook.saw(code), "nothing depends on it")
				require.LessOrEqual(t, w.asked(), 2*60/4+6)
				w.change(func() { w.editList = nil })
				time.Sleep(5 * time.Second)
				require.Equal(t, int64(45), position(c).LastStableOffset)
			})
		})
	}
}

func TestPartitionThatCannotBeSampledDoesNotAgeAnother(t *testing.T) {
	inWorld(t, 1, 3, func(t *testing.T, w *world) {
		for p := range int32(3) {
			w.forge(p, batchtest.Data(0, 4))
		}
		c := w.consumer(kgo.ConsumeTopics(topic))
		read(t, c, 15)
		w.change(func() {
			w.editList = func(_ *kmsg.ListOffsetsRequest, resp *kmsg.ListOffsetsResponse) {
				for i, p := range resp.Topics[0].Partitions {
					if p.Partition == 1 {
						resp.Topics[0].Partitions[i].ErrorCode = kerr.KafkaStorageError.Code
					}
				}
			}
		})
		c.PauseFetchTopics(topic)
		time.Sleep(10 * time.Second)
		for range 60 * 10 {
			for _, p := range []int32{0, 2} {
				staysFresh(t, c, p, 50*time.Millisecond, 5*time.Second)
			}
		}
		broken, _ := c.Position(topic, 1)
		require.Greater(t, time.Since(broken.UpdatedAt), time.Minute)
	})
}

// One failed question does not make the ends older than the interval.
func TestSamplerTriesASecondTimeWithinTheInterval(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		forgeRange(w)
		fail := false
		w.editList = func(_ *kmsg.ListOffsetsRequest, resp *kmsg.ListOffsetsResponse) {
			if fail {
				resp.Topics[0].Partitions[0].ErrorCode = kerr.NotLeaderForPartition.Code
			}
			fail = false
		}
		c := w.consumer(startAt(40))
		eventually(t, "the ends", func() bool { return position(c).LastStableOffset == 40 })
		c.PauseFetchTopics(topic)
		for range 10 {
			before := position(c).UpdatedAt
			eventually(t, "a sample", func() bool { return position(c).UpdatedAt.After(before) })
			w.see(func() { fail = true })
			staysFresh(t, c, 0, 5*time.Second+100*time.Millisecond, 5*time.Second+50*time.Millisecond)
			w.see(func() { require.False(t, fail) })
		}
	})
}

// Source: KIP-219: a request that is sent to a throttled broker waits in kgo and
// holds up all others, fetches too.
func TestSamplerLeavesAThrottledBrokerAlone(t *testing.T) {
	inWorld(t, 1, 2, func(t *testing.T, w *world) {
		forgeRange(w)
		f := w.forge(1)
		w.editList = func(_ *kmsg.ListOffsetsRequest, resp *kmsg.ListOffsetsResponse) { resp.ThrottleMillis = 20_000 }
		c := w.consumer(startsAt(2))
		c.PauseFetchPartitions(map[string][]int32{topic: {0}})
		for o := range int64(120) {
			w.change(func() { f.log, f.lso, f.hw = append(f.log, batchtest.Data(o, o)), o+1, o+1 })
			sent := time.Now()
			require.Equal(t, []int64{o}, readOffsets(t, c, 1))
			require.Less(t, time.Since(sent), time.Second)
			time.Sleep(time.Second)
		}
		require.Equal(t, int64(50), position(c).HighWatermark)
		require.LessOrEqual(t, w.asked(), 7)
		require.GreaterOrEqual(t, w.asked(), 4)
	})
}

// The same for the questions of a reset: the other partitions of the broker are
// read on meanwhile.
func TestResetLeavesAThrottledBrokerAlone(t *testing.T) {
	inWorld(t, 1, 2, func(t *testing.T, w *world) {
		forgeRange(w)
		f := w.forge(1)
		w.editList = func(_ *kmsg.ListOffsetsRequest, resp *kmsg.ListOffsetsResponse) { resp.ThrottleMillis = 20_000 }
		c := w.consumer(startsAt(2))
		var reset []int64
		for o := range int64(120) {
			w.change(func() { f.log, f.lso, f.hw = append(f.log, batchtest.Data(o, o)), o+1, o+1 })
			sent, got := time.Now(), false
			for !got {
				poll(c, patience).EachRecord(func(r *kgo.Record) {
					if r.Partition == 1 {
						require.Equal(t, o, r.Offset)
						got = true
					} else {
						reset = append(reset, r.Offset)
					}
				})
				require.Less(t, time.Since(sent), time.Second)
			}
			time.Sleep(time.Second)
		}
		require.Len(t, reset, 30)
		require.Equal(t, int64(10), reset[0], "the start of the log")
		require.LessOrEqual(t, w.asked(), 7)
	})
}

func TestStableOffsetIntervalIsTheGreatestAge(t *testing.T) {
	for _, bad := range []time.Duration{-1, 0, 99 * time.Millisecond} {
		_, err := rcconsumer.New(rcconsumer.StableOffsetInterval(bad))
		require.ErrorContains(t, err, "StableOffsetInterval", "%v", bad)
	}
	for _, d := range []time.Duration{100 * time.Millisecond, time.Second, time.Minute} {
		t.Run(d.String(), func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				forgeRange(w)
				c := w.consumer(startAt(40), rcconsumer.StableOffsetInterval(d))
				c.PauseFetchTopics(topic)
				eventually(t, "a sample", func() bool { return position(c).LastStableOffset == 40 })
				before := w.asked()
				staysFresh(t, c, 0, 10*d, d)
				require.LessOrEqual(t, w.asked()-before, 2*14)
			})
		})
	}
}

// A partition that is paused turns out to be read to its end.
func TestPollsHearWhatTheSamplerFound(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		forgeRange(w)
		c := w.consumer(rcconsumer.ReturnOnProgress())
		c.PauseFetchTopics(topic)
		c.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(40)}})
		require.False(t, position(c).CaughtUp())
		fs := poll(c, patience)
		require.Empty(t, fs, "progress, and no fetch")
		require.True(t, position(c).CaughtUp())
		require.Zero(t, w.count())
	})
}

// How long the last stable offset has stood still is told from when it was
// first seen where it is, whoever saw it.
func TestStableSinceStandsWhileTheStableOffsetDoes(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := forgeRange(w)
		c := w.consumer(startAt(40))
		eventually(t, "the ends", func() bool { return position(c).LastStableOffset == 40 })
		since := position(c).StableSince
		require.WithinDuration(t, time.Now(), since, time.Second)
		time.Sleep(time.Minute)
		require.Equal(t, since, position(c).StableSince, "fetched")
		c.PauseFetchTopics(topic)
		time.Sleep(time.Minute)
		w.change(func() { f.hw = 99 })
		time.Sleep(time.Minute)
		require.Equal(t, since, position(c).StableSince, "sampled")
		require.Equal(t, int64(59), position(c).HeldBack())
		moved := time.Now()
		w.change(func() { f.lso = 60 })
		eventually(t, "the new end", func() bool { return position(c).LastStableOffset == 60 })
		require.WithinDuration(t, moved, position(c).StableSince, 5*time.Second)
		require.False(t, position(c).StableSince.Before(moved))
	})
}

// A paused partition follows its leader: nobody else would find out.
func TestSamplerFollowsALeaderThatMoved(t *testing.T) {
	inWorld(t, 2, 1, func(t *testing.T, w *world) {
		w.produce(topic, 0, "a", "b")
		c := w.consumer(startAt(0), kgo.MetadataMaxAge(time.Hour))
		require.Len(t, read(t, c, 2), 2)
		c.PauseFetchTopics(topic)
		require.NoError(t, w.MoveTopicPartition(topic, 0, 1))
		w.produce(topic, 0, "c")
		time.Sleep(7 * time.Second)
		require.Equal(t, int64(3), position(c).HighWatermark)
		staysFresh(t, c, 0, time.Minute, 5*time.Second)
	}, kfake.DefaultNumPartitions(1))
}
