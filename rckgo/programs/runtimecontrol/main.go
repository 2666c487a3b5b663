// Program runtimecontrol changes what a client consumes while it runs: topics
// and partitions come and go, rest and are read again. Of each of its three
// topics it reads every record at least once.
package main

import (
	"fmt"
	"log"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rckgo/programs/internal/task"
)

func main() {
	job := task.Parse()
	first, second, third := job.Topics[0], job.Topics[1], job.Topics[2]
	each := job.Records / len(job.Topics)
	start := kgo.NewOffset().AtStart()
	client, err := kgo.NewClient(
		kgo.SeedBrokers(job.Brokers...),
		kgo.ConsumeTopics(first),
		kgo.ConsumeResetOffset(start),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.FetchMaxWait(250*time.Millisecond), // changes wait for the fetch on its way
	)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	r := reader{client: client, job: job, seen: map[string]map[int32]int{}}
	r.read(each)

	note("paused", client.PauseFetchTopics(first))
	client.AddConsumeTopics(second)
	r.read(each)
	note("consumed", client.GetConsumeTopics())

	client.AddConsumePartitions(map[string]map[int32]kgo.Offset{third: {0: start, 1: start}})
	client.UpdateFetchMaxBytes(1<<20, 1<<16)
	client.AddConsumePartitions(map[string]map[int32]kgo.Offset{third: {2: start}})
	r.read(each)

	client.RemoveConsumePartitions(map[string][]int32{third: {0}})
	r.rewind(third, 0) // not consumed any more: stays where it is
	r.rewind(third, 1)
	r.read(r.seen[third][1])

	note("paused", client.PauseFetchPartitions(map[string][]int32{second: {0}}))
	again := r.seen[second][0]
	r.rewind(second, 0)
	r.rewind(second, 1)
	r.read(r.seen[second][1])
	client.ResumeFetchPartitions(map[string][]int32{second: {0}})
	r.read(again)

	client.PurgeTopicsFromConsuming(first, third)
	client.ResumeFetchTopics(first)
	r.rewind(second, 2)
	r.read(r.seen[second][2])
	note("consumed", client.GetConsumeTopics())
}

// note prints what a call returned: topics in any order, or partitions.
func note(what string, value any) {
	if topics, ok := value.([]string); ok {
		slices.Sort(topics)
	}
	fmt.Printf("# %s: %v\n", what, value)
}
