package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rckgo/programs/internal/task"
)

// tally counts the records of both members.
type tally struct{ atomic.Int64 }

// member is one member of the group.
type member struct {
	job    task.Task
	client *kgo.Client
	has    chan struct{} // closed when it has partitions
	once   sync.Once
}

func newMember(job task.Task) *member { return &member{job: job, has: make(chan struct{})} }

func (m *member) open() {
	opts := []kgo.Opt{
		kgo.SeedBrokers(m.job.Brokers...),
		kgo.ConsumerGroup(m.job.Group),
		kgo.ConsumeTopics(m.job.Topics...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.DisableAutoCommit(),
		kgo.HeartbeatInterval(250 * time.Millisecond), // how soon a member hears that another came
		kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(m.assigned),
	}
	balancer, ok := balancers[m.job.Style]
	if !ok {
		log.Fatalf("no such balancer: %q", m.job.Style)
	}
	for _, opt := range balancer {
		opts = append(opts, opt)
	}
	var err error
	if m.client, err = kgo.NewClient(opts...); err != nil {
		log.Fatal(err)
	}
}

func (m *member) assigned(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
	for _, ids := range partitions {
		if len(ids) > 0 {
			m.once.Do(func() { close(m.has) })
		}
	}
}

// read reads until both members have read so many records, or ctx ends.
func (m *member) read(ctx context.Context, read *tally, until int) {
	for read.Load() < int64(until) {
		m.step(ctx, read)
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return
		}
	}
}

// step works on one poll, which ends after a while: the other member may have
// read the rest.
func (m *member) step(ctx context.Context, read *tally) {
	wait, stop := context.WithTimeout(ctx, m.job.Quiet)
	defer stop()
	fetches := m.client.PollRecords(wait, 10)
	defer m.client.AllowRebalance()
	if err := fetches.Err0(); err != nil && wait.Err() == nil {
		log.Fatal(err)
	}
	fetches.EachRecord(func(r *kgo.Record) {
		fmt.Printf("%s %d %d %s %s\n", r.Topic, r.Partition, r.Offset, r.Key, r.Value)
	})
	if err := m.client.CommitUncommittedOffsets(context.Background()); err != nil {
		log.Fatalf("commit: %v", err)
	}
	read.Add(int64(fetches.NumRecords()))
}
