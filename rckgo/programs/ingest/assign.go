package main

import (
	"context"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

// assigned starts a worker for each new partition.
func (s *service) assigned(_ context.Context, cl *kgo.Client, added map[string][]int32) {
	cl.ResumeFetchPartitions(added) // a pause outlives an assignment
	s.mu.Lock()
	defer s.mu.Unlock()
	for topic, partitions := range added {
		for _, p := range partitions {
			tp := topicPartition{topic, p}
			w := newWorker(tp, cl, s.sink, s.queue)
			s.workers[tp] = w
			go w.run() // stopped and waited for by revoked and lost
		}
	}
}

// begins notes where partitions begin: at the group's commits, if there are any.
func (s *service) begins(_ context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for topic, partitions := range offsets {
		for p, o := range partitions {
			session := s.sessions.Add(1)
			if w := s.workers[topicPartition{topic, p}]; w != nil {
				w.begin(session)
			}
			s.log.Info("begin", "topic", topic, "partition", p, "session", session, "offset", o.EpochOffset().Offset)
		}
	}
	return offsets, nil
}

// revoked lets the workers finish what is on its way, and commits it.
func (s *service) revoked(ctx context.Context, cl *kgo.Client, gone map[string][]int32) {
	s.stop(gone, (*worker).finish)
	if err := cl.CommitMarkedOffsets(ctx); err != nil {
		s.log.Warn("commit before partitions go", "error", err)
	}
	s.log.Info("revoked", "partitions", gone)
}

// lost gives partitions up that others may be reading by now.
func (s *service) lost(_ context.Context, _ *kgo.Client, gone map[string][]int32) {
	s.stop(gone, (*worker).abandon)
	s.log.Warn("lost", "partitions", gone)
}

// stop ends the workers of partitions, all at the same time.
func (s *service) stop(gone map[string][]int32, end func(*worker)) {
	s.mu.Lock()
	var ending sync.WaitGroup
	for topic, partitions := range gone {
		for _, p := range partitions {
			tp := topicPartition{topic, p}
			if w := s.workers[tp]; w != nil {
				delete(s.workers, tp)
				ending.Go(func() { end(w) })
			}
		}
	}
	s.mu.Unlock()
	ending.Wait()
}
