// Program workers consumes in a group with a goroutine for each partition,
// started and stopped by the group's callbacks. Its flag -style says how it
// commits: auto, marks or manual.
package main

import (
	"context"
	"log"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rckgo/programs/internal/task"
)

var options = map[string][]kgo.Opt{
	"auto":   {kgo.AutoCommitInterval(200 * time.Millisecond)},
	"marks":  {kgo.AutoCommitMarks(), kgo.AutoCommitInterval(200 * time.Millisecond)},
	"manual": {kgo.DisableAutoCommit()},
}

func main() {
	job := task.Parse()
	ctx, cancel := job.Context()
	defer cancel()
	style, ok := options[job.Style]
	if !ok {
		log.Fatalf("no such style of committing: %q", job.Style)
	}
	s := &splitter{style: job.Style, workers: map[place]*worker{}}
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(job.Brokers...),
		kgo.ConsumerGroup(job.Group),
		kgo.ConsumeTopics(job.Topics...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.OnPartitionsAssigned(s.assigned),
		kgo.OnPartitionsRevoked(s.revoked),
		kgo.OnPartitionsLost(s.lost),
		kgo.BlockRebalanceOnPoll(),
	}, style...)...)
	if err != nil {
		log.Fatal(err)
	}
	for total := 0; total < job.Records; {
		fetches := client.PollRecords(ctx, 100)
		if err := fetches.Err(); err != nil {
			log.Fatalf("after %d records: %v", total, err)
		}
		total += fetches.NumRecords()
		fetches.EachPartition(s.dispatch)
		client.AllowRebalance()
	}
	wait, stop := context.WithTimeout(ctx, job.Quiet)
	defer stop()
	client.PollFetches(wait).EachPartition(s.dispatch)
	client.CloseAllowingRebalance()
}
