package conformance

import (
	"cmp"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Family O: offsets that are committed in transactions.
var familyO = slices.SortedFunc(slices.Values(slices.Concat(familyOPending, familyOEnd, familyOLoop)), func(a, b *Scenario) int { return cmp.Compare(a.ID, b.ID) })

// offsetNeeds are what scenarios with offsets in transactions cannot do without:
// fetched is the version of OffsetFetch.
func offsetNeeds(fetched int16) []need {
	return []need{
		needAPI(kmsg.AddOffsetsToTxn, 0), needAPI(kmsg.TxnOffsetCommit, 0), needAPI(kmsg.OffsetCommit, 2), needAPI(kmsg.OffsetFetch, fetched),
	}
}

var familyOPending = []*Scenario{
	{
		ID: "O-01", Name: "pending-invisible", Class: Must, Profile: Smoke, Typical: time.Second,
		Requirement: "an offset that a transaction has not committed yet is not given out, and who asks for stable offsets is told that one is pending",
		Consequence: "after a rebalance the next consumer skips input whose results may be aborted, or does input again whose results are committed a moment later",
		Witness:     "offset 42 was read back before 77 was pending, and the transaction was open until both answers were there",
		Log:         "group: 42 committed | 77 in an open transaction",
		Known:       "Krabka 0.4.0, Tansu 0.6.0 and the mock cluster of librdkafka, which do not say that an offset is pending",
		needs:       offsetNeeds(offsetsLeast), run: pendingInvisible,
	},
	{
		ID: "O-03", Name: "first-ever-pending", Class: Should, Profile: Standard, Typical: time.Second,
		Requirement: "a group whose first offset is pending has no offset, and who asks for stable offsets is told that one is pending",
		Consequence: "a consumer that takes over begins at its reset policy, while the results of its predecessor are committed",
		Witness:     "the offset was accepted, and the transaction was open until the answers were there",
		Log:         "group: 77 in an open transaction, its first offset | abort",
		Known:       "kfake, which says that there is no such group; Krabka 0.4.0 and Tansu 0.6.0, which say that there is no offset",
		needs:       offsetNeeds(stableLeast), run: firstPending,
	},
	{
		ID: "O-04", Name: "other-partition-stable", Class: Should, Profile: Standard, Typical: time.Second,
		Requirement: "a pending offset of one partition does not make those of other partitions unstable",
		Consequence: "one slow transaction keeps a whole group from starting",
		Witness:     "in the same answer, the other partition was unstable",
		Log:         "group: p0 at 42, p1 at 43 | p0 at 77 in an open transaction",
		Known:       "kfake, where all partitions of the group are unstable",
		needs:       offsetNeeds(stableLeast), run: otherStable,
	},
	{
		ID: "O-05", Name: "pending-released-by-timeout", Class: Live, Profile: Standard, Typical: 12 * time.Second, Limit: 2 * time.Minute,
		Requirement: "an offset of a transaction whose producer is silent is pending no longer than 20 s after the transaction's timeout, and is given up",
		Consequence: "one crashed producer keeps its group from starting for ever",
		Witness:     "the offset was pending before the timeout was over, and longer than that",
		Log:         "group: 42 committed | 77 in a transaction that times out",
		Known:       "Tansu 0.6.0, where a transaction never times out",
		needs:       offsetNeeds(stableLeast), run: pendingTimesOut,
	},
	{
		ID: "O-07", Name: "stale-member", Class: Should, Profile: Standard, Typical: time.Second,
		Requirement: "offsets in a transaction are not taken from who is not in the group, not of its generation, or replaced (KIP-447)",
		Consequence: "a consumer that lost its partitions commits offsets and results beside the one that has them",
		Witness:     "the same commit was accepted from the member that is in the group",
		Log:         "group: a member in generation g | refused: generation g+1, another member, the member after it was replaced",
		needs:       []need{needAPI(kmsg.AddOffsetsToTxn, 0), needAPI(kmsg.TxnOffsetCommit, 3), needAPI(kmsg.JoinGroup, 5), needAPI(kmsg.SyncGroup, 3)},
		run:         staleMembers,
	},
}

var familyOEnd = []*Scenario{
	{
		ID: "O-02", Name: "commit-and-abort", Class: Must, Profile: Standard, Typical: time.Second,
		Requirement: "an offset in a transaction counts once the transaction is committed, and never if it is aborted",
		Consequence: "input is skipped or done again, although the results were written exactly once",
		Witness:     "each transaction was open until its end was sent, and the end was acknowledged",
		Log:         "group a: 42 committed | 77 in a transaction | commit; group b: the same | abort",
		Known:       "the mock cluster of librdkafka, which loses offsets of committed transactions",
		needs:       offsetNeeds(offsetsLeast), run: offsetsByEnd,
	},
	{
		ID: "O-06", Name: "plain-vs-pending-order", Class: Info, Profile: Standard, Typical: time.Second,
		Requirement: "where an offset is committed while another one is pending, one of the two stays, and always the same",
		Consequence: "where a consumer goes on is a matter of luck",
		Witness:     "the transaction was open when the other offset was committed, and its commit was acknowledged",
		Log:         "group: 50 in a transaction | 60 committed outside | commit of the transaction",
		Known:       "brokers differ in which one stays",
		needs:       offsetNeeds(stableLeast), run: plainAfterPending,
	},
	{
		ID: "O-09", Name: "offsets-survive-commit", Class: Must, Profile: Smoke, Typical: time.Second,
		Requirement: "the first offset that a group ever has can be one of a committed transaction, whatever other transactions are open, and that of the producer's next one takes its place",
		Consequence: "loops that read, process and write in transactions do all of their input again after each restart",
		Witness:     "the transaction was open until its end was sent, and the end was acknowledged",
		Log:         "group: 7 in a transaction, its first offset | commit | 8 in the next one | commit; 7 with a record, and beside another transaction, open or ended",
		Known:       "the mock cluster of librdkafka loses it always, Tansu 0.6.0 that of the next one, and where another transaction is open in the same partition",
		needs:       offsetNeeds(offsetsLeast), run: firstOffsets,
	},
}
