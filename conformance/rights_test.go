package conformance

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/mutant"
	"example.com/readcommitted/internal/kafkatest"
)

// A scenario that goes on where the cluster refuses one of several topics does
// not do so for want of a right: then nothing is known of the others.
func TestARightThatIsMissingForTopicsIsToldAsSuch(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]int16{
		ReasonNotAuthorized: kerr.TopicAuthorizationFailed.Code,
		ReasonRefused:       kerr.InvalidConfig.Code,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := kafkatest.Fake(t, kafkatest.Config{})
			gzip := mutant.Damage{Keys: []kmsg.Key{kmsg.CreateTopics}, Response: func(c *mutant.Call) {
				for i, topic := range c.Request.(*kmsg.CreateTopicsRequest).Topics {
					if slices.ContainsFunc(topic.Configs, func(c kmsg.CreateTopicsRequestTopicConfig) bool { return *c.Value == "gzip" }) {
						c.Response.(*kmsg.CreateTopicsResponse).Topics[i].ErrorCode = code
					}
				}
			}}
			r := runThrough(t, c, gzip, "P-10").Results[0]
			if name == ReasonRefused {
				require.Equal(t, Pass, r.Outcome, r.Reason)
				require.Contains(t, r.Facts, "compression.type=gzip: "+ReasonRefused)
				return
			}
			require.Equal(t, Skip, r.Outcome, r.Reason)
			require.Equal(t, ReasonNotAuthorized, r.Reason)
		})
	}
}

// Who may not ask what a cluster allows cannot hold against it that it does.
func TestTheLongestTimeoutMayBeAllowed(t *testing.T) {
	t.Parallel()
	c := kafkatest.Fake(t, kafkatest.Config{Fake: []kfake.Opt{
		kfake.BrokerConfigs(map[string]string{"transaction.max.timeout.ms": "2147483647"}),
	}})
	secret := mutant.Damage{Keys: []kmsg.Key{kmsg.DescribeConfigs}, Response: func(c *mutant.Call) {
		resp := c.Response.(*kmsg.DescribeConfigsResponse)
		for i := range resp.Resources {
			resp.Resources[i].ErrorCode, resp.Resources[i].Configs = kerr.ClusterAuthorizationFailed.Code, nil
		}
	}}
	for name, damage := range map[string]mutant.Damage{"told": {}, "not told": secret} {
		t.Run(name, func(t *testing.T) {
			r := runThrough(t, c, damage, "T-03").Results[0]
			require.Equal(t, Pass, r.Outcome, findingsOf(r))
			require.NotEmpty(t, r.Facts)
		})
	}
}
