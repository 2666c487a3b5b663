package conformance

import (
	"slices"
	"time"
)

// Family V: KIP-890, which keeps writes out of transactions that they do not
// belong to, and transactions v2, which it brought.
var familyV = slices.Concat(familyVLate, familyVSecond, familyVEpochs, familyVMixed)

var familyVLate = []*Scenario{
	{
		ID: "V-01", Name: "unregistered-write", Class: Should, Profile: Standard, Typical: time.Second,
		Requirement: "a write to a partition that nobody made part of a transaction is refused",
		Consequence: "the transaction hangs: no coordinator knows of it, no timeout ends it, and readers at read_committed wait for ever",
		Witness:     "the producer's write was taken once the partition was part of the transaction",
		Log:         "refused: before AddPartitionsToTxn | 0 committed | refused: in another partition | 1 commit",
		Known:       "Apache Kafka before 3.6, and later ones with transaction.partition.verification.enable=false",
		levels:      onlyTV1, run: unregisteredWrites,
	},
	{
		ID: "V-02", Name: "late-produce-after-end", Class: Should, Profile: Standard, Typical: time.Second, Limit: 3 * time.Minute,
		Requirement: "a batch of a transaction that comes after its end is refused, or ended by the transaction's timeout",
		Consequence: "a batch that was delayed in the network opens a transaction that nobody ends",
		Witness:     "the transaction's marker was in the log before the batch came, and the producer's next transaction was taken",
		Log:         "0 committed | 1 commit | refused: another batch of it | 2 committed | 3 commit",
		Known:       "KAFKA-14402 (hanging transactions, KIP-890): Apache Kafka before 3.6",
		run:         lateProduce,
	},
	{
		ID: "V-03", Name: "delayed-end", Class: Must, Profile: Standard, Typical: 2 * time.Second,
		Requirement: "an EndTxn that was delayed does not end a later transaction; before transactions v2 no broker can tell, and that is recorded only",
		Consequence: "half of a transaction is committed although its producer aborts it, and the abort is acknowledged",
		Witness:     "the later transaction held the last stable offset when the EndTxn of the one before came again",
		Log:         "0 committed | 1 commit | 2 aborted | the commit of 0 again | 3 abort; in another partition: 0 aborted | 1 abort",
		Known:       "KAFKA-17754, found by Jepsen in Apache Kafka and Bufstream; kfake, all of them without transactions v2",
		run:         delayedEnd,
	},
}

var familyVSecond = []*Scenario{
	{
		ID: "V-04", Name: "epoch-bump", Class: Must, Profile: Standard, Typical: 2 * time.Second,
		Requirement: "each EndTxn gives the producer a new epoch or a new producer ID, which its next transaction may use",
		Consequence: "requests of an ended transaction cannot be told from those of the next one",
		Witness:     "the log holds five transactions, each with its marker",
		Log:         "0 committed | 1 commit | 2 aborted | 3 abort | and so on, five in all",
		Known:       "KAFKA-19367, where an epoch went up by two",
		levels:      onlyTV2, run: epochBump,
	},
	{
		ID: "V-05", Name: "implicit-add", Class: Must, Profile: Standard, Typical: 2 * time.Second,
		Requirement: "a write makes its partition part of the transaction, so that the transaction holds readers back there and its end reaches it",
		Consequence: "records are visible before their commit, or readers wait for ever",
		Witness:     "each partition's log holds the data of both transactions",
		Log:         "in 4 of 5 partitions: 0 aborted | 1 abort | 2 committed | 3 commit",
		levels:      onlyTV2, run: implicitAdd,
	},
	{
		ID: "V-06", Name: "empty-end", Class: Should, Profile: Standard, Typical: 2 * time.Second,
		Requirement: "an abort of nothing succeeds, a commit of nothing may be refused, and the producer can go on after either",
		Consequence: "a producer fences itself and has to be made anew",
		Witness:     "the cluster answered each empty EndTxn, and the log holds the transactions between them",
		Log:         "end of nothing | 0 committed | 1 commit | end of nothing | 2 aborted | 3 abort | end of nothing | 4 committed | 5 commit",
		Known:       "KAFKA-18464, where an abort of nothing fenced its own producer",
		levels:      onlyTV2, run: emptyEnds,
	},
}

var familyVMixed = []*Scenario{
	{
		ID: "V-08", Name: "mixed-clients", Class: Must, Profile: Standard, Typical: 3 * time.Second, Limit: 2 * time.Minute,
		Requirement: "producers of transactions v1 and v2 that take the same transactional ID over from each other are fenced, and their transactions stay whole",
		Consequence: "while applications are upgraded, the old instance writes into transactions of the new one",
		Witness:     "each partition's log holds the three transactions of each round",
		Log:         "two partitions, in each round: 0 committed | 1 commit | 2 left open | 3 abort by the takeover | 4 aborted | 5 abort",
		levels:      onlyTV2, run: mixedClients,
	},
	{
		ID: "V-09", Name: "endtxn-v4-twice", Class: Must, Profile: Standard, Typical: time.Second,
		Requirement: "a producer of transactions v1 runs one transaction after another with the epoch that it was given at first",
		Consequence: "every producer that is not of the newest kind is fenced after its first transaction",
		Witness:     "the first transaction's marker was in the log before the second began",
		Log:         "0 committed | 1 commit | 2 committed | 3 commit | 4 aborted | 5 abort | 6 committed | 7 commit",
		Known:       "Krabka, which fences after the first EndTxn v4",
		levels:      onlyTV1, run: sameEpoch,
	},
}
