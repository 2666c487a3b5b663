// Package model is the reference that a cluster is judged by: what a partition
// holds, what each transaction in it came to, and which answers to a Fetch
// agree with that.
//
// It knows a partition from a whole read at read_uncommitted, where markers say
// how each transaction ended, and from nothing else: not from the abort lists
// that it judges, and with no code of the consumer's. It is pure: bytes and
// times come in, breaches come out.
package model

import (
	"fmt"
	"strings"
)

// Partition names a partition.
type Partition struct {
	Topic string
	Index int32
}

func (p Partition) String() string { return fmt.Sprintf("%s/%d", p.Topic, p.Index) }

// Entry is one entry of an answer's abortedTransactions.
type Entry struct {
	ProducerID  int64 `json:"producer_id"`
	FirstOffset int64 `json:"first_offset"`
}

func (e Entry) String() string { return fmt.Sprintf("{pid %d, first %d}", e.ProducerID, e.FirstOffset) }

// entriesShown bounds the entries in a line of evidence. Each breach has such a
// line, and a list may have thousands of entries with a breach for each.
const entriesShown = 16

// ListString is a list as evidence shows it: its first entries.
func ListString(list []Entry) string {
	parts := make([]string, 0, entriesShown+1)
	for i, e := range list {
		if i == entriesShown {
			parts = append(parts, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		parts = append(parts, e.String())
	}
	return "[" + strings.Join(parts, " ") + "]"
}
