package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance"
	"example.com/readcommitted/rcconsumer"
)

// checkClients are the readers that a check judges beside the cluster: ours,
// and kgo's as it comes. opts say how to reach the cluster.
func checkClients(opts []kgo.Opt) []conformance.Client {
	return []conformance.Client{&ownClient{opts}, &kgoClient{opts}}
}

// readingOptions make a client read what it is assigned to.
func readingOptions(opts []kgo.Opt, from conformance.Assignment) []kgo.Opt {
	start := kgo.NewOffset().At(from.Offset)
	opts = slices.Clone(opts)
	if from.MaxWait > 0 {
		opts = append(opts, kgo.FetchMaxWait(from.MaxWait))
	}
	if from.Dial != nil {
		opts = append(opts, kgo.Dialer(from.Dial), kgo.DialTLSConfig(nil)) // it does TLS itself
	}
	return append(opts,
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{from.Topic: {from.Partition: start}}),
		kgo.FetchIsolationLevel(isolation(from.Committed)))
}

func isolation(committed bool) kgo.IsolationLevel {
	if committed {
		return kgo.ReadCommitted()
	}
	return kgo.ReadUncommitted()
}

// ownClient is [rcconsumer.Consumer] under judgement.
type ownClient struct{ opts []kgo.Opt }

func (*ownClient) Name() string { return "rcconsumer" }

func (c *ownClient) Open(_ context.Context, from conformance.Assignment) (conformance.Session, error) {
	s := &ownSession{from: from}
	consumer, err := rcconsumer.New(append(readingOptions(c.opts, from), rcconsumer.WithHooks(s))...)
	if err != nil {
		return nil, err
	}
	s.consumer = consumer
	return s, nil
}

func (*ownClient) Replay(from conformance.Assignment, answer *kmsg.FetchResponseTopicPartition) ([]conformance.Delivered, error) {
	fetched, _, _ := rcconsumer.ProcessFetchPartition(rcconsumer.PassOptions{
		Topic: from.Topic, Partition: from.Partition, Offset: from.Offset, ReadUncommitted: !from.Committed,
	}, answer)
	return deliveredRecords(fetched.Records), fetched.Err
}

// ownSession is its own hook.
type ownSession struct {
	consumer *rcconsumer.Consumer
	from     conformance.Assignment

	mu        sync.Mutex
	anomalies []string
}

// OnAnomaly is [rcconsumer.HookAnomaly].
func (s *ownSession) OnAnomaly(a rcconsumer.Anomaly) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.anomalies = append(s.anomalies, fmt.Sprintf("%s: %s/%d at offset %d, producer ID %d: %s",
		a.Kind, a.Topic, a.Partition, a.Offset, a.ProducerID, a.Detail))
}

func (s *ownSession) Next(ctx context.Context) ([]conformance.Delivered, error) {
	return nextRecords(ctx, s.consumer)
}

// SeekTo is [conformance.Seeker].
func (s *ownSession) SeekTo(offset int64) { s.consumer.SetOffsets(seekTo(s.from, offset)) }

func (s *ownSession) State() conformance.State {
	state := conformance.State{Position: -1, End: -1, Lag: -1}
	if p, ok := s.consumer.Position(s.from.Topic, s.from.Partition); ok {
		state.Position, state.End = p.Next, p.LastStableOffset
		if !s.from.Committed {
			state.End = p.HighWatermark
		}
		if state.End >= 0 {
			state.Lag = p.ReadableLag()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	state.Anomalies = slices.Clone(s.anomalies)
	return state
}

func (s *ownSession) Close() { s.consumer.Close() }

// kgoClient is [kgo.Client] under judgement. It tells nothing of where it is.
type kgoClient struct{ opts []kgo.Opt }

func (*kgoClient) Name() string { return "kgo" }

func (c *kgoClient) Open(_ context.Context, from conformance.Assignment) (conformance.Session, error) {
	client, err := kgo.NewClient(readingOptions(c.opts, from)...)
	if err != nil {
		return nil, err
	}
	return &kgoSession{client, from}, nil
}

func (*kgoClient) Replay(from conformance.Assignment, answer *kmsg.FetchResponseTopicPartition) ([]conformance.Delivered, error) {
	fetched, _ := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
		Topic: from.Topic, Partition: from.Partition, Offset: from.Offset, IsolationLevel: isolation(from.Committed),
	}, answer, kgo.DefaultDecompressor(), nil)
	return deliveredRecords(fetched.Records), fetched.Err
}

type kgoSession struct {
	client *kgo.Client
	from   conformance.Assignment
}

func (s *kgoSession) Next(ctx context.Context) ([]conformance.Delivered, error) {
	return nextRecords(ctx, s.client)
}

// SeekTo is [conformance.Seeker].
func (s *kgoSession) SeekTo(offset int64) { s.client.SetOffsets(seekTo(s.from, offset)) }

func (*kgoSession) State() conformance.State {
	return conformance.State{Position: -1, End: -1, Lag: -1}
}

func (s *kgoSession) Close() { s.client.Close() }

func seekTo(from conformance.Assignment, offset int64) map[string]map[int32]kgo.EpochOffset {
	return map[string]map[int32]kgo.EpochOffset{from.Topic: {from.Partition: {Epoch: -1, Offset: offset}}}
}

// poller is what both clients are polled by.
type poller interface {
	PollFetches(ctx context.Context) kgo.Fetches
}

// nextRecords polls once. The end of ctx is no error.
func nextRecords(ctx context.Context, from poller) ([]conformance.Delivered, error) {
	fetches := from.PollFetches(ctx)
	var failed error
	for _, e := range fetches.Errors() {
		if ctx.Err() == nil || !errors.Is(e.Err, ctx.Err()) {
			failed = errors.Join(failed, e.Err)
		}
	}
	return deliveredRecords(fetches.Records()), failed
}

func deliveredRecords(records []*kgo.Record) []conformance.Delivered {
	out := make([]conformance.Delivered, len(records))
	for i, r := range records {
		out[i] = conformance.Delivered{Offset: r.Offset, Key: r.Key, Value: r.Value}
	}
	return out
}
