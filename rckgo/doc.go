// Package rckgo is kgo with a consumer whose unset isolation level is
// read_committed, where kgo's is read_uncommitted.
//
// A program that imports
//
//	import "github.com/twmb/franz-go/pkg/kgo"
//
// and changes that to
//
//	import kgo "example.com/readcommitted/rckgo"
//
// reads with a [rcconsumer.Consumer] and changes nothing else. Every exported
// name of kgo is here. Types are aliases, so records, fetches, options, hooks,
// balancers and plug-ins for kgo are the same types, and options of kgo and of
// package rcconsumer may stand in one list. What kgo declares with *kgo.Client
// is declared here with [Client] instead: the constructor, the callbacks of a
// group, two hooks.
//
// # What is different
//
//   - The isolation level is read_committed unless [FetchIsolationLevel] says
//     otherwise, and [FetchMaxWait] is half a second unless set.
//   - The offsets that a group commits pass markers and aborted data, so that
//     its lag reaches zero; see [rcconsumer.CommitThroughMarkers].
//   - Options that the consumer cannot honour are refused by [NewClient], with
//     their name and what to use instead: share groups above all.
//   - Functions of other packages that take a *kgo.Client, such as
//     kadm.NewClient, want [rcconsumer.Consumer.Kgo]. Hooks of other packages
//     work unchanged; where kgo hands them a client, it is the one underneath.
//   - [GroupTransactSession] is kgo's own, with kgo's consumer in it; only its
//     unset isolation level is read_committed too, and the options that it
//     would ignore are refused by [NewGroupTransactSession].
//
// A client without topics, partitions and group starts no consumer: no goroutine
// and no request that kgo would not have.
package rckgo

//go:generate go run ./internal/generate -o generated.go
