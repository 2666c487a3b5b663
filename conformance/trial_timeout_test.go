package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/mutant"
)

// notTelling is a cluster that keeps its settings from who asks.
func notTelling() mutant.Damage {
	return mutant.Damage{Keys: []kmsg.Key{kmsg.DescribeConfigs}, Request: func(c *mutant.Call) {
		resp := c.Request.(*kmsg.DescribeConfigsRequest).ResponseKind().(*kmsg.DescribeConfigsResponse)
		resource := kmsg.NewDescribeConfigsResponseResource()
		resource.ErrorCode = kerr.ClusterAuthorizationFailed.Code
		resp.Resources = append(resp.Resources, resource)
		c.Response = resp
	}}
}

// looking is a cluster that says how often it looks for transactions that timed
// out; "": it does not say.
func looking(every string) mutant.Damage {
	return mutant.Damage{Keys: []kmsg.Key{kmsg.DescribeConfigs}, Request: func(c *mutant.Call) {
		req := c.Request.(*kmsg.DescribeConfigsRequest)
		resp := req.ResponseKind().(*kmsg.DescribeConfigsResponse)
		resource := kmsg.NewDescribeConfigsResponseResource()
		resource.ResourceType, resource.ResourceName = req.Resources[0].ResourceType, req.Resources[0].ResourceName
		if every != "" {
			config := kmsg.NewDescribeConfigsResponseResourceConfig()
			config.Name, config.Value = lookInterval, &every
			resource.Configs = append(resource.Configs, config)
		}
		resp.Resources = append(resp.Resources, resource)
		c.Response = resp
	}}
}

// notToYou stands for an interval that a right is needed to know.
const notToYou = "withheld"

// A coordinator is waited for as long as its settings let it take, if the
// scenario has the time.
func TestCoordinatorsThatLookRarely(t *testing.T) {
	t.Parallel()
	const timeout = 10 * time.Millisecond
	for name, k := range map[string]struct {
		every string        // or notToYou
		after time.Duration // the sign comes
		want  Outcome
		what  string
	}{
		"told to others only":                    {notToYou, time.Hour, Inconclusive, "is told to those with DescribeConfigs"},
		"told to others only, in time":           {notToYou, 100 * time.Millisecond, Pass, ""},
		"in time":                                {"10000", 100 * time.Millisecond, Pass, ""},
		"late":                                   {"10000", time.Hour, Fail, "200ms after the timeout of 10ms"},
		"by the next look":                       {"12000", time.Second, Pass, ""},
		"later than the next look":               {"10500", time.Hour, Fail, "700ms after the timeout of 10ms, at looks every 10.5s"},
		"looks that the script does not outlive": {"600000", time.Hour, Inconclusive, "every 10m0s (" + lookInterval + ")"},
		"nothing is told":                        {"", time.Hour, Fail, "(the cluster does not tell its " + lookInterval + ")"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := scenario(func(tr *trial) {
				tr.witness(true, "")
				w, began := tr.idle(tr.newID(), timeout), time.Now()
				late := tr.untilTimeout(w, began, func() bool { return time.Since(began) >= k.after })
				tr.expect(late == "", nowhere, -1, "the end by "+late, "none")
			})
			s.Limit = time.Hour
			settings := looking(k.every)
			if k.every == notToYou {
				settings = notTelling()
			}
			r, _ := behind(t, settings, func(c *Config) { c.Slow = 0.01 }, s)
			require.Equal(t, k.want, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
			require.Contains(t, r.Reason+findingsOf(r), k.what)
		})
	}
}
