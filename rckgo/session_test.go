package rckgo_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/kafkatest"
	"example.com/readcommitted/rcconsumer"
	"example.com/readcommitted/rckgo"
)

func TestSessionRefusesWhatItsClientWouldIgnore(t *testing.T) {
	inSession := []kgo.Opt{kgo.ConsumerGroup("g"), kgo.TransactionalID("x"), kgo.SeedBrokers("127.0.0.1:1")}
	for name, opt := range map[string]kgo.Opt{
		"OnPartitionsAssigned":        rckgo.OnPartitionsAssigned(nil),
		"OnPartitionsRevoked":         rckgo.OnPartitionsRevoked(nil),
		"OnPartitionsLost":            rckgo.OnPartitionsLost(nil),
		"OnPartitionsCallbackBlocked": rckgo.OnPartitionsCallbackBlocked(nil),
		"OnOffsetsFetched":            rckgo.OnOffsetsFetched(nil),
		"AutoCommitCallback":          rckgo.AutoCommitCallback(nil),
		"BufferBytes":                 rcconsumer.BufferBytes(1),
		"ReturnOnProgress":            rcconsumer.ReturnOnProgress(),
		"CommitThroughMarkers":        rcconsumer.CommitThroughMarkers(true),
		"WithHooks(*rckgo_test.both)": rckgo.WithHooks(noHook{}, &both{}),
		"int implements no hook":      rckgo.WithHooks(noHook{}, 7),
	} {
		s, err := rckgo.NewGroupTransactSession(append(inSession, opt)...)
		if s != nil {
			s.Close()
		}
		require.ErrorContains(t, err, name)
		require.ErrorContains(t, err, "kgo's own client")
	}
	_, err := rckgo.NewGroupTransactSession(kgo.TransactionalID("x"))
	require.EqualError(t, err, "missing required group", "kgo's own errors pass")
}

// both is a hook of kgo's and of ours.
type both struct{ noHook }

func (*both) OnNewClient(*rckgo.Client) {}

// The session reads at read_committed too, calls hooks and callbacks of kgo's,
// and does what it is for.
func TestSessionIsKgosOwnAtReadCommitted(t *testing.T) {
	cluster := kafkatest.Fake(t, kafkatest.Config{})
	in, out := cluster.Topic(t, kafkatest.TopicConfig{}), cluster.Topic(t, kafkatest.TopicConfig{})
	write(t, cluster, in, []string{"a"}, []string{"dropped"}, []string{"b"})
	hook := &pollCounter{}
	assigned := 0
	s, err := rckgo.NewGroupTransactSession(
		rckgo.SeedBrokers(cluster.Addrs()...), rckgo.ConsumerGroup("g"), rckgo.ConsumeTopics(in), rckgo.TransactionalID("s"),
		rckgo.DefaultProduceTopic(out), rckgo.WithHooks(hook),
		kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) { assigned++ }),
	)
	require.NoError(t, err)
	defer s.Close()
	require.Equal(t, int8(1), s.Client().OptValue(kgo.FetchIsolationLevel))
	for copied := 0; copied < 2; {
		fetches := s.PollFetches(t.Context())
		require.NoError(t, fetches.Err())
		require.NoError(t, s.Begin())
		fetches.EachRecord(func(r *kgo.Record) {
			copied++
			s.Produce(t.Context(), kgo.StringRecord(string(r.Value)), nil)
		})
		committed, err := s.End(t.Context(), rckgo.TryCommit)
		require.NoError(t, err)
		require.True(t, committed)
	}
	require.NotZero(t, hook.polls)
	require.NotZero(t, assigned)
	require.Equal(t, []string{"a", "b"}, readAll(t, cluster, out, 2))

	plain, err := rckgo.NewGroupTransactSession(rckgo.SeedBrokers(cluster.Addrs()...), rckgo.ConsumerGroup("h"), rckgo.TransactionalID("t"),
		rckgo.FetchIsolationLevel(rckgo.ReadUncommitted()))
	require.NoError(t, err)
	defer plain.Close()
	require.Equal(t, int8(0), plain.Client().OptValue(kgo.FetchIsolationLevel), "what is given wins")
}

// pollCounter is a hook of kgo's.
type pollCounter struct{ polls int }

func (h *pollCounter) OnPollStart(context.Context) { h.polls++ }

// write writes transactions of records; every second one is aborted.
func write(t *testing.T, cluster *kafkatest.Cluster, topic string, transactions ...[]string) {
	t.Helper()
	cl := cluster.Client(t, kgo.TransactionalID("write"), kgo.DefaultProduceTopic(topic))
	for i, values := range transactions {
		require.NoError(t, cl.BeginTransaction())
		for _, v := range values {
			require.NoError(t, cl.ProduceSync(t.Context(), kgo.StringRecord(v)).FirstErr())
		}
		require.NoError(t, cl.EndTransaction(t.Context(), kgo.TransactionEndTry(i%2 == 0)))
	}
}

// readAll returns the values of the first n records of a topic.
func readAll(t *testing.T, cluster *kafkatest.Cluster, topic string, n int) (values []string) {
	t.Helper()
	cl, err := rckgo.NewClient(rckgo.SeedBrokers(cluster.Addrs()...), rckgo.ConsumeTopics(topic))
	require.NoError(t, err)
	defer cl.Close()
	for len(values) < n {
		fetches := cl.PollFetches(t.Context())
		require.NoError(t, fetches.Err())
		fetches.EachRecord(func(r *kgo.Record) { values = append(values, string(r.Value)) })
	}
	return values
}
