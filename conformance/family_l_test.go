package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/conformance/internal/mutant"
	"example.com/readcommitted/internal/kafkatest"
)

// damageOf is the damage of a mutant, by its number.
func damageOf(t *testing.T, number int) mutant.Damage {
	t.Helper()
	for _, m := range mutant.All() {
		if m.Number == number {
			return m.Make()
		}
	}
	require.Fail(t, "no such mutant", "%d", number)
	return mutant.Damage{}
}

// The answer of a broker that wakes no fetch comes after MaxWait: patience with a
// slow cluster must not reach as far.
func TestPollsThatAreNeverWokenAreNoticedWithMuchPatience(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"L-07", "L-08"} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			proxy, err := mutant.New(t.Context(), kafkatest.Fake(t, kafkatest.Config{}).Addrs(), damageOf(t, 19))
			require.NoError(t, err)
			t.Cleanup(proxy.Close)
			run, err := newRun(t.Context(), Config{Options: []kgo.Opt{kgo.SeedBrokers(proxy.Addrs()...)}, RunID: newRunID(t), Slow: 5})
			require.NoError(t, err)
			defer run.client.Close()
			r := run.trial(t.Context(), Find(id), TV1, 1) // a second attempt would take twice as long
			require.Equal(t, Fail, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
		})
	}
}
