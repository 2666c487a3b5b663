package rckgo_test

import (
	"context"
	"fmt"
	"log"

	"github.com/twmb/franz-go/pkg/kadm"

	kgo "example.com/readcommitted/rckgo"
)

// Everything that polls have returned is committed when it is done. With
// BlockRebalanceOnPoll no partition goes to another member meanwhile.
func Example_commitUncommittedOffsets() {
	brokers, stop := startCluster()
	defer stop()
	ctx := context.Background()

	client, err := kgo.NewClient(
		kgo.SeedBrokers(brokers...),
		kgo.ConsumerGroup("billing"),
		kgo.ConsumeTopics("orders"),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
	)
	if err != nil {
		log.Fatal(err)
	}
	defer client.CloseAllowingRebalance()
	for left := 2; left > 0; {
		fetches := client.PollFetches(ctx)
		fetches.EachError(func(topic string, partition int32, err error) { log.Println(topic, partition, err) })
		fetches.EachRecord(func(r *kgo.Record) {
			fmt.Println(r.Offset, string(r.Value))
			left--
		})
		if err := client.CommitUncommittedOffsets(ctx); err != nil {
			log.Println(err) // what is not committed is read again
		}
		client.AllowRebalance()
	}

	fmt.Println("committed", committed(brokers))
	// Output:
	// 0 paid
	// 4 shipped
	// committed 6
}

// Single records are committed, with all that lie in front of them.
func Example_commitRecords() {
	brokers, stop := startCluster()
	defer stop()
	ctx := context.Background()

	client, err := kgo.NewClient(
		kgo.SeedBrokers(brokers...),
		kgo.ConsumerGroup("billing"),
		kgo.ConsumeTopics("orders"),
		kgo.DisableAutoCommit(),
	)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	for left := 2; left > 0; {
		fetches := client.PollFetches(ctx)
		fetches.EachError(func(topic string, partition int32, err error) { log.Println(topic, partition, err) })
		fetches.EachRecord(func(r *kgo.Record) {
			left--
			if err := client.CommitRecords(ctx, r); err != nil {
				log.Println(err)
			}
			fmt.Println(r.Offset, string(r.Value), "committed", committed(brokers))
		})
	}
	// Output:
	// 0 paid committed 4
	// 4 shipped committed 6
}

// An offset that the program names is committed as it is. The one after a record
// may be a marker's: a group that stops there has a lag of one.
func Example_commitOffsets() {
	brokers, stop := startCluster()
	defer stop()
	ctx := context.Background()

	client, err := kgo.NewClient(
		kgo.SeedBrokers(brokers...),
		kgo.ConsumerGroup("billing"),
		kgo.ConsumeTopics("orders"),
		kgo.DisableAutoCommit(),
	)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	next := make(map[int32]kgo.EpochOffset)
	for left := 2; left > 0; {
		fetches := client.PollFetches(ctx)
		fetches.EachError(func(topic string, partition int32, err error) { log.Println(topic, partition, err) })
		fetches.EachRecord(func(r *kgo.Record) {
			fmt.Println(r.Offset, string(r.Value))
			left--
			next[r.Partition] = kgo.EpochOffset{Epoch: r.LeaderEpoch, Offset: r.Offset + 1}
		})
	}
	client.CommitOffsetsSync(ctx, map[string]map[int32]kgo.EpochOffset{"orders": next}, nil)

	fmt.Println("committed", committed(brokers))
	// Output:
	// 0 paid
	// 4 shipped
	// committed 5
}

// Partitions are read without being a member of a group. Offsets may be kept
// anywhere: here a group's name holds them, through kadm, which wants the client
// underneath.
func Example_directPartitions() {
	brokers, stop := startCluster()
	defer stop()
	ctx := context.Background()

	client, err := kgo.NewClient(
		kgo.SeedBrokers(brokers...),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{"orders": {0: kgo.NewOffset().At(2)}}),
	)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	fetches := client.PollFetches(ctx)
	if err := fetches.Err(); err != nil {
		log.Fatal(err)
	}
	fetches.EachRecord(func(r *kgo.Record) { fmt.Println(r.Offset, string(r.Value)) })
	var done kadm.Offsets
	position, _ := client.Position("orders", 0)
	done.AddOffset("orders", 0, position.Next, position.NextEpoch)
	if err := kadm.NewClient(client.Kgo()).CommitAllOffsets(ctx, "billing", done); err != nil {
		log.Fatal(err)
	}

	fmt.Println("committed", committed(brokers))
	// Output:
	// 4 shipped
	// committed 6
}
