package rckgo_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rckgo"
)

// methods classifies every method of *kgo.Client.
//
// What polls, pauses, seeks, marks, commits, joins or knows of positions must be
// mirrored: the client underneath reads nothing, and would answer without any
// error for a consumer that is not there. Methods for share groups are mirrored
// too, by what they do without one.
var methods = map[string]class{
	"AbortBufferedRecords":          forwarded,
	"AddConsumePartitions":          mirrored,
	"AddConsumeTopics":              mirrored,
	"AllowRebalance":                mirrored,
	"BeginTransaction":              forwarded,
	"Broker":                        forwarded,
	"BufferedFetchBytes":            mirrored,
	"BufferedFetchRecords":          mirrored,
	"BufferedProduceBytes":          forwarded,
	"BufferedProduceRecords":        forwarded,
	"Close":                         mirrored,
	"CloseAllowingRebalance":        mirrored,
	"CommitMarkedOffsets":           mirrored,
	"CommitOffsets":                 mirrored,
	"CommitOffsetsSync":             mirrored,
	"CommitRecords":                 mirrored,
	"CommitUncommittedOffsets":      mirrored,
	"CommittedOffsets":              mirrored,
	"Context":                       forwarded,
	"DiscoveredBrokers":             forwarded,
	"EndAndBeginTransaction":        forwarded,
	"EndTransaction":                forwarded,
	"EnsureProduceConnectionIsOpen": forwarded,
	"Flush":                         forwarded,
	"FlushAcks":                     mirrored,
	"ForceMetadataRefresh":          mirrored,
	"ForceRebalance":                mirrored,
	"GetConsumeTopics":              mirrored,
	"GroupMetadata":                 mirrored,
	"LeaveGroup":                    mirrored,
	"LeaveGroupContext":             mirrored,
	"MarkAcks":                      mirrored,
	"MarkCommitOffsets":             mirrored,
	"MarkCommitRecords":             mirrored,
	"MarkedOffsets":                 mirrored,
	"OptValue":                      mirrored,
	"OptValues":                     mirrored,
	"Opts":                          mirrored,
	"PartitionLeader":               mirrored,
	"PauseFetchPartitions":          mirrored,
	"PauseFetchTopics":              mirrored,
	"Ping":                          mirrored,
	"PollFetches":                   mirrored,
	"PollRecords":                   mirrored,
	"Produce":                       forwarded,
	"ProduceSync":                   forwarded,
	"ProducerID":                    forwarded,
	"PurgeTopicsFromClient":         mirrored,
	"PurgeTopicsFromConsuming":      mirrored,
	"PurgeTopicsFromProducing":      forwarded,
	"RemoveConsumePartitions":       mirrored,
	"Request":                       forwarded,
	"RequestCachedMetadata":         forwarded,
	"RequestSharded":                forwarded,
	"ResumeFetchPartitions":         mirrored,
	"ResumeFetchTopics":             mirrored,
	"SeedBrokers":                   forwarded,
	"SetOffsets":                    mirrored,
	"TryProduce":                    forwarded,
	"UncommittedOffsets":            mirrored,
	"UnsafeAbortBufferedRecords":    forwarded,
	"UpdateFetchMaxBytes":           mirrored,
	"UpdateSeedBrokers":             forwarded,
}

// class is how a method of *kgo.Client is reached.
type class string

const (
	mirrored   class = "the consumer has its own"
	forwarded  class = "the consumer calls the client underneath"
	throughKgo class = "only by Kgo()" // none: a program needs no more than the import
)

func TestEveryMethodOfTheClientIsClassified(t *testing.T) {
	theirs, ours := reflect.TypeFor[*kgo.Client](), reflect.TypeFor[*rckgo.Client]()
	seen := 0
	for m := range theirs.Methods() {
		seen++
		how, known := methods[m.Name]
		require.True(t, known, "%s is new in kgo: decide how it is reached", m.Name)
		own, has := ours.MethodByName(m.Name)
		require.Equal(t, how != throughKgo, has, "%s: %s", m.Name, how)
		if has {
			require.True(t, same(m.Type, own.Type), "%s: kgo has %v, the consumer %v", m.Name, m.Type, own.Type)
		}
	}
	require.Len(t, methods, seen, "a method that is classified is gone")
}

// same reports whether two types are the same but for the client in them.
func same(theirs, ours reflect.Type) bool {
	switch {
	case theirs == reflect.TypeFor[*kgo.Client]():
		return ours == reflect.TypeFor[*rckgo.Client]()
	case theirs.Kind() != reflect.Func || ours.Kind() != reflect.Func:
		return theirs == ours
	case theirs.IsVariadic() != ours.IsVariadic():
		return false
	}
	return allSame(theirs.NumIn(), ours.NumIn(), theirs.In, ours.In) && allSame(theirs.NumOut(), ours.NumOut(), theirs.Out, ours.Out)
}

func allSame(n, m int, theirs, ours func(int) reflect.Type) bool {
	if n != m {
		return false
	}
	for i := range n {
		if !same(theirs(i), ours(i)) {
			return false
		}
	}
	return true
}

func TestComparingSignaturesSeesDifferences(t *testing.T) {
	for _, test := range []struct {
		theirs, ours any
		same         bool
	}{
		{func(*kgo.Client) {}, func(*rckgo.Client) {}, true},
		{func(func(int, *kgo.Client) error) {}, func(func(int, *rckgo.Client) error) {}, true},
		{func() *kgo.Client { return nil }, func() *rckgo.Client { return nil }, true},
		{func(*kgo.Client) {}, func(*kgo.Client) {}, false},
		{func(int) {}, func(int64) {}, false},
		{func(int) {}, func(int, int) {}, false},
		{func([]int) {}, func(...int) {}, false},
		{func() error { return nil }, func() {}, false},
	} {
		require.Equal(t, test.same, same(reflect.TypeOf(test.theirs), reflect.TypeOf(test.ours)), "%T and %T", test.theirs, test.ours)
	}
}

// The functions declared by hand are kgo's but for the client.
func TestFunctionsByHandHaveTheSignaturesOfKgo(t *testing.T) {
	for name, pair := range map[string][2]any{
		"NewClient":                   {kgo.NewClient, rckgo.NewClient},
		"AbortingFirstErrPromise":     {kgo.AbortingFirstErrPromise, rckgo.AbortingFirstErrPromise},
		"OnPartitionsAssigned":        {kgo.OnPartitionsAssigned, rckgo.OnPartitionsAssigned},
		"OnPartitionsRevoked":         {kgo.OnPartitionsRevoked, rckgo.OnPartitionsRevoked},
		"OnPartitionsLost":            {kgo.OnPartitionsLost, rckgo.OnPartitionsLost},
		"OnPartitionsCallbackBlocked": {kgo.OnPartitionsCallbackBlocked, rckgo.OnPartitionsCallbackBlocked},
		"OnOffsetsFetched":            {kgo.OnOffsetsFetched, rckgo.OnOffsetsFetched},
		"AutoCommitCallback":          {kgo.AutoCommitCallback, rckgo.AutoCommitCallback},
		"ShareAckCallback":            {kgo.ShareAckCallback, rckgo.ShareAckCallback},
		"WithHooks":                   {kgo.WithHooks, rckgo.WithHooks},
		"ValidateOpts":                {kgo.ValidateOpts, rckgo.ValidateOpts},
		"NewGroupTransactSession":     {kgo.NewGroupTransactSession, rckgo.NewGroupTransactSession},
	} {
		require.True(t, same(reflect.TypeOf(pair[0]), reflect.TypeOf(pair[1])), name)
	}
	for name, pair := range map[string][2]reflect.Type{
		"HookNewClient":    {reflect.TypeFor[kgo.HookNewClient](), reflect.TypeFor[rckgo.HookNewClient]()},
		"HookClientClosed": {reflect.TypeFor[kgo.HookClientClosed](), reflect.TypeFor[rckgo.HookClientClosed]()},
	} {
		require.Equal(t, pair[0].NumMethod(), pair[1].NumMethod(), name)
		for i := range pair[0].NumMethod() {
			require.Equal(t, pair[0].Method(i).Name, pair[1].Method(i).Name)
			require.True(t, same(pair[0].Method(i).Type, pair[1].Method(i).Type), name)
		}
	}
}

// kgo.Client.OptValue takes the function that makes an option: any of the two.
func TestGeneratedFunctionsAreKgosOwn(t *testing.T) {
	require.Equal(t, reflect.ValueOf(kgo.FetchMaxWait).Pointer(), reflect.ValueOf(rckgo.FetchMaxWait).Pointer())
	require.Same(t, kgo.ErrClientClosed, rckgo.ErrClientClosed)
	require.IsType(t, kgo.AckAccept, rckgo.AckAccept)
}
