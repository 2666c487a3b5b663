package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
)

// control notes what a worker asks of its client.
type control struct {
	mu     sync.Mutex
	paused bool
	pauses int
	marked int64 // the last mark
	going  bool  // marks went back
}

func (c *control) PauseFetchPartitions(map[string][]int32) map[string][]int32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused = true
	c.pauses++
	return nil
}

func (c *control) ResumeFetchPartitions(map[string][]int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused = false
}

func (c *control) MarkCommitRecords(records ...*kgo.Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range records {
		c.going = c.going || r.Offset <= c.marked
		c.marked = r.Offset
	}
}

func (c *control) state() (paused bool, pauses int, marked int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.paused, c.pauses, c.marked
}

func recordsFrom(offset int64, n int) (records []*kgo.Record) {
	for i := range int64(n) {
		r := &kgo.Record{Topic: "t", Partition: 3, Offset: offset + i, Value: fmt.Append(nil, offset+i)}
		if i%4 != 0 {
			r.Key = fmt.Append(nil, i%5)
		}
		records = append(records, r)
	}
	return records
}

func TestAcksMarkNoRecordBeforeTheOnesAheadOfIt(t *testing.T) {
	var marked []int64
	a := acks{mark: func(r *kgo.Record) { marked = append(marked, r.Offset) }}
	var numbers []int64
	for _, r := range recordsFrom(10, 5) {
		numbers = append(numbers, a.expect(r))
	}
	for _, step := range []struct {
		ack  int
		want []int64
	}{{1, nil}, {0, []int64{11}}, {4, []int64{11}}, {3, []int64{11}}, {2, []int64{11, 14}}} {
		a.ack(numbers[step.ack])
		require.Equal(t, step.want, marked, "after record %d was acknowledged", step.ack)
	}
	next := a.expect(recordsFrom(15, 1)[0])
	a.close()
	a.ack(next)
	require.Equal(t, []int64{11, 14}, marked, "nothing is marked of what was given up")
}

func TestAcksMarkEverythingInEveryOrder(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 0))
		last := int64(-1)
		acked := map[int64]bool{}
		a := acks{mark: func(r *kgo.Record) {
			for o := last + 1; o <= r.Offset; o++ {
				require.True(t, acked[o], "seed %d: %d is marked, and %d is not acknowledged", seed, r.Offset, o)
			}
			last = r.Offset
		}}
		for _, rec := range recordsFrom(0, 40) {
			require.Equal(t, rec.Offset, a.expect(rec))
		}
		for _, n := range r.Perm(40) {
			acked[int64(n)] = true
			a.ack(int64(n))
		}
		require.EqualValues(t, 39, last, "seed %d", seed)
	}
}

// linesOf reads back what a sink wrote.
func linesOf(t *testing.T, text []byte) (lines []line) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	for decoder.More() {
		var l line
		require.NoError(t, decoder.Decode(&l))
		lines = append(lines, l)
	}
	return lines
}

func TestWorkerPausesItsPartitionAndFinishesWhatItBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		to := newSink(&out, 3, 10*time.Millisecond)
		to.start(func(err error) { t.Error(err) })
		c := &control{marked: -1}
		w := newWorker(topicPartition{"t", 3}, c, to, 100)
		w.begin(7)
		require.True(t, w.enqueue(recordsFrom(0, 500)))
		require.False(t, w.enqueue(recordsFrom(500, 50)), "paused once")
		go w.run()
		synctest.Wait()
		paused, _, _ := c.state()
		require.True(t, paused, "the lanes hold far less than the queue")
		time.Sleep(time.Minute)
		paused, pauses, marked := c.state()
		require.False(t, paused)
		require.Equal(t, 1, pauses)
		require.EqualValues(t, 549, marked)
		require.False(t, c.going, "marks went back")

		w.enqueue(recordsFrom(550, 2000))
		synctest.Wait()
		w.finish()
		to.close()
		lines := linesOf(t, out.Bytes())
		_, _, marked = c.state()
		require.EqualValues(t, len(lines)-1, marked, "what was written is marked, and nothing else")
		require.Less(t, len(lines), 2550)
		for _, l := range lines {
			require.Equal(t, l.Offset+1, l.Seq)
			require.EqualValues(t, 7, l.Session)
		}
	})
}

func TestWorkerMarksNothingOfALostPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		to := newSink(&out, 2, 10*time.Millisecond)
		to.start(func(err error) { t.Error(err) })
		c := &control{marked: -1}
		w := newWorker(topicPartition{"t", 3}, c, to, 100)
		w.enqueue(recordsFrom(0, 50))
		go w.run()
		synctest.Wait()
		w.abandon()
		to.close()
		_, _, marked := c.state()
		require.EqualValues(t, -1, marked)
	})
}

// limited takes some writes and refuses the rest.
type limited struct {
	bytes.Buffer
	writes int
}

var errFull = errors.New("no room left")

func (l *limited) Write(b []byte) (int, error) {
	if l.writes--; l.writes < 0 {
		return 0, errFull
	}
	return l.Buffer.Write(b)
}

func TestSinkFailureMarksNothingThatWasNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &limited{writes: 2}
		to := newSink(out, 2, 10*time.Millisecond)
		failed := make(chan error, 1000)
		to.start(func(err error) { failed <- err })
		c := &control{marked: -1}
		w := newWorker(topicPartition{"t", 3}, c, to, 100)
		w.enqueue(recordsFrom(0, 1000))
		go w.run()
		require.ErrorIs(t, <-failed, errFull)
		w.finish()
		to.close()
		require.ErrorIs(t, to.failure(), errFull)
		written := map[int64]bool{}
		for _, l := range linesOf(t, out.Bytes()) {
			written[l.Offset] = true
		}
		_, _, marked := c.state()
		for o := range marked + 1 {
			require.True(t, written[o], "%d is marked, and %d was not written", marked, o)
		}
	})
}

func TestConfigIsRefusedForMissingAndAbsurdValues(t *testing.T) {
	sound := config{topics: "t", group: "g", session: time.Second, rebalance: time.Second, interval: time.Second, poll: 1, queue: 1, lanes: 1}
	require.NoError(t, sound.validate())
	for name, change := range map[string]func(*config){
		"no topic":    func(c *config) { c.topics = "" },
		"no group":    func(c *config) { c.group = "" },
		"no records":  func(c *config) { c.poll = 0 },
		"no queue":    func(c *config) { c.queue = 0 },
		"no lane":     func(c *config) { c.lanes = -1 },
		"no interval": func(c *config) { c.interval = 0 },
		"no time":     func(c *config) { c.rebalance = 0 },
		"no session":  func(c *config) { c.session = 0 },
		"wrong delay": func(c *config) { c.delay = -1 },
	} {
		wrong := sound
		change(&wrong)
		require.Error(t, wrong.validate(), name)
	}
}
