package conformance

import (
	"cmp"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Family R: leaders that move, brokers that stop and come back.
var familyR = slices.SortedFunc(slices.Values(slices.Concat(movedLeaders, brokersGone)), func(a, b *Scenario) int {
	return cmp.Compare(a.ID, b.ID)
})

// needMoves are what a scenario needs to move leaders of its own topics.
var needMoves = []need{needBrokers(2), needAPI(kmsg.AlterPartitionAssignments, 0), needAPI(kmsg.ElectLeaders, 0), needAdmin}

// movedLeaders need no hook: they move leaders as an administrator does.
var movedLeaders = []*Scenario{
	{
		ID: "R-01", Name: "leader-move-open", Class: Must, Profile: Extended, Typical: 4 * time.Second, Limit: 2 * time.Minute,
		Requirement: "a transaction that is open when a partition gets another leader holds it back there too, and ends as one whole",
		Consequence: "readers get undecided records, or half of a transaction, whenever leaders move",
		Witness:     "another broker led the partition while the transaction was open, and answered",
		Log:         "two partitions, the leader of the first moves at each bar: plain, open | open | commit, then the same with an abort",
		Known:       "Redpanda 21.10.1 lost writes of a transaction across a change of leaders; Redpanda 10671",
		needs:       needMoves,
		run: func(t *trial) {
			for _, commit := range []bool{true, false} {
				movedWhileOpen(t, commit)
			}
		},
	},
	{
		ID: "R-02", Name: "leader-move-after-abort", Class: Must, Profile: Extended, Typical: 8 * time.Second, Limit: 3 * time.Minute,
		Requirement: "each replica gives the same records once it leads, and lists the same aborted transactions with them",
		Consequence: "after a change of leaders clients hand out aborted records, or miss committed ones",
		Witness:     "every replica led the partition and answered with all of its log",
		Log:         "0..1 p1 committed | 2 p2 aborted | 3 plain | 4 abort p2 | 5 commit p1 | 200 aborted transactions | 1 committed",
		Known:       "Redpanda 5751 and 7819: the list came from another place than the records",
		needs:       needMoves,
		run:         movedAfterAborts,
	},
	{
		ID: "R-06", Name: "follower-read", Class: Should, Profile: Extended, Typical: 2 * time.Second,
		Requirement: "a follower that the leader sends readers to gives the same committed records, and nothing from an open transaction on",
		Consequence: "readers near a follower get other records than those near the leader",
		Witness:     "the leader named a follower for the reader's rack, and the follower answered with batches",
		Log:         "0..1 committed | 2 commit | 3..4 aborted | 5 abort | 6 plain | 7 open | 8 plain",
		needs:       []need{needBrokers(2), needAPI(kmsg.Fetch, 11)},
		run:         followerRead,
	},
}

// brokersGone need a hook: they take brokers away and bring them back.
var brokersGone = []*Scenario{
	{
		ID: "R-03", Name: "coordinator-move", Class: Must, Profile: Destructive, Typical: 40 * time.Second, Limit: 8 * time.Minute,
		Requirement: "a transaction whose end is sent while its coordinator moves is whole, and has the outcome that was acknowledged",
		Consequence: "acknowledged records vanish, or half of a transaction is visible, whenever a broker stops",
		Witness:     "ends were on their way while their coordinator stopped, and another broker coordinated them then",
		Log:         "three partitions; ten transactions at a time over two of them end as their coordinator stops, and again as one is killed",
		Known:       "Redpanda 21.10.1 lost transactional writes across changes of leaders",
		needs:       []need{needHook, needBrokers(2)},
		alone:       true, run: coordinatorMoves,
	},
	{
		ID: "R-04", Name: "restart-open", Class: Must, Profile: Destructive, Typical: 30 * time.Second, Limit: 8 * time.Minute,
		Requirement: "a transaction that is open while all brokers restart, one after another, holds its partitions back throughout, and ends as one whole",
		Consequence: "a restart shows readers undecided records, or loses half of a transaction",
		Witness:     "each broker stopped answering and came back while the transactions were open",
		Log:         "three partitions: plain | t1 open, t2 open | plain | every broker restarts | commit t1 | abort t2",
		Known:       "Redpanda 7544 and 11130: the last stable offset jumps after a restart",
		needs:       []need{needHook},
		alone:       true, run: restartWhileOpen,
	},
	{
		ID: "R-05", Name: "kill-after-ack", Class: Must, Profile: Destructive, Typical: 2 * time.Minute, Limit: 20 * time.Minute,
		Requirement: "a commit that was acknowledged is there in every partition, though a leader is killed in the moment of the acknowledgement",
		Consequence: "what an application was told is committed is lost, in whole or in part",
		Witness:     "the leader of one of the transaction's partitions stopped answering right after the acknowledgement, in each round",
		Log:         "three partitions, in each round: a record in each | commit | a leader is killed",
		Known:       "Redpanda 3003, where state was applied before it was agreed upon",
		needs:       []need{needHook, needBrokers(3)},
		levels:      anyLevel,
		alone:       true, run: killAfterAck,
	},
	{
		ID: "R-07", Name: "pause-leader", Class: Live, Profile: Destructive, Typical: 50 * time.Second, Limit: 8 * time.Minute,
		Requirement: "when a leader that stood still for 20 s goes on, transactions are committed and read within 60 s, and nobody gets what is not committed",
		Consequence: "one broker that stands still for a while stops applications for good, or has them read what was never committed",
		Witness:     "the leader did not answer while producers and readers were at work",
		Log:         "three partitions: producers in transactions over two of them, readers of each; the leader of the first stands still",
		Known:       "Bufstream 0.1.0: readers stuck, and producers, long after a short pause",
		needs:       []need{needHook},
		levels:      anyLevel,
		alone:       true, run: pausedLeader,
	},
	{
		ID: "R-08", Name: "restart-with-empty-open", Class: Live, Profile: Destructive, Typical: 25 * time.Second, Limit: 8 * time.Minute, levels: onlyTV1,
		Requirement: "transactions that had no records yet when brokers restarted can be ended, and then hold nothing back",
		Consequence: "readers wait for ever for a transaction that has nothing for them",
		Witness:     "the partition's leader and the coordinators stopped answering and came back after AddPartitionsToTxn",
		Log:         "t1 and t2 registered | brokers restart | 0 t1 | commit t1 | t2 ends without a record",
		Known:       "Redpanda 30003: a snapshot without such transactions left the last stable offset where it was",
		needs:       []need{needHook},
		alone:       true, run: restartEmptyOpen,
	},
}
