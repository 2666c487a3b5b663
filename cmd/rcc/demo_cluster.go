package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// demoCluster is where a demo runs: a broker in this process, or a cluster of
// the user's with a topic that is ours.
type demoCluster struct {
	topic  string
	prefix string // of transactional IDs
	opts   []kgo.Opt
	admin  *kadm.Client
	fake   *kfake.Cluster // nil on a real cluster
	keep   bool

	created bool // the topic, or perhaps: the answer never came
	grouped bool // the groups were opened
}

// cleanupTimeout bounds the removal of a demo's topic, which also runs when
// the demo was interrupted.
const cleanupTimeout = 10 * time.Second

// openDemo starts the broker or dials the given ones, and creates the topic.
// On a real cluster every name carries the run's ID; in process they are
// fixed, so that the output is the same each time.
func (a *app) openDemo(ctx context.Context, keep bool) (*demoCluster, error) {
	c := &demoCluster{topic: "demo", keep: keep}
	if err := a.configure(); err != nil {
		return nil, err
	}
	seeds := a.givenSeeds()
	if len(seeds) == 0 && len(a.properties)+len(a.files) > 0 {
		return nil, &usageError{err: fmt.Errorf("properties of a client, and no broker address"), hint: "give -b HOST:PORT, or leave out -X and -F for a demo in this process"}
	}
	if len(seeds) == 0 {
		fake, err := kfake.NewCluster(kfake.NumBrokers(1))
		if err != nil {
			return nil, fmt.Errorf("broker in process: %w", err)
		}
		c.fake, seeds = fake, fake.ListenAddrs()
	} else {
		c.topic = "rcc-demo-" + a.runID
		c.prefix = c.topic + "-"
	}
	c.opts = a.clientOptions("demo", seeds)
	admin, err := a.connect(ctx, seeds, c.opts)
	if err != nil {
		c.closeFake()
		return nil, err
	}
	c.admin = admin
	if err := c.createTopic(ctx); err != nil {
		if left := c.close(ctx); left != nil {
			a.warn("%s", oneLine(left.Error()))
		}
		return nil, err
	}
	return c, nil
}

// createTopic makes the topic, with the cluster's own replication, and waits
// until its partition has a leader that answers.
func (c *demoCluster) createTopic(ctx context.Context) error {
	var last error
	asking, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	replication := int16(-1)
	if c.fake != nil {
		replication = 1
	}
	_, err := c.admin.CreateTopic(asking, 1, replication, nil, c.topic)
	c.created = !refusedCreation(err)
	if err != nil {
		return fmt.Errorf("create topic %s: %w", c.topic, authorized(err))
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		ends, err := c.admin.ListEndOffsets(asking, c.topic)
		o, ok := ends.Lookup(c.topic, 0)
		if ok && err == nil && o.Err == nil {
			return nil
		}
		if asking.Err() == nil {
			last = cmp.Or(o.Err, err, last)
		}
		select {
		case <-asking.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return c.leaderless(last)
		case <-tick.C:
		}
	}
}

// refusedCreation reports whether a creation failed for certain.
func refusedCreation(err error) bool {
	code, ok := errors.AsType[*kerr.Error](authorized(err))
	return ok && !code.Retriable && code != kerr.UnknownServerError && code != kerr.TopicAlreadyExists
}

// leaderless is the error of a partition whose leader does not answer in time. last
// is what was said of it; nil: nothing.
func (c *demoCluster) leaderless(last error) error {
	err := fmt.Errorf("topic %s has no leader after %s", c.topic, answerTimeout)
	if last != nil && !errors.Is(last, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: %w", err, authorized(last))
	}
	return &hintError{err: err, hint: "look at the brokers and their logs: the cluster made the topic, and no broker leads its partition"}
}

// close removes the topic and the groups, unless they are to be kept, and stops the broker. It
// works after ctx was canceled too: an interrupted demo leaves nothing behind.
func (c *demoCluster) close(ctx context.Context) error {
	defer c.closeFake()
	defer c.admin.Close()
	if c.fake != nil || c.keep {
		return nil
	}
	var left []error
	for _, remove := range []func(context.Context) error{c.deleteTopic, c.deleteGroups} { // each has time of its own
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		left = append(left, remove(ending))
		cancel()
	}
	return errors.Join(left...)
}

func (c *demoCluster) deleteTopic(ctx context.Context) error {
	if !c.created {
		return nil
	}
	_, err := c.admin.DeleteTopic(ctx, c.topic)
	if err == nil || errors.Is(err, kerr.UnknownTopicOrPartition) {
		return nil
	}
	return fmt.Errorf("topic %s is left behind: %w", c.topic, authorized(err))
}

func (c *demoCluster) closeFake() {
	if c.fake != nil {
		c.fake.Close()
	}
}
