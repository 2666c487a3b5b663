package rcconsumer_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/rcconsumer"
)

// always is what a broker answers at once, whatever was asked.
func always(sp *kmsg.FetchResponseTopicPartition) func(ask) *kmsg.FetchResponseTopicPartition {
	return func(ask) *kmsg.FetchResponseTopicPartition {
		again := *sp
		return &again
	}
}

// In every lasting state a consumer asks a broker a few times a second at most,
// FetchMaxWait being half a second.
func TestNothingSpins(t *testing.T) {
	tests := []struct {
		name   string
		start  int64
		script func(ask) *kmsg.FetchResponseTopicPartition
		most   int // fetches in 10 s
	}{
		{"idle at the end", 40, nil, 21},
		{"blocked by an open transaction", 40, nil, 21},
		{"above the last stable offset, answered at once", 45, always(nothing(40, 50)), 25},
		{"empty at once, at the end", 40, always(nothing(40, 40)), 25},
		{"empty at once, below the end", 20, always(nothing(40, 40)), 25},
		{"empty at once, with no ends", 20, always(nothing(-1, -1)), 25},
		{"out of range", 20, always(failure(kerr.OffsetOutOfRange)), 10},
		{"not the leader", 20, always(failure(kerr.NotLeaderForPartition)), 10},
		{"leader epoch not known yet", 20, always(failure(kerr.UnknownLeaderEpoch)), 10},
		{"topic ID not known", 20, always(failure(kerr.UnknownTopicID)), 10},
		{"storage error", 20, always(failure(kerr.KafkaStorageError)), 10},
		{"not authorized", 20, always(failure(kerr.TopicAuthorizationFailed)), 10},
		{"corrupt", 20, always(failure(kerr.CorruptMessage)), 10},
		{"nothing but a cut batch", 20, always(batchtest.Log{batchtest.Data(20, 29).Cut(1)}.Partition(nil)), 10},
		{"nothing but old batches", 20, always(batchtest.Log{batchtest.Data(0, 9)}.Partition(nil)), 10},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				f := forgeRange(w)
				f.script = test.script
				w.consumer(startAt(test.start))
				time.Sleep(10 * time.Second)
				require.LessOrEqual(t, w.during(10*time.Second), test.most)
				require.Positive(t, w.during(20*time.Second), "but it goes on asking")
				w.mu.Lock()
				defer w.mu.Unlock()
				require.LessOrEqual(t, w.metadata, 60, "in 40 s")
				require.LessOrEqual(t, len(w.lists), 90+20, "in 40 s, three questions a time and the sampler's")
			})
		})
	}
}

func TestBrokerThatCannotBeReachedIsDialledSeldom(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		forgeRange(w)
		var refuse atomic.Bool
		var dials atomic.Int64
		c := w.consumer(startAt(10), kgo.Dialer(func(ctx context.Context, network, host string) (net.Conn, error) {
			dials.Add(1)
			if refuse.Load() {
				return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
			}
			conn, err := w.net.DialContext(ctx, network, host)
			if err != nil {
				return nil, err
			}
			return &mortal{Conn: conn, dead: &refuse}, nil
		}))
		readOffsets(t, c, 30)
		refuse.Store(true)
		time.Sleep(10 * time.Second)
		before := dials.Load()
		silent(t, c, 30*time.Second)
		require.LessOrEqual(t, dials.Load()-before, int64(120))
		refuse.Store(false)
		w.change(func() { w.forged[0].log, w.forged[0].lso = append(w.forged[0].log, singles(40, 49)...), 50 })
		require.Equal(t, span(40, 49), readOffsets(t, c, 10))
	})
}

// mortal is a connection that fails once dead is set.
type mortal struct {
	net.Conn
	dead *atomic.Bool
}

func (m *mortal) Read(b []byte) (int, error) {
	n, err := m.Conn.Read(b)
	if m.dead.Load() {
		return 0, net.ErrClosed
	}
	return n, err
}

func (m *mortal) Write(b []byte) (int, error) {
	if m.dead.Load() {
		return 0, net.ErrClosed
	}
	return m.Conn.Write(b)
}

// Source: KIP-219; a Fetch sent earlier would wait in kgo and hold up every
// other request to that broker.
func TestThrottledBrokerIsLeftAlone(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, singles(0, 9)...).batches = 1
		w.edit = func(_ *kmsg.FetchRequest, resp *kmsg.FetchResponse) { resp.ThrottleMillis = 2000 }
		c := w.consumer(startAt(0))
		for range 10 {
			readOffsets(t, c, 1)
			began := time.Now()
			_, err := kmsg.NewPtrMetadataRequest().RequestWith(t.Context(), c.Kgo())
			require.NoError(t, err)
			require.Less(t, time.Since(began), time.Second)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		for i := 1; i < 10; i++ {
			require.GreaterOrEqual(t, w.fetches[i].at-w.fetches[i-1].at, 2*time.Second)
		}
	})
}

func TestFullPartitionDoesNotMakeIdleOnesSpin(t *testing.T) {
	inWorld(t, 1, 2, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 9).Size(1000), batchtest.Data(10, 19).Size(1000), batchtest.Data(20, 29).Size(1000)).batches = 1
		w.forge(1)
		c := w.consumer(kgo.ConsumeTopics(topic), kgo.FetchMaxPartitionBytes(5000))
		time.Sleep(10 * time.Second)
		require.LessOrEqual(t, w.during(10*time.Second), 25)
		require.Equal(t, span(0, 29), readOffsets(t, c, 30))
	})
}

func TestPartitionInErrorDoesNotSlowDownAnother(t *testing.T) {
	inWorld(t, 1, 2, func(t *testing.T, w *world) {
		w.script(0, always(failure(kerr.KafkaStorageError)))
		w.forge(1, singles(0, 199)...).batches = 1
		c := w.consumer(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {
			0: kgo.NewOffset().At(0), 1: kgo.NewOffset().At(0),
		}}))
		began := time.Now()
		require.Equal(t, span(0, 199), readOffsets(t, c, 200))
		require.Less(t, time.Since(began), 2*time.Second)
	})
}

func TestIdlePartitionDoesNotSlowDownABusyOne(t *testing.T) {
	for name, idle := range map[string]*kmsg.FetchResponseTopicPartition{
		"idle": nil, "above the last stable offset": nothing(-1, 5), "at a compacted end": nothing(10, 10),
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, 2, func(t *testing.T, w *world) {
				f := w.forge(0)
				if idle != nil {
					f.script = func(ask) *kmsg.FetchResponseTopicPartition { again := *idle; return &again }
				}
				w.forge(1, singles(0, 499)...).batches = 1
				c := w.consumer(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {
					0: kgo.NewOffset().At(0), 1: kgo.NewOffset().At(0),
				}}), kgo.FetchMaxPartitionBytes(300))
				began := time.Now()
				for next := int64(0); next < 500; { // one batch a poll: room is short
					fs := c.PollRecords(t.Context(), 1)
					require.NoError(t, fs.Err())
					require.Equal(t, []int64{next}, offsets(fs))
					next++
				}
				require.Less(t, time.Since(began), 3*time.Second, "alone it takes no time at all")
			})
		})
	}
}

func TestNoPartitionStarves(t *testing.T) {
	const partitions, each = 50, 20
	inWorld(t, 1, partitions, func(t *testing.T, w *world) {
		for p := range int32(partitions) {
			var log batchtest.Log
			for o := range int64(each) {
				log = append(log, batchtest.Data(o, o).Size(1000))
			}
			w.forge(p, log...)
		}
		c := w.consumer(kgo.ConsumeTopics(topic), kgo.FetchMaxBytes(4000))
		// Those whose start was found first have a lead, but not for ever: their
		// room is used up, and nobody polls.
		eventually(t, "bytes of every partition", func() bool {
			n := 0
			for _, s := range c.Stats()[topic] {
				if s.FetchedBytes > 0 {
					n++
				}
			}
			return n == partitions
		})
		got := make(map[int32]int)
		for total := 0; total < partitions*each; {
			fs := poll(c, patience)
			require.NoError(t, fs.Err())
			fs.EachRecord(func(r *kgo.Record) { got[r.Partition]++; total++ })
			if total > partitions*each/4 {
				require.Len(t, got, partitions, "after %d records", total)
			}
		}
		for p, n := range got {
			require.Equal(t, each, n, "partition %d", p)
		}
	})
}

// One batch always passes.
func TestTinyBufferReadsEverything(t *testing.T) {
	for _, brokers := range []int{1, 3} {
		t.Run(map[int]string{1: "one broker", 3: "three brokers"}[brokers], func(t *testing.T) {
			inWorld(t, brokers, 6, func(t *testing.T, w *world) {
				for p := range int32(6) {
					w.forge(p, batchtest.Data(0, 9).Size(1000), batchtest.Data(10, 19).Size(1000))
				}
				c := w.consumer(kgo.ConsumeTopics(topic), rcconsumer.BufferBytes(1))
				require.Len(t, read(t, c, 6*20), 6*20)
				require.Less(t, time.Since(w.began), patience)
			})
		})
	}
}

func TestBufferIsBoundedWhileNobodyPolls(t *testing.T) {
	const limit, perFetch = 100_000, 20_000
	inWorld(t, 2, 8, func(t *testing.T, w *world) {
		for p := range int32(8) {
			var log batchtest.Log
			for o := range int64(100) {
				log = append(log, batchtest.Data(o, o).Size(1000))
			}
			w.forge(p, log...)
		}
		c := w.consumer(kgo.ConsumeTopics(topic), rcconsumer.BufferBytes(limit), kgo.FetchMaxBytes(perFetch))
		polled, count := 0, 0
		for count < 800 {
			time.Sleep(5 * time.Second)
			w.mu.Lock()
			fetched := 0
			for _, f := range w.fetches {
				fetched += f.bytes
			}
			w.mu.Unlock()
			require.LessOrEqual(t, fetched-polled, limit+perFetch)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			fs := c.PollRecords(ctx, 20)
			cancel()
			require.NoError(t, fs.Err())
			fs.EachRecord(func(r *kgo.Record) { polled += len(batchtest.Data(r.Offset, r.Offset).Size(1000).Bytes()); count++ })
		}
		require.Less(t, w.during(10*time.Second), 60)
	})
}

func TestConcurrentFetchesAreLimited(t *testing.T) {
	for name, test := range map[string]struct {
		opts []kgo.Opt
		most int
	}{
		"one a broker": {nil, 3}, "two": {[]kgo.Opt{kgo.MaxConcurrentFetches(2)}, 2}, "one": {[]kgo.Opt{kgo.MaxConcurrentFetches(1)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 3, 6, func(t *testing.T, w *world) {
				for p := range int32(6) {
					w.forge(p, singles(0, 9)...).batches = 1
				}
				c := w.consumer(append(test.opts, kgo.ConsumeTopics(topic))...)
				require.Len(t, read(t, c, 60), 60)
				time.Sleep(5 * time.Second)
				w.mu.Lock()
				defer w.mu.Unlock()
				require.Equal(t, test.most, w.most)
			})
		})
	}
}

// A Fetch in flight cannot be cancelled, and a broker serves one at a time: a
// seek must not wait for hours behind one that waits for data.
func TestSeekDoesNotWaitForALongPoll(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 9))
		c := w.consumer(startAt(0), kgo.FetchMaxWait(time.Hour))
		readOffsets(t, c, 10)
		silent(t, c, time.Minute)
		seek(c, 5)
		require.Equal(t, span(5, 9), offsets(poll(c, 5100*time.Millisecond)))
		require.LessOrEqual(t, w.during(time.Minute), 13)
	})
}
