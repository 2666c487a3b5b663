package conformance

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/mutant"
	"example.com/readcommitted/internal/kafkatest"
)

// Where no request makes topics they are made by asking for them, if the
// cluster does that; what cannot be removed is told.
func TestTopicsThatAreMadeByAskingForThem(t *testing.T) {
	t.Parallel()
	damage := without(kmsg.CreateTopics, kmsg.DeleteTopics)
	t.Run("made", func(t *testing.T) {
		c := kafkatest.Fake(t, kafkatest.Config{Fake: []kfake.Opt{kfake.AllowAutoTopicCreation(), kfake.DefaultNumPartitions(3)}})
		report := runThrough(t, c, damage, "A-01", "M-02")
		require.Equal(t, Pass, Find("A-01").in(report).Outcome, Find("A-01").in(report).Reason)
		require.NotEmpty(t, report.Left)
		few := Find("M-02").in(report) // wants 12 partitions
		require.Equal(t, Skip, few.Outcome)
		require.Equal(t, ReasonAbsent, few.Reason)
	})
	t.Run("not made", func(t *testing.T) {
		r, _ := behind(t, damage, quickly, Find("A-01"))
		require.Equal(t, Skip, r.Outcome)
		require.Equal(t, ReasonAbsent, r.Reason)
	})
}

// in is the scenario's result in a report.
func (s *Scenario) in(report *Report) *Result {
	i := slices.IndexFunc(report.Results, func(r Result) bool { return r.ID == s.ID })
	return &report.Results[i]
}

// Scenarios that share topics have partitions of their own, each once; those
// that want settings, or do something to whole topics, have topics of their own.
func TestSharedTopics(t *testing.T) {
	t.Parallel()
	topics := map[string]bool{}
	partitions := map[string]int{}
	use := func(configs ...string) func(*trial) {
		return func(t *trial) {
			t.witness(true, "")
			for range 2 {
				for _, p := range t.partitions(40, configs...) {
					topics[p.Topic] = true
					partitions[p.String()]++
				}
			}
		}
	}
	set := scenario(use("retention.ms=7777777"))
	set.ID = "T-03"
	own := scenario(use())
	own.ID, own.ownTopics = "T-02", true
	report := judgedBy(t.Context(), t, kafkatest.Fake(t, kafkatest.Config{}), func(c *Config) { c.ReuseTopics, c.Parallel = true, 1 },
		scenario(use()), set, own)
	for _, r := range report.Results {
		require.Equal(t, Pass, r.Outcome, r.Reason)
	}
	shared := 0
	for topic := range topics {
		if strings.Contains(topic, "-shared-") {
			shared++
		}
	}
	levels := len(report.Results[0].Levels)
	require.Equal(t, levels, shared, "%v", topics) // 80 of 100 partitions at each level
	require.Len(t, topics, shared+4*levels)
	require.Len(t, partitions, 240*levels)
	for p, n := range partitions {
		require.Equal(t, 1, n, p)
	}
	require.Empty(t, report.Left)
}

// A cluster is not whole again before the topics are that scenarios share.
func TestSharedTopicsHaveToBeWholeToo(t *testing.T) {
	t.Parallel()
	short := mutant.Damage{Keys: []kmsg.Key{kmsg.Metadata}, Response: func(c *mutant.Call) {
		for _, topic := range c.Response.(*kmsg.MetadataResponse).Topics {
			for i := range topic.Partitions {
				if topic.Topic != nil && strings.Contains(*topic.Topic, "-shared-") {
					topic.Partitions[i].ISR = nil
				}
			}
		}
	}}
	missing := ""
	r, _ := behind(t, short, func(c *Config) { c.ReuseTopics = true }, scenario(func(tr *trial) {
		tr.plain(tr.partition(), 1)
		missing = tr.partsMissing()
		tr.witness(true, "")
	}))
	require.Equal(t, Pass, r.Outcome, r.Reason)
	require.Contains(t, missing, "-shared-")
	require.Contains(t, missing, "in sync []")
}
