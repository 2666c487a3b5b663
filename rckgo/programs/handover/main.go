// Program handover has two members of one group read side by side: the second
// one comes when a third of the records is read, the first one goes when two
// thirds are. Every poll is committed before its partitions may move, so that
// each record is worked on once. Its flag -style names the balancer.
package main

import (
	"context"
	"log"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rckgo/programs/internal/task"
)

var balancers = map[string][]kgo.GroupOpt{
	"cooperative": {kgo.Balancers(kgo.CooperativeStickyBalancer())},
	"eager":       {kgo.Balancers(kgo.RangeBalancer())},
	"server":      {kgo.Balancers(kgo.RangeBalancer()), kgo.ServerSideBalancer()},
}

func main() {
	job := task.Parse()
	ctx, cancel := job.Context()
	defer cancel()
	var read tally
	first, second := newMember(job), newMember(job)
	first.open()
	first.read(ctx, &read, job.Records/3)
	second.open()
	await(ctx, second.has)

	var reading sync.WaitGroup
	reading.Go(func() {
		first.read(ctx, &read, job.Records*2/3)
		first.client.CloseAllowingRebalance()
	})
	reading.Go(func() { second.read(ctx, &read, job.Records) })
	reading.Wait()

	quiet, stop := context.WithTimeout(ctx, job.Quiet)
	defer stop()
	second.read(quiet, &read, job.Records+1)
	second.client.CloseAllowingRebalance()
}

func await(ctx context.Context, done <-chan struct{}) {
	select {
	case <-done:
	case <-ctx.Done():
		log.Fatal("the second member got no partition")
	}
}
