package rckgo

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/rcconsumer"
)

// Client is the consumer in place of kgo.Client. It has every method of it.
type Client = rcconsumer.Consumer

// NewClient is kgo.NewClient for a [Client]: see [rcconsumer.New].
func NewClient(opts ...kgo.Opt) (*Client, error) { return rcconsumer.New(opts...) }

// ValidateOpts is kgo.ValidateOpts for a [Client]: it says what [NewClient] would,
// options that the consumer cannot honour included.
func ValidateOpts(opts ...kgo.Opt) error { return rcconsumer.ValidateOpts(opts...) }

// AbortingFirstErrPromise is kgo.AbortingFirstErrPromise for a [Client].
func AbortingFirstErrPromise(cl *Client) *kgo.FirstErrPromise {
	return kgo.AbortingFirstErrPromise(cl.Kgo())
}

// OnPartitionsAssigned is kgo.OnPartitionsAssigned for a [Client]: see
// [rcconsumer.OnPartitionsAssigned].
func OnPartitionsAssigned(onAssigned func(context.Context, *Client, map[string][]int32)) kgo.GroupOpt {
	return rcconsumer.OnPartitionsAssigned(onAssigned)
}

// OnPartitionsRevoked is kgo.OnPartitionsRevoked for a [Client]: see
// [rcconsumer.OnPartitionsRevoked].
func OnPartitionsRevoked(onRevoked func(context.Context, *Client, map[string][]int32)) kgo.GroupOpt {
	return rcconsumer.OnPartitionsRevoked(onRevoked)
}

// OnPartitionsLost is kgo.OnPartitionsLost for a [Client]: see
// [rcconsumer.OnPartitionsLost].
func OnPartitionsLost(onLost func(context.Context, *Client, map[string][]int32)) kgo.GroupOpt {
	return rcconsumer.OnPartitionsLost(onLost)
}

// OnPartitionsCallbackBlocked is kgo.OnPartitionsCallbackBlocked for a
// [Client]: see [rcconsumer.OnPartitionsCallbackBlocked].
func OnPartitionsCallbackBlocked(fn func(context.Context, *Client)) kgo.GroupOpt {
	return rcconsumer.OnPartitionsCallbackBlocked(fn)
}

// OnOffsetsFetched is kgo.OnOffsetsFetched for a [Client]: see
// [rcconsumer.OnOffsetsFetched].
func OnOffsetsFetched(onFetched func(context.Context, *Client, *kmsg.OffsetFetchResponse) error) kgo.GroupOpt {
	return rcconsumer.OnOffsetsFetched(onFetched)
}

// AutoCommitCallback is kgo.AutoCommitCallback for a [Client]: see
// [rcconsumer.AutoCommitCallback].
func AutoCommitCallback(fn func(*Client, *kmsg.OffsetCommitRequest, *kmsg.OffsetCommitResponse, error)) kgo.GroupOpt {
	return rcconsumer.AutoCommitCallback(fn)
}

// ShareAckCallback is kgo.ShareAckCallback for a [Client], so that a program
// compiles: [NewClient] refuses share groups, and this option by name. fn is
// never called.
func ShareAckCallback(fn func(*Client, kgo.ShareAckResults)) kgo.GroupOpt {
	if fn == nil {
		return kgo.ShareAckCallback(nil)
	}
	return kgo.ShareAckCallback(func(*kgo.Client, kgo.ShareAckResults) {})
}
