// Package abortset decides which batches of one fetched partition belong to
// aborted transactions. It knows offsets and producer IDs, and no bytes.
//
// A broker answers a read_committed Fetch with everything that is in the log
// below the last stable offset, aborted data and markers included, and adds a
// list of aborted transactions. The reader has to drop the aborted batches
// itself. An entry of that list says where a transaction begins, not where it
// ends: its end is the next abort marker of its producer in the log.
//
//	offset    0-1    2        3         4         5         6         7
//	batch     T(7)   T(8)     ABORT(7)  T(7)      COMMIT(8) COMMIT(7) plain
//	list      producer 7, first offset 0
//	active    7      7        -         -         -         -         -
//	verdict   drop   deliver  control   deliver   control   control   deliver
//
// T(7) is a transactional batch of producer 7. Reading from left to right, for
// every batch:
//
//  1. Entries whose first offset is not above the batch's last offset make
//     their producer active.
//  2. An abort marker makes its producer inactive. A commit marker does not:
//     the entry may be meant for a later transaction.
//  3. A transactional data batch of an active producer is dropped.
//
// That is the Java client's rule, and [Set] is it. The list comes in any order,
// often holds transactions that begin before the fetch offset or after the
// data, and is complete for each response: nothing is carried from one response
// to the next.
//
// The list is the broker's word, the markers are what happened. [Response]
// judges a whole response at once, so it can look ahead: where the marker that
// ends a transaction is in view and nothing was erased on the way to it, the
// marker decides, and a list that says otherwise is reported as an [Anomaly].
// On a correct broker both give the same verdicts. [Audit] watches one
// partition across responses, for markers that arrive later than the data.
//
// No type here is safe for use by several goroutines at once.
//
// Source: KIP-98; Kafka's CompletedFetch.java.
package abortset

// AbortedTransaction is an entry of a Fetch response's list of aborted
// transactions.
//
// Source: FetchResponse v4+, abortedTransactions.
type AbortedTransaction struct {
	ProducerID  int64
	FirstOffset int64 // inclusive; of the first transactional batch in this partition
}

// Kind says what a batch means for transactions.
type Kind uint8

// The kinds of batches. A control batch is named after its first record.
const (
	Plain         Kind = iota // data batch without the transactional bit, with a producer ID or not
	Transactional             // data batch with the transactional bit, even if it holds no record
	Commit                    // control batch that begins with a commit marker
	Abort                     // control batch that begins with an abort marker
	EmptyControl              // control batch without a record: what compaction can leave of a marker
	OtherControl              // control batch of any other type
)

// Batch is what the rule needs to know of a record batch.
type Batch struct {
	BaseOffset int64 // inclusive
	LastOffset int64 // inclusive; of the header, which compaction keeps
	ProducerID int64 // below 0: none, such a batch belongs to no transaction
	Kind       Kind
}

// Verdict says what a read_committed reader does with a batch.
type Verdict uint8

// The verdicts.
const (
	Deliver Verdict = iota // data that is committed or in no transaction
	Drop                   // data of an aborted transaction
	Control                // control batch: never data, whatever became of its transaction
)

// String returns the verdict in lower case.
func (v Verdict) String() string {
	switch v {
	case Deliver:
		return "deliver"
	case Drop:
		return "drop"
	case Control:
		return "control"
	}
	return "unknown"
}

// String returns the kind in lower case.
func (k Kind) String() string {
	switch k {
	case Plain:
		return "plain"
	case Transactional:
		return "transactional"
	case Commit:
		return "commit"
	case Abort:
		return "abort"
	case EmptyControl:
		return "empty control"
	case OtherControl:
		return "other control"
	}
	return "unknown"
}

// isControl reports whether a batch of this kind has the control bit.
func (k Kind) isControl() bool { return k >= Commit }

// retained bounds scratch memory, in elements per slice or map (at most 40
// bytes each). What a longer list needed is given back: a partition must not
// hold megabytes for ever because one response had a million entries.
const retained = 1 << 12
