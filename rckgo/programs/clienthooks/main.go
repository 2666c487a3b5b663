// Program clienthooks has hooks that are given the client when it begins and
// when it ends, beside hooks that are not.
package main

import (
	"context"
	"fmt"
	"log"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rckgo/programs/internal/task"
)

// lifetime follows a client from its beginning to its end, with its records.
type lifetime struct {
	client           atomic.Pointer[kgo.Client]
	opened, closed   atomic.Int32
	buffered, polled atomic.Int32
}

var (
	_ kgo.HookNewClient             = (*lifetime)(nil)
	_ kgo.HookClientClosed          = (*lifetime)(nil)
	_ kgo.HookFetchRecordBuffered   = (*lifetime)(nil)
	_ kgo.HookFetchRecordUnbuffered = (*lifetime)(nil)
)

func (l *lifetime) OnNewClient(client *kgo.Client) {
	l.opened.Add(1)
	l.client.Store(client)
}

func (l *lifetime) OnClientClosed(client *kgo.Client) {
	if client != l.client.Load() {
		log.Fatal("another client was closed than was opened")
	}
	l.closed.Add(1)
}

func (l *lifetime) OnFetchRecordBuffered(*kgo.Record) { l.buffered.Add(1) }

func (l *lifetime) OnFetchRecordUnbuffered(_ *kgo.Record, polled bool) {
	if polled {
		l.polled.Add(1)
	}
}

// polls counts what is asked of a client.
type polls struct{ atomic.Int32 }

func (p *polls) OnPollStart(context.Context) { p.Add(1) }

func main() {
	job := task.Parse()
	ctx, cancel := job.Context()
	defer cancel()
	life, asked := new(lifetime), new(polls)
	opts := []kgo.Opt{
		kgo.SeedBrokers(job.Brokers...),
		kgo.ConsumeTopics(job.Topics...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.WithHooks(life, asked),
	}
	if _, err := kgo.NewClient(opts...); err != nil {
		log.Fatal(err)
	}
	client := life.client.Load() // as the hook got it
	for total := 0; total < job.Records; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			log.Fatalf("after %d records: %v", total, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			fmt.Printf("%s %d %d %s %s\n", r.Topic, r.Partition, r.Offset, r.Key, r.Value)
		})
		total += fetches.NumRecords()
	}
	client.Close()
	fmt.Printf("# opened %d, closed %d\n", life.opened.Load(), life.closed.Load())
	fmt.Printf("# records buffered %d, polled %d\n", life.buffered.Load(), life.polled.Load())
	fmt.Printf("# polls seen: %v\n", asked.Load() > 0)
}
