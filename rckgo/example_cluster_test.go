package rckgo_test

import (
	"context"
	"log"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// startCluster starts a cluster in this process with three transactions of one
// record each in the topic "orders": committed, aborted, committed. Offsets 1, 3
// and 5 are their markers; the next record will have offset 6.
func startCluster() (brokers []string, stop func()) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "orders"))
	check(err)
	producer, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.TransactionalID("example"), kgo.DefaultProduceTopic("orders"))
	check(err)
	defer producer.Close()
	ctx := context.Background()
	for _, transaction := range []struct {
		value string
		end   kgo.TransactionEndTry
	}{{"paid", kgo.TryCommit}, {"cancelled", kgo.TryAbort}, {"shipped", kgo.TryCommit}} {
		check(producer.BeginTransaction())
		check(producer.ProduceSync(ctx, kgo.StringRecord(transaction.value)).FirstErr())
		check(producer.EndTransaction(ctx, transaction.end))
	}
	return cluster.ListenAddrs(), cluster.Close
}

// committed is what the group "billing" has committed of the topic.
func committed(brokers []string) int64 {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...))
	check(err)
	defer client.Close()
	offsets, err := kadm.NewClient(client).FetchOffsets(context.Background(), "billing")
	check(err)
	at, ok := offsets.Lookup("orders", 0)
	if !ok {
		return -1
	}
	return at.At
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
