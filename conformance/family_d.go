package conformance

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Family D: what a cluster says of its transactions (KIP-664).
var familyD = []*Scenario{
	{
		ID: "D-01", Name: "describe-producers", Class: Should, Profile: Standard, Typical: time.Second,
		Requirement: "DescribeProducers gives an open transaction by its first offset, which is the last stable offset, and none after its end",
		Consequence: "what holds readers back cannot be found, or is looked for where it is not",
		Witness:     "read_uncommitted shows the open transaction's records",
		Log:         "0..6 plain | 7..8 committed | 9 commit",
		needs:       []need{needAPI(kmsg.DescribeProducers, 0)},
		run:         describedProducers,
	},
	{
		ID: "D-02", Name: "describe-transaction", Class: Should, Profile: Standard, Typical: time.Second,
		Requirement: "DescribeTransactions gives an open transaction as Ongoing, with its partitions and its start, and says afterwards how it ended or that there is none",
		Consequence: "nobody can tell who holds readers back, or since when",
		Witness:     "all writes of the transaction were acknowledged",
		Log:         "in 3 of 4 partitions: 0 committed | 1 commit | 2 aborted | 3 abort",
		needs:       []need{needAPI(kmsg.DescribeTransactions, 0)},
		run:         describedTransactions,
	},
	{
		ID: "D-03", Name: "list-transactions", Class: Should, Profile: Standard, Typical: time.Second,
		Requirement: "ListTransactions filters by state, producer ID, duration and pattern",
		Consequence: "tools that look for hanging transactions miss them, or accuse others",
		Witness:     "all three transactional IDs are listed by their producer IDs",
		Log:         "0 committed | 1 commit | 2 open",
		needs:       []need{needAPI(kmsg.ListTransactions, 0)},
		run:         listedTransactions,
	},
	{
		ID: "D-04", Name: "pinned-implies-explained", Class: Live, Profile: Standard, Typical: time.Second, Limit: 5 * time.Minute,
		Requirement: "a last stable offset below the high watermark is explained by a transaction that the cluster names, or passes within 45 s",
		Consequence: "readers are held back for ever, and nobody is to blame (a hanging transaction)",
		Witness:     "the last stable offset was below the high watermark",
		Log:         "0 plain | 1 open, then committed | 2 open, then taken over",
		Known:       "hanging transactions before KIP-890",
		needs:       []need{needAPI(kmsg.DescribeProducers, 0), needAPI(kmsg.DescribeTransactions, 0)},
		levels:      anyLevel,
		run:         explainedPins,
	},
}
