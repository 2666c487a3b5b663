package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// line is what the file holds of a record.
type line struct {
	Topic     string    `json:"topic"`
	Partition int32     `json:"partition"`
	Offset    int64     `json:"offset"`
	Session   int64     `json:"session"` // counts the times that a partition was begun
	Seq       int64     `json:"seq"`     // the record's place in its session, from 1 on
	Key       []byte    `json:"key"`     // in base64; null if the record has none
	Value     []byte    `json:"value_sha256"`
	At        time.Time `json:"at"` // when it was written
}

func lineOf(r *kgo.Record, session, seq int64) line {
	sum := sha256.Sum256(r.Value)
	return line{
		Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Session: session, Seq: seq, Key: r.Key, Value: sum[:],
	}
}

// laneOf keeps records of one key in one lane; the others take turns.
func laneOf(r *kgo.Record) uint64 {
	if r.Key == nil {
		return uint64(r.Offset)
	}
	h := fnv.New64a()
	_, _ = h.Write(r.Key) // never fails
	return h.Sum64()
}

// delivery is a line on its way; done is called once, when it was written or
// cannot be.
type delivery struct {
	line line
	done func(written bool)
}

// mostLines is how many lines a lane writes at once.
const mostLines = 64

// sink writes lines in several lanes, each of them in order. Lanes overtake each
// other. Nothing is buffered: what was written outlives the process.
type sink struct {
	lanes []chan delivery
	delay time.Duration
	wg    sync.WaitGroup

	mu  sync.Mutex
	out io.Writer
	err error // the first failure; nothing is written after it
}

func newSink(out io.Writer, lanes int, delay time.Duration) *sink {
	s := &sink{out: out, delay: delay}
	for range lanes {
		s.lanes = append(s.lanes, make(chan delivery, mostLines))
	}
	return s
}

// start starts the lanes; fail is told of failures.
func (s *sink) start(fail func(error)) {
	for _, lane := range s.lanes {
		s.wg.Go(func() {
			for first := range lane {
				s.deliver(append([]delivery{first}, ready(lane)...), fail)
			}
		})
	}
}

// ready takes what a lane holds, without waiting for more.
func ready(lane chan delivery) (all []delivery) {
	for len(all) < mostLines-1 && len(lane) > 0 {
		all = append(all, <-lane)
	}
	return all
}

// put waits for room in a lane until the context ends.
func (s *sink) put(ctx context.Context, lane uint64, d delivery) bool {
	select {
	case s.lanes[lane%uint64(len(s.lanes))] <- d:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *sink) deliver(all []delivery, fail func(error)) {
	if s.delay > 0 {
		time.Sleep(rand.N(s.delay))
	}
	err := s.write(all)
	if err != nil {
		fail(err)
	}
	for _, d := range all {
		d.done(err == nil)
	}
}

// write writes all lines in one go.
func (s *sink) write(all []delivery) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	var b []byte
	for _, d := range all {
		d.line.At = time.Now()
		text, err := json.Marshal(d.line)
		if err != nil {
			panic(err) // no type in it that JSON does not have
		}
		b = append(append(b, text...), '\n')
	}
	_, s.err = s.out.Write(b)
	return s.err
}

// failure is the error that ended the writing.
func (s *sink) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// close ends the lanes. No put may follow.
func (s *sink) close() {
	for _, lane := range s.lanes {
		close(lane)
	}
	s.wg.Wait()
}
