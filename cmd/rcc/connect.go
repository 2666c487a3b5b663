package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/internal/clientconf"
)

const (
	// dialTimeout bounds one connection attempt, unless a property does.
	dialTimeout = 5 * time.Second
	// answerTimeout bounds one round of questions to a cluster.
	answerTimeout = 2 * dialTimeout
)

// clientOptions are kgo's options that every client of this run shares.
func (a *app) clientOptions(command string, seeds []string) []kgo.Opt {
	opts := []kgo.Opt{
		kgo.SeedBrokers(seeds...),
		kgo.ClientID(a.clientID(command)),
		kgo.DialTimeout(dialTimeout),
	}
	return append(opts, a.config.Options()...)
}

// dialTimeout bounds one connection attempt of this run.
func (a *app) dialTimeout() time.Duration {
	return cmp.Or(a.config.DialTimeout, dialTimeout)
}

// connect opens a client for questions to the cluster and makes sure that one
// broker answers. kgo alone would try again for as long as it is asked to, in
// silence; a command line has to fail at once and say where. No address is tried
// more than twice: a wrong password must not lock a user out.
func (a *app) connect(ctx context.Context, seeds []string, opts []kgo.Opt) (*kadm.Client, error) {
	if err := checkSeeds(seeds); err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(append(slices.Clone(opts),
		kgo.WithHooks(&a.ports), kgo.RequestRetries(3), kgo.RetryTimeout(dialTimeout), kgo.MetadataMinAge(100*time.Millisecond))...)
	if err != nil {
		return nil, &usageError{err: fmt.Errorf("brokers %s: %w", strings.Join(seeds, ","), err)}
	}
	// Seeds are tried one after another; some may not answer at all.
	pinging, cancel := context.WithTimeout(ctx, a.dialTimeout()*time.Duration(min(len(seeds), 3)))
	defer cancel()
	if err := client.Ping(pinging); err != nil {
		client.Close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, a.connectError(seeds, err)
	}
	a.ports.answered.Store(true)
	return kadm.NewClient(client), nil
}

// checkSeeds refuses what is no address. It is shown if no password can be in it.
func checkSeeds(seeds []string) error {
	for i, seed := range seeds {
		shown := cmp.Or(seed, `""`)
		if strings.Contains(seed, "@") {
			shown = strconv.Itoa(i + 1)
		}
		if problem, hint := clientconf.CheckAddress(seed); problem != "" {
			return &usageError{err: fmt.Errorf("broker address %s: %s", shown, problem), hint: hint}
		}
	}
	return nil
}

// describeTopics returns what the cluster knows of the topics, or an error
// that names the first one that cannot be read.
func describeTopics(ctx context.Context, admin *kadm.Client, topics []string) (kadm.TopicDetails, error) {
	asking, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	metadata, err := admin.Metadata(asking, topics...)
	if err != nil {
		return nil, fmt.Errorf("metadata of topic %s: %w", strings.Join(topics, ", "), authorized(err))
	}
	for _, topic := range topics {
		detail, ok := metadata.Topics[topic]
		switch {
		case !ok || errors.Is(detail.Err, kerr.UnknownTopicOrPartition):
			return nil, unknownTopic(asking, admin, topic)
		case detail.Err != nil:
			return nil, fmt.Errorf("topic %s: %w", topic, authorized(detail.Err))
		}
	}
	return metadata.Topics, nil
}

// unknownTopic names a topic that resembles the one that is missing.
func unknownTopic(ctx context.Context, admin *kadm.Client, topic string) error {
	err := &hintError{err: fmt.Errorf("topic %s does not exist, or describing it is not allowed", topic)}
	if all, listErr := admin.ListTopics(ctx); listErr == nil {
		err.hint = didYouMean(nearest(topic, all.Names()))
	}
	return err
}

// authorized takes kadm's wrapping off an authorization error: the code says
// more than the word "auth".
func authorized(err error) error {
	if auth, ok := errors.AsType[*kadm.AuthError](err); ok {
		return auth.Err
	}
	return err
}
