// Package picture draws what happened in a partition.
//
// [Timeline] is the drawing as plain data: rows, bars and marks, with a JSON
// form. [Builder] makes one from records and markers in offset order.
// [Render] turns one into text. Nothing here reads a clock, a terminal or a
// broker, so the same log gives the same picture everywhere.
package picture

// TimelineSchema names the JSON form of [Timeline]. Within a major version
// fields are only added.
const TimelineSchema = "readcommitted.timeline/1"

// State says how a bar's records ended. Its values are words of the JSON form.
type State string

// The states of a bar. Other is for control records that are neither commit
// nor abort markers: they end no transaction.
const (
	Plain     State = "plain"
	Committed State = "committed"
	Aborted   State = "aborted"
	Open      State = "open"
	Other     State = "other"
)

// Span is a run of offsets, both bounds inclusive.
type Span struct {
	First int64 `json:"first_offset"`
	Last  int64 `json:"last_offset"`
}

// Bar is one transaction, or the plain records of one producer.
type Bar struct {
	State State `json:"state"`
	// Data holds the offsets of the bar's own records, ascending and apart.
	// Offsets between two spans belong to others, or to nobody.
	Data []Span `json:"data,omitempty"`
	// MarkerOffset is where the control record stands, -1 without one.
	MarkerOffset int64 `json:"marker_offset"`
}

// Row is one line of a timeline: a producer, or all plain records.
type Row struct {
	Name string `json:"name"`
	// ProducerID is -1 for the row of plain records.
	ProducerID int64 `json:"producer_id"`
	Bars       []Bar `json:"bars"`
}

// Mark is a position to point at: a stable offset, a reader, a group.
type Mark struct {
	Name   string `json:"name"`
	Offset int64  `json:"offset"`
}

// Timeline is one partition over a range of offsets.
type Timeline struct {
	Schema    string `json:"schema"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	// StartOffset (inclusive) and EndOffset (exclusive) bound what is drawn.
	StartOffset int64  `json:"start_offset"`
	EndOffset   int64  `json:"end_offset"`
	Rows        []Row  `json:"rows"`
	Marks       []Mark `json:"marks,omitempty"`
}
