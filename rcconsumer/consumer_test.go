package rcconsumer_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rcconsumer"
)

func TestThinLine(t *testing.T) {
	cl, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
	require.NoError(t, err)
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	prod, err := kgo.NewClient(kgo.SeedBrokers(cl.ListenAddrs()...), kgo.TransactionalID("x"), kgo.DefaultProduceTopic("t"))
	require.NoError(t, err)
	defer prod.Close()
	for i := range 4 {
		require.NoError(t, prod.BeginTransaction())
		for j := range 3 {
			require.NoError(t, prod.ProduceSync(ctx, kgo.StringRecord(fmt.Sprintf("%d-%d", i, j))).FirstErr())
		}
		require.NoError(t, prod.EndTransaction(ctx, kgo.TransactionEndTry(i%2 == 0)))
	}
	c, err := rcconsumer.New(kgo.SeedBrokers(cl.ListenAddrs()...), kgo.ConsumeTopics("t"), rcconsumer.ReturnOnProgress())
	require.NoError(t, err)
	defer c.Close()
	var got []string
	for {
		fs := c.PollFetches(ctx)
		require.NoError(t, fs.Err())
		fs.EachRecord(func(r *kgo.Record) { got = append(got, string(r.Value)) })
		if p, _ := c.Position("t", 0); p.CaughtUp() {
			require.Equal(t, int64(16), p.Next)
			break
		}
	}
	require.Equal(t, []string{"0-0", "0-1", "0-2", "2-0", "2-1", "2-2"}, got)
	t.Logf("%+v", c.Stats())
}
