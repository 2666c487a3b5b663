package rcconsumer_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/rcconsumer"
)

// type of the functions over partitions.
type partitionsFunc = func(context.Context, *rcconsumer.Consumer, map[string][]int32)

// What the client underneath is told otherwise, since it reads nothing, reads
// back as it was given.
func TestOptionsReadBackAsGiven(t *testing.T) {
	inWorld(t, 1, 1, func(t *testing.T, w *world) {
		var assigned atomic.Int64 // kgo calls back too, as the member joins
		hook := &counter{written: make(map[int16]int)}
		ours := &resetHook{}
		logger := slog.New(slog.DiscardHandler)
		opts := inGroup(
			kgo.ConsumeStartOffset(kgo.NewOffset().At(7)), kgo.ConsumeResetOffset(kgo.NewOffset().AtEnd()),
			kgo.WithHooks(hook), rcconsumer.WithHooks(ours), rcconsumer.BufferBytes(7), rcconsumer.WithSlog(logger),
			rcconsumer.OnPartitionsAssigned(func(context.Context, *rcconsumer.Consumer, map[string][]int32) { assigned.Add(1) }),
			rcconsumer.MaxPollInterval(time.Minute),
		)
		c := w.consumer(opts...)
		for _, test := range []struct {
			option any
			want   any
		}{
			{kgo.ConsumeTopics, []string{topic}},
			{"ConsumeTopics", []string{topic}},
			{kgo.ConsumeStartOffset, kgo.NewOffset().At(7)},
			{kgo.ConsumeResetOffset, kgo.NewOffset().AtEnd()},
			{kgo.ConsumerGroup, "g"},
			{kgo.DisableAutoCommit, false},
			{kgo.FetchIsolationLevel, int8(1)},
			{kgo.FetchMaxWait, 500 * time.Millisecond},
			{kgo.WithHooks, []kgo.Hook{hook, ours}},
			{rcconsumer.WithHooks, []kgo.Hook{hook, ours}},
			{kgo.WithContext, c.Kgo().OptValue(kgo.WithContext)},
			{rcconsumer.BufferBytes, int64(7)},
			{rcconsumer.ReturnOnProgress, false},
			{rcconsumer.CommitThroughMarkers, true},
			{rcconsumer.OnAnomalyDo, rcconsumer.AnomalyLog},
			{rcconsumer.StableOffsetInterval, rcconsumer.DefaultStableOffsetInterval},
			{rcconsumer.MaxPollInterval, time.Minute},
			{rcconsumer.BlockedAfter, rcconsumer.DefaultBlockedAfter},
			{rcconsumer.WithSlog, logger},
			{rcconsumer.ReadUncommitted, false},
			{kgo.NewClient, nil},
			{"", nil},
			{nil, nil},
			{7, nil},
			{(func())(nil), nil},
		} {
			require.Equal(t, test.want, c.OptValue(test.option), "%T %[1]v", test.option)
		}
		require.Equal(t, []any{"kgo", true}, c.OptValues(kgo.ClientID))
		require.Nil(t, c.OptValues("none such"))
		for _, option := range []any{kgo.OnPartitionsAssigned, rcconsumer.OnPartitionsAssigned, "OnPartitionsAssigned"} {
			before := assigned.Load()
			c.OptValue(option).(partitionsFunc)(t.Context(), c, nil)
			require.Greater(t, assigned.Load(), before, "it is the function that was given")
		}
		require.Len(t, c.Opts(), len(w.opts())+len(opts))
		again, err := rcconsumer.New(append(c.Opts(), kgo.ConsumeTopics())...)
		require.NoError(t, err)
		defer again.Close()
		require.Equal(t, int64(7), again.OptValue(rcconsumer.BufferBytes))
	})
}

// kgo reads back what is in force.
func TestLimitsReadBackAsUpdated(t *testing.T) {
	type client interface {
		OptValue(any) any
		UpdateFetchMaxBytes(maxBytes, maxPartBytes int32)
	}
	ours, err := rcconsumer.New(kgo.FetchMaxBytes(3333), kgo.FetchMaxPartitionBytes(4444))
	require.NoError(t, err)
	defer ours.Close()
	theirs, err := kgo.NewClient(kgo.FetchMaxBytes(3333), kgo.FetchMaxPartitionBytes(4444))
	require.NoError(t, err)
	defer theirs.Close()
	for _, c := range []client{theirs, ours} {
		require.Equal(t, int32(3333), c.OptValue(kgo.FetchMaxBytes), "%T", c)
		require.Equal(t, int32(3333), c.OptValue(kgo.FetchMaxPartitionBytes), "%T: no more than a whole answer", c)
		c.UpdateFetchMaxBytes(77, 55)
		require.Equal(t, int32(77), c.OptValue("FetchMaxBytes"), "%T", c)
		require.Equal(t, int32(55), c.OptValue(kgo.FetchMaxPartitionBytes), "%T", c)
	}
}

func TestUnsetCallbacksReadAsNilFunctionsOverConsumers(t *testing.T) {
	c, err := rcconsumer.New(kgo.SeedBrokers("127.0.0.1:1"))
	require.NoError(t, err)
	defer c.Close()
	for option, typed := range map[string]any{
		"OnPartitionsAssigned": partitionsFunc(nil), "OnPartitionsRevoked": partitionsFunc(nil), "OnPartitionsLost": partitionsFunc(nil),
		"OnPartitionsCallbackBlocked": (func(context.Context, *rcconsumer.Consumer))(nil),
		"OnOffsetsFetched":            (func(context.Context, *rcconsumer.Consumer, *kmsg.OffsetFetchResponse) error)(nil),
		"AutoCommitCallback":          (func(*rcconsumer.Consumer, *kmsg.OffsetCommitRequest, *kmsg.OffsetCommitResponse, error))(nil),
	} {
		require.IsType(t, typed, c.OptValue(option), option)
		require.True(t, reflect.ValueOf(c.OptValue(option)).IsNil(), option)
	}
}

func TestOptionsThatKgoWouldIgnoreAreNamed(t *testing.T) {
	require.NoError(t, rcconsumer.CheckKgoOptions())
	require.NoError(t, rcconsumer.CheckKgoOptions(
		kgo.ConsumerGroup("g"), rcconsumer.ReadUncommitted(), rcconsumer.WithHooks(), rcconsumer.WithHooks(&counter{}, []kgo.Hook{&counter{}}),
	))
	err := rcconsumer.CheckKgoOptions(
		kgo.ConsumerGroup("g"), rcconsumer.BufferBytes(1), rcconsumer.ReturnOnProgress(), rcconsumer.WithHooks(&counter{}, &resetHook{}, &bothHooks{}),
		rcconsumer.WithSlog(nil), rcconsumer.OnAnomalyDo(rcconsumer.AnomalyFail), rcconsumer.CommitThroughMarkers(false),
		rcconsumer.StableOffsetInterval(time.Second), rcconsumer.MaxPollInterval(time.Minute), rcconsumer.BlockedAfter(time.Minute),
		rcconsumer.OnPartitionsAssigned(nil), rcconsumer.OnPartitionsRevoked(nil), rcconsumer.OnPartitionsLost(nil),
		rcconsumer.OnPartitionsCallbackBlocked(nil), rcconsumer.OnOffsetsFetched(nil), rcconsumer.AutoCommitCallback(nil),
	)
	require.EqualError(t, err, "options that only a Consumer honours, kgo's own client would ignore them: "+
		"BufferBytes, ReturnOnProgress, WithHooks(*rcconsumer_test.resetHook), WithHooks(*rcconsumer_test.bothHooks), "+
		"WithSlog, OnAnomalyDo, CommitThroughMarkers, StableOffsetInterval, MaxPollInterval, BlockedAfter, "+
		"OnPartitionsAssigned, OnPartitionsRevoked, OnPartitionsLost, OnPartitionsCallbackBlocked, OnOffsetsFetched, AutoCommitCallback")
	require.ErrorContains(t, rcconsumer.CheckKgoOptions(rcconsumer.BufferBytes(0)), "at least 1", "a wrong value is told first")
}

// Whoever adds an option says how it reads back.
func TestEveryOptionOfOursReadsBack(t *testing.T) {
	c, err := rcconsumer.New(kgo.SeedBrokers("127.0.0.1:1"))
	require.NoError(t, err)
	defer c.Close()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	seen := 0
	made := regexp.MustCompile(`new(?:Group)?Option\("(\w+)"`)
	for _, file := range files {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, match := range made.FindAllStringSubmatch(string(source), -1) {
			seen++
			require.NotNil(t, c.OptValues(match[1]), match[1])
		}
	}
	require.GreaterOrEqual(t, seen, 13)
}
