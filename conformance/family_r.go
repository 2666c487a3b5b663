package conformance

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Family R: leaders that move, brokers that stop and come back.
var familyR = slices.Concat(movedLeaders)

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
