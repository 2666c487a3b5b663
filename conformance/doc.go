// Package conformance judges whether a cluster honours read_committed.
//
// A scenario makes one situation with producers that it drives by hand (a
// transaction left open, an abort whose marker comes megabytes later, a zombie
// that writes on) and states what every answer of the cluster must say then.
// Beside that, each answer to a Fetch in each scenario is held against the
// invariants U1 to U13. The reference is the partition's log, read whole at
// read_uncommitted, where markers say how each transaction ended, and what the
// scenario's own producers know. No code of the consumer in this repository is
// used: readers under judgement come in through [Client].
//
// # Verdicts
//
// A scenario passes only if it saw its situation happen, by a witness that it
// names; otherwise it is inconclusive, and so it is when the cluster did not
// answer. What a cluster cannot do, or must not be asked to, is skipped with a
// reason that a probe of its features gave, never the name of its vendor.
//
// # What a run touches
//
// Only topics, groups and transactional IDs whose names begin with the run's
// prefix. All of them are removed at the end; transactional IDs are ended and
// expire on the brokers by themselves.
//
// Brokers are stopped, killed and paused only through [Config.Hook], one at a
// time. Each of them runs again when its scenario ends, however that ends.
package conformance
