package rcconsumer_test

import (
	"context"
	"fmt"
	"log"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rcconsumer"
)

// Read a topic to its last stable offset and stop there.
func Example() {
	ctx := context.Background()
	brokers, stop := sampleCluster(ctx)
	defer stop()

	consumer, err := rcconsumer.New(kgo.SeedBrokers(brokers...), kgo.ConsumeTopics("orders"), rcconsumer.ReturnOnProgress())
	if err != nil {
		log.Fatal(err)
	}
	defer consumer.Close()
	for caughtUp := false; !caughtUp; {
		fetches := consumer.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			log.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) { fmt.Printf("%d %s\n", r.Offset, r.Value) })
		p, known := consumer.Position("orders", 0)
		caughtUp = known && p.CaughtUp()
	}
	p, _ := consumer.Position("orders", 0)
	fmt.Printf("next %d of %d, %d held back\n", p.Next, p.LastStableOffset, p.HeldBack())
	// Output:
	// 0 paid
	// 4 shipped
	// next 6 of 6, 0 held back
}

// sampleCluster holds one committed, one aborted and another committed
// transaction: offsets 1, 3 and 5 are markers.
func sampleCluster(ctx context.Context) (brokers []string, stop func()) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "orders"))
	if err != nil {
		log.Fatal(err)
	}
	producer, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.TransactionalID("sample"), kgo.DefaultProduceTopic("orders"))
	if err != nil {
		log.Fatal(err)
	}
	defer producer.Close()
	for _, txn := range []struct {
		value string
		end   kgo.TransactionEndTry
	}{{"paid", kgo.TryCommit}, {"cancelled", kgo.TryAbort}, {"shipped", kgo.TryCommit}} {
		if err := producer.BeginTransaction(); err != nil {
			log.Fatal(err)
		}
		if err := producer.ProduceSync(ctx, kgo.StringRecord(txn.value)).FirstErr(); err != nil {
			log.Fatal(err)
		}
		if err := producer.EndTransaction(ctx, txn.end); err != nil {
			log.Fatal(err)
		}
	}
	return cluster.ListenAddrs(), cluster.Close
}

// Print records until the context ends, as a service would.
func ExampleConsumer_PollFetches() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	brokers, stop := sampleCluster(ctx)
	defer stop()

	consumer, err := rcconsumer.New(kgo.SeedBrokers(brokers...), kgo.ConsumeTopics("orders"))
	if err != nil {
		log.Fatal(err)
	}
	defer consumer.Close()
	for {
		fetches := consumer.PollFetches(ctx)
		if fetches.IsClientClosed() || ctx.Err() != nil {
			return
		}
		fetches.EachError(func(topic string, partition int32, err error) { log.Print(topic, partition, err) })
		fetches.EachRecord(func(r *kgo.Record) {
			fmt.Printf("%d %s\n", r.Offset, r.Value)
			if string(r.Value) == "shipped" {
				cancel()
			}
		})
	}
	// Output:
	// 0 paid
	// 4 shipped
}
