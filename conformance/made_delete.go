package conformance

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"example.com/readcommitted/conformance/internal/wire"
)

// deletedAtOnce bounds the topics or groups that one request deletes.
const deletedAtOnce = 50

// deletion asks once for the removal of things, and returns the error code of each
// that the answer is about. An error says why there was no answer, or not all.
type deletion func(ctx context.Context, names []string) (map[string]int16, error)

// errUntold is what became of a thing that an answer does not name.
var errUntold = errors.New("the answer does not name it")

// deleteAll deletes things, many with one request. It returns what is still there,
// and why.
func (r *run) deleteAll(ctx context.Context, names []string, ask deletion) (left map[string]error) {
	left = map[string]error{}
	for size := deletedAtOnce; len(names) > 0; {
		some := names[:min(size, len(names))]
		names = names[len(some):]
		waiting, err := r.deleteSome(ctx, some, ask, left)
		if len(some) > 1 && tooMany(err) && ctx.Err() == nil {
			names, size = slices.Concat(waiting, names), max(1, len(some)/4)
		}
	}
	return left
}

// tooMany reports whether fewer things in a request may help.
func tooMany(err error) bool {
	return errors.Is(err, wire.ErrTimeout) || errors.Is(err, kerr.RequestTimedOut) || errors.Is(err, errUntold)
}

// deleteSome asks for the removal of things, again while that may help, and returns
// those for which it may help later. All that is still there is in left.
func (r *run) deleteSome(ctx context.Context, names []string, ask deletion, left map[string]error) (waiting []string, err error) {
	for deadline := time.Now().Add(r.bound(settled)); ; time.Sleep(retryPause) {
		codes, asking := ask(ctx, names)
		before := len(names)
		names, err = sift(names, codes, asking, left)
		switch {
		case len(names) == 0, errors.Is(err, wire.ErrUnsupported), errors.Is(err, wire.ErrRefused):
			return nil, err
		case errors.Is(err, wire.ErrTimeout), errors.Is(err, errUntold):
			return names, err
		case len(names) < before:
			deadline = time.Now().Add(r.bound(settled))
		case time.Now().After(deadline), ctx.Err() != nil:
			return names, err
		}
	}
}

// sift keeps those of names for which asking again may help, with an error that is
// the reason of one. asking is why some have no code.
func sift(names []string, codes map[string]int16, asking error, left map[string]error) (waiting []string, err error) {
	for _, name := range names {
		code, told := codes[name]
		switch {
		case told && code == 0, !told && asking == nil && len(names) == 1:
			delete(left, name)
			continue
		case told:
			left[name] = kerr.ErrorForCode(code)
		case asking != nil:
			left[name] = asking
		default:
			left[name] = errUntold
		}
		// The session of a member that was cut off ends by itself.
		if !told || passes(code) || code == kerr.NotController.Code || code == kerr.NonEmptyGroup.Code {
			waiting, err = append(waiting, name), left[name]
		}
	}
	return waiting, err
}

// deleteTopics is a deletion.
func (r *run) deleteTopics() deletion {
	broker := wire.Bootstrap // brokers hand it on to the controller, and those that do not say so
	return func(ctx context.Context, names []string) (map[string]int16, error) {
		req := r.features.deleteTopics(names...)
		e := r.client.Do(ctx, broker, "cleanup", req)
		if e.Err != nil {
			broker = wire.Bootstrap
			return nil, e.Err
		}
		codes := map[string]int16{}
		for _, t := range e.Response.(*kmsg.DeleteTopicsResponse).Topics {
			if t.Topic == nil {
				continue
			}
			codes[*t.Topic] = t.ErrorCode
			switch t.ErrorCode {
			case kerr.UnknownTopicOrPartition.Code:
				codes[*t.Topic] = 0
			case kerr.NotController.Code:
				controller, err := r.controller(ctx)
				if broker = controller; err != nil {
					return codes, err
				}
			}
		}
		return codes, nil
	}
}

// deleteGroups is a deletion. It asks each coordinator for those that are its own.
func (r *run) deleteGroups(ctx context.Context, names []string) (map[string]int16, error) {
	codes := map[string]int16{}
	at, err := r.coordinators(ctx, names, codes)
	if err != nil {
		return codes, err
	}
	for broker, groups := range at {
		req := kmsg.NewPtrDeleteGroupsRequest()
		req.Version, req.Groups = r.features.max(kmsg.DeleteGroups, 2), groups
		e := r.client.Do(ctx, broker, "cleanup", req)
		if e.Err != nil {
			return codes, e.Err
		}
		for _, g := range e.Response.(*kmsg.DeleteGroupsResponse).Groups {
			if codes[g.Group] = g.ErrorCode; g.ErrorCode == kerr.GroupIDNotFound.Code {
				codes[g.Group] = 0
			}
		}
	}
	return codes, nil
}

// coordinators are groups by the broker that coordinates them. The error codes of
// those of which that is not told are in codes.
func (r *run) coordinators(ctx context.Context, groups []string, codes map[string]int16) (map[int32][]string, error) {
	at := map[int32][]string{}
	keep := func(name string, broker int32, code int16) {
		if code != 0 {
			codes[name] = code
			return
		}
		at[broker] = append(at[broker], name)
	}
	if r.features.has(kmsg.FindCoordinator, 4) {
		e := r.client.Do(ctx, wire.Bootstrap, "cleanup", r.features.findCoordinators(groups, ofGroup))
		if e.Err != nil {
			return nil, e.Err
		}
		for _, c := range e.Response.(*kmsg.FindCoordinatorResponse).Coordinators {
			keep(c.Key, c.NodeID, c.ErrorCode)
		}
		return at, nil
	}
	for _, name := range groups {
		e := r.client.Do(ctx, wire.Bootstrap, "cleanup", r.features.findCoordinator(name, ofGroup))
		if e.Err != nil {
			return nil, e.Err
		}
		c := e.Response.(*kmsg.FindCoordinatorResponse)
		keep(name, c.NodeID, c.ErrorCode)
	}
	return at, nil
}
