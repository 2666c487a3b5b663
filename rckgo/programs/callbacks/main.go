// Program callbacks consumes in a group with every callback that is given the
// client, and commits through calls whose callback is given it.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rckgo/programs/internal/task"
)

func main() {
	job := task.Parse()
	ctx, cancel := job.Context()
	defer cancel()
	w := newWatcher()
	client, err := kgo.NewClient(
		kgo.SeedBrokers(job.Brokers...),
		kgo.ConsumerGroup(job.Group),
		kgo.ConsumeTopics(job.Topics...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.AutoCommitInterval(100*time.Millisecond),
		kgo.AutoCommitCallback(w.committed),
		kgo.OnOffsetsFetched(w.fetched),
		kgo.OnPartitionsAssigned(w.assigned),
		kgo.OnPartitionsRevoked(w.revoked),
		kgo.OnPartitionsLost(w.lost),
		kgo.OnPartitionsCallbackBlocked(w.blocked),
		kgo.BlockRebalanceOnPoll(),
	)
	if err != nil {
		log.Fatal(err)
	}
	for total := 0; total < job.Records; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			log.Fatalf("after %d records: %v", total, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			fmt.Printf("%s %d %d %s %s\n", r.Topic, r.Partition, r.Offset, r.Key, r.Value)
		})
		total += fetches.NumRecords()
		client.AllowRebalance()
	}
	wait, stop := context.WithTimeout(ctx, job.Quiet)
	defer stop()
	if fetches := client.PollFetches(wait); fetches.NumRecords() > 0 {
		log.Fatalf("%d records more than there should be", fetches.NumRecords())
	}
	client.AllowRebalance()
	await(ctx, w.automatic, "an auto-commit")

	done := make(chan struct{})
	client.CommitOffsets(ctx, client.UncommittedOffsets(), w.named(func() { close(done) }))
	await(ctx, done, "a commit")
	client.CommitOffsetsSync(ctx, client.UncommittedOffsets(), w.named(func() {}))
	client.CloseAllowingRebalance()
	w.report()
}

func await(ctx context.Context, done <-chan struct{}, what string) {
	select {
	case <-done:
	case <-ctx.Done():
		log.Fatalf("waited for %s", what)
	}
}
