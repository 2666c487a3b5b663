package conformance

import (
	"time"

	"example.com/readcommitted/conformance/internal/history"
)

// Family X: random histories. A plan that the seed makes says what each of
// several producers does; what readers see of it is judged as it happens.
var familyX = []*Scenario{
	{
		ID: "X-01", Name: "random-10s", Class: Must, Profile: Standard, Typical: 10 * time.Second, Limit: 3 * time.Minute,
		Requirement: "readers at read_committed get the committed records of a partition, each once, in order and with its bytes, and nothing else, whatever producers do beside",
		Consequence: "applications work on records that were never committed, or miss committed ones, now and then",
		Witness:     "at least 60 transactions were committed and 30 aborted, and answers came with records while they were",
		Log:         "six producers with transactions and two without, interleaved at random in four partitions",
		Known:       "Redpanda 21.10, where an abort beside a reader was enough; Bufstream 0.1.0, which lost acknowledged transactions in a healthy cluster; kfake of 2026-08, which committed what a zombie wrote",
		levels:      anyLevel,
		run:         func(t *trial) { t.judgeHistory(history.Shape{}) },
	},
	{
		ID: "X-02", Name: "random-client-crash", Class: Must, Profile: Standard, Typical: 10 * time.Second, Limit: 3 * time.Minute,
		Requirement: "what X-01 requires holds where producers leave transactions open, crash within a write or a commit, are replaced, and write on all the same",
		Consequence: "a client that crashed or was replaced shows up as records that nobody committed, or takes committed ones with it",
		Witness:     "what X-01 wants, and at least 10 producers were replaced",
		Log:         "as X-01; a quarter of the transactions is left, by its producer, its connection, or both",
		Known:       "Redpanda 3232, where one late ABORT marker covered several epochs; Redpanda 30003, where the last stable offset stayed for ever",
		levels:      anyLevel,
		run:         func(t *trial) { t.judgeHistory(history.Shape{Crashes: true}) },
	},
	{
		ID: "X-03", Name: "random-network", Class: Must, Profile: Extended, Typical: 15 * time.Second, Limit: 4 * time.Minute,
		Requirement: "what X-01 requires holds where the network fails: requests and answers late, lost, or cut, and requests that arrive after their sender has gone",
		Consequence: "a network that fails shows up as records that nobody committed, or takes committed ones with it",
		Witness:     "what X-01 wants, and at least 20 requests of producers met a fault and 10 producers were replaced",
		Log:         "as X-02; a third of the transactions meets a fault, and so does one in six fetches of the clients",
		Known:       "KAFKA-17754, which needs a client that says EndTxn again without a new epoch: V-03 has that, these producers do not; Bufstream 0.1.0, after short pauses",
		levels:      anyLevel, faulty: true,
		run: func(t *trial) { t.judgeHistory(history.Shape{Crashes: true, Faults: true}) },
	},
	{
		ID: "X-04", Name: "random-restarts", Class: Must, Profile: Destructive, Typical: 2 * time.Minute, Limit: 15 * time.Minute,
		Requirement: "what X-01 requires holds where brokers stand still, restart and are killed while producers and readers are at work",
		Consequence: "each failure of a broker shows up as records that nobody committed, or takes committed ones with it",
		Witness:     "what X-01 wants, and a broker stood still, one restarted and one was killed while producers were at work",
		Log:         "as X-02; one broker after the other is paused, stopped and killed, and comes back",
		Known:       "Redpanda 21.10 and 21.11: aborted reads, lost and duplicated records after kills and pauses; Bufstream 0.1.0: lost and spurious offsets after pauses",
		needs:       []need{needHook},
		levels:      anyLevel, alone: true,
		run: func(t *trial) {
			t.expectOutages()
			t.unpinned = true
			t.judgeHistory(history.Shape{Crashes: true, Pause: outagePause})
		},
	},
	{
		ID: "X-05", Name: "soak", Class: Must, Profile: Soak, Typical: 4 * time.Hour,
		Requirement: "what X-01 requires holds for hours",
		Consequence: "what goes wrong once in a million transactions is met in production first",
		Witness:     "what X-01 wants",
		needs:       []need{notBuilt("a judgement that keeps no answers, which this checker does not have yet")},
	},
}
