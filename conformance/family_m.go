package conformance

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Family M: markers, and what ends transactions.
var familyM = []*Scenario{
	{
		ID: "M-01", Name: "marker-shape", Class: Should, Profile: Standard, Typical: time.Second,
		Requirement: "a marker is a control batch with the bits, the one record, the key and the value of KIP-98, and its epoch is not below that of the data it ends",
		Consequence: "clients that look at these fields stop, or a late marker ends a newer transaction",
		Witness:     "the log holds a committed run and an aborted one, each with its marker",
		Log:         "0 committed | 1 commit | 2 aborted | 3 abort",
		Known:       "markers whose CRC is 0 (librdkafka's mock cluster), markers without a value (kfake of August 2026)",
		run:         markerShape,
	},
	{
		ID: "M-02", Name: "universal-markers", Class: Must, Profile: Smoke, Typical: 3 * time.Second, Limit: 3 * time.Minute,
		Requirement: "the end of a transaction puts one marker, of the right type, into each partition that it touched, and none into others",
		Consequence: "a transaction is committed in one partition and aborted, or open for ever, in another",
		Witness:     "each partition of the transactions holds the data of all three",
		Log:         "in 8 of 12 partitions: 0 committed | 1 commit | 2 aborted | 3 abort | 4 committed | 5 commit",
		Known:       "KAFKA-19999, where a marker that was sent again was refused and the transaction stayed open",
		run:         universalMarkers,
	},
	{
		ID: "M-03", Name: "marker-takes-offset", Class: Must, Profile: Standard, Typical: time.Second,
		Requirement: "a marker takes an offset: what is produced after it is acknowledged at the next one",
		Consequence: "acknowledged offsets are not where the records are",
		Witness:     "the marker was in the log before the next write",
		Log:         "0..1 committed | 2 commit | 3 committed | 4 commit | 5..6 aborted | 7 abort | 8 committed | 9 commit",
		run:         markerOffsets,
	},
	{
		ID: "M-04", Name: "control-batch-delivery", Class: Info, Profile: Standard, Typical: time.Second,
		Requirement: "answers at read_committed hold the markers, as those at read_uncommitted do",
		Consequence: "none, as long as readers get past them",
		Witness:     "read_uncommitted shows both markers",
		Log:         "0..1 p1 committed | 2 p2 aborted | 3 plain | 4 abort p2 | 5 commit p1",
		run:         markerDelivery,
	},
	{
		ID: "M-05", Name: "write-marker-aborts-open", Class: Must, Profile: Extended, Typical: time.Second,
		Requirement: "an ABORT marker that an administrator writes ends the open transaction in that partition, and what its coordinator does later changes nothing",
		Consequence: "a hanging transaction cannot be removed, or removing it shows aborted records",
		Witness:     "DescribeProducers gave the open transaction by its first offset",
		Log:         "0 committed | 1 commit | 2..3 aborted | 4 abort by the administrator | 5 abort by the coordinator | 6 committed | 7 commit",
		needs:       []need{needAPI(kmsg.DescribeProducers, 0), needAPI(kmsg.WriteTxnMarkers, 0), needAdmin},
		run:         adminAbort,
	},
	{
		ID: "M-06", Name: "write-marker-stale-epoch", Class: Should, Profile: Extended, Typical: time.Second,
		Requirement: "a marker of an older producer epoch or of an older coordinator is refused and not written",
		Consequence: "the late marker of a coordinator that was replaced ends a newer transaction",
		Witness:     "DescribeProducers gave the open transaction, whose epoch is above 0",
		Log:         "0 committed | 1 commit | 2 open",
		needs:       []need{needAPI(kmsg.DescribeProducers, 0), needAPI(kmsg.WriteTxnMarkers, 0), needAdmin},
		run:         staleMarkers,
	},
	{
		ID: "M-07", Name: "write-marker-unknown-pid", Class: Info, Profile: Extended, Typical: time.Second,
		Requirement: "a marker of a producer ID that wrote nothing changes neither the last stable offset nor any list",
		Consequence: "a marker too many hides or shows records of others",
		Witness:     "the request was answered",
		Log:         "0 committed | 1 commit | 2 abort of nobody",
		needs:       []need{needAPI(kmsg.WriteTxnMarkers, 0), needAdmin},
		run:         foreignMarker,
	},
	{
		ID: "M-08", Name: "end-retry", Class: Must, Profile: Standard, Typical: time.Second,
		Requirement: "an EndTxn that comes again changes nothing, and one for the other outcome is refused",
		Consequence: "a client whose answer got lost makes the outcome another, or is told an outcome that is none",
		Witness:     "the transaction's marker was in the log before the last attempts",
		Log:         "0..1 committed | 2 commit | 3 committed | 4 commit; and the same with an abort",
		Known:       "Tansu 0.6.0 acknowledges an abort after the commit",
		run: func(t *trial) {
			for _, commit := range []bool{true, false} {
				endRetry(t, commit)
			}
		},
	},
	{
		ID: "M-09", Name: "commit-survives-client", Class: Must, Profile: Standard, Typical: 3 * time.Second, Limit: 2 * time.Minute,
		Requirement: "a commit whose client leaves before the answer takes effect in all partitions or in none",
		Consequence: "a transaction is committed in one partition and aborted in another",
		Witness:     "each EndTxn went out and its connection was closed unread; the transactional ID was taken over after it; one was carried out",
		Log:         "in 4 partitions: data of a round | its marker, and so on for each round",
		run:         commitAndLeave,
	},
}
