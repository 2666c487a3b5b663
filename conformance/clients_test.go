package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/model"
)

// flaw is what is wrong with a reader in tests.
type flaw string

const (
	leaks    flaw = "hands out aborted records"
	loses    flaw = "loses a committed record"
	stops    flaw = "stops at a marker"
	repeats  flaw = "hands out a record twice"
	circles  flaw = "begins anew at the end"
	alters   flaw = "alters a value"
	crashes  flaw = "crashes at a marker"
	panics   flaw = "panics at a marker"
	misleads flaw = "tells the high watermark for its end"
	accuses  flaw = "sees contradictions that are none"
	absent   flaw = "cannot be opened"
)

// fakeReader is a reader for tests: the Java rule over raw answers, with a flaw
// or none.
type fakeReader struct {
	seeds []string
	flaw  flaw
}

func (f *fakeReader) Name() string { return "fake" }

func (f *fakeReader) Open(ctx context.Context, from Assignment) (Session, error) {
	if f.flaw == absent {
		return nil, errors.New("no such client")
	}
	opts := []kgo.Opt{kgo.SeedBrokers(f.seeds...)}
	if from.Dial != nil {
		opts = append(opts, kgo.Dialer(from.Dial))
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, err
	}
	s := &fakeSession{
		flaw: f.flaw, client: client, from: from, life: ctx,
		state: State{Position: from.Offset, End: -1, Lag: -1}, handedOut: map[int64]bool{},
	}
	if err := s.find(ctx); err != nil {
		client.Close()
		return nil, err
	}
	return s, nil
}

func (f *fakeReader) Replay(from Assignment, answer *kmsg.FetchResponseTopicPartition) ([]Delivered, error) {
	s := &fakeSession{flaw: f.flaw, from: from, handedOut: map[int64]bool{}}
	return s.take(answer)
}

type fakeSession struct {
	life    context.Context //nolint:containedctx // a Fetch outlives the call that began it
	flaw    flaw
	client  *kgo.Client
	from    Assignment
	leader  int32
	topicID [16]byte

	state     State
	stopped   bool
	handed    int
	handedOut map[int64]bool // producer IDs since their last marker
}

func (s *fakeSession) find(ctx context.Context) error {
	req := kmsg.NewPtrMetadataRequest()
	topic := kmsg.NewMetadataRequestTopic()
	topic.Topic = &s.from.Topic
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(ctx, s.client)
	if err != nil {
		return err
	}
	s.topicID = resp.Topics[0].TopicID
	for _, p := range resp.Topics[0].Partitions {
		if p.Partition == s.from.Partition {
			s.leader = p.Leader
		}
	}
	return nil
}

func (s *fakeSession) Next(ctx context.Context) ([]Delivered, error) {
	for ctx.Err() == nil {
		if s.stopped {
			<-ctx.Done()
			break
		}
		resp, err := s.client.Broker(int(s.leader)).Request(s.life, s.request())
		if err != nil {
			return nil, err
		}
		topics := resp.(*kmsg.FetchResponse).Topics
		if len(topics) == 0 {
			continue
		}
		got, err := s.take(&topics[0].Partitions[0])
		if len(got) > 0 || err != nil {
			return got, err
		}
	}
	return nil, nil
}

func (s *fakeSession) request() *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = 20, 1, 50<<20, -1
	if s.from.Committed {
		req.IsolationLevel = model.ReadCommitted
	}
	partition := kmsg.NewFetchRequestTopicPartition()
	partition.Partition, partition.FetchOffset, partition.PartitionMaxBytes = s.from.Partition, s.state.Position, 1<<20
	partition.CurrentLeaderEpoch, partition.LogStartOffset = -1, -1
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.TopicID = s.from.Topic, s.topicID
	topic.Partitions = append(topic.Partitions, partition)
	req.Topics = append(req.Topics, topic)
	return req
}

// take applies the rule to one answer, and the flaw to what comes of it.
func (s *fakeSession) take(answer *kmsg.FetchResponseTopicPartition) ([]Delivered, error) {
	v := newView(model.Partition{Topic: s.from.Topic, Index: s.from.Partition}, answer)
	switch {
	case v.ErrorCode != 0:
		return nil, errors.New(codeName(v.ErrorCode))
	case v.Problem != nil:
		return nil, v.Problem
	}
	if !s.from.Committed || s.flaw == leaks {
		v.List = nil
	}
	v.FetchOffset = s.state.Position
	offsets, err := model.Deliver(v.List, v.Batches, v.FetchOffset)
	if err != nil {
		return nil, err
	}
	got, err := recordsAt(v.Batches, offsets)
	if err != nil {
		return nil, err
	}
	s.tell(v)
	s.audit(v, offsets)
	return s.spoil(v, got)
}

func (s *fakeSession) tell(v *model.View) {
	s.state.Position, s.state.End = v.End(), v.LastStableOffset
	if !s.from.Committed || s.flaw == misleads {
		s.state.End = v.HighW
	}
	s.state.Lag = s.state.End - s.state.Position
}

// audit compares what is handed out with the markers behind it.
func (s *fakeSession) audit(v *model.View, offsets []int64) {
	for i := range v.Batches {
		b := &v.Batches[i]
		switch {
		case b.Kind == model.AbortMarker && s.handedOut[b.ProducerID] && s.from.Committed && s.flaw != leaks,
			b.Kind == model.CommitMarker && s.flaw == accuses:
			s.state.Anomalies = append(s.state.Anomalies, fmt.Sprintf("leaked %s@%d pid %d", v.Partition, b.Base, b.ProducerID))
		}
		if b.Control() {
			delete(s.handedOut, b.ProducerID)
		}
		for _, o := range offsets {
			if b.Transactional() && !b.Control() && b.Base <= o && o <= b.Last {
				s.handedOut[b.ProducerID] = true
			}
		}
	}
}

func (s *fakeSession) spoil(v *model.View, got []Delivered) ([]Delivered, error) {
	marker := int64(-1)
	for i := range v.Batches {
		if marker < 0 && v.Batches[i].Control() {
			marker = v.Batches[i].Base
		}
	}
	before := s.handed
	s.handed += len(got)
	switch {
	case s.flaw == loses && before == 0 && len(got) > 1:
		return got[1:], nil
	case s.flaw == repeats && before == 0 && len(got) > 0:
		return append([]Delivered{got[0]}, got...), nil
	case s.flaw == circles && v.End() == v.LastStableOffset:
		s.state.Position = s.from.Offset
	case s.flaw == alters && len(got) > 0 && len(got[0].Value) > 0:
		got[0].Value = append([]byte("x"), got[0].Value[1:]...)
	case s.flaw == crashes && marker >= 0:
		return nil, errors.New("no records in batch")
	case s.flaw == panics && marker >= 0:
		panic("index out of range")
	case s.flaw == stops && marker >= 0:
		s.stopped = true
		kept := got[:0]
		for _, d := range got {
			if d.Offset < marker {
				kept = append(kept, d)
			}
		}
		s.state.Position = marker
		return kept, nil
	}
	return got, nil
}

func (s *fakeSession) State() State { return s.state }

func (s *fakeSession) Close() { s.client.Close() }
