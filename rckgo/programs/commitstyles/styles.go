package main

import (
	"context"
	"errors"
	"log"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rckgo/programs/internal/task"
)

// style is a way to commit.
type style struct {
	options func(task.Task) []kgo.Opt
	prepare func(context.Context, *kgo.Client, *kadm.Client, task.Task)

	// commit is called with what a poll returned once that is worked on, and
	// with nothing at the end.
	commit func(context.Context, *kgo.Client, *kadm.Client, task.Task, kgo.Fetches) error
}

var styles = map[string]style{
	"auto":   {options: member(), commit: leaveIt},
	"greedy": {options: member(kgo.GreedyAutoCommit()), commit: leaveIt},
	"marks": {
		options: member(kgo.AutoCommitMarks()),
		commit: func(_ context.Context, client *kgo.Client, _ *kadm.Client, _ task.Task, fetches kgo.Fetches) error {
			client.MarkCommitRecords(fetches.Records()...)
			return nil
		},
	},
	"records": {
		options: member(kgo.DisableAutoCommit()),
		commit: func(ctx context.Context, client *kgo.Client, _ *kadm.Client, _ task.Task, fetches kgo.Fetches) error {
			return client.CommitRecords(ctx, fetches.Records()...)
		},
	},
	"uncommitted": {
		options: member(kgo.DisableAutoCommit()),
		commit: func(ctx context.Context, client *kgo.Client, _ *kadm.Client, _ task.Task, _ kgo.Fetches) error {
			return client.CommitUncommittedOffsets(ctx)
		},
	},
	"kadm": {
		options: func(task.Task) []kgo.Opt { return nil },
		prepare: resume,
		commit: func(ctx context.Context, _ *kgo.Client, admin *kadm.Client, job task.Task, fetches kgo.Fetches) error {
			return admin.CommitAllOffsets(ctx, job.Group, kadm.OffsetsFromFetches(fetches))
		},
	},
}

// member makes the client a member of the group.
func member(more ...kgo.Opt) func(task.Task) []kgo.Opt {
	return func(job task.Task) []kgo.Opt {
		return append([]kgo.Opt{
			kgo.ConsumerGroup(job.Group),
			kgo.ConsumeTopics(job.Topics...),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		}, more...)
	}
}

func leaveIt(context.Context, *kgo.Client, *kadm.Client, task.Task, kgo.Fetches) error { return nil }

// resume has a client without a group read on from the group's commits.
func resume(ctx context.Context, client *kgo.Client, admin *kadm.Client, job task.Task) {
	starts, err := admin.ListStartOffsets(ctx, job.Topics...)
	if err != nil {
		log.Fatal(err)
	}
	committed, err := admin.FetchOffsets(ctx, job.Group)
	if err != nil && !errors.Is(err, kerr.GroupIDNotFound) { // there is none before its first commit
		log.Fatal(err)
	}
	offsets := starts.KOffsets()
	for topic, partitions := range committed.KOffsets() {
		for partition, offset := range partitions {
			offsets[topic][partition] = offset
		}
	}
	client.AddConsumePartitions(offsets)
}
