package history

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
)

// Checker judges one history.
type Checker struct {
	run        uint64
	partitions int

	mu       sync.Mutex
	lanes    map[laneKey]*lane
	readers  []*Reader
	ends     []int64 // by partition, one past the highest acknowledged offset
	counts   map[accusation]int
	found    []Anomaly
	unjudged int
	hidden   int

	showsAborted bool // the log had records of a transaction that was aborted
}

// NewChecker begins to judge a history, by its number, in some partitions.
func NewChecker(run uint64, partitions int) *Checker {
	return &Checker{
		run: run, partitions: partitions, lanes: map[laneKey]*lane{}, ends: make([]int64, partitions), counts: map[accusation]int{},
	}
}

// anomaliesKept bounds how many of one kind and reader are kept.
const anomaliesKept = 3

// accuse keeps an anomaly of a part, once for each kind and reader.
func (c *Checker) accuse(p *part, kind Kind, reader string, offset int64, expected, observed string) {
	a := accusation{kind, reader}
	if slices.Contains(p.accused, a) {
		return
	}
	p.accused = append(p.accused, a)
	c.tell(Anomaly{kind, reader, p.partition, offset, p.txn.String() + ": " + expected, observed})
}

func (c *Checker) tell(a Anomaly) {
	key := accusation{a.Kind, a.Reader}
	if c.counts[key]++; c.counts[key] <= anomaliesKept {
		c.found = append(c.found, a)
	}
}

// Tell adds an anomaly that somebody else found.
func (c *Checker) Tell(a Anomaly) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tell(a)
}

func (t *Transaction) String() string {
	if t.ending == Plain {
		return fmt.Sprintf("a batch of producer %d without a transaction", t.producer)
	}
	return fmt.Sprintf("transaction %d of producer %d, planned to %s", t.number, t.producer, t.ending)
}

// Anomalies are the first of each kind and reader. more counts all of them.
func (c *Checker) Anomalies() (first []Anomaly, all int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.counts {
		all += n
	}
	return slices.Clone(c.found), all
}

// Saw reports whether one of some readers, by name, saw anything; "" is the log.
func (c *Checker) Saw(readers ...string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.found, func(a Anomaly) bool { return slices.Contains(readers, a.Reader) })
}

// Unjudged is how many records could not be judged, because what they belong
// to was forgotten, and hidden how many aborted ones the log did not show.
func (c *Checker) Unjudged() (unjudged, hidden int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unjudged, c.hidden
}

// Lag is by how many offsets the slowest reader is behind the acknowledged
// records, in the partition where that is most.
func (c *Checker) Lag() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	lag := int64(0)
	for _, r := range c.readers {
		for partition, end := range c.ends {
			if !r.gone {
				lag = max(lag, end-r.next[partition])
			}
		}
	}
	return lag
}

// Signature is what kinds of anomalies there are: the same fault in another
// history has the same.
func Signature(anomalies []Anomaly) []Kind {
	var kinds []Kind
	for _, a := range anomalies {
		kinds = append(kinds, a.Kind)
	}
	slices.SortFunc(kinds, func(a, b Kind) int { return cmp.Compare(a, b) })
	return slices.Compact(kinds)
}
