// Package history makes random histories of producers and judges, while they
// go on, what readers see of them.
//
// A [Plan] says what each producer does. A [Checker] is told what producers do
// and get acknowledged, what readers deliver and what the log holds, each as it
// happens, and finds what read_committed rules out. It needs no graph and no
// whole history: all takes place in one process, so that the moment is known at
// which a commit was sent, and values say of themselves what they belong to.
//
// The package is pure: no network, no clock, no goroutine. Times come in.
//
// # Memory
//
// A checker keeps what lies between the slowest reader and the producers, and
// of each reader one number for each producer and partition. Transactions that
// came to nothing are kept as ranges. Where that is not enough it forgets the
// oldest and counts what it could not judge, see [Checker.Unjudged].
//
// # Concurrency
//
// All methods may overlap; each [Transaction] and each [Reader] belongs to one
// goroutine.
package history

import "fmt"

// Kind is a way in which a history breaks read_committed.
type Kind string

// The kinds.
const (
	AbortedRead  Kind = "aborted read"       // G1a
	EarlyRead    Kind = "early read"         // before the commit was sent
	Lost         Kind = "lost record"        // committed, and passed by
	Torn         Kind = "torn transaction"   // some of it shows and some does not
	Duplicate    Kind = "duplicate"          // or out of the order of its producer
	Backwards    Kind = "backwards"          // a reader goes back
	Moved        Kind = "moved record"       // one record at two offsets, or not where it was acknowledged
	Changed      Kind = "changed record"     // two reads of one offset differ
	Garbage      Kind = "garbage"            // nobody wrote that
	WrongCommit  Kind = "wrong commit"       // a COMMIT marker for what nobody committed
	BrokenCommit Kind = "broken commit"      // acknowledged, and aborted or never carried out
	Stuck        Kind = "stuck"              // a reader, or the last stable offset, does not come to the end
	Bounds       Kind = "contradicted bound" // the last stable offset is wrong for what is open, or goes back
)

// Anomaly is one thing that a reader must not see.
type Anomaly struct {
	Kind      Kind
	Reader    string // who saw it; "" for what the log alone shows
	Partition int
	Offset    int64 // -1 for none
	Expected  string
	Observed  string
}

func (a Anomaly) String() string {
	return fmt.Sprintf("%s: partition %d, offset %d, %s: expected %s, observed %s", a.Kind, a.Partition, a.Offset, a.Reader, a.Expected, a.Observed)
}

// Record is a record as a reader got it.
type Record struct {
	Offset int64
	Value  []byte
}

// Fate is what the log says of a transaction in one partition.
type Fate int8

// The fates. Undecided: no marker was read.
const (
	Undecided Fate = iota
	Committed
	Aborted
)

func (f Fate) String() string { return [...]string{"undecided", "committed", "aborted"}[f] }
