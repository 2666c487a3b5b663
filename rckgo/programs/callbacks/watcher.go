package main

import (
	"context"
	"fmt"
	"log"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// watcher has a callback for everything that a group does, and keeps what each
// of them saw.
type watcher struct {
	automatic chan struct{} // closed with the first auto-commit

	mu     sync.Mutex
	counts map[string]int
	first  sync.Once
}

func newWatcher() *watcher {
	return &watcher{automatic: make(chan struct{}), counts: map[string]int{}}
}

func (w *watcher) add(what string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[what] += n
}

func (w *watcher) assigned(_ context.Context, client *kgo.Client, partitions map[string][]int32) {
	if id, generation := client.GroupMetadata(); id == "" || generation < 0 {
		log.Fatalf("assigned as member %q of generation %d", id, generation)
	}
	for _, ps := range partitions {
		w.add("assigned", len(ps))
	}
}

func (w *watcher) revoked(ctx context.Context, client *kgo.Client, partitions map[string][]int32) {
	for _, ps := range partitions {
		w.add("revoked", len(ps))
	}
	if err := client.CommitUncommittedOffsets(ctx); err != nil {
		log.Fatalf("commit of what is revoked: %v", err)
	}
}

func (w *watcher) lost(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
	w.add("lost", len(partitions))
}

func (w *watcher) blocked(_ context.Context, client *kgo.Client) { client.AllowRebalance() }

func (w *watcher) fetched(_ context.Context, client *kgo.Client, resp *kmsg.OffsetFetchResponse) error {
	if len(client.GetConsumeTopics()) == 0 {
		return fmt.Errorf("nothing is consumed")
	}
	for _, group := range resp.Groups {
		for _, topic := range group.Topics {
			w.add("fetched", len(topic.Partitions))
		}
	}
	return nil
}

func (w *watcher) committed(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
	w.check(resp, err)
	w.first.Do(func() { close(w.automatic) })
}

// named is the callback of one commit.
func (w *watcher) named(done func()) func(*kgo.Client, *kmsg.OffsetCommitRequest, *kmsg.OffsetCommitResponse, error) {
	return func(client *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
		w.check(resp, err)
		if len(client.CommittedOffsets()) == 0 {
			log.Fatal("nothing counts as committed after a commit")
		}
		w.add("named commits", 1)
		done()
	}
}

func (w *watcher) check(resp *kmsg.OffsetCommitResponse, err error) {
	if err != nil {
		log.Fatalf("commit: %v", err)
	}
	for _, topic := range resp.Topics {
		for _, p := range topic.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				log.Fatalf("commit of %s/%d: %v", topic.Topic, p.Partition, err)
			}
		}
	}
}

func (w *watcher) report() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for what, n := range w.counts {
		fmt.Printf("# %s: %d\n", what, n)
	}
}
