package conformance

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/wire"
)

// Leftover is something that an older run made and that is still there.
type Leftover struct {
	Kind  string    `json:"kind"` // topic, group, or transactional ID: one with an open transaction
	Name  string    `json:"name"`
	Began time.Time `json:"run_began"`
}

// RunID is the run that made it.
func (l Leftover) RunID() string { return madeNames.FindStringSubmatch(l.Name)[1] }

// Leftovers are all of them that a cluster shows to this user.
type Leftovers struct {
	Found   []Leftover
	Younger []Leftover // that which runs left, or work with, that began later
	Hints   []string   // what could not be looked for, and why

	run *run
}

// FindLeftovers looks for what runs made that began longer ago than age. It
// goes by whole names, so that only runs with an ID of [NewRunID] count. Close
// them.
func FindLeftovers(ctx context.Context, opts []kgo.Opt, age time.Duration) (*Leftovers, error) {
	r, err := newRun(ctx, Config{Options: opts, RunID: NewRunID()})
	if err != nil {
		return nil, err
	}
	l := &Leftovers{run: r}
	now := time.Now()
	for _, kind := range []struct {
		name string
		list func(context.Context) ([]string, error)
	}{{"transactional ID", r.openTransactions}, {"group", r.allGroups}, {"topic", r.allTopics}} {
		names, err := kind.list(ctx)
		if err != nil {
			if ctx.Err() != nil {
				l.Close()
				return nil, ctx.Err()
			}
			l.Hints = append(l.Hints, fmt.Sprintf("%ss cannot be listed: %v", kind.name, err))
		}
		for _, name := range slices.Sorted(slices.Values(names)) {
			at, ok := began(name)
			switch f := (Leftover{Kind: kind.name, Name: name, Began: at.UTC()}); {
			case !ok || at.After(now):
			case at.Before(now.Add(-age)):
				l.Found = append(l.Found, f)
			default:
				l.Younger = append(l.Younger, f)
			}
		}
	}
	return l, nil
}

// Remove ends the open transactions, then deletes groups and topics. It returns
// what is still there.
func (l *Leftovers) Remove(ctx context.Context) (left []string) {
	for _, f := range l.Found {
		switch f.Kind {
		case "topic":
			l.run.made.topic(f.Name)
		case "group":
			l.run.made.group(f.Name)
		default:
			l.run.made.transactionalID(f.Name)
		}
	}
	return l.run.cleanUp(ctx)
}

// Close ends the connections.
func (l *Leftovers) Close() { l.run.client.Close() }

func (r *run) allTopics(ctx context.Context) ([]string, error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Version = r.features.max(kmsg.Metadata, 12) // no list of topics: all
	e := r.client.Do(ctx, wire.Bootstrap, "cleanup", req)
	if e.Err != nil {
		return nil, e.Err
	}
	var names []string
	for _, t := range e.Response.(*kmsg.MetadataResponse).Topics {
		if t.Topic != nil {
			names = append(names, *t.Topic)
		}
	}
	return names, nil
}

// allGroups asks every broker: each knows those that it coordinates.
func (r *run) allGroups(ctx context.Context) ([]string, error) {
	req := kmsg.NewPtrListGroupsRequest()
	req.Version = r.features.max(kmsg.ListGroups, 4)
	return r.ofEveryBroker(ctx, req, func(resp kmsg.Response) (names []string, code int16) {
		groups := resp.(*kmsg.ListGroupsResponse)
		for _, g := range groups.Groups {
			names = append(names, g.Group)
		}
		return names, groups.ErrorCode
	})
}

// openTransactions are the IDs that have one; others only wait to expire.
func (r *run) openTransactions(ctx context.Context) ([]string, error) {
	req := kmsg.NewPtrListTransactionsRequest()
	req.Version = r.features.max(kmsg.ListTransactions, 0)
	req.StateFilters = []string{"Ongoing"}
	return r.ofEveryBroker(ctx, req, func(resp kmsg.Response) (names []string, code int16) {
		list := resp.(*kmsg.ListTransactionsResponse)
		for _, t := range list.TransactionStates {
			names = append(names, t.TransactionalID)
		}
		return names, list.ErrorCode
	})
}

func (r *run) ofEveryBroker(ctx context.Context, req kmsg.Request, names func(kmsg.Response) ([]string, int16)) ([]string, error) {
	if req.GetVersion() < 0 {
		return nil, fmt.Errorf("the cluster has no %s", kmsg.NameForKey(req.Key()))
	}
	var out []string
	var failed error
	for _, broker := range r.features.brokers {
		e := r.client.Do(ctx, broker, "cleanup", req)
		if e.Err != nil {
			failed = cmp.Or(failed, e.Err)
			continue
		}
		found, code := names(e.Response)
		if err := kerr.ErrorForCode(code); err != nil {
			failed = cmp.Or(failed, fmt.Errorf("broker %d: %w", broker, err))
		}
		out = append(out, found...)
	}
	return out, failed
}
