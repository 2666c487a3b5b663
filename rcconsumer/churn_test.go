package rcconsumer_test

import (
	"errors"
	"math"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// brokerLoops counts the goroutines of this bubble that fetch from a broker.
func brokerLoops() (n int) {
	synctest.Wait()
	own := make([]byte, 200)
	own = own[:runtime.Stack(own, false)]
	bubble := regexp.MustCompile(`synctest bubble \d+`).FindString(string(own))
	all := make([]byte, 64<<10)
	for size := runtime.Stack(all, true); size == len(all); size = runtime.Stack(all, true) {
		all = make([]byte, 2*size)
	}
	for _, g := range strings.Split(string(all), "\n\n") {
		head, frames, _ := strings.Cut(g, "\n")
		if strings.Contains(head, bubble+"]") && strings.Contains(frames, "rcconsumer.(*broker).run(") {
			n++
		}
	}
	return n
}

// cluster answers all metadata: who leads partition 0, and which broker is gone.
type cluster struct{ leader, epoch, gone atomic.Int32 }

func (w *world) answerCluster() *cluster {
	var c cluster
	c.epoch.Store(3)
	c.gone.Store(-1)
	w.answerMetadata(func(req *kmsg.MetadataRequest, _ int) *kmsg.MetadataResponse {
		resp := w.metadataOf(req, w.id, [2]int32{c.leader.Load(), c.epoch.Load()})
		for i, b := range resp.Brokers {
			if b.NodeID == c.gone.Load() {
				resp.Brokers = append(resp.Brokers[:i], resp.Brokers[i+1:]...)
				break
			}
		}
		return resp
	})
	return &c
}

func (c *cluster) move(leader int32) {
	c.epoch.Add(1)
	c.leader.Store(leader)
}

func TestLoopOfABrokerThatIsGoneEnds(t *testing.T) {
	inWorld(t, 3, 1, func(t *testing.T, w *world) {
		said := w.answerCluster()
		f := w.forge(0, singles(0, 4)...)
		c := w.consumer(append(quick, startAt(0))...)
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
		require.Equal(t, 1, brokerLoops())

		said.move(1)
		eventually(t, "the new leader", func() bool { return len(w.asksOf(f, 1)) > 0 })
		require.Equal(t, 2, brokerLoops(), "the old leader may lead again")
		said.gone.Store(0)
		within(t, patience, "the end of the old leader's loop", func() bool { return brokerLoops() == 1 })
		w.grow(f, singles(5, 9)...)
		require.Equal(t, span(5, 9), readOffsets(t, c, 5))

		before := len(w.asksOf(f, 0))
		said.gone.Store(-1)
		said.move(0)
		eventually(t, "the old leader again", func() bool { return len(w.asksOf(f, 0)) > before })
		require.Equal(t, 2, brokerLoops())
		w.grow(f, singles(10, 14)...)
		require.Equal(t, span(10, 14), readOffsets(t, c, 5))
	})
}

// A broker may be missing from the metadata of another that is behind.
func TestBrokerThatIsGoneButStillLeadsIsAsked(t *testing.T) {
	inWorld(t, 3, 1, func(t *testing.T, w *world) {
		said := w.answerCluster()
		f := w.forge(0, singles(0, 4)...)
		c := w.consumer(append(quick, startAt(0))...)
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
		said.gone.Store(0)
		time.Sleep(10 * time.Second)
		require.Equal(t, 1, brokerLoops())
		said.gone.Store(-1)
		w.grow(f, singles(5, 9)...)
		require.Equal(t, span(5, 9), readOffsets(t, c, 5))
	})
}

func TestLoopsEndAndBeginWhilePartitionsMove(t *testing.T) {
	inWorld(t, 3, 1, func(t *testing.T, w *world) {
		said := w.answerCluster()
		f := w.forge(0)
		c := w.consumer(append(quick, startAt(0))...)
		for o := range int64(60) {
			switch said.gone.Store(int32(o+1) % 3); {
			case o%2 == 0:
				said.move(int32(o) % 3)
			case o%5 == 0:
				said.gone.Store(-1)
			}
			w.grow(f, singles(o, o)...)
			require.Equal(t, span(o, o), readPast(t, c, 1))
			time.Sleep(time.Duration(o) * 50 * time.Millisecond)
			require.LessOrEqual(t, brokerLoops(), 3)
		}
	})
}

func TestAnswerOfABrokerThatIsGoneChangesNothing(t *testing.T) {
	inWorld(t, 3, 1, func(t *testing.T, w *world) {
		said := w.answerCluster()
		f := w.forge(0, singles(0, 4)...)
		c := w.consumer(append(quick, startAt(0))...)
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
		w.change(func() { w.mute[0] = true })
		w.grow(f, singles(5, 9)...)
		eventually(t, "a fetch that hangs", w.hangs)
		said.move(1)
		said.gone.Store(0)
		require.Equal(t, span(5, 9), readOffsets(t, c, 5))
		within(t, patience, "the end of the old leader's loop", func() bool { return brokerLoops() == 1 })
		w.change(func() { w.mute[0] = false })
		silent(t, c, 20*time.Second)
		require.Equal(t, int64(10), position(c).Next)
	})
}

// A stopped process keeps its connections and answers nothing.
func TestLeaderThatStoppedIsReadElsewhereSoon(t *testing.T) {
	for name, deaf := range map[string]bool{"its fetches hang": false, "all its requests hang": true} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 3, 1, func(t *testing.T, w *world) {
				var stopped atomic.Bool
				w.ControlKey(int16(kmsg.Metadata), func(kmsg.Request) (kmsg.Response, error, bool) {
					w.KeepControl()
					if !deaf || !stopped.Load() || w.CurrentNode() != 0 {
						return nil, nil, false
					}
					w.SleepControl(func() { <-w.over })
					return nil, errors.New("the test is over"), true
				})
				f := w.forge(0, singles(0, 4)...)
				c := w.consumer(startAt(0))
				require.Equal(t, span(0, 4), readOffsets(t, c, 5))
				w.change(func() { w.mute[0] = true })
				stopped.Store(true)
				require.NoError(t, w.MoveTopicPartition(topic, 0, 1))
				w.grow(f, singles(5, 9)...)
				began := time.Now()
				require.Equal(t, span(5, 9), readOffsets(t, c, 5))
				limit := 2 * time.Second
				if deaf { // the broker asked for metadata may be the stopped one
					limit += 2100 * time.Millisecond
				}
				require.LessOrEqual(t, time.Since(began), limit)
			})
		})
	}
}

// throttle forges one partition that is answered a batch at a time, and
// throttles.
func throttle(w *world, millis int32) {
	f := w.forge(0, singles(0, 9)...)
	w.change(func() {
		f.batches = 1
		w.throttle[0] = millis
	})
}

// Source: KIP-219.
func TestThrottleIsWaitedOutOnce(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		throttle(w, 2000)
		c := w.consumer(startAt(0))
		require.Equal(t, span(0, 9), readOffsets(t, c, 10))
		w.mu.Lock()
		defer w.mu.Unlock()
		for i := 1; i < 10; i++ {
			require.InDelta(t, 2, (w.fetches[i].at - w.fetches[i-1].at).Seconds(), 0.1)
		}
	})
}

func TestNegativeThrottleIsNone(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		throttle(w, math.MinInt32)
		c := w.consumer(startAt(0))
		began := time.Now()
		require.Equal(t, span(0, 9), readOffsets(t, c, 10))
		require.Less(t, time.Since(began), time.Second)
	})
}

// A throttle of weeks is kept to, as kgo would on the connection; heartbeats
// must not wait behind our Fetch, and a close must not wait at all.
func TestLongThrottleHoldsUpNeitherOtherRequestsNorClose(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		throttle(w, math.MaxInt32)
		c := w.consumer(startAt(0))
		require.Equal(t, span(0, 0), readOffsets(t, c, 1))
		require.Zero(t, w.during(time.Hour))
		began := time.Now()
		for range 10 {
			_, err := kmsg.NewPtrHeartbeatRequest().RequestWith(t.Context(), c.Kgo().Broker(0))
			require.NoError(t, err)
		}
		c.Close()
		require.Less(t, time.Since(began), time.Second)
	})
}

func TestFollowerThatThrottlesForLongIsLeft(t *testing.T) {
	inWorld(t, 3, 1, func(t *testing.T, w *world) {
		f := preferring(w, follower, singles(0, 4), nil)
		w.change(func() {
			f.batches = 1
			w.throttle[follower] = 3_600_000
		})
		var hook senders
		c := w.consumer(startAt(0), kgo.Rack(rack), kgo.WithHooks(&hook))
		began := time.Now()
		require.Equal(t, span(0, 4), readOffsets(t, c, 5))
		require.Less(t, time.Since(began), time.Second)
		require.Equal(t, append(sentBy(follower, 1), sentBy(leader, 4)...), hook.take())
	})
}
