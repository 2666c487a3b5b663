package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/kafkatest"
)

// A broker that does not ask the coordinator about a transaction's partitions
// lets transactions hang. Both scenarios about that notice, and free what they
// made hang.
func TestHangingTransactionsAreNoticedAndFreed(t *testing.T) {
	t.Parallel()
	c := kafkatest.Real(t, kafkatest.Config{Settings: kafkatest.HangSettings()})
	r, err := newRun(t.Context(), Config{
		Options: []kgo.Opt{kgo.SeedBrokers(c.Addrs()...)}, RunID: newRunID(t),
		Slow: 0.3, // a hang is noticed by waiting in vain
	})
	require.NoError(t, err)
	defer r.client.Close()
	defer func() { require.Empty(t, r.cleanUp(t.Context())) }()
	for range 2 { // a broker that has just begun may be slower than that allows
		r.trial(t.Context(), Find("V-09"), TV1, 5)
	}

	unregistered := r.trial(t.Context(), Find("V-01"), TV1, 1)
	require.Equal(t, Warn, unregistered.Outcome, "%s\n%s", unregistered.Reason, findingsOf(unregistered))
	require.Len(t, unregistered.Findings, 1, "and it was freed")
	require.Contains(t, unregistered.Findings[0].Observed, "the transaction hangs")

	late := r.trial(t.Context(), Find("V-02"), TV1, 1)
	require.Equal(t, Fail, late.Outcome, "%s\n%s", late.Reason, findingsOf(late))
	require.Len(t, late.Findings, 2, "and it was freed")
	require.Equal(t, "accepted", late.Findings[0].Observed)
	require.Equal(t, "the last stable offset stays at the batch", late.Findings[1].Observed)
}
