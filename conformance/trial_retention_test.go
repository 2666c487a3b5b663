package conformance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/conformance/internal/mutant"
	"example.com/readcommitted/internal/kafkatest"
)

// What a cluster deletes because a topic's settings say so, no scenario misses.
// Where they do not say so, it is lost.
func TestRecordsThatAClusterDeletes(t *testing.T) {
	t.Parallel()
	anHour := map[string]string{"retention.ms": "3600000"}
	stable := func(tr *trial, p model.Partition) { tr.wantStable(p, 3) }
	for name, k := range map[string]struct {
		settings map[string]string
		look     func(*trial, model.Partition)
		want     Outcome
		reason   string
	}{
		"by its time":                {anHour, wantsAll, Inconclusive, "begins at 2 by now: its retention.ms is 3600000"},
		"by its size":                {map[string]string{"retention.bytes": "1000"}, wantsAll, Inconclusive, "begins at 2 by now: its retention.bytes is 1000"},
		"for no reason":              {nil, wantsAll, Fail, ""},
		"while its bounds are asked": {anHour, stable, Inconclusive, "at 0: its log begins at 2 by now"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := kafkatest.Fake(t, kafkatest.Config{})
			r := judgedBy(t.Context(), t, c, func(config *Config) { config.TopicConfig = k.settings }, scenario(func(tr *trial) {
				p := tr.partition()
				tr.plain(p, 3)
				tr.witness(true, "")
				below := kadm.Offsets{}
				below.AddOffset(p.Topic, p.Index, 2, -1)
				_, err := c.Admin().DeleteRecords(t.Context(), below)
				require.NoError(t, err)
				k.look(tr, p)
			})).Results[0]
			require.Equal(t, k.want, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
			require.Contains(t, r.Reason, k.reason)
		})
	}
}

func wantsAll(tr *trial, p model.Partition) {
	tr.wantOffsets(p, "in the log", []int64{tr.list(p, model.ReadUncommitted, earliest)}, []int64{0})
}

// What a script deletes by itself is no reason not to judge.
func TestRecordsThatAScriptDeletes(t *testing.T) {
	c := kafkatest.Fake(t, kafkatest.Config{})
	r := judgedBy(t.Context(), t, c, func(config *Config) {
		config.TopicConfig = map[string]string{"retention.ms": "3600000"}
	}, scenario(func(tr *trial) {
		p := tr.partition()
		tr.plain(p, 3)
		tr.deleteBelow(p, 2)
		wantsAll(tr, p)
	})).Results[0]
	require.Equal(t, Fail, r.Outcome, r.Reason)
}

// refusingSettings answers creations of topics with a setting that a cluster does not
// take, and notes the settings of each attempt.
func refusingSettings(bad string, message *string, seen *[]map[string]string) mutant.Damage {
	return mutant.Damage{Keys: []kmsg.Key{kmsg.CreateTopics}, Request: func(c *mutant.Call) {
		req := c.Request.(*kmsg.CreateTopicsRequest)
		settings := map[string]string{}
		for _, s := range req.Topics[0].Configs {
			settings[s.Name] = *s.Value
		}
		*seen = append(*seen, settings)
		if _, ok := settings[bad]; !ok {
			return
		}
		resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
		topic := kmsg.NewCreateTopicsResponseTopic()
		topic.Topic, topic.ErrorCode, topic.ErrorMessage = req.Topics[0].Topic, kerr.InvalidConfig.Code, message
		resp.Topics = append(resp.Topics, topic)
		c.Response = resp
	}}
}

// Topics are asked to keep what scenarios write, as it was written. A cluster
// that does not take that gets topics without it.
func TestTopicsHaveSettingsOfTheirOwn(t *testing.T) {
	t.Parallel()
	twice := func(tr *trial) {
		tr.partition()
		tr.partition("cleanup.policy=compact")
		tr.witness(true, "")
	}
	for name, k := range map[string]struct {
		bad     string
		message *string
		users   map[string]string
		want    Outcome
		sizes   []int // of the settings of each attempt
	}{
		"all are taken":         {"x", nil, nil, Pass, []int{5, 7}},
		"one is refused":        {"retention.ms", kmsg.StringPtr("Unknown topic config name: retention.ms"), nil, Pass, []int{5, 4, 6}},
		"something is refused":  {"retention.ms", nil, nil, Pass, []int{5, 0, 3}},
		"the user's wins":       {"x", nil, map[string]string{"retention.ms": "1", "segment.ms": "2"}, Pass, []int{6, 8}},
		"the user's is refused": {"segment.ms", nil, map[string]string{"segment.ms": "2"}, Inconclusive, []int{6, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen []map[string]string
			r, _ := behind(t, refusingSettings(k.bad, k.message, &seen), func(c *Config) { c.TopicConfig = k.users }, scenario(twice))
			require.Equal(t, k.want, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
			var sizes []int
			for _, s := range seen {
				sizes = append(sizes, len(s))
				for name, value := range k.users {
					require.Equal(t, value, s[name])
				}
			}
			require.Equal(t, k.sizes, sizes, "%v", seen)
			require.Less(t, r.Duration, 5*time.Second)
		})
	}
}
