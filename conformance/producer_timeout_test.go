package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/mutant"
)

// allowing is a cluster that allows no longer transactions than that, and does
// not tell it. asked are the timeouts of all requests.
func allowing(longest time.Duration, asked *[]time.Duration) mutant.Damage {
	damage := without(kmsg.DescribeConfigs)
	announced := damage.Response
	damage.Keys = append(damage.Keys, kmsg.InitProducerID)
	damage.Response = func(c *mutant.Call) {
		if _, ok := c.Response.(*kmsg.ApiVersionsResponse); ok {
			announced(c)
		}
	}
	damage.Request = func(c *mutant.Call) {
		req, ok := c.Request.(*kmsg.InitProducerIDRequest)
		if !ok {
			return
		}
		timeout := time.Duration(req.TransactionTimeoutMillis) * time.Millisecond
		*asked = append(*asked, timeout)
		if timeout > longest {
			resp := req.ResponseKind().(*kmsg.InitProducerIDResponse)
			resp.ErrorCode = kerr.InvalidTransactionTimeout.Code
			c.Response = resp
		}
	}
	return damage
}

func TestTimeoutsThatAClusterDoesNotAllow(t *testing.T) {
	for longest, asked := range map[time.Duration][]time.Duration{
		time.Minute:      {5 * time.Minute, time.Minute, time.Minute, time.Minute, time.Minute},
		20 * time.Second: {5 * time.Minute, time.Minute, 30 * time.Second, 15 * time.Second, 15 * time.Second, time.Minute, 30 * time.Second, 15 * time.Second},
	} {
		t.Run(longest.String(), func(t *testing.T) {
			var all []time.Duration
			r, report := behind(t, allowing(longest, &all), nil, scenario(func(tr *trial) {
				tr.witness(true, "")
				w := tr.producer()
				require.True(t, tr.idle(w.name, defaultTimeout).tryInit().ok(), "of who asks for the answer")
				p := tr.partition()
				w = tr.producerFor(w.name, defaultTimeout)
				w.write(p, 1)
				w.commit()
			}))
			require.Equal(t, Pass, r.Outcome, r.Reason)
			require.Empty(t, report.Left)
			require.ElementsMatch(t, asked, all[:len(asked)], "%v", all)
		})
	}
}

// Where transactions may not last as long as scenarios count on, the cluster
// may have ended one in between, and what is missed then says nothing.
func TestTransactionsThatOutliveWhatIsAllowed(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		timeout time.Duration // that the script counts on
		missed  bool
		want    Outcome
	}{
		"something is missed":                   {defaultTimeout, true, Inconclusive},
		"nothing is missed":                     {defaultTimeout, false, Pass},
		"the script counted on no more than it": {leastTimeout, true, Fail},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var all []time.Duration
			r, _ := behind(t, allowing(leastTimeout, &all), nil, scenario(func(tr *trial) {
				tr.witness(true, "")
				p, w := tr.partition(), tr.producerFor(tr.newID(), k.timeout)
				w.write(p, 1)
				tr.pause(leastTimeout, "the end of a timeout")
				tr.expect(!k.missed, p, -1, "e", "o")
			}))
			require.Equal(t, k.want, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
		})
	}
}
