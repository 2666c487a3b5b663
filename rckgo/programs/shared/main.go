// Program shared gives its client to a package of its own, which reads with it.
package main

import (
	"fmt"
	"log"

	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rckgo/programs/internal/task"
	"example.com/readcommitted/rckgo/programs/shared/reader"
)

func main() {
	job := task.Parse()
	ctx, cancel := job.Context()
	defer cancel()
	client, err := kgo.NewClient(append(reader.Options(job.Group, job.Topics), kgo.SeedBrokers(job.Brokers...))...)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	err = reader.Read(ctx, client, job.Records, job.Quiet, func(r *kgo.Record) {
		fmt.Printf("%s %d %d %s %s\n", r.Topic, r.Partition, r.Offset, r.Key, r.Value)
	})
	if err != nil {
		log.Fatal(err)
	}
}
