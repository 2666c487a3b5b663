package rckgo

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rcconsumer"
)

type (
	// HookNewClient is kgo.HookNewClient for a [Client]: see
	// [rcconsumer.HookNewClient]. Hooks of other packages that implement kgo's
	// are called as well, with the client underneath.
	HookNewClient = rcconsumer.HookNewClient

	// HookClientClosed is kgo.HookClientClosed for a [Client]: see
	// [rcconsumer.HookClientClosed]. Hooks of other packages that implement
	// kgo's are called as well, with the client underneath.
	HookClientClosed = rcconsumer.HookClientClosed
)

// WithHooks is kgo.WithHooks for hooks of kgo and of package rcconsumer in any
// mixture: see [rcconsumer.WithHooks].
func WithHooks(hooks ...kgo.Hook) kgo.Opt { return rcconsumer.WithHooks(hooks...) }
