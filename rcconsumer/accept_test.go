package rcconsumer_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/batchtest"
	"example.com/readcommitted/rcconsumer"
)

// Sources: Kafka's FetcherTest testFetchedRecordsAfterSeek and
// testFetchDiscardedAfterPausedPartitionResumedAndSoughtToNewOffset,
// confluentinc/librdkafka#3471.
func TestAnswerToAnEarlierPositionIsDropped(t *testing.T) {
	pause := func(c *rcconsumer.Consumer) { c.PauseFetchTopics(topic) }
	resume := func(c *rcconsumer.Consumer) { c.ResumeFetchTopics(topic) }
	forward := func(c *rcconsumer.Consumer) { seek(c, 5) }
	tests := []struct {
		name  string
		start int64
		do    []func(*rcconsumer.Consumer)
		want  []int64
	}{
		{"seek back", 5, []func(*rcconsumer.Consumer){func(c *rcconsumer.Consumer) { seek(c, 0) }}, span(0, 9)},
		{"seek", 0, []func(*rcconsumer.Consumer){forward}, span(5, 9)},
		{"pause, seek, resume", 0, []func(*rcconsumer.Consumer){pause, forward, resume}, span(5, 9)},
		{"seek, pause, resume", 0, []func(*rcconsumer.Consumer){forward, pause, resume}, span(5, 9)},
		{"pause, resume", 0, []func(*rcconsumer.Consumer){pause, resume}, span(0, 9)},
		{"back and forth", 0, []func(*rcconsumer.Consumer){forward, func(c *rcconsumer.Consumer) { seek(c, 0) }}, span(0, 9)},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				f := w.forge(0)
				f.hw = 10
				c := w.consumer(startAt(test.start))
				eventually(t, "a fetch in flight", func() bool { return w.count() == 1 })
				for _, do := range test.do {
					do(c)
				}
				w.change(func() { f.log, f.lso = singles(0, 9), 10 })
				require.Equal(t, test.want, readOffsets(t, c, len(test.want)))
				silent(t, c, 5*time.Second)
				require.Equal(t, int64(10), position(c).Next)
			})
		})
	}
}

// Source: Kafka's FetcherTest testStaleOutOfRangeError.
func TestErrorForAnEarlierPositionIsDropped(t *testing.T) {
	for _, code := range []*kerr.Error{kerr.OffsetOutOfRange, kerr.TopicAuthorizationFailed, kerr.CorruptMessage} {
		t.Run(code.Message, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				f := w.forge(0, batchtest.Data(0, 9))
				var resets resetHook
				c := w.consumer(startAt(10), rcconsumer.WithHooks(&resets))
				eventually(t, "a fetch in flight", func() bool { return w.count() == 1 })
				seek(c, 5)
				w.change(func() {
					f.script = func(a ask) *kmsg.FetchResponseTopicPartition {
						if a.offset == 10 && a.nth == 0 {
							return failure(code)
						}
						return nil
					}
				})
				require.Equal(t, span(5, 9), readOffsets(t, c, 5))
				require.Empty(t, resets.all())
			})
		})
	}
}

// Source: twmb/franz-go source_sweep_test.go, a partition twice in one answer.
func TestPartitionTwiceInAnAnswerCountsOnce(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		f := w.forge(0, batchtest.Data(0, 4), batchtest.Data(5, 9))
		f.batches = 1
		w.edit = func(_ *kmsg.FetchRequest, resp *kmsg.FetchResponse) {
			ps := &resp.Topics[0].Partitions
			again := (*ps)[0]
			again.RecordBatches = append(again.RecordBatches, batchtest.Data(5, 9).Bytes()...)
			*ps = append(*ps, (*ps)[0], again)
			resp.Topics = append(resp.Topics, resp.Topics[0])
		}
		c := w.consumer(startAt(0))
		require.Equal(t, span(0, 9), readOffsets(t, c, 10))
		silent(t, c, 5*time.Second)
		require.Equal(t, int64(10), c.Stats()[topic][0].DeliveredRecords)
	})
}

// Source: platformatic/kafka#321.
func TestPartitionThatWasNotAskedForChangesNothing(t *testing.T) {
	inWorld(t, 1, 2, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 4))
		w.edit = func(_ *kmsg.FetchRequest, resp *kmsg.FetchResponse) {
			st := &resp.Topics[0]
			foreign := *batchtest.Log{batchtest.Data(0, 99)}.Partition(nil)
			foreign.Partition = 1
			st.Partitions = append(st.Partitions, foreign)
			foreign.Partition = -5
			st.Partitions = append(st.Partitions, foreign)
			other := *st
			other.TopicID[0] ^= 1
			resp.Topics = append([]kmsg.FetchResponseTopic{other}, resp.Topics...)
		}
		c := w.consumer(startAt(0))
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
		silent(t, c, 5*time.Second)
		_, ok := c.Position(topic, 1)
		require.False(t, ok)
		require.Len(t, c.Stats()[topic], 1)
	})
}

// Without fetch sessions a partition that is left out has no news.
func TestPartitionLeftOutOfAnAnswerIsAskedForAgain(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 4))
		left := 3
		w.edit = func(_ *kmsg.FetchRequest, resp *kmsg.FetchResponse) {
			if left--; left >= 0 {
				resp.Topics = nil
			}
		}
		c := w.consumer(startAt(0))
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
	})
}

// A partition that might be at a compacted end is asked for alone. A broker
// that leaves it out even then must not keep the others from being read.
func TestPartitionAlwaysLeftOutDoesNotStopOthers(t *testing.T) {
	inWorld(t, 1, 2, func(t *testing.T, w *world) {
		w.script(0, func(ask) *kmsg.FetchResponseTopicPartition { return nothing(5, 5) })
		w.forge(1)
		w.edit = func(req *kmsg.FetchRequest, resp *kmsg.FetchResponse) {
			if len(req.Topics[0].Partitions) == 1 && req.Topics[0].Partitions[0].Partition == 0 {
				resp.Topics = nil
			}
		}
		c := w.consumer(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {
			0: kgo.NewOffset().At(0), 1: kgo.NewOffset().At(0),
		}}))
		time.Sleep(10 * time.Second)
		w.forge(1, batchtest.Data(0, 4))
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
	})
}

// versions answers ApiVersions with the ranges of the keys, and of others with
// what kfake has.
func (w *world) versions(ranges map[kmsg.Key][2]int16) {
	known := map[kmsg.Key][2]int16{
		kmsg.Fetch: {4, 18}, kmsg.ListOffsets: {0, 10}, kmsg.Metadata: {0, 12}, kmsg.ApiVersions: {0, 4},
		kmsg.OffsetForLeaderEpoch: {3, 4},
	}
	w.ControlKey(int16(kmsg.ApiVersions), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		w.KeepControl()
		resp := kreq.ResponseKind().(*kmsg.ApiVersionsResponse)
		for k, r := range known {
			if mine, ok := ranges[k]; ok {
				r = mine
			}
			key := kmsg.NewApiVersionsResponseApiKey()
			key.ApiKey, key.MinVersion, key.MaxVersion = int16(k), r[0], r[1]
			resp.ApiKeys = append(resp.ApiKeys, key)
		}
		return resp, nil, true
	})
}

// Below these versions a request has no isolation level, and a broker would
// answer with data of open and aborted transactions (KIP-98).
func TestVersionsWithoutIsolationLevelAreRefused(t *testing.T) {
	tests := []struct {
		name  string
		key   kmsg.Key
		max   int16
		start kgo.Offset
		need  int16
	}{
		{"Fetch", kmsg.Fetch, 3, kgo.NewOffset().At(0), 4},
		{"ListOffsets", kmsg.ListOffsets, 1, kgo.NewOffset().AtEnd(), 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, 1, 1, func(t *testing.T, w *world) {
				w.forge(0, batchtest.Data(0, 4))
				w.versions(map[kmsg.Key][2]int16{test.key: {0, test.max}})
				c := w.consumer(startFrom(test.start))
				for range 3 {
					e := failed(t, c)
					var version *rcconsumer.VersionError
					require.ErrorAs(t, e.Err, &version)
					require.Equal(t, rcconsumer.VersionError{Request: test.name, Got: test.max, Need: test.need}, *version)
					require.Equal(t, topic, e.Topic)
				}
				require.Less(t, w.during(10*time.Second), 10)
				require.LessOrEqual(t, position(c).Next, int64(0))
			})
		})
	}
}

// From Fetch version 13 on topics have only IDs (KIP-516), which Metadata
// carries from version 10 on.
func TestTopicsWithoutIDAreFetchedByName(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 4))
		w.versions(map[kmsg.Key][2]int16{kmsg.Metadata: {0, 9}})
		c := w.consumer(startAt(0))
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, f := range w.fetches {
			require.Equal(t, int16(12), f.req.Version)
		}
	})
}

// Fetch sessions are not used, so that an answer without news is still news of
// the last stable offset (KIP-227).
func TestEveryFetchCarriesItsIsolationLevelAndNoSession(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		w.forge(0, batchtest.Data(0, 4), batchtest.Data(5, 9)).batches = 1
		c := w.consumer(startAt(0))
		readOffsets(t, c, 10)
		eventually(t, "the next fetch", func() bool { return w.count() > 2 })
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, f := range w.fetches {
			require.Equal(t, int8(1), f.req.IsolationLevel)
			require.Equal(t, int32(-1), f.req.SessionEpoch)
			require.Equal(t, int32(-1), f.req.ReplicaID)
			require.Equal(t, int32(500), f.req.MaxWaitMillis)
		}
	})
}
