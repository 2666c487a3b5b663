package rcconsumer

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Functions that a group calls. They have kgo's shape, with *Consumer where kgo
// has *kgo.Client: commits and positions are the consumer's, not the client's.
type (
	partitionsFunc = func(context.Context, *Consumer, map[string][]int32)
	blockedFunc    = func(context.Context, *Consumer)
	fetchedFunc    = func(context.Context, *Consumer, *kmsg.OffsetFetchResponse) error
	commitFunc     = func(*Consumer, *kmsg.OffsetCommitRequest, *kmsg.OffsetCommitResponse, error)
)

// callbacks are the functions given by this package's options.
type callbacks struct {
	assigned, revoked, lost partitionsFunc
	blocked                 blockedFunc
	fetched                 fetchedFunc
	committed               commitFunc
}

// groupOption is an option of ours that kgo takes for a group option that
// changes nothing.
type groupOption struct {
	kgo.GroupOpt
	name  string
	apply func(*ours) error
}

func newGroupOption(name string, apply func(*callbacks)) kgo.GroupOpt {
	return groupOption{
		GroupOpt: kgo.RequireStableFetchOffsets(), //nolint:staticcheck // deprecated because it does nothing, which is what is wanted
		name:     name,
		apply:    func(o *ours) error { apply(&o.callbacks); return nil },
	}
}

// OnPartitionsAssigned sets the function that is called when the group assigns
// partitions to this member, before any of them is read. fn may call
// SetOffsets to choose where reading starts; it is also called with nothing
// new. Without BlockRebalanceOnPoll it may run while records are worked on.
//
// It is kgo.OnPartitionsAssigned for a Consumer.
func OnPartitionsAssigned(fn func(context.Context, *Consumer, map[string][]int32)) kgo.GroupOpt {
	return newGroupOption("OnPartitionsAssigned", func(c *callbacks) { c.assigned = fn })
}

// OnPartitionsRevoked sets the function that is called when the group takes
// partitions from this member in an orderly way, also when the member leaves.
// By then nothing more of them is handed out, and until fn returns their
// offsets can be committed. With this option the commit on revoke that
// auto-commit would do is left to fn, as in kgo.
//
// Do not wait for a poll in fn: polls wait for fn. It is
// kgo.OnPartitionsRevoked for a Consumer.
func OnPartitionsRevoked(fn func(context.Context, *Consumer, map[string][]int32)) kgo.GroupOpt {
	return newGroupOption("OnPartitionsRevoked", func(c *callbacks) { c.revoked = fn })
}

// OnPartitionsLost sets the function that is called when partitions are gone
// already: the group has put this member out, or the session ended with an
// error. Commits of them are refused. It is kgo.OnPartitionsLost for a
// Consumer.
func OnPartitionsLost(fn func(context.Context, *Consumer, map[string][]int32)) kgo.GroupOpt {
	return newGroupOption("OnPartitionsLost", func(c *callbacks) { c.lost = fn })
}

// OnPartitionsCallbackBlocked sets the function that is called, on a goroutine
// of its own, when a rebalance waits for AllowRebalance. It is
// kgo.OnPartitionsCallbackBlocked for a Consumer.
func OnPartitionsCallbackBlocked(fn func(context.Context, *Consumer)) kgo.GroupOpt {
	return newGroupOption("OnPartitionsCallbackBlocked", func(c *callbacks) { c.blocked = fn })
}

// OnOffsetsFetched sets the function that is called with the group's answer to
// where the assigned partitions were committed. An error from fn ends the group
// session. It is kgo.OnOffsetsFetched for a Consumer.
func OnOffsetsFetched(fn func(context.Context, *Consumer, *kmsg.OffsetFetchResponse) error) kgo.GroupOpt {
	return newGroupOption("OnOffsetsFetched", func(c *callbacks) { c.fetched = fn })
}

// AutoCommitCallback sets the function that is called after every commit that
// the consumer makes on its own: at the auto-commit interval and on revoke.
// Without it failures are logged. fn must not commit. It is
// kgo.AutoCommitCallback for a Consumer.
func AutoCommitCallback(fn func(*Consumer, *kmsg.OffsetCommitRequest, *kmsg.OffsetCommitResponse, error)) kgo.GroupOpt {
	return newGroupOption("AutoCommitCallback", func(c *callbacks) { c.committed = fn })
}

// CommitThroughMarkers decides whether commits pass what no reader ever sees:
// transaction markers, aborted data and compacted offsets behind the last
// record. They do so by default, so that a group that has read everything has
// a lag of zero; of what comes later too, but not with kgo.TransactionalID. With
// false an offset committed is one past a record, as with kgo.
func CommitThroughMarkers(through bool) kgo.Opt {
	return newOption("CommitThroughMarkers", func(o *ours) error { o.commitRecordsOnly = !through; return nil })
}

// refusedCallbacks names the callbacks given by kgo's own options.
func refusedCallbacks(cl *kgo.Client) (names []string) {
	type (
		partitionsFn = func(context.Context, *kgo.Client, map[string][]int32)
		blockedFn    = func(context.Context, *kgo.Client)
		fetchedFn    = func(context.Context, *kgo.Client, *kmsg.OffsetFetchResponse) error
		commitFn     = func(*kgo.Client, *kmsg.OffsetCommitRequest, *kmsg.OffsetCommitResponse, error)
	)
	for _, o := range []struct {
		name string
		set  bool
	}{
		{"OnPartitionsAssigned", value[partitionsFn](cl, kgo.OnPartitionsAssigned) != nil},
		{"OnPartitionsRevoked", value[partitionsFn](cl, kgo.OnPartitionsRevoked) != nil},
		{"OnPartitionsLost", value[partitionsFn](cl, kgo.OnPartitionsLost) != nil},
		{"OnPartitionsCallbackBlocked", value[blockedFn](cl, kgo.OnPartitionsCallbackBlocked) != nil},
		{"OnOffsetsFetched", value[fetchedFn](cl, kgo.OnOffsetsFetched) != nil},
		{"AutoCommitCallback", value[commitFn](cl, kgo.AutoCommitCallback) != nil},
	} {
		if o.set {
			names = append(names, fmt.Sprintf(
				"%s: its function gets a kgo.Client, which knows nothing of positions and commits here; use rcconsumer.%[1]s", o.name))
		}
	}
	return names
}

// checkCallbacks refuses callbacks that would never be called: those for which
// kgo does so too.
func (c *config) checkCallbacks() error {
	if c.group != "" {
		return nil
	}
	if c.assigned != nil || c.revoked != nil || c.lost != nil {
		return errors.New("invalid group callback options OnPartitionsAssigned, OnPartitionsRevoked or OnPartitionsLost specified when a group was not specified")
	}
	if c.committed != nil {
		return errors.New("invalid autocommit option AutoCommitCallback specified when a group was not specified")
	}
	if c.maxPollInterval > 0 {
		return errors.New("invalid option MaxPollInterval specified when a group was not specified")
	}
	return nil
}
