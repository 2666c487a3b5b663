package rcconsumer_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/kafkatest"
)

func TestRealSecuredTopicIsReadByEveryWayIn(t *testing.T) {
	t.Parallel()
	c := kafkatest.Secured(t, kafkatest.Config{})
	l := newLedger(t, c.Cluster, kafkatest.TopicConfig{})
	w, p := l.writer(t, "w", kafkatest.ProducerConfig{}), l.plainWriter(t, "plain")
	for range 5 {
		w.whole(t, 0, commit, 5, 2)
		w.whole(t, 0, abort, 4)
		p.batch(t, 0, 1)
	}
	w.whole(t, 0, abort, 3)
	end := l.settle(t, 0)
	want := l.visible(0, false, 0, end)
	for _, in := range entrances(t, c) {
		t.Run(in.name, func(t *testing.T) {
			group := kafkatest.Name(t)
			if in.principal != "" {
				c.Grant(t, in.principal, kafkatest.OnTopic(kadm.OpRead, l.topic), kafkatest.OnGroup(kadm.OpRead, group))
			}
			direct, seen := secured(t, c, append(in.opts, from(l.topic, 0, at(0)))...)
			require.NoError(t, direct.Ping(t.Context()))
			require.Equal(t, want, newHarvest(direct).untilNext(t, l.topic, 0, end))
			require.Zero(t, direct.Stats()[l.topic][0].Anomalies)
			seen.keeps(t, in.secrets)

			member, seen := secured(t, c, append(in.opts, kgo.ConsumerGroup(group), kgo.ConsumeTopics(l.topic), kgo.DisableAutoCommit())...)
			require.Equal(t, want, newHarvest(member).untilNext(t, l.topic, 0, end))
			require.NoError(t, member.CommitUncommittedOffsets(t.Context()))
			untilCommitted(t, l, []string{group}, end)
			seen.keeps(t, in.secrets)
		})
	}
}
