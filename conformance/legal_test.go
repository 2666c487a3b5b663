package conformance

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/conformance/internal/mutant"
	"example.com/readcommitted/internal/kafkatest"
)

// throttling answers every third Fetch with nothing, as a quota makes a broker do.
func throttling() mutant.Damage {
	answers := 0
	return mutant.Damage{
		Keys: []kmsg.Key{kmsg.Fetch},
		Request: func(c *mutant.Call) {
			if answers++; answers%3 == 0 {
				c.Response = throttledFor(50, c.Request.(*kmsg.FetchRequest))
			}
		},
	}
}

// throttledFor is an answer with nothing, and a throttle of some milliseconds.
func throttledFor(millis int32, req *kmsg.FetchRequest) *kmsg.FetchResponse {
	resp := kmsg.NewPtrFetchResponse()
	resp.ThrottleMillis = millis
	for _, topic := range req.Topics {
		rt := kmsg.NewFetchResponseTopic()
		rt.Topic, rt.TopicID = topic.Topic, topic.TopicID
		for _, p := range topic.Partitions {
			rp := kmsg.NewFetchResponseTopicPartition()
			rp.Partition, rp.HighWatermark = p.Partition, -1
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

// slow lets every answer of some requests come late.
func slow(by time.Duration, keys ...kmsg.Key) mutant.Damage {
	return mutant.Damage{Keys: keys, Response: func(*mutant.Call) { time.Sleep(by) }}
}

// following lets the last stable offset come late, and with it the records.
func following(by time.Duration) mutant.Damage {
	type seen struct {
		lso int64
		at  time.Time
	}
	known := map[string][]seen{}
	return mutant.Damage{Keys: []kmsg.Key{kmsg.Fetch}, Response: func(c *mutant.Call) {
		if c.Request.(*kmsg.FetchRequest).IsolationLevel != model.ReadCommitted {
			return
		}
		topics := c.Response.(*kmsg.FetchResponse).Topics
		for i := range topics {
			name := topics[i].Topic + string(topics[i].TopicID[:])
			for k := range topics[i].Partitions {
				p := &topics[i].Partitions[k]
				known[name] = append(known[name], seen{p.LastStableOffset, time.Now()})
				p.LastStableOffset = known[name][0].lso
				for _, s := range known[name] {
					if time.Since(s.at) >= by {
						p.LastStableOffset = max(p.LastStableOffset, s.lso)
					}
				}
				batches, _, _ := model.Parse(p.RecordBatches)
				p.RecordBatches = nil
				for _, b := range batches {
					if b.Last < p.LastStableOffset {
						p.RecordBatches = append(p.RecordBatches, b.Raw...)
					}
				}
			}
		}
	}}
}

// What Apache Kafka may do under quotas or load, and what brokers may do whose
// last stable offset follows by itself, is no breach.
func TestSlowAndThrottlingClustersAreNotBlamed(t *testing.T) {
	t.Parallel()
	few := []string{"L-02", "L-07", "L-14"}
	for _, c := range []struct {
		name      string
		damage    mutant.Damage
		scenarios []string
	}{
		{"throttling", throttling(), []string{"L-01", "L-02", "L-04", "L-05", "L-06", "L-07", "L-08", "L-09", "L-10", "L-12", "L-14"}},
		{"following", following(200 * time.Millisecond), []string{"L-01", "L-02", "L-03", "L-04", "L-05", "L-06", "L-07", "L-08", "L-10", "L-12", "L-14"}},
		{"slow to answer", slow(20*time.Millisecond, kmsg.Fetch, kmsg.ListOffsets), few},
		{"slow to end", slow(200*time.Millisecond, kmsg.EndTxn), few},
	} {
		t.Run(c.name, func(t *testing.T) {
			report := runBehind(t, kafkatest.Fake(t, kafkatest.Config{}), c.damage, Config{Select: c.scenarios})
			for _, r := range report.Results {
				require.Equal(t, Pass, r.Outcome, "%s: %s\n%s", r.ID, r.Reason, findingsOf(r))
			}
		})
	}
}

// A throttle may be longer than anything goes on. It ends neither later than the
// scenario nor than the run that somebody interrupts.
func TestThrottlesOfParkedFetchesEndWithTheScenario(t *testing.T) {
	t.Parallel()
	parkedIsThrottled := mutant.Damage{Keys: []kmsg.Key{kmsg.Fetch}, Request: func(c *mutant.Call) {
		if req := c.Request.(*kmsg.FetchRequest); req.MaxWaitMillis == int32(parkedWait.Milliseconds()) {
			c.Response = throttledFor(math.MaxInt32, req)
		}
	}}
	for name, script := range map[string]func(*trial) bool{"L-07": longPollWokenByEnd, "L-08": longPollWokenByAbort} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := scenario(func(t *trial) { t.parkedInTime(script) })
			s.Limit = 10 * time.Second
			r, _ := behind(t, parkedIsThrottled, nil, s)
			require.Equal(t, Inconclusive, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
			require.Contains(t, r.Reason, "waiting for the answer to a fetch")
			require.Less(t, r.Duration, time.Minute)
		})
	}
}
