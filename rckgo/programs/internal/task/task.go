// Package task reads what a program is to do from its command line. It knows
// nothing of any Kafka client.
package task

import (
	"context"
	"flag"
	"strings"
	"time"
)

// Task is what a program is to do. Every program takes the same flags, and
// leaves those that mean nothing to it.
type Task struct {
	Brokers, Topics []string
	Group           string
	Output          string        // a topic to write to
	Style           string        // how offsets are committed
	Records         int           // how many to work on
	Quiet           time.Duration // nothing for so long after them: there are no more; 0: end at once
	Limit           time.Duration // when to give up
}

// Parse reads the command line. A flag that it does not know ends the program.
func Parse() Task {
	var t Task
	brokers := flag.String("brokers", "127.0.0.1:9092", "bootstrap `addresses`, comma-separated")
	topics := flag.String("topics", "", "`topics` to read, comma-separated")
	flag.StringVar(&t.Group, "group", "", "consumer `group`")
	flag.StringVar(&t.Output, "output", "", "`topic` to write to")
	flag.StringVar(&t.Style, "style", "", "how offsets are committed")
	flag.IntVar(&t.Records, "records", 0, "how `many` records to work on")
	flag.DurationVar(&t.Quiet, "quiet", 400*time.Millisecond, "how long nothing may come before the end is believed")
	flag.DurationVar(&t.Limit, "limit", 2*time.Minute, "when to give up")
	flag.Parse()
	t.Brokers = strings.Split(*brokers, ",")
	t.Topics = strings.Split(*topics, ",")
	return t
}

// Context ends when the program has to give up.
func (t Task) Context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), t.Limit)
}
