package rcconsumer_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/kafkatest"
	"example.com/readcommitted/rcconsumer"
)

// look polls for a moment, whatever comes.
func (h *harvest) look(t *testing.T, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	_ = h.poll(ctx, t, 0)
}

// rebalances counts what a group tells a member.
type rebalances struct{ assigned, revoked, lost atomic.Int32 }

func (r *rebalances) opts() []kgo.Opt {
	count := func(n *atomic.Int32) func(context.Context, *rcconsumer.Consumer, map[string][]int32) {
		return func(_ context.Context, _ *rcconsumer.Consumer, ps map[string][]int32) {
			if len(ps) > 0 {
				n.Add(1)
			}
		}
	}
	return []kgo.Opt{
		rcconsumer.OnPartitionsAssigned(count(&r.assigned)), rcconsumer.OnPartitionsRevoked(count(&r.revoked)),
		rcconsumer.OnPartitionsLost(count(&r.lost)),
	}
}

const renewed = "sasl expiry limit reached" // kgo, when it authenticates again

func TestRealSessionsAreRenewedWhileReading(t *testing.T) {
	t.Parallel()
	c := kafkatest.Secured(t, kafkatest.Config{})
	l := newLedger(t, c.Cluster, kafkatest.TopicConfig{})
	user, group := c.User(t), kafkatest.Name(t)
	c.Grant(t, user.Name, kafkatest.OnTopic(kadm.OpRead, l.topic), kafkatest.OnGroup(kadm.OpRead, group))
	login := enter(c, kafkatest.Expiring, kgo.SASL(user.SHA512()))
	direct, directSeen := secured(t, c, append(login, from(l.topic, 0, at(0)))...)
	var told rebalances
	join := append(told.opts(), kgo.ConsumerGroup(group), kgo.ConsumeTopics(l.topic), kgo.AutoCommitInterval(100*time.Millisecond))
	member, memberSeen := secured(t, c, append(join, login...)...)

	w, alone, inGroup := l.writer(t, "w", kafkatest.ProducerConfig{}), newHarvest(direct), newHarvest(member)
	for until := time.Now().Add(5 * kafkatest.SessionLife); time.Now().Before(until); {
		w.whole(t, 0, commit, 20)
		w.whole(t, 0, abort, 10)
		alone.look(t, 20*time.Millisecond)
		inGroup.look(t, 20*time.Millisecond)
	}
	end := l.settle(t, 0)
	want := l.visible(0, false, 0, end)
	require.Equal(t, want, alone.untilNext(t, l.topic, 0, end))
	require.Equal(t, want, inGroup.untilNext(t, l.topic, 0, end))
	inGroup.look(t, 100*time.Millisecond) // what the last poll returned counts from the next one on
	untilCommitted(t, l, []string{group}, end)

	require.EqualValues(t, []int32{1, 0, 0}, []int32{told.assigned.Load(), told.revoked.Load(), told.lost.Load()}, "no rebalance")
	for name, seen := range map[string]*watch{"alone": directSeen, "in a group": memberSeen} {
		require.GreaterOrEqual(t, seen.said(renewed), 5, "%s: sessions renewed", name)
		require.LessOrEqual(t, seen.connections(), 6, "%s: connections outlive their sessions", name)
		seen.keeps(t, []string{user.Password})
		t.Logf("%s: %d records, %d sessions renewed, %d connections, %s", name, len(want), seen.said(renewed), seen.connections(), seen.kinds())
	}
}

// denials are what may happen to a user who is connected, with what undoes it.
func denials(c *kafkatest.SecuredCluster) map[string]func(*testing.T, kafkatest.User) {
	return map[string]func(*testing.T, kafkatest.User){
		"user removed": func(t *testing.T, u kafkatest.User) { c.DeleteUser(t, u) },
		"password changed": func(t *testing.T, u kafkatest.User) {
			u.Password = "another-" + u.Password
			c.SetPassword(t, u)
		},
	}
}

func TestRealUserWhoIsDeniedReadsOnOnceLetInAgain(t *testing.T) {
	t.Parallel()
	c := kafkatest.Secured(t, kafkatest.Config{})
	tests := make(map[string]func(*testing.T))
	for name, deny := range denials(c) {
		tests[name] = func(t *testing.T) { deniedAlone(t, c, deny) }
		tests[name+", in a group"] = func(t *testing.T) { deniedInGroup(t, c, deny) }
	}
	together(t, tests)
}

func deniedAlone(t *testing.T, c *kafkatest.SecuredCluster, deny func(*testing.T, kafkatest.User)) {
	l, user := newLedger(t, c.Cluster, kafkatest.TopicConfig{}), c.User(t)
	c.Grant(t, user.Name, kafkatest.OnTopic(kadm.OpRead, l.topic))
	consumer, seen := secured(t, c, append(enter(c, kafkatest.Expiring, kgo.SASL(user.SHA256())), from(l.topic, 0, at(0)))...)
	h, w := newHarvest(consumer), l.writer(t, "w", kafkatest.ProducerConfig{})
	rounds(t, w, 3, 0)
	h.untilNext(t, l.topic, 0, l.settle(t, 0))

	deny(t, user)
	for until := time.Now().Add(2 * kafkatest.SessionLife); time.Now().Before(until); { // the old session is over
		rounds(t, w, 1, 0)
		h.look(t, 100*time.Millisecond)
	}
	require.True(t, seen.told(isA(kerr.SaslAuthenticationFailed)), "%v", seen.failures())
	before := seen.connections()
	h.quiet(t, 3*time.Second)
	t.Logf("denied: %d connections in 3 s", seen.connections()-before)
	require.LessOrEqual(t, seen.connections()-before, 12)

	c.SetPassword(t, user)
	rounds(t, w, 1, 0)
	end := l.settle(t, 0)
	require.Equal(t, l.visible(0, false, 0, end), h.untilNext(t, l.topic, 0, end), "nothing lost, nothing twice")
	seen.keeps(t, []string{user.Password})
}

func deniedInGroup(t *testing.T, c *kafkatest.SecuredCluster, deny func(*testing.T, kafkatest.User)) {
	l, user, group := newLedger(t, c.Cluster, kafkatest.TopicConfig{}), c.User(t), kafkatest.Name(t)
	c.Grant(t, user.Name, kafkatest.OnTopic(kadm.OpRead, l.topic), kafkatest.OnGroup(kadm.OpRead, group))
	join := append(enter(c, kafkatest.Expiring, kgo.SASL(user.SHA256())), kgo.ConsumerGroup(group), kgo.ConsumeTopics(l.topic),
		kgo.DisableAutoCommit(), kgo.HeartbeatInterval(500*time.Millisecond))
	consumer, seen := secured(t, c, join...)
	h, w := newHarvest(consumer), l.writer(t, "w", kafkatest.ProducerConfig{})
	rounds(t, w, 3, 0)
	h.untilNext(t, l.topic, 0, l.settle(t, 0))
	require.NoError(t, consumer.CommitUncommittedOffsets(t.Context()))

	deny(t, user)
	h.until(t, "the end of the session", func() bool { return len(h.errs) > 0 })
	var session *kgo.ErrGroupSession
	require.True(t, errors.As(h.errs[0], &session), "%v", h.errs)
	require.ErrorIs(t, h.errs[0], kerr.SaslAuthenticationFailed)
	rounds(t, w, 1, 0)
	before := seen.connections()
	h.look(t, 3*time.Second)
	t.Logf("denied: %d connections in 3 s, errors %v", seen.connections()-before, h.errs)
	require.LessOrEqual(t, seen.connections()-before, 12)
	require.Empty(t, consumer.Positions(), "nothing is read without a group")

	c.SetPassword(t, user)
	rounds(t, w, 1, 0)
	end := l.settle(t, 0)
	h.until(t, "the rest", func() bool { pos, ok := consumer.Position(l.topic, 0); return ok && pos.Next >= end })
	require.Equal(t, l.visible(0, false, 0, end), h.lines[l.topic][0], "nothing lost, and nothing twice that was committed")
	seen.keeps(t, []string{user.Password})
}
