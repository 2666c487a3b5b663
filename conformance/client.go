package conformance

import (
	"context"
	"net"
	"time"
)

// Client is a reader under judgement, such as a consumer library. Scenarios of
// family C compare what it delivers with the log.
type Client interface {
	// Name names the client in reports.
	Name() string
	// Open begins to read.
	Open(ctx context.Context, from Assignment) (Session, error)
}

// Assignment is what a client is to read.
type Assignment struct {
	Topic     string
	Partition int32
	Offset    int64 // where to begin
	Committed bool  // at read_committed, else at read_uncommitted

	// Dial makes the client's connections, TLS included; nil: it makes them
	// itself.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// MaxWait is how long a Fetch may wait at the broker for something to come;
	// 0: as long as the client has it by default.
	MaxWait time.Duration
}

// Session is a client that reads one partition.
type Session interface {
	// Next waits for records and returns some of them, in order; none, and no
	// error, if the context ended first. The records stay as they are.
	Next(ctx context.Context) ([]Delivered, error)
	// State is where the reader stands, as it says itself.
	State() State
	// Close ends the reading.
	Close()
}

// Delivered is a record as a client handed it out.
type Delivered struct {
	Offset     int64
	Key, Value []byte
}

// State is where a reader stands, as it says itself; -1 for what a client does
// not tell.
type State struct {
	Position int64 // one past what it has passed, invisible batches included
	End      int64 // the end offset that it measures its lag by
	Lag      int64

	// Anomalies are contradictions in the broker's answers that it noticed.
	Anomalies []string
}
