package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rckgo/programs/internal/task"
)

// source is what the service needs of a client.
type source interface {
	PollRecords(ctx context.Context, max int) kgo.Fetches
	AllowRebalance()
	CommitUncommittedOffsets(ctx context.Context) error
	CloseAllowingRebalance()
}

var _ source = (*kgo.Client)(nil)

type service struct {
	client *kgo.Client // nil in a rehearsal
	source source
	prefix string
}

func newService(job task.Task) (*service, error) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(job.Brokers...),
		kgo.ConsumerGroup(job.Group),
		kgo.ConsumeTopics(job.Topics...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
	)
	return &service{client: client, source: client}, err
}

func (s *service) run(ctx context.Context, job task.Task) error {
	for total := 0; ; {
		if job.Quiet == 0 && total >= job.Records {
			return s.finish(ctx)
		}
		n, err := s.step(ctx, job, total >= job.Records)
		total += n
		switch {
		case errors.Is(err, context.DeadlineExceeded) && total >= job.Records && ctx.Err() == nil:
			return s.finish(ctx)
		case err != nil:
			return fmt.Errorf("after %d records: %w", total, err)
		}
	}
}

// finish commits what is left, and prints of how many partitions that is known.
func (s *service) finish(ctx context.Context) error {
	err := s.source.CommitUncommittedOffsets(ctx)
	if s.client != nil {
		for _, partitions := range s.client.CommittedOffsets() {
			fmt.Printf("# committed partitions of a topic: %d\n", len(partitions))
		}
	}
	return err
}

// step works on one poll, and commits it.
func (s *service) step(ctx context.Context, job task.Task, last bool) (int, error) {
	defer s.source.AllowRebalance()
	wait := ctx
	if last {
		var cancel context.CancelFunc
		wait, cancel = context.WithTimeout(ctx, job.Quiet)
		defer cancel()
	}
	fetches := s.source.PollRecords(wait, 40)
	for _, e := range fetches.Errors() {
		return 0, e.Err
	}
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		for _, r := range p.Records {
			fmt.Printf("%s%s %d %d %s %s\n", s.prefix, r.Topic, r.Partition, r.Offset, r.Key, r.Value)
		}
	})
	return fetches.NumRecords(), s.source.CommitUncommittedOffsets(ctx)
}
