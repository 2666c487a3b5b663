package kafkatest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Stamp is what the value of every record of a [Load] says: who wrote it.
type Stamp struct {
	Writer, Index uint16
	Txn           uint32 // outside of transactions: counts the times that the writer wrote
}

func (s Stamp) String() string {
	return fmt.Sprintf("writer %d, transaction %d, record %d", s.Writer, s.Txn, s.Index)
}

// Value makes a record's value; padding follows a blank.
func (s Stamp) Value(padding int) []byte {
	return fmt.Appendf(nil, "%d/%d/%d %s", s.Writer, s.Txn, s.Index, strings.Repeat("x", padding))
}

// key makes a record's key: a few for each writer, and none for every third
// record.
func (s Stamp) key() []byte {
	if s.Index%3 == 0 {
		return nil
	}
	return fmt.Appendf(nil, "%d-%d", s.Writer, s.Index%5)
}

// StampOf is the opposite of [Stamp.Value].
func StampOf(value []byte) (s Stamp, err error) {
	text, _, _ := strings.Cut(string(value), " ")
	parts := strings.Split(text, "/")
	if len(parts) != 3 {
		return s, fmt.Errorf("value %.40q bears no stamp", value)
	}
	var n [3]uint64
	for i, bits := range []int{16, 32, 16} {
		if n[i], err = strconv.ParseUint(parts[i], 10, bits); err != nil {
			return s, fmt.Errorf("value %.40q: %w", value, err)
		}
	}
	return Stamp{Writer: uint16(n[0]), Txn: uint32(n[1]), Index: uint16(n[2])}, nil
}

// Entry is a record of one partition.
type Entry struct {
	Offset int64
	Stamp
}

// Fate is what became of a record.
type Fate string

// What can become of a record.
const (
	Open      Fate = "" // its transaction has not ended
	Plain     Fate = "plain"
	Committed Fate = "commit"
	Aborted   Fate = "abort"
)

// Logged is a record in the log, and what became of it.
type Logged struct {
	Entry
	ProducerID int64
	Fate       Fate
}

// Visible reports whether a reader at read_committed gets the record.
func (l Logged) Visible() bool { return l.Fate == Plain || l.Fate == Committed }

// Find returns the index of the record at an offset, or else where it would be.
// Records are in the order of their offsets.
func Find(records []Logged, offset int64) (int, bool) {
	return slices.BinarySearchFunc(records, offset, func(l Logged, o int64) int {
		switch {
		case l.Offset < o:
			return -1
		case l.Offset > o:
			return 1
		}
		return 0
	})
}
