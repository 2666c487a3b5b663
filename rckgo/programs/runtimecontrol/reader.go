package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rckgo/programs/internal/task"
)

// reader reads on from wherever its client is.
type reader struct {
	client *kgo.Client
	job    task.Task
	seen   map[string]map[int32]int // records, by topic and partition, without repetitions
	repeat map[string]map[int32]bool
}

// rewind has a partition read again from its first offset.
func (r *reader) rewind(topic string, partition int32) {
	r.client.SetOffsets(map[string]map[int32]kgo.EpochOffset{topic: {partition: {Epoch: -1, Offset: 0}}})
	if r.repeat == nil {
		r.repeat = map[string]map[int32]bool{}
	}
	if r.repeat[topic] == nil {
		r.repeat[topic] = map[int32]bool{}
	}
	r.repeat[topic][partition] = true
}

// read prints so many records, and fails if there are more.
func (r *reader) read(records int) {
	ctx, cancel := r.job.Context()
	defer cancel()
	for got := 0; got < records; {
		fetches := r.client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			log.Fatalf("after %d of %d records: %v", got, records, err)
		}
		got += fetches.NumRecords()
		fetches.EachRecord(r.print)
	}
	ctx, cancel = context.WithTimeout(ctx, r.job.Quiet)
	defer cancel()
	fetches := r.client.PollFetches(ctx)
	fetches.EachRecord(r.print)
	if !errors.Is(fetches.Err0(), context.DeadlineExceeded) {
		log.Fatalf("more than %d records, or another error: %d, %v", records, fetches.NumRecords(), fetches.Err())
	}
}

func (r *reader) print(record *kgo.Record) {
	fmt.Printf("%s %d %d %s %s\n", record.Topic, record.Partition, record.Offset, record.Key, record.Value)
	if r.repeat[record.Topic][record.Partition] {
		return
	}
	if r.seen[record.Topic] == nil {
		r.seen[record.Topic] = map[int32]int{}
	}
	r.seen[record.Topic][record.Partition]++
}
