package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/mutant"
)

// What ListTransactions does not find is what D-03 is about.
func TestListsOfTransactionsThatAreNotFound(t *testing.T) {
	t.Parallel()
	nobody := mutant.Damage{Keys: []kmsg.Key{kmsg.ListTransactions}, Response: func(c *mutant.Call) {
		c.Response.(*kmsg.ListTransactionsResponse).TransactionStates = nil
	}}
	r, _ := behind(t, nobody, func(c *Config) { c.Slow = 0.1 }, Find("D-03"))
	require.Equal(t, Warn, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
	require.True(t, r.Of(OfCluster, Warn))
}

// A second attempt does not meet the transactional IDs of the first.
func TestAttemptsListTheirOwnTransactions(t *testing.T) {
	t.Parallel()
	first := true
	s := scenario(func(tr *trial) {
		tr.witness(true, "")
		w := tr.producer()
		names := tr.listTransactions(transactionFilter{})
		tr.expectAs(Must, len(names) == 1 && names[w.name] != "", nowhere, -1, w.name+" only", "others")
		tr.expectAs(Live, !first, nowhere, -1, "in time", "late")
		first = false
	})
	r, _ := behind(t, mutant.Damage{}, nil, s)
	require.Equal(t, Warn, r.Outcome, "%s\n%s", r.Reason, findingsOf(r))
	require.True(t, r.Flaky)
}
