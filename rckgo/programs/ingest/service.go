package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// service is the consumer: one client, and a worker for each of its partitions.
type service struct {
	config
	log    *slog.Logger
	client *kgo.Client
	sink   *sink

	sessions atomic.Int64 // numbers the times that a partition was begun
	pauses   atomic.Int64

	mu      sync.Mutex
	workers map[topicPartition]*worker
}

type topicPartition struct {
	topic     string
	partition int32
}

func (tp topicPartition) set() map[string][]int32 {
	return map[string][]int32{tp.topic: {tp.partition}}
}

func newService(c config, out io.Writer, log *slog.Logger) (*service, error) {
	s := &service{config: c, log: log, workers: map[topicPartition]*worker{}, sink: newSink(out, c.lanes, c.delay)}
	var err error
	s.client, err = kgo.NewClient(
		kgo.SeedBrokers(list(c.brokers)...),
		kgo.ClientID("ingest"),
		kgo.ConsumeTopics(list(c.topics)...),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumerGroup(c.group),
		kgo.SessionTimeout(c.session),
		kgo.RebalanceTimeout(c.rebalance),
		kgo.HeartbeatInterval(min(3*time.Second, c.session/5)),
		kgo.AutoCommitMarks(),
		kgo.AutoCommitInterval(c.interval),
		// Between a poll and the hand-out of its records no worker may go.
		kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(s.assigned),
		kgo.OnPartitionsRevoked(s.revoked),
		kgo.OnPartitionsLost(s.lost),
		kgo.AdjustFetchOffsetsFn(s.begins),
	)
	return s, err
}

// run ingests until the context ends, or the destination fails.
func (s *service) run(ctx context.Context) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	s.sink.start(fail)
	total := s.pollUntil(ctx)
	// Leaving the group revokes all partitions: what is on its way is written,
	// marked and committed.
	s.client.CloseAllowingRebalance()
	s.sink.close()
	if err := s.sink.failure(); err != nil {
		return err
	}
	s.log.Info("stopped", "polled", total, "pauses", s.pauses.Load())
	return nil
}

// pollUntil hands records out until the context ends, and returns how many.
func (s *service) pollUntil(ctx context.Context) (total int) {
	wait := backoff{least: 100 * time.Millisecond, most: 5 * time.Second}
	for {
		fetches := s.client.PollRecords(ctx, s.poll)
		if ctx.Err() != nil || fetches.IsClientClosed() {
			return total // what this poll gave is not marked: another member reads it
		}
		failed := s.report(fetches)
		fetches.EachPartition(s.dispatch)
		total += fetches.NumRecords()
		s.client.AllowRebalance()
		switch {
		case !fetches.Empty():
			wait.reset()
		case failed:
			wait.sleep(ctx)
		}
	}
}

// report logs a poll's errors. The client goes on trying by itself.
func (s *service) report(fetches kgo.Fetches) (failed bool) {
	fetches.EachError(func(topic string, partition int32, err error) {
		failed = true
		var loss *kgo.ErrDataLoss
		var session *kgo.ErrGroupSession
		switch {
		case errors.As(err, &loss):
			s.log.Error("records were lost", "topic", topic, "partition", partition, "error", err)
		case errors.As(err, &session):
			s.log.Warn("out of the group for a while", "error", err)
		default:
			s.log.Error("fetch", "topic", topic, "partition", partition, "error", err)
		}
	})
	return failed
}

// dispatch gives a partition's records to its worker. It does not wait for it.
func (s *service) dispatch(p kgo.FetchTopicPartition) {
	if len(p.Records) == 0 {
		return
	}
	tp := topicPartition{p.Topic, p.Partition}
	s.mu.Lock()
	w := s.workers[tp]
	s.mu.Unlock()
	if w == nil { // not marked, so nothing is lost
		s.log.Error("records without an assignment", "topic", tp.topic, "partition", tp.partition, "offset", p.Records[0].Offset)
		return
	}
	if w.enqueue(p.Records) {
		s.pauses.Add(1)
	}
}

// backoff spaces out polls that give nothing but errors.
type backoff struct{ least, most, next time.Duration }

func (b *backoff) reset() { b.next = 0 }

func (b *backoff) sleep(ctx context.Context) {
	b.next = min(max(2*b.next, b.least), b.most)
	select {
	case <-ctx.Done():
	case <-time.After(b.next):
	}
}
