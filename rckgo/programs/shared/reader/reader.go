// Package reader reads with a client that others make, and close.
package reader

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Options are what a client needs to be read with.
func Options(group string, topics []string) []kgo.Opt {
	return []kgo.Opt{
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(topics...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.DisableAutoCommit(),
		kgo.OnPartitionsRevoked(commit),
	}
}

// Read calls fn for so many records, and for more if they come within quiet.
func Read(ctx context.Context, client *kgo.Client, records int, quiet time.Duration, fn func(*kgo.Record)) error {
	for got := 0; got < records; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("after %d records: %w", got, err)
		}
		fetches.EachRecord(fn)
		got += fetches.NumRecords()
	}
	ctx, cancel := context.WithTimeout(ctx, quiet)
	defer cancel()
	client.PollFetches(ctx).EachRecord(fn)
	return nil
}

func commit(ctx context.Context, client *kgo.Client, _ map[string][]int32) {
	if err := client.CommitUncommittedOffsets(ctx); err != nil {
		fmt.Printf("# commit: %v\n", err)
	}
}
