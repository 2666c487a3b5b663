// Program producer only writes: a transaction that it commits, one that it
// aborts, and another that it commits.
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
	client, err := kgo.NewClient(
		kgo.SeedBrokers(job.Brokers...),
		kgo.DefaultProduceTopic(job.Output),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.TransactionalID(job.Output),
		kgo.ProducerBatchCompression(kgo.ZstdCompression()),
	)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	if err := client.Ping(ctx); err != nil {
		log.Fatal(err)
	}
	for i, outcome := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort, kgo.TryCommit} {
		if err := transact(ctx, client, i, outcome); err != nil {
			log.Fatalf("transaction %d: %v", i, err)
		}
	}
	id, _, err := client.ProducerID(ctx)
	fmt.Printf("# a producer ID: %v, error %v; still buffered: %d records\n", id >= 0, err, client.BufferedProduceRecords())
}

// transact writes some records with promises, one and some more at once.
func transact(ctx context.Context, client *kgo.Client, number int, outcome kgo.TransactionEndTry) error {
	if err := client.BeginTransaction(); err != nil {
		return err
	}
	record := func(i int) *kgo.Record {
		kind := map[kgo.TransactionEndTry]string{kgo.TryCommit: "committed", kgo.TryAbort: "aborted"}[outcome]
		return &kgo.Record{
			Partition: int32(i % 3),
			Key:       fmt.Appendf(nil, "key%d", i),
			Value:     fmt.Appendf(nil, "%s-%d-%d", kind, number, i),
		}
	}
	promise := kgo.AbortingFirstErrPromise(client)
	for i := range 20 {
		client.Produce(ctx, record(i), promise.Promise())
	}
	if err := promise.Err(); err != nil {
		return err
	}
	if err := client.ProduceSync(ctx, record(20), record(21)).FirstErr(); err != nil {
		return err
	}
	client.TryProduce(ctx, record(22), func(r *kgo.Record, err error) {
		if err != nil {
			log.Fatalf("%s: %v", r.Value, err)
		}
	})
	if err := client.Flush(ctx); err != nil {
		return err
	}
	fmt.Printf("# transaction %d ends, commit: %v\n", number, outcome == kgo.TryCommit)
	return client.EndTransaction(ctx, outcome)
}
