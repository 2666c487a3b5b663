package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/readcommitted/internal/kafkatest"
)

func TestReportsSayWhatTheyWereMadeUnder(t *testing.T) {
	t.Parallel()
	config := map[string]string{"retention.ms": "-1"}
	report := judgedBy(t.Context(), t, kafkatest.Fake(t, kafkatest.Config{}), func(c *Config) {
		c.Slow, c.Parallel, c.TopicConfig, c.ReuseTopics, c.MaxTime = 3, 2, config, true, time.Hour
		c.Hook = func(context.Context, string, int32) error { return nil }
	}, scenario(func(t *trial) { t.witness(true, "") }))
	require.Equal(t, Conditions{Slow: 3, Parallel: 2, MaxTime: time.Hour, TopicConfig: config, ReuseTopics: true, Hook: true}, report.Under)
	report = judgedBy(t.Context(), t, kafkatest.Fake(t, kafkatest.Config{}), func(*Config) {}, scenario(func(t *trial) { t.witness(true, "") }))
	require.Equal(t, Conditions{Slow: 1, Parallel: DefaultParallel}, report.Under)
}
