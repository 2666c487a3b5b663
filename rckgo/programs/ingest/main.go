// Command ingest copies the records of topics to a file, one JSON line for each,
// as a member of a consumer group.
//
// It is built like the consumers of data pipelines: the poll loop only hands
// records out, every partition has a worker with a bounded queue, a partition
// whose queue is full is paused, and records are marked for the next commit in
// their order, though the destination confirms them in any order. What a line
// tells was written before its record is marked: a record is ingested at least
// once.
//
// SIGTERM and SIGINT end it in an orderly way with exit code 0; a second signal
// ends it at once. The exit code is 1 after an error, 2 for wrong usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// config is what the command line says.
type config struct {
	brokers, topics, group, out string
	session                     time.Duration // the group's session timeout
	rebalance                   time.Duration // the most that members may take to give partitions up
	interval                    time.Duration // between commits
	poll                        int           // most records of one poll
	queue                       int           // records waiting for a partition's worker at which the partition is paused
	lanes                       int           // writers to the file
	delay                       time.Duration // longest time a write is held back
}

func (c *config) register(f *flag.FlagSet) {
	f.StringVar(&c.brokers, "brokers", "127.0.0.1:9092", "`addresses` of brokers, with commas between")
	f.StringVar(&c.topics, "topics", "", "`names` of topics, with commas between")
	f.StringVar(&c.group, "group", "", "consumer group")
	f.StringVar(&c.out, "out", "-", "`file` that lines are appended to, - for standard output")
	f.DurationVar(&c.session, "session-timeout", 45*time.Second, "after which the group takes a silent member's partitions away")
	f.DurationVar(&c.rebalance, "rebalance-timeout", time.Minute, "the most that a member may take to finish the work on partitions that it loses")
	f.DurationVar(&c.interval, "commit-interval", time.Second, "time between commits")
	f.IntVar(&c.poll, "poll", 500, "most records of one poll")
	f.IntVar(&c.queue, "queue", 1000, "records that may wait in a partition before it is paused")
	f.IntVar(&c.lanes, "lanes", 3, "writers to the file; records of one key take the same")
	f.DurationVar(&c.delay, "delay", 0, "longest time that a write is held back, at random, as slow destinations do")
}

func (c *config) validate() error {
	switch {
	case c.topics == "" || c.group == "":
		return errors.New("-topics and -group have to be given")
	case c.poll < 1 || c.queue < 1 || c.lanes < 1:
		return errors.New("-poll, -queue and -lanes have to be 1 or more")
	case c.delay < 0 || c.interval <= 0 || c.session <= 0 || c.rebalance <= 0:
		return errors.New("durations have to be positive")
	}
	return nil
}

func main() {
	var c config
	c.register(flag.CommandLine)
	flag.Parse()
	if err := c.validate(); err != nil {
		fmt.Fprintln(os.Stderr, "ingest:", err)
		os.Exit(2)
	}
	log := slog.New(slog.NewJSONHandler(os.Stderr, nil))
	if err := run(c, log); err != nil {
		log.Error("stopped", "error", err)
		os.Exit(1)
	}
}

func run(c config, log *slog.Logger) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the next signal is not caught any more
	out := os.Stdout
	if c.out != "-" {
		if out, err = os.OpenFile(c.out, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, out.Close()) }()
	}
	s, err := newService(c, out, log)
	if err != nil {
		return err
	}
	return s.run(ctx)
}

// list splits a flag's value.
func list(value string) []string { return strings.Split(value, ",") }
