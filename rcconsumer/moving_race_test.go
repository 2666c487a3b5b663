package rcconsumer_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rcconsumer"
)

// busyHook is called for everything, and asks back.
type busyHook struct{ c *rcconsumer.Consumer }

func (h *busyHook) ask() {
	if h.c != nil {
		h.c.Positions()
		h.c.BufferedFetchRecords()
	}
}

func (h *busyHook) OnAbortedBatch(string, int32, rcconsumer.BatchInfo) { h.ask() }
func (h *busyHook) OnFetchError(string, int32, error)                  { h.ask() }
func (h *busyHook) OnOffsetReset(string, int32, int64, int64)          { h.ask() }
func (h *busyHook) OnFetchRecordBuffered(*kgo.Record)                  { h.ask() }
func (h *busyHook) OnFetchRecordUnbuffered(*kgo.Record, bool)          { h.ask() }

// anything calls one method that changes or looks at what is read.
func anything(c *rcconsumer.Consumer, rnd *rand.Rand) {
	name := modelTopics[rnd.IntN(len(modelTopics))]
	id := rnd.Int32N(4)
	list := map[string][]int32{name: {id}}
	calls := []func(){
		func() { c.AddConsumeTopics(name) },
		func() {
			c.AddConsumePartitions(map[string]map[int32]kgo.Offset{name: {id: kgo.NewOffset().AtStart().Relative(rnd.Int64N(3))}})
		},
		func() { c.AddConsumePartitions(map[string]map[int32]kgo.Offset{name: {id: exactly(rnd.Int64N(9))}}) },
		func() { c.RemoveConsumePartitions(list) },
		func() { c.PurgeTopicsFromConsuming(name) },
		func() { c.PurgeTopicsFromClient(name) },
		func() { c.PauseFetchPartitions(list) },
		func() { c.ResumeFetchPartitions(list) },
		func() { c.PauseFetchTopics(name) },
		func() { c.ResumeFetchTopics(name) },
		func() {
			c.SetOffsets(map[string]map[int32]kgo.EpochOffset{name: {id: {Epoch: -1, Offset: rnd.Int64N(9)}}})
		},
		func() { c.UpdateFetchMaxBytes(rnd.Int32N(1000), rnd.Int32N(500)) },
		func() { c.GetConsumeTopics() },
		func() { c.BufferedFetchRecords() },
		func() { c.BufferedFetchBytes() },
		func() { c.Positions() },
		func() { c.Stats() },
		func() { poll(c, time.Millisecond) },
		func() { c.PollRecords(noWait, 1+rnd.IntN(5)) },
	}
	calls[rnd.IntN(len(calls))]()
}

// Every method is called from everywhere at once while leaders move and logs
// grow, and the consumer is closed in the middle of it. What it holds is given
// back, and nothing of it goes on: a goroutine that is left fails the bubble.
func TestEverythingAtOnceWithCloseInTheMiddle(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			inWorld(t, 2, 1, func(t *testing.T, w *world) {
				for i, name := range modelTopics {
					require.NoError(t, w.CreateTopic(name, int32(i+1), nil))
					w.fill(name, 0, 0, 9)
					w.transact(name, false, records(name, int32(i), []string{"x", "y"}))
				}
				hook := &busyHook{}
				c := w.consumer(kgo.WithHooks(hook), kgo.MetadataMaxAge(100*time.Millisecond),
					kgo.FetchMaxWait(20*time.Millisecond), rcconsumer.BufferBytes(2000))
				hook.c = c
				var users sync.WaitGroup
				for user := range uint64(8) {
					users.Go(func() {
						rnd := rand.New(rand.NewPCG(seed, user))
						for range 300 {
							anything(c, rnd)
							time.Sleep(time.Duration(rnd.IntN(3)) * time.Millisecond)
						}
					})
				}
				users.Go(func() {
					for n := range int32(20) {
						require.NoError(t, w.MoveTopicPartition(modelTopics[n%3], 0, n%2))
						time.Sleep(10 * time.Millisecond)
					}
				})
				time.Sleep(200 * time.Millisecond)
				c.Close()
				users.Wait()
				require.Zero(t, c.BufferedFetchRecords())
				require.Zero(t, c.BufferedFetchBytes())
				require.Zero(t, w.during(time.Minute), "fetches after Close")
			})
		})
	}
}
