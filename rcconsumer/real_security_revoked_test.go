package rcconsumer_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/kafkatest"
)

// revocation is a right that a reader loses while it reads.
type revocation struct {
	name    string
	right   func(topic, group string) kafkatest.Right
	grouped bool
	class   error
}

func topicRead(topic, _ string) kafkatest.Right { return kafkatest.OnTopic(kadm.OpRead, topic) }
func groupRead(_, group string) kafkatest.Right { return kafkatest.OnGroup(kadm.OpRead, group) }

var revocations = []revocation{
	{"topic READ", topicRead, false, kerr.TopicAuthorizationFailed},
	{"topic READ, in a group", topicRead, true, kerr.TopicAuthorizationFailed},
	{"group READ", groupRead, true, kerr.GroupAuthorizationFailed},
}

func TestRealRightTakenWhileReadingAndGivenBackLosesNothing(t *testing.T) {
	t.Parallel()
	c := kafkatest.Secured(t, kafkatest.Config{})
	tests := make(map[string]func(*testing.T))
	for _, r := range revocations {
		addReader(tests, c, r.name, r.grouped, r.check)
	}
	together(t, tests)
}

func (r revocation) check(t *testing.T, c *kafkatest.SecuredCluster, opts []kgo.Opt) {
	l, user, group := newLedger(t, c.Cluster, kafkatest.TopicConfig{}), c.User(t), kafkatest.Name(t)
	c.Grant(t, user.Name, topicRead(l.topic, group), groupRead(l.topic, group))
	opts = append(enter(c, kafkatest.SASL, kgo.SASL(user.SHA256())), opts...)
	if r.grouped {
		opts = append(opts, kgo.ConsumerGroup(group), kgo.ConsumeTopics(l.topic), kgo.DisableAutoCommit(), kgo.HeartbeatInterval(500*time.Millisecond))
	} else {
		opts = append(opts, from(l.topic, 0, at(0)))
	}
	consumer, seen := secured(t, c, opts...)
	h, w := newHarvest(consumer), l.writer(t, "w", kafkatest.ProducerConfig{})
	rounds(t, w, 5, 0)
	h.untilNext(t, l.topic, 0, l.settle(t, 0))
	if r.grouped {
		require.NoError(t, consumer.CommitUncommittedOffsets(t.Context()))
	}

	c.Revoke(t, user.Name, r.right(l.topic, group))
	h.until(t, "the error", func() bool { return len(h.errs) > 0 })
	rounds(t, w, 5, 0) // not before: what a member is handed after its last commit comes again, as in kgo
	before := seen.sent()
	h.look(t, time.Second)
	h.look(t, 2*time.Second)
	for _, err := range h.errs {
		require.ErrorIs(t, err, r.class)
		var session *kgo.ErrGroupSession
		require.Equal(t, errors.Is(r.class, kerr.GroupAuthorizationFailed), errors.As(err, &session))
	}
	t.Logf("%d requests in 3 s without the right: %s; %d errors, the first: %v", seen.sent()-before, seen.kinds(), len(h.errs), h.errs[0])
	require.LessOrEqual(t, seen.sent()-before, 3*refusedRequests)

	c.Grant(t, user.Name, r.right(l.topic, group))
	rounds(t, w, 1, 0)
	end := l.settle(t, 0)
	h.until(t, "the rest", func() bool { pos, ok := consumer.Position(l.topic, 0); return ok && pos.Next >= end })
	require.Equal(t, l.visible(0, false, 0, end), h.lines[l.topic][0], "nothing lost, nothing twice")
	seen.keeps(t, []string{user.Password}, fmt.Sprint(h.errs))
}
