package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// action is what a step of a script does.
type action int

const (
	send   action = iota // write records, beginning a transaction if none is open
	commit               // end the producer's transaction
	abort
)

// step is one line of a script: what one producer does next.
type step struct {
	producer string
	action   action
	records  int
}

// plainProducer is the name of the producer without transactions.
const plainProducer = "plain"

// written is one batch that a script wrote.
type written struct {
	producer    string
	first, last int64  // offsets, inclusive
	outcome     string // plain, open, committed, aborted
}

// script writes one partition step by step and remembers what it wrote, so
// that a reader can be held against it. After every step it waits until the
// brokers show the step's effect: on Kafka before 4.0 a transaction's end
// returns before its marker can be seen.
type script struct {
	topic   string
	prefix  string // of transactional IDs
	opts    []kgo.Opt
	admin   *kadm.Client
	clients map[string]*producer
	batches []written
	markers int64
	high    int64 // high watermark after the last step
	next    int   // number of the next record
}

func newScript(topic, prefix string, admin *kadm.Client, opts []kgo.Opt) *script {
	return &script{topic: topic, prefix: prefix, admin: admin, opts: opts, clients: make(map[string]*producer)}
}

// play runs the steps in order.
func (s *script) play(ctx context.Context, steps ...step) error {
	for _, st := range steps {
		if err := s.step(ctx, st); err != nil {
			return fmt.Errorf("writing as %s: %w", st.producer, err)
		}
	}
	return nil
}

func (s *script) step(ctx context.Context, st step) error {
	client, err := s.client(st.producer)
	if err != nil {
		return err
	}
	if st.action == send {
		return s.send(ctx, client, st)
	}
	end, outcome := kgo.TryCommit, "committed"
	if st.action == abort {
		end, outcome = kgo.TryAbort, "aborted"
	}
	if err := client.EndTransaction(ctx, end); err != nil {
		return err
	}
	for i := range s.batches {
		if b := &s.batches[i]; b.producer == st.producer && b.outcome == "open" {
			b.outcome = outcome
		}
	}
	s.markers++
	s.high++
	return s.settled(ctx)
}

// send writes one batch.
func (s *script) send(ctx context.Context, client *producer, st step) error {
	outcome := "plain"
	if st.producer != plainProducer {
		outcome = "open"
		if !s.open(st.producer) {
			if err := client.BeginTransaction(); err != nil {
				return err
			}
		}
	}
	records := make([]*kgo.Record, st.records)
	for i := range records {
		records[i] = s.record(st.producer)
	}
	if err := client.send(ctx, records); err != nil {
		return err
	}
	last := records[len(records)-1].Offset
	s.batches = append(s.batches, written{producer: st.producer, first: records[0].Offset, last: last, outcome: outcome})
	s.high = last + 1
	return nil
}

func (s *script) record(producer string) *kgo.Record {
	s.next++
	n := strconv.Itoa(s.next)
	return &kgo.Record{Topic: s.topic, Partition: 0, Key: []byte(producer), Value: []byte("record " + n)}
}

// client returns the producer's own client, made at its first step.
func (s *script) client(name string) (*producer, error) {
	if client, ok := s.clients[name]; ok {
		return client, nil
	}
	opts := s.opts
	if name != plainProducer {
		opts = append(slices.Clone(opts), kgo.TransactionalID(s.prefix+name), kgo.TransactionTimeout(time.Minute))
	}
	client, err := newProducer(opts)
	if err != nil {
		return nil, err
	}
	s.clients[name] = client
	return client, nil
}

func (s *script) open(producer string) bool {
	for _, b := range s.batches {
		if b.producer == producer && b.outcome == "open" {
			return true
		}
	}
	return false
}

// stable is the last stable offset that follows from what was written.
func (s *script) stable() int64 {
	for _, b := range s.batches {
		if b.outcome == "open" {
			return b.first
		}
	}
	return s.high
}

// settled waits until the brokers report the offsets that follow from what
// was written.
func (s *script) settled(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		high, err := s.listed(ctx, s.admin.ListEndOffsets)
		if err != nil {
			return err
		}
		stable, err := s.listed(ctx, s.admin.ListCommittedOffsets)
		if err != nil {
			return err
		}
		if high >= s.high && stable >= s.stable() {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("a marker does not show: high watermark %d, want %d; last stable offset %d, want %d: %w", high, s.high, stable, s.stable(), ctx.Err())
		case <-tick.C:
		}
	}
}

func (s *script) listed(ctx context.Context, list func(context.Context, ...string) (kadm.ListedOffsets, error)) (int64, error) {
	offsets, err := list(ctx, s.topic)
	if err != nil {
		return 0, err
	}
	o, ok := offsets.Lookup(s.topic, 0)
	if !ok {
		return 0, fmt.Errorf("no offsets of %s/0", s.topic)
	}
	return o.Offset, o.Err
}

// close ends transactions that are still open, so that no coordinator has to
// wait for their timeout, and closes the clients.
func (s *script) close(ctx context.Context) {
	for name, client := range s.clients {
		if name != plainProducer && s.open(name) {
			_ = client.EndTransaction(ctx, kgo.TryAbort) // the timeout does the same, later
		}
		client.Close()
	}
}
