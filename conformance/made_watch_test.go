package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/mutant"
	"example.com/readcommitted/conformance/internal/wire"
	"example.com/readcommitted/internal/kafkatest"
)

// exchanges of every kind that makes something, the answer with a code.
func creating(topic, id, group string, code int16, answered bool) []*wire.Exchange {
	create, created := kmsg.NewPtrCreateTopicsRequest(), kmsg.NewPtrCreateTopicsResponse()
	create.Topics = append(create.Topics, kmsg.CreateTopicsRequestTopic{Topic: topic})
	created.Topics = append(created.Topics, kmsg.CreateTopicsResponseTopic{Topic: topic, ErrorCode: code})
	ask, asked := kmsg.NewPtrMetadataRequest(), kmsg.NewPtrMetadataResponse()
	ask.AllowAutoTopicCreation = true
	ask.Topics = append(ask.Topics, kmsg.MetadataRequestTopic{Topic: &topic})
	asked.Topics = append(asked.Topics, kmsg.MetadataResponseTopic{Topic: &topic, ErrorCode: code})
	init, inited := kmsg.NewPtrInitProducerIDRequest(), kmsg.NewPtrInitProducerIDResponse()
	init.TransactionalID, inited.ErrorCode = &id, code
	join, joined := kmsg.NewPtrJoinGroupRequest(), kmsg.NewPtrJoinGroupResponse()
	join.Group, joined.ErrorCode = group+"-joined", code
	commit, committed := kmsg.NewPtrOffsetCommitRequest(), kmsg.NewPtrOffsetCommitResponse()
	commit.Group = group
	committed.Topics = append(committed.Topics, kmsg.OffsetCommitResponseTopic{Partitions: []kmsg.OffsetCommitResponseTopicPartition{{ErrorCode: code}}})
	inTxn, doneInTxn := kmsg.NewPtrTxnOffsetCommitRequest(), kmsg.NewPtrTxnOffsetCommitResponse()
	inTxn.Group = group + "-txn"
	doneInTxn.Topics = append(doneInTxn.Topics, kmsg.TxnOffsetCommitResponseTopic{Partitions: []kmsg.TxnOffsetCommitResponseTopicPartition{{ErrorCode: code}}})
	all := []*wire.Exchange{
		{Request: create, Response: created},
		{Request: ask, Response: asked},
		{Request: init, Response: inited},
		{Request: join, Response: joined},
		{Request: commit, Response: committed},
		{Request: inTxn, Response: doneInTxn},
	}
	for _, e := range all {
		e.Sent = time.Now()
		if !answered {
			e.Response, e.Err = nil, wire.ErrTimeout
		}
	}
	return all
}

// Only what was refused for certain was not made.
func TestWhatMayHaveBeenMadeIsNoted(t *testing.T) {
	for name, tt := range map[string]struct {
		code     int16
		answered bool
		unsent   bool
		prefix   string
		made     bool
	}{
		"made":                      {answered: true, prefix: "rcconf-x-", made: true},
		"no answer":                 {prefix: "rcconf-x-", made: true},
		"an error that says little": {code: kerr.CoordinatorNotAvailable.Code, answered: true, prefix: "rcconf-x-", made: true},
		"refused":                   {code: kerr.TopicAuthorizationFailed.Code, answered: true, prefix: "rcconf-x-"},
		"never sent":                {unsent: true, prefix: "rcconf-x-"},
		"another's name":            {answered: true, prefix: "orders-"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMade("rcconf-x-")
			for _, e := range creating(tt.prefix+"t", tt.prefix+"i", tt.prefix+"g", tt.code, tt.answered) {
				if tt.unsent {
					e.Sent = time.Time{}
				}
				m.watch(e)
			}
			ids, groups, topics := m.all()
			if !tt.made {
				require.Empty(t, append(append(ids, groups...), topics...))
				return
			}
			require.Equal(t, []string{tt.prefix + "t"}, topics)
			require.Equal(t, []string{tt.prefix + "i"}, ids)
			require.Equal(t, []string{tt.prefix + "g", tt.prefix + "g-joined", tt.prefix + "g-txn"}, groups)
		})
	}
}

// A creation that was refused leaves nothing behind, whatever a deletion would say.
func TestWhatWasRefusedIsNotLeftBehind(t *testing.T) {
	t.Parallel()
	deletions := 0
	_, report := behind(t, mutant.Damage{Keys: []kmsg.Key{kmsg.CreateTopics, kmsg.DeleteTopics}, Request: func(c *mutant.Call) {
		switch req := c.Request.(type) {
		case *kmsg.CreateTopicsRequest:
			resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
			resp.Topics = append(resp.Topics, kmsg.CreateTopicsResponseTopic{Topic: req.Topics[0].Topic, ErrorCode: kerr.TopicAuthorizationFailed.Code})
			c.Response = resp
		case *kmsg.DeleteTopicsRequest:
			deletions++
		}
	}}, nil, scenario(func(t *trial) { t.newID(); t.group(); t.partition() }))
	require.Equal(t, ReasonNotAuthorized, report.Results[0].Reason)
	require.Empty(t, report.Left)
	require.Zero(t, deletions)
}

// Of a cluster that went away only that is named which it may still have.
func TestADeadClusterHasWhatItTook(t *testing.T) {
	t.Parallel()
	c := kafkatest.Fake(t, kafkatest.Config{})
	proxy, err := mutant.New(t.Context(), c.Addrs(), mutant.Damage{})
	require.NoError(t, err)
	t.Cleanup(proxy.Close)
	through := func(config *Config) { config.Options, config.Slow = []kgo.Opt{kgo.SeedBrokers(proxy.Addrs()...)}, 0.1 }
	var topic, id string
	report := judgedBy(t.Context(), t, c, through, scenario(func(t *trial) {
		t.newID()
		t.group()
		t.topicName()
		p, w := t.partition(), t.producer()
		w.write(p, 1)
		topic, id = p.Topic, w.name
		proxy.Close()
	}))
	require.Len(t, report.Left, 2, "%v", report.Left)
	require.Contains(t, report.Left[0], "topic "+topic)
	require.Contains(t, report.Left[1], "transactional ID "+id)
}
