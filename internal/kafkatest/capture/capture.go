// Package capture holds what a real broker once sent for one partition, with
// what the bytes say: fixtures that no code of this module has made.
// testdata/captures has the files and their format.
package capture

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Capture is one partition of one Fetch response.
type Capture struct {
	Name string // file name without extension
	Doc  string // what it is, which broker, how it was made

	// Bytes is the records field as it came: whole batches, then maybe a tail.
	Bytes []byte

	FetchOffset      int64 // of the request, inclusive
	IsolationLevel   int8  // of the request: 0 read_uncommitted, 1 read_committed
	LogStartOffset   int64 // inclusive
	LastStableOffset int64 // exclusive
	HighWatermark    int64 // exclusive

	// Aborted is the list of aborted transactions in wire order; nil is null,
	// as at read_uncommitted.
	Aborted []AbortedTransaction

	Batches []Batch // the whole batches in Bytes, in order
	Tail    int     // bytes at the end of Bytes that are part of a batch

	// Visible are the offsets that a reader at IsolationLevel is given, from
	// FetchOffset on, known from how the log was written.
	Visible []int64
}

// AbortedTransaction is an entry of the list; the first offset is inclusive.
type AbortedTransaction struct{ ProducerID, FirstOffset int64 }

// Batch is a record batch as kmsg reads it. Offsets are inclusive.
type Batch struct {
	BaseOffset, LastOffset int64
	PartitionLeaderEpoch   int32
	ProducerID             int64
	ProducerEpoch          int16
	BaseSequence           int32
	Codec                  string // none, gzip, snappy, lz4 or zstd
	Transactional          bool
	Control                bool
	LogAppendTime          bool
	DeleteHorizon          bool  // the base timestamp is a delete horizon (KIP-534)
	BaseTimestamp          int64 // milliseconds since the epoch
	MaxTimestamp           int64
	Size                   int // bytes on the wire
	Records                []Record
}

// Record is a record of a batch, a control record too.
type Record struct {
	Offset         int64
	TimestampDelta int64 // as on the wire, also where the batch has an append time
	Key, Value     []byte
	Headers        []Header
}

// Header is a record header; a nil value is null.
type Header struct {
	Key   string
	Value []byte
}

// Load reads every capture of a directory, in the order of their names.
func Load(dir fs.FS) ([]Capture, error) {
	names, err := fs.Glob(dir, "*.hex")
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("capture: no *.hex file: %w", fs.ErrNotExist)
	}
	captures := make([]Capture, 0, len(names))
	for _, name := range names {
		text, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, err
		}
		c, err := Parse(strings.TrimSuffix(path.Base(name), ".hex"), text)
		if err != nil {
			return nil, err
		}
		captures = append(captures, c)
	}
	return captures, nil
}
