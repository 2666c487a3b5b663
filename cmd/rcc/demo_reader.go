package main

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rcconsumer"
)

// demoReader is one of the two consumers with the records it has handed out.
type demoReader struct {
	consumer *rcconsumer.Consumer
	records  []*kgo.Record
}

func (d *demo) open(opts []kgo.Opt) (*demoReader, error) {
	opts = append(opts, d.cluster.opts...)
	opts = append(opts,
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{d.cluster.topic: {0: kgo.NewOffset().At(0)}}),
		rcconsumer.ReturnOnProgress(),
	)
	consumer, err := rcconsumer.New(opts...)
	if err != nil {
		return nil, err
	}
	return &demoReader{consumer: consumer}, nil
}

// readTo polls until the position reaches an offset and the reader knows the
// high watermark that goes with it, and returns the records that came.
func (r *demoReader) readTo(ctx context.Context, topic string, offset, high int64) ([]*kgo.Record, error) {
	first := len(r.records)
	reading, cancel := context.WithTimeout(ctx, demoTimeout)
	defer cancel()
	for {
		pos, ok := r.consumer.Position(topic, 0)
		if ok && pos.Next >= offset && pos.HighWatermark >= high {
			return r.records[first:], nil
		}
		fetches := r.consumer.PollFetches(reading)
		r.records = append(r.records, fetches.Records()...)
		if ctx.Err() != nil {
			return nil, errInterrupted
		}
		for _, e := range fetches.Errors() {
			return nil, fmt.Errorf("%s/0 at offset %d, want to reach %d: %w", topic, pos.Next, offset, e.Err)
		}
	}
}
