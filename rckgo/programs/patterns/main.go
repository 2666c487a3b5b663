// Program patterns consumes the topics that a pattern matches, as a static
// member of a group, with control records, from the time that records bear.
package main

import (
	"context"
	"fmt"
	"log"
	"regexp"

	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rckgo/programs/internal/task"
)

func main() {
	job := task.Parse()
	ctx, cancel := job.Context()
	defer cancel()
	var patterns []string
	for _, topic := range job.Topics {
		patterns = append(patterns, "^"+regexp.QuoteMeta(topic)+"$")
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(job.Brokers...),
		kgo.ConsumerGroup(job.Group),
		kgo.InstanceID("patterns-0"),
		kgo.ConsumeRegex(),
		kgo.ConsumeTopics(patterns...),
		kgo.ConsumeExcludeTopics("^__"),
		kgo.ConsumeStartOffset(kgo.NewOffset().AfterMilli(1)),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(),
		kgo.AutoCommitMarks(),
	)
	if err != nil {
		log.Fatal(err)
	}
	markers := map[string]int{}
	read := func(ctx context.Context) int {
		records := 0
		client.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
			client.MarkCommitRecords(r)
			if r.Attrs.IsControl() {
				markers[fmt.Sprintf("partition %d", r.Partition)]++
				return
			}
			records++
			fmt.Printf("%s %d %d %s %s\n", r.Topic, r.Partition, r.Offset, r.Key, r.Value)
		})
		return records
	}
	for total := 0; total < job.Records && ctx.Err() == nil; {
		total += read(ctx)
	}
	quiet, stop := context.WithTimeout(ctx, job.Quiet)
	defer stop()
	for quiet.Err() == nil {
		read(quiet)
	}
	if err := client.CommitMarkedOffsets(ctx); err != nil {
		log.Fatalf("commit: %v", err)
	}
	client.Close()
	for partition, n := range markers {
		fmt.Printf("# markers of %s: %d\n", partition, n)
	}
}
