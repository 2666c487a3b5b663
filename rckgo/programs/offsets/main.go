// Program offsets reads each partition from another kind of offset, and prints
// what there is from there on.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rckgo/programs/internal/task"
)

// offsets are dealt out to the partitions of the topics in turn.
func offsets() []kgo.Offset {
	o := kgo.NewOffset()
	return []kgo.Offset{
		o.AtStart(),
		o.At(5),
		o.AtStart().Relative(7),
		o.AtEnd().Relative(-20),
		o.At(10).Relative(-4),
		o.AfterMilli(1),
		o.AtStart().Relative(-3),
		o.AtEnd().Relative(-2),
		o.WithEpoch(0).At(12),
	}
}

func main() {
	job := task.Parse()
	ctx, cancel := job.Context()
	defer cancel()
	dealt, all := map[string]map[int32]kgo.Offset{}, offsets()
	for i, offset := range all {
		topic := job.Topics[i%len(job.Topics)]
		if dealt[topic] == nil {
			dealt[topic] = map[int32]kgo.Offset{}
		}
		dealt[topic][int32(i/len(job.Topics))] = offset
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(job.Brokers...),
		kgo.ConsumePartitions(dealt),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.FetchMaxWait(job.Quiet/2),
	)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	for {
		wait, stop := context.WithTimeout(ctx, 4*job.Quiet)
		fetches := client.PollFetches(wait)
		stop()
		if errors.Is(fetches.Err0(), context.DeadlineExceeded) {
			return
		}
		for _, e := range fetches.Errors() {
			fmt.Printf("# error of a partition: %v\n", e.Err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			fmt.Printf("%s %d %d %s %s\n", r.Topic, r.Partition, r.Offset, r.Key, r.Value)
		})
	}
}
