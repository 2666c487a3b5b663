package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/mutant"
)

// always is more often than anything is tried.
const always = 1 << 30

// brokerAway answers the first creations of topics as a cluster of which a
// broker is dead or fenced.
func brokerAway(times int) mutant.Damage {
	return mutant.Damage{Keys: []kmsg.Key{kmsg.CreateTopics}, Request: func(c *mutant.Call) {
		if times--; times < 0 {
			return
		}
		req := c.Request.(*kmsg.CreateTopicsRequest)
		resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
		topic := kmsg.NewCreateTopicsResponseTopic()
		topic.Topic, topic.ErrorCode = req.Topics[0].Topic, kerr.InvalidReplicationFactor.Code
		resp.Topics = append(resp.Topics, topic)
		c.Response = resp
	}}
}

// brokerAwayUnasked is brokerAway where no request makes topics.
func brokerAwayUnasked() mutant.Damage {
	damage := without(kmsg.CreateTopics)
	announced := damage.Response
	damage.Keys = append(damage.Keys, kmsg.Metadata)
	damage.Response = func(c *mutant.Call) {
		resp, ok := c.Response.(*kmsg.MetadataResponse)
		if !ok {
			announced(c)
			return
		}
		for i := range resp.Topics {
			resp.Topics[i].ErrorCode = kerr.InvalidReplicationFactor.Code
		}
	}
	return damage
}

// A broker that is away keeps topics from being made. That excuses no cluster
// from being judged: it is waited for, and nothing is decided without it.
func TestBrokersAwayAreNoReasonToSkip(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		damage mutant.Damage
		want   Outcome
		reason string
	}{
		"for a moment":              {brokerAway(1), Pass, ""},
		"always":                    {brokerAway(always), Inconclusive, "the topic was not created in time: INVALID_REPLICATION_FACTOR"},
		"where nobody makes topics": {brokerAwayUnasked(), Inconclusive, "the topic was not created in time: INVALID_REPLICATION_FACTOR"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, _ := behind(t, k.damage, quickly, scenario(writes))
			require.Equal(t, k.want, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
			require.Contains(t, r.Reason, k.reason)
		})
	}
}
