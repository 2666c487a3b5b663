package rcconsumer_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/rcconsumer"
)

// many is enough partitions for a fetch session.
const many = 120

// partitionsIn counts the partitions that a Fetch names.
func partitionsIn(req *kmsg.FetchRequest) (n int) {
	for _, t := range req.Topics {
		n += len(t.Partitions)
	}
	return n
}

// since are the fetches from the nth on.
func (w *world) since(n int) []*fetched {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.fetches[n:])
}

// begun are the fetches from the nth on that begin a session.
func (w *world) begun(n int) (all []*fetched) {
	for _, f := range w.since(n) {
		if f.req.SessionEpoch == 0 {
			all = append(all, f)
		}
	}
	return all
}

func TestManyPartitionsAreAskedForWithinASession(t *testing.T) {
	inWorld(t, 1, many, func(t *testing.T, w *world) {
		c := w.consumer(kgo.ConsumeTopics(topic))
		silent(t, c, 5*time.Second)
		idle := w.count()
		silent(t, c, 5*time.Second)
		for _, f := range w.since(idle) {
			require.NotZero(t, f.req.SessionID)
			require.Positive(t, f.req.SessionEpoch)
			require.Zero(t, partitionsIn(&f.req), "nothing has changed")
		}
		w.produce(topic, 7, "a", "b")
		require.Equal(t, []int64{0, 1}, readOffsets(t, c, 2))
		silent(t, c, 2*time.Second)
		before := w.count()
		w.produce(topic, 7, "c")
		require.Equal(t, []int64{2}, readOffsets(t, c, 1))
		silent(t, c, 2*time.Second)
		total := 0
		for _, f := range w.since(before) {
			total += partitionsIn(&f.req)
		}
		require.Equal(t, 1, total, "only the partition whose offset moved is named, once")
		stats := c.Stats()[topic][7]
		require.Equal(t, stats.DeliveredBytes, stats.FetchedBytes, "nothing is sent twice")
		pos, _ := c.Position(topic, 100)
		require.Less(t, time.Since(pos.UpdatedAt), time.Second, "an answer that leaves a partition out says that its ends have not moved")
		require.True(t, pos.CaughtUp())
	})
}

func TestFewPartitionsUseNoSession(t *testing.T) {
	noSession(t, 10)
}

func TestDisableFetchSessions(t *testing.T) {
	noSession(t, many, kgo.DisableFetchSessions())
}

func noSession(t *testing.T, partitions int32, opts ...kgo.Opt) {
	t.Helper()
	inWorld(t, 1, partitions, func(t *testing.T, w *world) {
		c := w.consumer(append(opts, kgo.ConsumeTopics(topic))...)
		silent(t, c, 3*time.Second)
		require.Positive(t, w.count())
		for _, f := range w.since(0) {
			require.Zero(t, f.req.SessionID)
			require.EqualValues(t, -1, f.req.SessionEpoch)
		}
	})
}

// A partition that is not wanted any more is forgotten by the broker too, and a
// seek reaches the session (platformatic/kafka#321, dpkp/kafka-python#2575).
func TestSessionFollowsPausesAndSeeks(t *testing.T) {
	inWorld(t, 1, many, func(t *testing.T, w *world) {
		w.produce(topic, 0, "a", "b", "c")
		c := w.consumer(kgo.ConsumeTopics(topic))
		readOffsets(t, c, 3)
		silent(t, c, 2*time.Second)
		before := w.count()
		c.PauseFetchPartitions(map[string][]int32{topic: {0, 5}})
		w.produce(topic, 0, "d")
		silent(t, c, 5*time.Second)
		var forgotten []int32
		for _, f := range w.since(before) {
			for _, ft := range f.req.ForgottenTopics {
				forgotten = append(forgotten, ft.Partitions...)
			}
		}
		slices.Sort(forgotten)
		require.Equal(t, []int32{0, 5}, forgotten)
		seek(c, 1)
		c.ResumeFetchPartitions(map[string][]int32{topic: {0}})
		require.Equal(t, []int64{1, 2, 3}, readOffsets(t, c, 3))
	})
}

// failSession answers the next request within a session with an error of the
// whole, or breaks the connection if err is nil.
func (w *world) failSession(err *kerr.Error) {
	done := false
	w.ControlKey(int16(kmsg.Fetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
		w.KeepControl()
		req := kreq.(*kmsg.FetchRequest)
		if done || req.SessionEpoch <= 0 {
			return nil, nil, false
		}
		done = true
		if err == nil {
			return nil, kerr.UnknownServerError, true // kfake then closes the connection
		}
		resp := req.ResponseKind().(*kmsg.FetchResponse)
		resp.ErrorCode = err.Code
		return resp, nil, true
	})
}

// Sessions that a broker has lost are begun anew, once and not in a storm, and
// nobody hears of it (KAFKA-8052).
func TestLostSessionIsBegunAnew(t *testing.T) {
	for _, lost := range []*kerr.Error{kerr.FetchSessionIDNotFound, kerr.InvalidFetchSessionEpoch, kerr.FetchSessionTopicIDError} {
		t.Run(lost.Message, func(t *testing.T) {
			inWorld(t, 1, many, func(t *testing.T, w *world) {
				var told errorHook
				c := w.consumer(kgo.ConsumeTopics(topic), rcconsumer.WithHooks(&told))
				silent(t, c, 2*time.Second)
				before := w.count()
				w.failSession(lost)
				w.produce(topic, 3, "a")
				require.Equal(t, []int64{0}, readOffsets(t, c, 1))
				silent(t, c, 5*time.Second)
				begun := w.begun(before)
				require.Len(t, begun, 1)
				require.Equal(t, many, partitionsIn(&begun[0].req), "the first request of a session names everything")
				require.Equal(t, lost == kerr.FetchSessionIDNotFound, begun[0].req.SessionID == 0, "a session that may still be there is closed")
				require.False(t, told.saw(lost))
			})
		})
	}
}

func TestSessionIsBegunAnewAfterABrokenConnection(t *testing.T) {
	inWorld(t, 1, many, func(t *testing.T, w *world) {
		c := w.consumer(kgo.ConsumeTopics(topic))
		silent(t, c, 2*time.Second)
		before := w.count()
		w.failSession(nil)
		w.produce(topic, 3, "a")
		require.Equal(t, []int64{0}, readOffsets(t, c, 1))
		silent(t, c, 5*time.Second)
		require.Len(t, w.begun(before), 1)
	})
}

// A broker without room for sessions is not asked for one with every request.
func TestBrokerWithoutRoomForSessions(t *testing.T) {
	inWorld(t, 1, many, func(t *testing.T, w *world) {
		for p := range int32(many) {
			w.forge(p) // forged answers carry no session
		}
		c := w.consumer(kgo.ConsumeTopics(topic))
		silent(t, c, 30*time.Second)
		require.Len(t, w.begun(0), 1)
		silent(t, c, time.Minute)
		require.Len(t, w.begun(0), 2)
	})
}

// The first answer of a session has every partition; one that leaves some out
// is not taken for "unchanged".
func TestFirstAnswerOfASessionThatLeavesOutPartitions(t *testing.T) {
	inWorld(t, 1, many, func(t *testing.T, w *world) {
		cut := 2
		w.ControlKey(int16(kmsg.Fetch), func(kreq kmsg.Request) (kmsg.Response, error, bool) {
			w.KeepControl()
			req := kreq.(*kmsg.FetchRequest)
			if cut == 0 || req.SessionEpoch != 0 {
				return nil, nil, false
			}
			cut--
			resp := req.ResponseKind().(*kmsg.FetchResponse)
			resp.SessionID = 7
			return resp, nil, true
		})
		w.produce(topic, 9, "a")
		c := w.consumer(kgo.ConsumeTopics(topic))
		require.Equal(t, []int64{0}, readOffsets(t, c, 1)) // perhaps while few partitions are known, without a session
		silent(t, c, 2*time.Second)
		require.NotEmpty(t, w.begun(0))
		w.produce(topic, 9, "b")
		require.Equal(t, []int64{1}, readOffsets(t, c, 1))
	})
}
