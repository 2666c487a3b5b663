package rcconsumer_test

import (
	"context"
	"fmt"
	"log"

	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rcconsumer"
)

// Read as a member of a group: poll, work, commit. What is committed passes the
// markers and aborted records behind the last record, so the lag gets to zero.
func Example_group() {
	ctx := context.Background()
	brokers, stop := sampleCluster(ctx)
	defer stop()

	consumer, err := rcconsumer.New(
		kgo.SeedBrokers(brokers...), kgo.ConsumerGroup("billing"), kgo.ConsumeTopics("orders"),
		kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(), rcconsumer.ReturnOnProgress(),
	)
	if err != nil {
		log.Fatal(err)
	}
	defer consumer.CloseAllowingRebalance()
	for done := false; !done; {
		fetches := consumer.PollFetches(ctx)
		fetches.EachError(func(topic string, partition int32, err error) { log.Print(topic, partition, err) })
		fetches.EachRecord(func(r *kgo.Record) { fmt.Printf("%d %s\n", r.Offset, r.Value) })
		if err := consumer.CommitUncommittedOffsets(ctx); err != nil {
			log.Print(err) // what is not committed is read again
		}
		consumer.AllowRebalance()
		p, assigned := consumer.Position("orders", 0)
		done = assigned && p.CaughtUp() && p.Committed == p.Next
	}
	p, _ := consumer.Position("orders", 0)
	fmt.Printf("committed %d of %d\n", p.Committed, p.HighWatermark)
	// Output:
	// 0 paid
	// 4 shipped
	// committed 6 of 6
}

// Three numbers are called lag. Here a transaction is open behind what has been
// read.
func ExamplePosition() {
	ctx := context.Background()
	brokers, stop := sampleCluster(ctx)
	defer stop()
	defer openTransaction(ctx, brokers).Close()

	consumer, err := rcconsumer.New(
		kgo.SeedBrokers(brokers...), kgo.ConsumerGroup("billing"), kgo.ConsumeTopics("orders"),
		kgo.DisableAutoCommit(), rcconsumer.ReturnOnProgress(),
	)
	if err != nil {
		log.Fatal(err)
	}
	defer consumer.Close()
	p, _ := consumer.Position("orders", 0)
	for !p.CaughtUp() || p.Committed != p.Next {
		if err := consumer.PollFetches(ctx).Err(); err != nil {
			log.Fatal(err)
		}
		if err := consumer.CommitUncommittedOffsets(ctx); err != nil {
			log.Fatal(err)
		}
		p, _ = consumer.Position("orders", 0)
	}
	fmt.Println("left to read:", p.ReadableLag())
	fmt.Println("held back by open transactions:", p.HeldBack())
	fmt.Println("lag by Kafka's tools:", p.HighWatermark-p.Committed)
	// Output:
	// left to read: 0
	// held back by open transactions: 1
	// lag by Kafka's tools: 1
}

// openTransaction writes one record in a transaction that does not end.
func openTransaction(ctx context.Context, brokers []string) *kgo.Client {
	producer, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.TransactionalID("open"), kgo.DefaultProduceTopic("orders"))
	if err != nil {
		log.Fatal(err)
	}
	if err := producer.BeginTransaction(); err != nil {
		log.Fatal(err)
	}
	if err := producer.ProduceSync(ctx, kgo.StringRecord("pending")).FirstErr(); err != nil {
		log.Fatal(err)
	}
	return producer
}
