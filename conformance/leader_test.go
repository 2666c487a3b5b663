package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/mutant"
)

// moving is a cluster whose leaders move once an answer told of 5 records: the
// next answers of the new leader have a lower high watermark.
type moving struct {
	stays  bool  // the watermark goes back all the same
	newest int16 // version of Fetch; 0: any
	mute   bool  // the metadata has no epochs
	says   bool  // the first Fetch is refused
	lag    int   // answers
	loses  bool  // the watermark stays where it is after the move

	epoch int32
	moved bool
}

func (m *moving) damage() mutant.Damage {
	return mutant.Damage{
		Keys:    []kmsg.Key{kmsg.ApiVersions, kmsg.Metadata, kmsg.Fetch, kmsg.ListOffsets},
		Request: m.request, Response: m.response,
	}
}

// request refuses what names another epoch, as brokers do.
func (m *moving) request(c *mutant.Call) {
	switch req := c.Request.(type) {
	case *kmsg.FetchRequest:
		p := &req.Topics[0].Partitions[0]
		if code := m.refusal(p.CurrentLeaderEpoch, req.Version >= 9); code != 0 {
			resp := req.ResponseKind().(*kmsg.FetchResponse)
			topic := kmsg.NewFetchResponseTopic()
			topic.Topic, topic.TopicID = req.Topics[0].Topic, req.Topics[0].TopicID
			rp := kmsg.NewFetchResponseTopicPartition()
			rp.ErrorCode = code
			topic.Partitions = append(topic.Partitions, rp)
			resp.Topics = append(resp.Topics, topic)
			c.Response = resp
		}
		p.CurrentLeaderEpoch = -1
	case *kmsg.ListOffsetsRequest:
		p := &req.Topics[0].Partitions[0]
		if code := m.refusal(p.CurrentLeaderEpoch, req.Version >= 4); code != 0 {
			resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
			topic := kmsg.NewListOffsetsResponseTopic()
			topic.Topic = req.Topics[0].Topic
			rp := kmsg.NewListOffsetsResponseTopicPartition()
			rp.ErrorCode = code
			topic.Partitions = append(topic.Partitions, rp)
			resp.Topics = append(resp.Topics, topic)
			c.Response = resp
		}
		p.CurrentLeaderEpoch = -1
	}
}

func (m *moving) refusal(epoch int32, named bool) int16 {
	switch {
	case named && epoch >= 0 && epoch < m.epoch:
		return kerr.FencedLeaderEpoch.Code
	case m.moved && m.says:
		m.says = false
		return kerr.NotLeaderForPartition.Code
	}
	return 0
}

func (m *moving) response(c *mutant.Call) {
	switch resp := c.Response.(type) {
	case *kmsg.ApiVersionsResponse:
		for i := range resp.ApiKeys {
			if k := &resp.ApiKeys[i]; k.ApiKey == kmsg.Fetch.Int16() && m.newest > 0 {
				k.MaxVersion = m.newest
			}
		}
	case *kmsg.MetadataResponse:
		for i := range resp.Topics {
			for k := range resp.Topics[i].Partitions {
				if resp.Topics[i].Partitions[k].LeaderEpoch = m.epoch; m.mute {
					resp.Topics[i].Partitions[k].LeaderEpoch = -1
				}
			}
		}
	case *kmsg.FetchResponse:
		if p := &resp.Topics[0].Partitions[0]; p.ErrorCode == 0 {
			m.answer(p)
		}
	}
}

func (m *moving) answer(p *kmsg.FetchResponseTopicPartition) {
	switch {
	case m.moved && (m.lag > 0 || m.loses):
		m.lag--
		p.HighWatermark = 3
		p.LastStableOffset = min(p.LastStableOffset, p.HighWatermark)
	case !m.moved && p.HighWatermark == 5:
		if m.moved = true; !m.stays {
			m.epoch += 2
		}
	}
}

// After an election the high watermark may be lower for a moment. No scenario
// and no invariant holds that against the cluster, also if the leader is the
// one of before.
func TestNewLeadersMayLagBehind(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		m      moving
		one    bool // there is one broker
		want   Outcome
		reason string
	}{
		{"the epoch in the request tells", moving{lag: 2}, false, Pass, ""},
		{"the leader says that it does not lead", moving{lag: 2, says: true}, false, Pass, ""},
		{"an old Fetch names no epoch", moving{lag: 2, newest: 8}, false, Inconclusive, "perhaps of another leader"},
		{"nobody knows of epochs", moving{lag: 2, mute: true}, false, Inconclusive, "perhaps of another leader"},
		{"nobody knows of epochs, and one broker has all", moving{lag: 2, mute: true, stays: true}, true, Fail, ""},
		{"the same leader in the same epoch", moving{lag: 2, stays: true}, false, Fail, ""},
		{"the same leader, by the metadata", moving{lag: 2, stays: true, newest: 8}, false, Fail, ""},
		{"what was acknowledged does not come back", moving{loses: true}, false, Fail, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			brokers := 3
			if test.one {
				brokers = 1
			}
			m := test.m
			r, _ := behindSeveral(t, brokers, m.damage(), func(c *Config) { c.Slow = 0.3 }, scenario(openPins))
			require.True(t, m.moved)
			require.Equal(t, test.want, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
			require.Contains(t, r.Reason, test.reason)
		})
	}
}

// While one goroutine asks, another one learns of a new leader. The old one
// answers all the same, as a follower.
func TestWhoLostItsOfficeIsNotTakenForTheLeader(t *testing.T) {
	t.Parallel()
	var tr *trial
	moved := false
	d := mutant.Damage{Keys: []kmsg.Key{kmsg.Fetch}, Response: func(c *mutant.Call) {
		if p := &c.Response.(*kmsg.FetchResponse).Topics[0].Partitions[0]; p.HighWatermark == 3 && !moved {
			moved = true
			p.HighWatermark, p.LastStableOffset, p.RecordBatches = 1, 1, nil
			tr.mu.Lock()
			defer tr.mu.Unlock()
			at := tr.placeLocked(tr.order[0])
			at.led((at.leader+1)%3, at.leaderEpoch, false)
		}
	}}
	r, _ := behindSeveral(t, 3, d, nil, scenario(func(t *trial) {
		p := t.partition()
		tr = t
		t.plain(p, 3)
		t.wantHigh(t.uncommitted(p, 0), 3)
		t.witness(moved, "nothing moved")
	}))
	require.Equal(t, Pass, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
}
