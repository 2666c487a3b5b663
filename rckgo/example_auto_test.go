package rckgo_test

import (
	"context"
	"fmt"
	"log"

	kgo "example.com/readcommitted/rckgo"
)

// Auto-commit commits, every five seconds and on Close, what was returned by all
// polls but the latest one: a record that is lost in a crash is read again. What
// is committed here is past the last marker, so the group has no lag.
func Example_autoCommit() {
	brokers, stop := startCluster()
	defer stop()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	client, err := kgo.NewClient(
		kgo.SeedBrokers(brokers...),
		kgo.ConsumerGroup("billing"),
		kgo.ConsumeTopics("orders"),
	)
	if err != nil {
		log.Fatal(err)
	}
	for {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			break // this poll counts: what came before it is done
		}
		fetches.EachError(func(topic string, partition int32, err error) { log.Println(topic, partition, err) })
		fetches.EachRecord(func(r *kgo.Record) {
			fmt.Println(r.Offset, string(r.Value))
			if string(r.Value) == "shipped" {
				cancel() // as a signal would
			}
		})
	}
	client.Close()

	fmt.Println("committed", committed(brokers))
	// Output:
	// 0 paid
	// 4 shipped
	// committed 6
}

// Greedy auto-commit commits what the latest poll returned as well. A crash
// loses what was not worked on by then.
func Example_greedyAutoCommit() {
	brokers, stop := startCluster()
	defer stop()

	client, err := kgo.NewClient(
		kgo.SeedBrokers(brokers...),
		kgo.ConsumerGroup("billing"),
		kgo.ConsumeTopics("orders"),
		kgo.GreedyAutoCommit(),
	)
	if err != nil {
		log.Fatal(err)
	}
	for left := 2; left > 0; {
		fetches := client.PollFetches(context.Background())
		fetches.EachError(func(topic string, partition int32, err error) { log.Println(topic, partition, err) })
		fetches.EachRecord(func(r *kgo.Record) {
			fmt.Println(r.Offset, string(r.Value))
			left--
		})
	}
	client.Close()

	fmt.Println("committed", committed(brokers))
	// Output:
	// 0 paid
	// 4 shipped
	// committed 6
}

// With marks auto-commit commits what the program says it has done. A mark
// covers all earlier records of its partition.
func Example_marks() {
	brokers, stop := startCluster()
	defer stop()

	client, err := kgo.NewClient(
		kgo.SeedBrokers(brokers...),
		kgo.ConsumerGroup("billing"),
		kgo.ConsumeTopics("orders"),
		kgo.AutoCommitMarks(),
	)
	if err != nil {
		log.Fatal(err)
	}
	for left := 2; left > 0; {
		fetches := client.PollFetches(context.Background())
		fetches.EachError(func(topic string, partition int32, err error) { log.Println(topic, partition, err) })
		fetches.EachRecord(func(r *kgo.Record) {
			fmt.Println(r.Offset, string(r.Value))
			left--
			if string(r.Value) == "paid" {
				client.MarkCommitRecords(r)
			}
		})
	}
	client.Close()

	fmt.Println("committed", committed(brokers), "which is the next record")
	// Output:
	// 0 paid
	// 4 shipped
	// committed 4 which is the next record
}
