package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/internal/kafkatest"
)

// A reason is a code that files rely on; what was refused, and which right it
// takes, stands beside it.
func TestSkippedWithADetail(t *testing.T) {
	for _, k := range []struct {
		name           string
		script         func(*trial)
		reason, detail string
	}{
		{
			"a right on a topic",
			func(t *trial) {
				t.refused("Produce to x/0", kmsg.NewPtrProduceRequest(), kerr.TopicAuthorizationFailed.Code)
			},
			ReasonNotAuthorized, "Produce to x/0: TOPIC_AUTHORIZATION_FAILED, needs Write on the topic",
		},
		{
			"the other right of a request",
			func(t *trial) {
				t.refused("AddOffsetsToTxn", kmsg.NewPtrAddOffsetsToTxnRequest(), kerr.GroupAuthorizationFailed.Code)
			},
			ReasonNotAuthorized, "AddOffsetsToTxn: GROUP_AUTHORIZATION_FAILED, needs Read on the group",
		},
		{
			"a request that only asks",
			func(t *trial) {
				t.refused("metadata of x", kmsg.NewPtrMetadataRequest(), kerr.TopicAuthorizationFailed.Code)
			},
			ReasonNotAuthorized, "metadata of x: TOPIC_AUTHORIZATION_FAILED, needs Describe on the topic",
		},
		{
			"a request that is not known",
			func(t *trial) { t.refused("x", nil, kerr.ClusterAuthorizationFailed.Code) },
			ReasonNotAuthorized, "x: CLUSTER_AUTHORIZATION_FAILED, needs a right on the cluster",
		},
		{"no such request", func(t *trial) { t.version(kmsg.Fetch, 0) }, ReasonAbsent, "the cluster has no Fetch"},
		{"another setting", func(t *trial) { t.otherSetting("a", "1", "2") }, ReasonRefused, "a of a new topic is 1 where 2 was asked for"},
	} {
		t.Run(k.name, func(t *testing.T) {
			r := resultOf(t, kafkatest.Fake(t, kafkatest.Config{}), scenario(k.script))
			require.Equal(t, Skip, r.Outcome)
			require.Equal(t, k.reason, r.Reason)
			require.Equal(t, k.detail, r.Detail)
			require.Equal(t, k.reason+": "+k.detail, r.Why())
		})
	}
}

// A topic that the cluster does not make as it has to be: its settings and the
// broker's words are told.
func TestRefusedTopicIsTold(t *testing.T) {
	for _, k := range []struct {
		err    *kerr.Error
		reason string
		detail string
	}{
		{kerr.InvalidConfig, ReasonRefused, "-0 with segment.bytes=7: INVALID_CONFIG: segment.bytes is too small"},
		{kerr.TopicAuthorizationFailed, ReasonNotAuthorized, "-0: TOPIC_AUTHORIZATION_FAILED, needs Create on the topic"},
	} {
		c := kafkatest.Fake(t, kafkatest.Config{})
		c.Fake().ControlKey(int16(kmsg.CreateTopics), func(req kmsg.Request) (kmsg.Response, error, bool) {
			c.Fake().KeepControl()
			resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
			topic := kmsg.NewCreateTopicsResponseTopic()
			topic.Topic, topic.ErrorCode = req.(*kmsg.CreateTopicsRequest).Topics[0].Topic, k.err.Code
			topic.ErrorMessage = kmsg.StringPtr("segment.bytes is too small")
			resp.Topics = append(resp.Topics, topic)
			return resp, nil, true
		})
		report := judgedBy(t.Context(), t, c, nil, scenario(func(t *trial) { t.partition("segment.bytes=7") }))
		r := report.Results[0]
		require.Equal(t, Skip, r.Outcome, r.Reason)
		require.Equal(t, k.reason, r.Reason)
		require.Contains(t, r.Detail, "create topic rcconf-")
		require.Contains(t, r.Detail, k.detail)
	}
}

// What a cluster does not have is named; what the run does not have, its code
// says.
func TestNeedsAreNamed(t *testing.T) {
	report, err := Run(t.Context(), Config{Options: newFake(t), RunID: NewRunID(), Select: []string{"R-04", "R-02"}, AllowAdmin: true})
	require.NoError(t, err)
	for _, r := range report.Results {
		if r.Reason == ReasonNoHook {
			require.Empty(t, r.Detail)
		}
		if r.Reason == ReasonFewBrokers {
			require.Regexp(t, `^it needs \d brokers$`, r.Detail)
		}
		require.Equal(t, Skip, r.Outcome, r.ID)
	}
}

func TestWantOfAnswers(t *testing.T) {
	for reason, want := range map[string]bool{
		"out of time: waiting for the coordinator of x": true, "EndTxn: NOT_COORDINATOR: This is not the correct coordinator.": true,
		"x/0 has no leader": true, "metadata: no answer in time": true, "no witness: the log is empty": false, interrupted: false,
	} {
		r := Result{Outcome: Inconclusive, Reason: reason}
		require.Equal(t, want, r.Unanswered(), reason)
		r.Outcome = Fail
		require.False(t, r.Unanswered())
	}
}

func TestWhatAScenarioNeedsToRun(t *testing.T) {
	require.True(t, Find("R-04").TakesBrokersAway())
	require.True(t, Find("M-07").NeedsAdmin())
	require.False(t, Find("A-01").NeedsAdmin())
	require.True(t, Find("R-04").Built())
	require.False(t, Find("S-08").Built())
}
