package rcconsumer

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// config is everything the engine needs to know of the options, kgo's and ours.
type config struct {
	ours
	opts   []kgo.Opt // as given
	theirs []kgo.Opt // the options that are kgo's

	topics     []string // names, or patterns if regex
	regex      bool
	excluded   []string // patterns
	include    []*regexp.Regexp
	exclude    []*regexp.Regexp
	partitions map[string]map[int32]kgo.Offset
	start      offsetSpec
	reset      offsetSpec
	startAsSet kgo.Offset // start as the user wrote it

	group             string // "": no group
	commitMode        commitMode
	commitInterval    time.Duration
	blockOnPoll       bool
	rebalanceTimeout  time.Duration
	sessionTimeout    time.Duration
	heartbeatInterval time.Duration
	adjust            adjustFunc // nil if not set

	readUncommitted bool
	keepControl     bool
	keepRetryable   bool
	skipCRC         bool
	maxWait         time.Duration
	minBytes        int32
	maxBytes        int32
	maxPartBytes    int32
	maxConcurrent   int
	noSessions      bool
	rack            string
	recheck         time.Duration // how long a follower is read from

	decompressor    kgo.Decompressor // nil: the built-in codecs
	maxDecompressed int
	pools           []kgo.Pool
	allHooks        []kgo.Hook // kgo's and ours, in the order given
	kgoHooks        []kgo.Hook // those that are kgo's, which may be ours as well
	refused         []string
	metadataMaxAge  time.Duration
	missingAfter    time.Duration // a topic that is missing for so long is gone
	autoCreate      bool
	backoff         func(int) time.Duration
	requestTimeout  time.Duration
	logger          kgo.Logger

	given *kgo.Client // never started; knows the options as they were given
}

// split separates our options from kgo's.
func split(opts []kgo.Opt) (o ours, theirs []kgo.Opt, err error) {
	o.bufferBytes = DefaultBufferBytes
	o.stableInterval = DefaultStableOffsetInterval
	o.blockedAfter = DefaultBlockedAfter
	for i, opt := range opts {
		if opt == nil {
			return o, nil, fmt.Errorf("option %d of %d is nil", i+1, len(opts))
		}
		var apply func(*ours) error
		switch our := opt.(type) {
		case option:
			apply = our.apply
			if len(our.hooks) > 0 {
				theirs = append(theirs, kgo.WithHooks(carried(our.hooks)...))
			}
		case groupOption:
			apply = our.apply
		default:
			theirs = append(theirs, opt)
			continue
		}
		if err := apply(&o); err != nil {
			return o, nil, err
		}
	}
	return o, theirs, nil
}

// defaults are put in front of the user's options, so that theirs win.
func defaults() []kgo.Opt {
	return []kgo.Opt{
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.FetchMaxWait(500 * time.Millisecond), // a Fetch in flight cannot be cancelled without losing the connection
	}
}

// neutral is put behind the user's options: kgo itself must not consume. Of a
// group it keeps the membership.
func (c *Consumer) neutral() []kgo.Opt {
	opts := []kgo.Opt{kgo.WithHooks(c.watch)}
	if c.group != nil {
		return append(opts, c.group.options()...)
	}
	return append(opts, kgo.ConsumeTopics(), kgo.ConsumePartitions(nil))
}

// probe reads option values from a client that never starts: its first hook
// runs after validation and before any goroutine, reads, and ends the
// construction with a panic of a private type.
type probe struct{ read func(*kgo.Client) }

type probeDone struct{}

func (p probe) OnNewClient(cl *kgo.Client) {
	p.read(cl)
	panic(probeDone{})
}

// readConfig validates opts and returns what the engine needs of them.
func readConfig(opts []kgo.Opt) (cfg config, err error) {
	own, theirs, err := split(opts)
	if err != nil {
		return cfg, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel() // the probe's client leaves a child on its parent context
	all := append([]kgo.Opt{kgo.WithHooks(probe{func(cl *kgo.Client) { cfg = configOf(cl) }})}, defaults()...)
	all = append(append(all, theirs...), kgo.WithContext(ctx))
	if err := construct(all); err != nil {
		return cfg, err
	}
	cfg.ours, cfg.theirs, cfg.opts = own, theirs, slices.Clone(opts)
	cfg.sortHooks()
	return cfg, cfg.compile()
}

func construct(opts []kgo.Opt) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil, probeDone:
		default:
			panic(r)
		}
	}()
	cl, err := kgo.NewClient(opts...)
	if err == nil {
		cl.Close()
		err = errors.New("kgo did not call the hook that reads its options")
	}
	return err
}

func configOf(cl *kgo.Client) config {
	c := config{
		given:             cl,
		topics:            value[[]string](cl, kgo.ConsumeTopics),
		regex:             value[bool](cl, kgo.ConsumeRegex),
		excluded:          value[[]string](cl, kgo.ConsumeExcludeTopics),
		partitions:        value[map[string]map[int32]kgo.Offset](cl, kgo.ConsumePartitions),
		start:             specOf(value[kgo.Offset](cl, kgo.ConsumeStartOffset)),
		startAsSet:        value[kgo.Offset](cl, kgo.ConsumeStartOffset),
		group:             value[string](cl, kgo.ConsumerGroup),
		commitMode:        commitModeOf(cl),
		commitInterval:    value[time.Duration](cl, kgo.AutoCommitInterval),
		blockOnPoll:       value[bool](cl, kgo.BlockRebalanceOnPoll),
		rebalanceTimeout:  value[time.Duration](cl, kgo.RebalanceTimeout),
		sessionTimeout:    value[time.Duration](cl, kgo.SessionTimeout),
		heartbeatInterval: value[time.Duration](cl, kgo.HeartbeatInterval),
		adjust:            value[adjustFunc](cl, kgo.AdjustFetchOffsetsFn),
		reset:             specOf(value[kgo.Offset](cl, kgo.ConsumeResetOffset)),
		readUncommitted:   value[int8](cl, kgo.FetchIsolationLevel) == 0,
		keepControl:       value[bool](cl, kgo.KeepControlRecords),
		keepRetryable:     value[bool](cl, kgo.KeepRetryableFetchErrors),
		skipCRC:           value[bool](cl, kgo.DisableFetchCRCValidation),
		maxWait:           value[time.Duration](cl, kgo.FetchMaxWait),
		minBytes:          value[int32](cl, kgo.FetchMinBytes),
		maxBytes:          value[int32](cl, kgo.FetchMaxBytes),
		maxPartBytes:      value[int32](cl, kgo.FetchMaxPartitionBytes),
		maxConcurrent:     value[int](cl, kgo.MaxConcurrentFetches),
		noSessions:        value[bool](cl, kgo.DisableFetchSessions),
		rack:              value[string](cl, kgo.Rack),
		recheck:           value[time.Duration](cl, kgo.RecheckPreferredReplicaInterval),
		maxDecompressed:   value[int](cl, kgo.MaxDecompressBatchBytes),
		pools:             value[[]kgo.Pool](cl, kgo.WithPools),
		allHooks:          value[[]kgo.Hook](cl, kgo.WithHooks)[1:], // without the probe
		metadataMaxAge:    value[time.Duration](cl, kgo.MetadataMaxAge),
		missingAfter:      value[time.Duration](cl, kgo.ConsiderMissingTopicDeletedAfter),
		autoCreate:        value[bool](cl, kgo.AllowAutoTopicCreation),
		backoff:           value[func(int) time.Duration](cl, kgo.RetryBackoffFn),
		requestTimeout:    value[time.Duration](cl, kgo.RequestTimeoutOverhead),
		logger:            value[kgo.Logger](cl, kgo.WithLogger),
	}
	if d := value[kgo.Decompressor](cl, kgo.WithDecompressor); d != nil && reflect.TypeOf(d) != reflect.TypeOf(kgo.DefaultDecompressor()) {
		c.decompressor = d
	}
	c.refused = append(refusedOptions(cl), refusedCallbacks(cl)...)
	return c
}

// value is the value of one of kgo's options; the zero value if it is unset.
func value[T any](cl *kgo.Client, opt any) T {
	v, _ := cl.OptValue(opt).(T)
	return v
}
