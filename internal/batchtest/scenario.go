package batchtest

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// ErrorClass is how a reader has to call what stopped it.
type ErrorClass string

// The classes. A batch that is cut off at the end of a response is no error.
const (
	NoError     ErrorClass = ""
	Corrupt     ErrorClass = "corrupt"     // damaged bytes
	Unsupported ErrorClass = "unsupported" // a magic or codec that nobody knows
	TooLarge    ErrorClass = "toolarge"    // decompresses to more than Limit
)

// Anomaly is a contradiction between the aborted-transactions list and the
// log: missing, contradicted or duplicate.
type Anomaly struct {
	Kind       string
	ProducerID int64
}

// EpochUnstated is the Epoch of a scenario that says nothing of it.
const EpochUnstated int32 = -2

// Scenario is one fetched partition and what a reader has to make of it. Its
// slices are shared by all users and must not be changed. Offset slices are nil
// if there is nothing to deliver.
type Scenario struct {
	Name string // file name without .txt
	Doc  string // which mistake it catches, with the public source

	Fetch   int64                                                // fetch offset
	Limit   int32                                                // decompressed bytes that one batch may have; 0 is no limit
	Records []byte                                               // of the Fetch response; empty if it carries none
	Aborted []kmsg.FetchResponseTopicPartitionAbortedTransaction // wire order; nil is null

	LogStartOffset, LastStableOffset, HighWatermark int64

	Visible    []int64    // delivered at read_committed
	Next       int64      // fetch offset afterwards
	ErrClass   ErrorClass // what stops it after Visible
	ErrBase    int64      // base offset of the batch that stops it
	Anomalies  []Anomaly  // in no particular order; none at read_uncommitted
	Epoch      int32      // leader epoch of the last batch passed, -1 unknown, or EpochUnstated
	Timestamps []int64    // of Visible, in milliseconds; nil if the file does not state them

	Uncommitted         []int64 // the same at read_uncommitted
	UncommittedNext     int64
	UncommittedErrClass ErrorClass
	UncommittedErrBase  int64

	// Why kgo.ProcessFetchPartition gives something else; empty if it does not.
	KgoDiffers, KgoDiffersUncommitted string

	log  Log
	sent map[int64]Record
}

// Load reads every .txt file at the root of fsys, in order of names. An error
// names file and line.
func Load(fsys fs.FS) ([]Scenario, error) {
	names, err := fs.Glob(fsys, "*.txt")
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, errors.New("no scenario files")
	}
	scenarios := make([]Scenario, len(names))
	errs := make([]error, len(names))
	for i, name := range names {
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		scenarios[i], errs[i] = Parse(name, string(text))
	}
	return scenarios, errors.Join(errs...)
}

// Parse reads one scenario; the name is that of its file.
func Parse(file, text string) (Scenario, error) {
	p := parser{
		Scenario: Scenario{
			Name:    strings.TrimSuffix(path.Base(file), ".txt"),
			Aborted: Aborted(),
			Epoch:   EpochUnstated,
		},
		seen: map[string]bool{},
	}
	for n, line := range strings.Split(text, "\n") {
		if err := p.line(strings.TrimSpace(line)); err != nil {
			return Scenario{}, fmt.Errorf("%s:%d: %w", file, n+1, err)
		}
	}
	if err := p.finish(); err != nil {
		return Scenario{}, fmt.Errorf("%s: %w", file, err)
	}
	return p.Scenario, nil
}

// Partition is the scenario as a partition of a Fetch response.
func (s *Scenario) Partition() *kmsg.FetchResponseTopicPartition {
	p := s.log.Partition(s.Aborted)
	p.HighWatermark = s.HighWatermark
	p.LastStableOffset = s.LastStableOffset
	p.LogStartOffset = s.LogStartOffset
	return p
}

// Sent returns the record that the log has at an offset, as a reader has to
// see it, and whether there is one. Of two at one offset it is the first.
func (s *Scenario) Sent(offset int64) (Record, bool) {
	r, ok := s.sent[offset]
	return r, ok
}
