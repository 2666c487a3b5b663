package main

import (
	"context"
	"fmt"
	"log"

	"github.com/twmb/franz-go/pkg/kgo"
)

// worker works on the records of one partition, in order.
type worker struct {
	client  *kgo.Client
	style   string
	records chan []*kgo.Record
	done    chan struct{}
}

func newWorker(client *kgo.Client, style string) *worker {
	return &worker{client: client, style: style, records: make(chan []*kgo.Record, 2), done: make(chan struct{})}
}

// run works until there is nothing more to come.
func (w *worker) run() {
	defer close(w.done)
	for records := range w.records {
		for _, r := range records {
			fmt.Printf("%s %d %d %s %s\n", r.Topic, r.Partition, r.Offset, r.Key, r.Value)
			if w.style == "marks" {
				w.client.MarkCommitRecords(r)
			}
		}
		if w.style != "manual" {
			continue
		}
		if err := w.client.CommitRecords(context.Background(), records...); err != nil {
			log.Fatalf("commit: %v", err)
		}
	}
}
