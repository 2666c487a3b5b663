// Program service keeps its client in a struct, behind an interface that its
// author declared for tests.
package main

import (
	"context"
	"log"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rckgo/programs/internal/task"
)

func main() {
	job := task.Parse()
	ctx, cancel := job.Context()
	defer cancel()
	rehearse(ctx)
	s, err := newService(job)
	if err != nil {
		log.Fatal(err)
	}
	defer s.source.CloseAllowingRebalance()
	if err := s.run(ctx, job); err != nil {
		log.Fatal(err)
	}
}

// rehearse runs the service on records that come from no broker.
func rehearse(ctx context.Context) {
	s := &service{source: &canned{fetches: kgo.Fetches{{Topics: []kgo.FetchTopic{{
		Topic: "canned",
		Partitions: []kgo.FetchPartition{{
			Partition: 1,
			Records:   []*kgo.Record{{Topic: "canned", Partition: 1, Offset: 7, Key: []byte("k"), Value: []byte("v")}},
		}},
	}}}}}, prefix: "# "}
	if err := s.run(ctx, task.Task{Records: 1, Quiet: time.Second}); err != nil {
		log.Fatal(err)
	}
}

// canned is a source that returns the same fetches once, and nothing after.
type canned struct{ fetches kgo.Fetches }

func (c *canned) PollRecords(ctx context.Context, _ int) kgo.Fetches {
	fetches := c.fetches
	c.fetches = kgo.NewErrFetch(context.DeadlineExceeded)
	return fetches
}
func (*canned) AllowRebalance()                                {}
func (*canned) CommitUncommittedOffsets(context.Context) error { return nil }
func (*canned) CloseAllowingRebalance()                        {}
