// Package rcconsumer reads Kafka topics at read_committed: it issues its own
// Fetch requests over the connections of a kgo.Client, decodes record batch
// headers itself and drops aborted batches from their headers alone.
//
// [New] takes kgo's options; polls return kgo's types. What differs from
// kgo.Client:
//
//   - The isolation level is read_committed unless an option says otherwise.
//   - The position of a partition passes markers, aborted data and compacted
//     offsets ([Consumer.Position], [ReturnOnProgress]).
//   - The last stable offset and the high watermark are known while nothing can
//     be read, also of paused partitions ([StableOffsetInterval],
//     [Consumer.Lag]), so a reader that waits for an open transaction can tell.
//     [Consumer.WaitStable] waits for its end.
//   - Aborted batches are neither decompressed nor decoded.
//   - Where the log itself contradicts the broker's list of aborted
//     transactions, the log is believed and the contradiction reported
//     ([HookAnomaly]).
//
// # Guarantees
//
// Within a partition records are handed out in offset order, each once, until
// SetOffsets or a reset moves the position, or the partition is removed and
// added again. Aborted records are never handed out at read_committed if the
// broker lists their transaction or their abort marker is in the same answer
// without an offset hole between. A committed record is never skipped: the
// position passes an offset only if a complete, valid batch reaches over it, or
// on a reset, which is reported.
//
// A leader that takes over may have lost records that were read before. It is
// asked before anything is fetched from it, and where a start names a leader
// epoch (KIP-320). If records that were handed out are gone, reading goes on
// where its log ends for them and a *kgo.ErrDataLoss is handed out; buffered
// ones are dropped and fetched anew.
//
// # Groups
//
// With kgo.ConsumerGroup the consumer is a member of a group, classic or KIP-848,
// and the methods that commit and mark are those of kgo.Client. What they commit
// passes the markers and aborted data behind the last record, so that the
// group's lag reaches zero ([CommitThroughMarkers]), but never a record that was
// not handed out. A commit goes back only after SetOffsets, a reset, a
// truncation, or where the caller names the offset. Offsets of partitions that
// are another member's by the time of sending are not sent.
//
// Functions that a group calls get the Consumer ([OnPartitionsRevoked] and its
// like); kgo's own options for them are refused.
//
// # Concurrency
//
// All methods may be called from several goroutines at once. Two polls at once
// return different records; each partition's order holds only within a poll
// and between polls that follow each other. Hooks may be called from several
// goroutines at once, with no lock held.
//
// # Cancellation
//
// A context that ends while a poll waits ends that poll only; no record is
// lost, the next poll returns it. Close leaves the group, which may take as long
// as the coordinator does, ends all requests in flight and waits for every
// goroutine of the consumer.
package rcconsumer
