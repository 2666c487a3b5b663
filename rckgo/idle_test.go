package rckgo_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/kafkatest"
	kgo "example.com/readcommitted/rckgo"
)

// One client first writes and asks, and reads later.
func TestClientThatReadsNothingRunsNoGoroutineOfOurs(t *testing.T) {
	cluster := kafkatest.Fake(t, kafkatest.Config{})
	topic := cluster.Topic(t, kafkatest.TopicConfig{})
	cl, err := kgo.NewClient(kgo.SeedBrokers(cluster.Addrs()...), kgo.DefaultProduceTopic(topic), kgo.TransactionalID(topic))
	require.NoError(t, err)
	defer cl.Close()
	for _, end := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort, kgo.TryCommit} {
		require.NoError(t, cl.BeginTransaction())
		promise := kgo.AbortingFirstErrPromise(cl)
		cl.Produce(t.Context(), kgo.StringRecord(fmt.Sprint(end)), promise.Promise())
		require.NoError(t, promise.Err())
		require.NoError(t, cl.EndTransaction(t.Context(), end))
	}
	resp, err := cl.Request(t.Context(), kmsg.NewPtrMetadataRequest())
	require.NoError(t, err)
	require.NotEmpty(t, resp.(*kmsg.MetadataResponse).Topics)
	require.Zero(t, goroutinesOfOurs())

	cl.AddConsumeTopics(topic)
	var values []string
	for len(values) < 2 {
		fetches := cl.PollFetches(t.Context())
		require.NoError(t, fetches.Err())
		fetches.EachRecord(func(r *kgo.Record) { values = append(values, string(r.Value)) })
	}
	require.Equal(t, []string{"true", "true"}, values, "what was aborted is not delivered")
	require.NotZero(t, goroutinesOfOurs())
	cl.Close()
	require.Zero(t, goroutinesOfOurs(), "Close has waited for them")
}

func TestAbortingPromiseAbortsWhatIsBuffered(t *testing.T) {
	cluster := kafkatest.Fake(t, kafkatest.Config{})
	cl, err := kgo.NewClient(kgo.SeedBrokers(cluster.Addrs()...), kgo.MaxBufferedRecords(1), kgo.ManualFlushing(),
		kgo.DefaultProduceTopic(cluster.Topic(t, kafkatest.TopicConfig{})))
	require.NoError(t, err)
	defer cl.Close()
	promise, waits := kgo.AbortingFirstErrPromise(cl), make(chan error, 1)
	cl.TryProduce(t.Context(), kgo.StringRecord("waits for Flush"), func(_ *kgo.Record, err error) { waits <- err })
	cl.TryProduce(t.Context(), kgo.StringRecord("has no room"), promise.Promise())
	require.ErrorIs(t, promise.Err(), kgo.ErrMaxBuffered)
	require.ErrorIs(t, <-waits, kgo.ErrAborting)
}
