package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/conformance/internal/model"
	"example.com/readcommitted/internal/kafkatest"
)

// twice runs a script as a MUST scenario and returns the names of the topics
// that its attempts made.
func twice(t *testing.T, script func(t *trial, p model.Partition, attempt int)) (r Result, topics []string) {
	t.Helper()
	c := kafkatest.Fake(t, kafkatest.Config{})
	run, err := newRun(t.Context(), Config{Options: []kgo.Opt{kgo.SeedBrokers(c.Addrs()...)}, RunID: "attempts"})
	require.NoError(t, err)
	defer run.client.Close()
	s := &Scenario{ID: "Z-01", Class: Must, run: func(t *trial) {
		t.witness(true, "")
		p := t.partition()
		topics = append(topics, p.Topic)
		script(t, p, len(topics))
	}}
	return run.retried(t.Context(), s, TV1), topics
}

func TestMissedBoundsGetASecondAttemptOnTopicsOfItsOwn(t *testing.T) {
	r, topics := twice(t, func(t *trial, p model.Partition, attempt int) {
		t.expectAs(Live, attempt == 2, p, -1, "in time", "late")
	})
	require.Equal(t, Warn, r.Outcome)
	require.Len(t, topics, 2)
	require.NotEqual(t, topics[0], topics[1])

	r, topics = twice(t, func(t *trial, p model.Partition, _ int) { t.expectAs(Live, false, p, -1, "in time", "late") })
	require.Equal(t, Fail, r.Outcome)
	require.Len(t, topics, 2)
}

// What a slow machine does not explain counts at once, in a scenario about time
// too.
func TestOtherMissesGetNoSecondAttempt(t *testing.T) {
	r, topics := twice(t, func(t *trial, p model.Partition, attempt int) {
		t.expectAs(Live, attempt == 2, p, -1, "in time", "late")
		t.expectAs(Must, attempt == 2, p, -1, "nothing", "an aborted record")
	})
	require.Equal(t, Fail, r.Outcome)
	require.Len(t, topics, 1)
}
