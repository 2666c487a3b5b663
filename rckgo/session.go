package rckgo

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"example.com/readcommitted/rcconsumer"
)

// GroupTransactSession is kgo's own, and so are the client in it and what it
// reads with: it drops aborted data as kgo does, and its Client method returns a
// *kgo.Client.
type GroupTransactSession = kgo.GroupTransactSession

// NewGroupTransactSession is kgo.NewGroupTransactSession, with an isolation level
// of read_committed unless an option sets another one.
//
// The session reads with kgo's own client. Options that mean something to a
// [Client] alone are refused by name: the callbacks of this package, the hooks
// of package rcconsumer and its other options. Hooks of kgo's are passed on, and
// callbacks may be given with kgo's own functions.
func NewGroupTransactSession(opts ...kgo.Opt) (*GroupTransactSession, error) {
	if err := rcconsumer.CheckKgoOptions(opts...); err != nil {
		return nil, fmt.Errorf("a GroupTransactSession has kgo's own client, so give callbacks of kgo's own package and leave out the rest: %w", err)
	}
	committed := kgo.FetchIsolationLevel(kgo.ReadCommitted())
	return kgo.NewGroupTransactSession(append([]kgo.Opt{committed}, opts...)...)
}
