package model

import "time"

// Isolation levels of a request.
const (
	ReadUncommitted int8 = 0
	ReadCommitted   int8 = 1
)

// View is one partition of one answer to a Fetch, with what is known about the
// moment at which it was given.
type View struct {
	Partition   Partition
	Isolation   int8
	Version     int16
	FetchOffset int64
	Conn        uint64
	Broker      int32 // who answered
	Follower    bool  // by a broker that does not lead, as far as the asker knows
	Elected     bool  // the leader epoch began while the asker looked on
	LeaderEpoch int32 // of the partition, as the asker knew it when it asked; -1: not known
	Sent        time.Time
	Received    time.Time
	Throttled   bool

	ErrorCode                               int16
	LogStartOffset, LastStableOffset, HighW int64 // -1: the version does not carry it
	List                                    []Entry
	ListNull                                bool
	Batches                                 []Batch
	Tail                                    int          // bytes of a batch that was cut off
	Problem                                 *FormatError // what made the bytes unreadable
	Body                                    []byte       // the whole answer as it came
	Shed                                    bool         // see [View.Bounds]

	// Quiet says that nothing was being written to the partition, and no
	// marker was on its way, from before the request to after the answer.
	Quiet bool

	// Open are the transactions that had acknowledged data before the request
	// went out and that nobody had begun to end when the answer came.
	Open []Pinned
}

// Pinned is an open transaction, by the offset of its first acknowledged batch.
type Pinned struct {
	ProducerID int64
	First      int64
}

// fencing is the first version of a Fetch that names the leader's epoch
// (KIP-320).
const fencing = 9

// Fenced reports whether the answer is surely of the leader epoch that the
// asker knew: the request named it, and a broker in another one would have
// refused.
func (v *View) Fenced() bool { return v.Version >= fencing && v.LeaderEpoch >= 0 }

// End is one past the last offset in view; the fetch offset if there is none.
func (v *View) End() int64 {
	if len(v.Batches) == 0 {
		return v.FetchOffset
	}
	return max(v.FetchOffset, v.Batches[len(v.Batches)-1].Last+1)
}

// Bounds is the view without its bytes, its list, and all batches but the last
// one: what [History] compares, and little to keep. No rule may judge it.
func (v *View) Bounds() *View {
	light := *v
	light.Shed, light.Body, light.List, light.Batches, light.Problem = true, nil, nil, nil, nil
	if n := len(v.Batches); n > 0 {
		last := v.Batches[n-1]
		last.Raw = nil
		light.Batches = []Batch{last}
	}
	return &light
}

// Severity is how bad a breach is, apart from the class of its invariant.
type Severity int8

// Severities. Fact is recorded and nothing else.
const (
	Fact Severity = iota
	Warning
	Failure
)

// Breach is an invariant that an answer does not hold to.
type Breach struct {
	Invariant   string // U1 to U13
	Severity    Severity
	Offset      int64 // the offending one, -1 for none
	Requirement string
	Consequence string
	Expected    string
	Observed    string
}
