// Program polling reads whole topics without a group and goes through what
// polls return in every way that Fetches offers.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rckgo/programs/internal/task"
)

func main() {
	job := task.Parse()
	ctx, cancel := job.Context()
	defer cancel()
	client, err := kgo.NewClient(
		kgo.SeedBrokers(job.Brokers...),
		kgo.ConsumeTopics(job.Topics...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
	)
	if err != nil {
		log.Fatal(err)
	}
	total := 0
	for polls := 0; ; polls++ {
		fetches, more := poll(ctx, client, job, total)
		if !more {
			break
		}
		show(fetches, polls)
		total += fetches.NumRecords()
	}
	client.Close()
	if fetches := client.PollFetches(ctx); !fetches.IsClientClosed() {
		log.Fatalf("a closed client returned %v", fetches.Errors())
	}
}

// poll returns what comes next, and false once everything has come.
func poll(ctx context.Context, client *kgo.Client, job task.Task, total int) (kgo.Fetches, bool) {
	last := total >= job.Records
	if last {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, job.Quiet)
		defer cancel()
	}
	fetches := client.PollRecords(ctx, 50)
	if last && errors.Is(fetches.Err0(), context.DeadlineExceeded) {
		return nil, false
	}
	fetches.EachError(func(topic string, partition int32, err error) {
		log.Fatalf("%s/%d: %v, after %d records", topic, partition, err, total)
	})
	if fetches.Empty() {
		log.Fatal("a poll returned neither records nor errors")
	}
	return fetches, true
}

// show prints every record once, by another helper each time.
func show(fetches kgo.Fetches, polls int) {
	switch polls % 6 {
	case 0:
		fetches.EachRecord(print1)
	case 1:
		for iter := fetches.RecordIter(); !iter.Done(); {
			print1(iter.Next())
		}
	case 2:
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			if p.HighWatermark < p.LastStableOffset {
				log.Fatalf("%s/%d: high watermark %d, last stable offset %d", p.Topic, p.Partition, p.HighWatermark, p.LastStableOffset)
			}
			p.EachRecord(print1)
		})
	case 3:
		fetches.EachTopic(func(t kgo.FetchTopic) {
			t.EachPartition(func(p kgo.FetchPartition) { p.EachRecord(print1) })
		})
	case 4:
		for _, r := range fetches.Records() {
			print1(r)
		}
	case 5:
		for r := range fetches.RecordsAll() {
			print1(r)
		}
	}
}

func print1(r *kgo.Record) {
	fmt.Printf("%s %d %d %s %s\n", r.Topic, r.Partition, r.Offset, r.Key, r.Value)
}
