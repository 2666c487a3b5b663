package main

import (
	"context"
	"log"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

type place struct {
	topic     string
	partition int32
}

// splitter has a worker for every partition that is assigned.
type splitter struct {
	style   string
	mu      sync.Mutex
	workers map[place]*worker
}

func (s *splitter) assigned(_ context.Context, client *kgo.Client, partitions map[string][]int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for topic, ids := range partitions {
		for _, id := range ids {
			w := newWorker(client, s.style)
			s.workers[place{topic, id}] = w
			go w.run()
		}
	}
}

// revoked waits until the workers are done with what they have, and commits it.
func (s *splitter) revoked(ctx context.Context, client *kgo.Client, partitions map[string][]int32) {
	s.stop(partitions)
	var err error
	switch s.style {
	case "auto":
		err = client.CommitUncommittedOffsets(ctx)
	case "marks":
		err = client.CommitMarkedOffsets(ctx)
	}
	if err != nil {
		log.Fatalf("commit of what is revoked: %v", err)
	}
}

func (s *splitter) lost(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
	s.stop(partitions)
}

func (s *splitter) stop(partitions map[string][]int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for topic, ids := range partitions {
		for _, id := range ids {
			w := s.workers[place{topic, id}]
			delete(s.workers, place{topic, id})
			close(w.records)
			<-w.done
		}
	}
}

// dispatch gives a partition's records to its worker, and waits if that one is
// behind. Errors come as partitions too, without records.
func (s *splitter) dispatch(p kgo.FetchTopicPartition) {
	if len(p.Records) == 0 {
		return
	}
	s.mu.Lock()
	w := s.workers[place{p.Topic, p.Partition}]
	s.mu.Unlock()
	w.records <- p.Records
}
