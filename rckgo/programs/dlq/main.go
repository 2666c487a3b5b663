// Program dlq consumes in a group and writes what it cannot work on to another
// topic, with the client that it reads with, before it commits.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rckgo/programs/internal/task"
)

var errPoison = errors.New("not to be worked on")

func main() {
	job := task.Parse()
	ctx, cancel := job.Context()
	defer cancel()
	client, err := kgo.NewClient(
		kgo.SeedBrokers(job.Brokers...),
		kgo.ConsumerGroup(job.Group),
		kgo.ConsumeTopics(job.Topics...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
	)
	if err != nil {
		log.Fatal(err)
	}
	defer client.CloseAllowingRebalance()
	for total := 0; ; {
		n, err := step(ctx, client, job, total >= job.Records)
		if err != nil {
			log.Fatalf("after %d records: %v", total, err)
		}
		if n == 0 {
			return
		}
		total += n
	}
}

// step works on what one poll returns, and returns how many records it was. The
// last one waits only a short while for more.
func step(ctx context.Context, client *kgo.Client, job task.Task, last bool) (int, error) {
	wait := ctx
	if last {
		var cancel context.CancelFunc
		wait, cancel = context.WithTimeout(ctx, job.Quiet)
		defer cancel()
	}
	fetches := client.PollFetches(wait)
	defer client.AllowRebalance()
	if err := fetches.Err0(); err != nil && (!last || ctx.Err() != nil) {
		return 0, err
	}
	var dead []*kgo.Record
	for iter := fetches.RecordIter(); !iter.Done(); {
		r := iter.Next()
		outcome := "done"
		if err := work(r); err != nil {
			outcome = "dead"
			dead = append(dead, letter(r, err, job.Output))
		}
		fmt.Printf("%s %d %d %s %s %s\n", r.Topic, r.Partition, r.Offset, r.Key, r.Value, outcome)
	}
	if len(dead) > 0 {
		if err := client.ProduceSync(ctx, dead...).FirstErr(); err != nil {
			return 0, fmt.Errorf("dead letters: %w", err)
		}
	}
	return fetches.NumRecords(), client.CommitUncommittedOffsets(ctx)
}

func work(r *kgo.Record) error {
	if string(r.Key) == "key3" {
		return errPoison
	}
	return nil
}

// letter is a record for the other topic that says where it comes from.
func letter(r *kgo.Record, reason error, topic string) *kgo.Record {
	return &kgo.Record{
		Topic: topic,
		Key:   r.Key,
		Value: r.Value,
		Headers: append(r.Headers,
			kgo.RecordHeader{Key: "reason", Value: []byte(reason.Error())},
			kgo.RecordHeader{Key: "partition", Value: strconv.AppendInt(nil, int64(r.Partition), 10)},
			kgo.RecordHeader{Key: "offset", Value: strconv.AppendInt(nil, r.Offset, 10)}),
	}
}
