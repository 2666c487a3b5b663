// Program copier copies topics to another one, exactly once: what it writes and
// what it has read end in the same transaction.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rckgo/programs/internal/task"
)

func main() {
	job := task.Parse()
	ctx, cancel := job.Context()
	defer cancel()
	session, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers(job.Brokers...),
		kgo.ConsumerGroup(job.Group),
		kgo.ConsumeTopics(job.Topics...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.TransactionalID(job.Group),
		kgo.DefaultProduceTopic(job.Output),
	)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	for total := 0; ; {
		wait, stop := ctx, context.CancelFunc(func() {})
		if total >= job.Records {
			wait, stop = context.WithTimeout(ctx, job.Quiet)
		}
		fetches := session.PollFetches(wait)
		ended := total >= job.Records && wait.Err() != nil && ctx.Err() == nil && fetches.NumRecords() == 0
		stop()
		if ended {
			return
		}
		if err := fetches.Err(); err != nil {
			log.Fatalf("after %d records: %v", total, err)
		}
		if err := copyAll(ctx, session, fetches); err != nil {
			log.Fatalf("after %d records: %v", total, err)
		}
		total += fetches.NumRecords()
	}
}

// copyAll copies what a poll returned in one transaction.
func copyAll(ctx context.Context, session *kgo.GroupTransactSession, fetches kgo.Fetches) error {
	if err := session.Begin(); err != nil {
		return err
	}
	var first kgo.FirstErrPromise
	fetches.EachRecord(func(r *kgo.Record) {
		session.Produce(ctx, &kgo.Record{Key: r.Key, Value: r.Value}, first.Promise())
	})
	committed, err := session.End(ctx, first.Err() == nil)
	switch {
	case err != nil:
		return err
	case !committed:
		return fmt.Errorf("a transaction was aborted: %w", first.Err())
	}
	fetches.EachRecord(func(r *kgo.Record) {
		fmt.Printf("%s %d %d %s %s\n", r.Topic, r.Partition, r.Offset, r.Key, r.Value)
	})
	return nil
}
