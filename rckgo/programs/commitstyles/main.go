// Program commitstyles consumes in a group and commits in the way that its flag
// names. At the end it asks an admin client, made from the same client, for the
// group's lag.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rckgo/programs/internal/task"
)

func main() {
	job := task.Parse()
	ctx, cancel := job.Context()
	defer cancel()
	style, ok := styles[job.Style]
	if !ok {
		log.Fatalf("no such style of committing: %q", job.Style)
	}
	client, err := kgo.NewClient(append(style.options(job),
		kgo.SeedBrokers(job.Brokers...),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()))...)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	if style.prepare != nil {
		style.prepare(ctx, client, admin, job)
	}
	for total := 0; ; {
		fetches := poll(ctx, client, job, total >= job.Records)
		if fetches.Empty() {
			break
		}
		fetches.EachRecord(func(r *kgo.Record) {
			fmt.Printf("%s %d %d %s %s\n", r.Topic, r.Partition, r.Offset, r.Key, r.Value)
		})
		total += fetches.NumRecords()
		if err := style.commit(ctx, client, admin, job, fetches); err != nil {
			log.Fatalf("commit after %d records: %v", total, err)
		}
	}
	if err := style.commit(ctx, client, admin, job, nil); err != nil {
		log.Fatalf("last commit: %v", err)
	}
	client.LeaveGroup()
	lags, err := admin.Lag(ctx, job.Group)
	if err == nil {
		err = lags.Error()
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("~ lag %d\n", lags[job.Group].Lag.Total())
}

// poll returns what comes next. With last it returns nothing if nothing comes
// for a while.
func poll(ctx context.Context, client *kgo.Client, job task.Task, last bool) kgo.Fetches {
	wait := ctx
	if last {
		var cancel context.CancelFunc
		wait, cancel = context.WithTimeout(ctx, job.Quiet)
		defer cancel()
	}
	fetches := client.PollFetches(wait)
	if err := fetches.Err(); err != nil && (wait.Err() == nil || ctx.Err() != nil) {
		log.Fatal(err)
	}
	if last && wait.Err() != nil && fetches.NumRecords() == 0 {
		return nil
	}
	return fetches
}
